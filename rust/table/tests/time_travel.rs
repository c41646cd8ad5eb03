//! States of the past, and when they are no longer whole.

use hudini_format::action::{CleanMetadata, CommitMetadata, WriteStat};
use hudini_table::ErrorKind;
use hudini_table::scan::{Scan, ScanRequest};

use crate::support::{Place, Spec, World, row};

/// A clean by number of versions names no commit from which on all is kept.
#[test]
fn a_clean_that_keeps_versions_ends_time_travel_to_before_it() {
    let (world, spec) = (World::new(Place::Memory), Spec::cow());
    let table = spec.create(&world);
    let write = |ts| spec.upsert(&table, &[row("a", "A", ts, "")]).unwrap();
    let (first, second) = (write(1), write(2));
    let read = |as_of: &str| {
        let request = ScanRequest { as_of: Some(as_of.to_owned()), ..ScanRequest::default() };
        Scan::plan(&table, request).map(drop)
    };
    let (at, done) = (second.completed.unwrap(), "29991231235959999");
    let mut clean = CleanMetadata { start_clean_time: at.clone(), ..CleanMetadata::default() };
    let path = format!(".hoodie/timeline/{at}_{done}.clean");
    world.store.replace(&path, &clean.encode().unwrap()).unwrap();
    read(&first.instant.clone().unwrap()).unwrap();
    clean.total_files_deleted = 1;
    world.store.replace(&path, &clean.encode().unwrap()).unwrap();
    assert_eq!(read(&first.instant.unwrap()).unwrap_err().kind(), ErrorKind::InstantCleaned);
    read(&at).unwrap();
}

/// A file that another engine wrote, and that was registered where it lies, is there by another name than commits say.
#[test]
fn registered_files_of_others_are_refused_by_name() {
    let (world, spec) = (World::new(Place::Memory), Spec::cow());
    let table = spec.create(&world);
    spec.upsert(&table, &[row("a", "A", 1, "")]).unwrap();
    let path = Some("A/part-0.parquet_29990101000000000_hudiext".to_owned());
    let metadata = CommitMetadata {
        partition_to_write_stats: Some([("A".to_owned(), vec![WriteStat { path, ..WriteStat::default() }])].into()),
        ..CommitMetadata::default()
    };
    let instant = ".hoodie/timeline/29990101000000000_29990101000000001.commit";
    world.store.replace(instant, &metadata.encode().unwrap()).unwrap();
    let error = Scan::plan(&table, ScanRequest::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
}
