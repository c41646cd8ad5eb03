#![allow(clippy::unwrap_used, clippy::panic)]
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::Array;
use hudini_table::context::Context;
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::{Location, Table};
#[test]
fn show() {
    for v in ["v6", "v8", "v9"] {
        let location = Location { url: format!("/tmp/hf/{v}/table"), storage_options: Default::default() };
        let table = Table::open(location, Default::default(), Context::system(Some(1))).unwrap();
        let mut rows = Vec::new();
        for batch in Scan::plan(&table, ScanRequest::default()).unwrap().read().unwrap() {
            let b = batch.unwrap();
            let text = |n: &str, i: usize| { let c = b.column_by_name(n).unwrap().as_string::<i32>(); if c.is_null(i) { "None".to_owned() } else { c.value(i).to_owned() } };
            for i in 0..b.num_rows() {
                let f = b.column_by_name("v").unwrap().as_primitive::<Float64Type>().value(i);
                let ts = b.column_by_name("ts").unwrap().as_primitive::<Int64Type>().value(i);
                assert_eq!(text("_hoodie_record_key", i), text("id", i));
                rows.push(format!("{},{},{f:?},{ts},{}", text("id", i), text("name", i), text("city", i)));
            }
        }
        rows.sort();
        let expected = std::fs::read_to_string(format!("/tmp/hf/{v}.txt")).unwrap();
        assert_eq!(rows.join("\n"), expected.trim(), "{v}");
    }
}
