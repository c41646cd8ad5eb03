//! What the splits of a scan carry to other processes.

use hudini_table::bytes_form::BytesForm;
use hudini_table::scan::{Images, Scan, ScanRequest, Split, Window};
use hudini_table::{ErrorKind, Table};
use rstest::rstest;

use crate::support::{Place, Spec, World, row};

/// Seven rows in one bucket, in base file and log.
fn seven_rows() -> (World, Table) {
    let (world, spec) = (World::new(Place::Local), Spec { buckets: 1, ..Spec::mor() });
    let table = spec.create(&world);
    let rows = |ts: i64| ["a", "b", "c", "d", "e", "f", "g"].map(|id| row(id, "A", ts, "v"));
    spec.upsert(&table, &rows(1)).unwrap();
    spec.upsert(&table, &rows(2)[..3]).unwrap();
    (world, table)
}

fn sizes(split: &Split, batch_size: Option<usize>) -> Vec<usize> {
    let travelled = Split::from_bytes(&split.to_bytes().unwrap()).unwrap();
    travelled.read(batch_size).unwrap().map(|batch| batch.unwrap().num_rows()).collect()
}

#[rstest]
#[case::rows(ScanRequest::default(), 7)]
#[case::changes(
    ScanRequest { window: Some(Window::default()), changes: Some(Images::Struct), ..ScanRequest::default() },
    10
)]
fn batches_are_as_large_as_the_scan_asked_for(#[case] request: ScanRequest, #[case] rows: usize) {
    let (_world, table) = seven_rows();
    let split = |batch_size| {
        let scan = Scan::plan(&table, ScanRequest { batch_size, ..request.clone() }).unwrap();
        scan.splits(Some(u64::MAX)).unwrap().remove(0)
    };
    let asked = sizes(&split(Some(2)), None);
    assert_eq!((asked.iter().sum::<usize>(), asked.iter().max()), (rows, Some(&2)), "{asked:?}");
    assert_eq!(sizes(&split(Some(2)), Some(1)), vec![1; rows], "who reads it may want another number");
    assert!(sizes(&split(None), None).iter().max().unwrap() > &2);
}

#[test]
fn a_scan_with_a_limit_has_no_splits() {
    let (_world, table) = seven_rows();
    let scan = Scan::plan(&table, ScanRequest { limit: Some(2), ..ScanRequest::default() }).unwrap();
    assert_eq!(scan.count().unwrap(), 2);
    for error in [scan.splits(None).unwrap_err(), scan.plain().unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::InvalidOption);
        assert!(error.message().contains("limit") && error.hint().unwrap().contains("limit"), "{error}");
    }
}
