//! Which files a scan leaves to other readers of Parquet: those whose rows they find as it would show them.

use hudini_table::Table;
use hudini_table::options::QueryType;
use hudini_table::scan::{Plain, Scan, ScanRequest, Window};

use crate::support::{Place, Spec, World, row};

fn plain(table: &Table, request: ScanRequest) -> Plain {
    Scan::plan(table, request).unwrap().plain().unwrap()
}

fn counts(table: &Table, request: ScanRequest) -> (usize, usize) {
    let plain = plain(table, request);
    (plain.files.len(), plain.rest.len())
}

#[test]
fn files_without_logs_are_plain() {
    let spec = Spec { buckets: 1, ..Spec::mor() };
    let world = World::new(Place::Local);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a1", "A", 1, "v"), row("b1", "B", 1, "v")]).unwrap();
    let found = plain(&table, ScanRequest::default());
    assert_eq!(found.rest, []);
    let root = world.store.root();
    let names: Vec<_> = found.files.iter().map(|file| file.strip_prefix(root).unwrap()).collect();
    assert_eq!(names.iter().map(|name| &name[..3]).collect::<Vec<_>>(), ["/A/", "/B/"]);
    spec.upsert(&table, &[row("a1", "A", 2, "w")]).unwrap();
    assert_eq!(counts(&table, ScanRequest::default()), (1, 1));
    let optimized = ScanRequest { mode: Some(QueryType::ReadOptimized), ..ScanRequest::default() };
    assert_eq!(counts(&table, optimized), (2, 0));
}

#[test]
fn what_chooses_rows_leaves_none() {
    let spec = Spec { buckets: 1, ..Spec::cow() };
    let world = World::new(Place::Local);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a1", "A", 1, "v"), row("b1", "B", 1, "v")]).unwrap();
    let any = ScanRequest::default;
    for request in [
        ScanRequest { filter: Some("ts = 1".into()), ..any() },
        ScanRequest { window: Some(Window::default()), ..any() },
        ScanRequest { columns: Some(vec![]), ..any() },
    ] {
        assert_eq!(counts(&table, request.clone()), (0, 2), "{request:?}");
    }
    assert_eq!(counts(&table, any()), (2, 0));
}

#[test]
fn a_partition_column_must_hold_what_the_folder_says() {
    let spec = Spec { buckets: 1, ..Spec::cow() };
    let world = World::new(Place::Local);
    let table = spec.create(&world);
    // The folder of an empty value is that of null.
    spec.upsert(&table, &[row("a1", "A", 1, "v"), row("n1", "", 1, "v")]).unwrap();
    assert_eq!(counts(&table, ScanRequest::default()), (1, 1));
    let columns = Some(vec!["id".to_owned(), "ts".to_owned()]);
    assert_eq!(counts(&table, ScanRequest { columns, ..ScanRequest::default() }), (2, 0), "nobody asks for it");
}

#[test]
fn other_readers_must_get_at_the_files() {
    let spec = Spec { buckets: 1, ..Spec::cow() };
    let world = World::new(Place::Memory);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a1", "A", 1, "v")]).unwrap();
    assert_eq!(counts(&table, ScanRequest::default()), (0, 1));
    let world = World::new(Place::Local);
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a1", "A", 1, "v"), row("u1", "ü", 1, "v"), row("g1", "[b]", 1, "v")]).unwrap();
    assert_eq!(counts(&table, ScanRequest::default()), (1, 2), "brackets are a pattern to some, and letters escapes");
}
