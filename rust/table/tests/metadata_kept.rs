//! Writers that keep the metadata table: what it says is what lies there, after every write and over its own compactions.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use hudini_table::config::TableConfig;
use hudini_table::metadata;
use hudini_table::options::TableType;
use hudini_table::scan::{Scan, ScanRequest};
use rstest::rstest;

use support::{Model, Place, Row, Spec, World, row, rows_of, upserted};

/// Rows that change some keys and add some, in several partitions.
fn nth_rows(n: i64) -> Vec<Row> {
    let city = ["A", "B", "C"][n as usize % 3];
    vec![row(&format!("{city}{}", n % 5), city, n, &format!("v{n}")), row(&format!("{city}-{n}"), city, n, "new")]
}

fn files_of_metadata(world: &World, ending: &str) -> usize {
    world.names_below(".hoodie/metadata/").iter().filter(|path| path.ends_with(ending)).count()
}

#[rstest]
fn thirty_writes_are_told(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
    #[values(true, false)] partitioned: bool,
) {
    let world = World::keeping_metadata(Place::Memory);
    let spec = Spec { partitioned, ..Spec::new(table_type) };
    spec.create(&world);
    let mut model = Model::new();
    for n in 0..30 {
        let rows = nth_rows(n);
        spec.upsert(&world.table(), &rows).unwrap();
        model = upserted(&model, &rows);
        assert_eq!(rows_of(&world.table()), model, "after write {n}");
    }
    world.assert_tidy();
    world.assert_sound();
    let config = TableConfig::load(world.store.as_ref()).unwrap();
    let kept =
        if partitioned { vec!["column_stats", "files", "partition_stats"] } else { vec!["column_stats", "files"] };
    assert_eq!(metadata::partitions(&config), kept);
    assert!(files_of_metadata(&world, ".commit") >= 2, "the metadata table is compacted");
    assert!(files_of_metadata(&world, ".hfile") >= 4);
}

#[test]
fn filters_use_what_was_told() {
    let world = World::keeping_metadata(Place::Memory);
    let spec = Spec { buckets: 4, ..Spec::cow() };
    spec.create(&world);
    for n in 0..12 {
        spec.upsert(&world.table(), &nth_rows(n)).unwrap();
    }
    let filter = Some("ts = 7".to_owned());
    let scan = Scan::plan(&world.table(), ScanRequest { filter, ..ScanRequest::default() }).unwrap();
    let rows: usize = scan.read().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 2);
    let explained = scan.explain().unwrap();
    assert_eq!(explained.listing, "metadata table");
    assert!(explained.pruned.slices >= 6, "{explained:?}");
}

#[test]
fn a_table_that_was_written_without_gets_one() {
    let bare = World::new(Place::Memory);
    let spec = Spec::mor();
    let rows: Vec<Row> = (0..6).flat_map(nth_rows).collect();
    spec.upsert(&spec.create(&bare), &rows).unwrap();
    spec.upsert(&bare.table(), &nth_rows(7)).unwrap();
    assert_eq!(files_of_metadata(&bare, ""), 0);
    let world = bare.now_keeping_metadata();
    spec.upsert(&world.table(), &nth_rows(8)).unwrap();
    world.assert_sound();
    let model = upserted(&upserted(&upserted(&Model::new(), &rows), &nth_rows(7)), &nth_rows(8));
    assert_eq!(rows_of(&world.table()), model);
}

#[rstest]
fn it_is_cleaned_and_archived_beside_its_table(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let world = World::keeping_metadata(Place::Memory);
    let spec = Spec::new(table_type);
    spec.create(&world);
    let mut model = Model::new();
    let timeline = |world: &World, ending: &str| {
        let own = world.names_below(".hoodie/metadata/.hoodie/timeline/");
        own.iter().filter(|path| !path.contains("/history/") && path.ends_with(ending)).count()
    };
    for n in 0..80 {
        let rows = nth_rows(n);
        spec.upsert(&world.table(), &rows).unwrap();
        model = upserted(&model, &rows);
        // The writes that the table has on its timeline, and the cleans between them.
        assert!(timeline(&world, ".deltacommit") <= 75, "after write {n}");
    }
    assert_eq!(rows_of(&world.table()), model);
    world.assert_tidy();
    world.assert_sound();
    assert!(world.names_below(".hoodie/metadata/.hoodie/timeline/history/").len() > 2, "its history");
    assert!(timeline(&world, ".clean") >= 1);
    let bases = |dir: &str| {
        world.names_below(&format!(".hoodie/metadata/{dir}/")).iter().filter(|p| p.ends_with("hfile")).count()
    };
    assert!(bases("files") <= 4, "{} base files", bases("files"));
}
