//! Writers that keep the metadata table: what it says is what lies there, after every write and over its own compactions.

use hudini_format::action::CompactionPlan;
use hudini_table::config::TableConfig;
use hudini_table::metadata;
use hudini_table::options::{Options, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::storage::faulty::{Fault, FaultPlan};
use rstest::rstest;

use crate::support::{Model, Place, Row, Spec, Stages, World, row, rows_of, upserted};

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

const OWN: &str = ".hoodie/metadata/.hoodie/timeline";

/// The file of the one completed compaction of the metadata table.
fn compaction(world: &World) -> Option<String> {
    let completed = world.names_below(&format!("{OWN}/"));
    let mut completed = completed.into_iter().filter(|path| path.ends_with(".commit"));
    let found = completed.next();
    assert_eq!(completed.next(), None);
    found
}

/// A write that was begun before the metadata table was compacted, told to it behind that, and dies at call `n` of its end.
/// Answers its instant, and at which call it would have completed.
fn told_behind_a_compaction(n: u64) -> (World, Model, String, u64) {
    let (world, spec) = (World::keeping_metadata(Place::Memory), one_bucket());
    let mut model = Model::new();
    let mut write = |n: i64, compacts_after: &str| {
        let compacts = [("hoodie.metadata.compact.max.delta.commits".to_owned(), compacts_after.to_owned())];
        let mut table = world.table();
        table.options = Options::parse(compacts).unwrap().with(&table.options);
        spec.upsert(&table, &nth_rows(n)).unwrap();
        model = upserted(&model, &nth_rows(n));
    };
    spec.create(&world);
    (0..3).for_each(|n| write(n, "100"));
    let (table, faulty) = world.faulty(FaultPlan::none().at(n, Fault::Kill));
    let mut dead = Stages::new(&world, &spec, &[row("D", "D", 9, "dead")]);
    dead.table = table;
    (0..3).for_each(|step| dead.step(step).unwrap());
    let time = dead.time();
    write(3, "1");
    assert_eq!(dead.commit().is_err(), faulty.is_dead());
    let completed = format!(".hoodie/timeline/{time}_");
    let deed = faulty.log().into_iter().find(|call| call.op == "create" && call.path.starts_with(&completed));
    let deed = deed.unwrap().n;
    (world, model, time, deed)
}

fn one_bucket() -> Spec {
    Spec { buckets: 1, ..Spec::cow() }
}

/// A compaction may be carried out long after it was planned. What was told meanwhile lies on its slice, and can be taken back.
#[rstest]
fn what_no_compaction_has_folded_is_taken_back_and_the_rest_kept(#[values(false, true)] named: bool) {
    let deed = told_behind_a_compaction(u64::MAX).3;
    let (world, model, dead, _) = told_behind_a_compaction(deed);
    let told = world.names_below(&format!("{OWN}/{dead}_"));
    let [told] = &told[..] else { panic!("{told:?}") };
    // The compaction completes behind it.
    let before = compaction(&world).unwrap();
    let (requested, _) = before.rsplit_once('_').unwrap();
    let time = told.rsplit_once('_').unwrap().1.strip_suffix(".deltacommit").unwrap();
    let completed = format!("{requested}_{}.commit", time.parse::<u64>().unwrap() + 1);
    world.put(&completed, &world.files()[&before]);
    assert!(world.store.delete(&before).unwrap());
    if named {
        let log = world.names_below(".hoodie/metadata/files/").into_iter().find(|path| path.contains(&dead)).unwrap();
        let path = format!("{requested}.compaction.requested");
        let mut plan = CompactionPlan::decode(&world.files()[&path]).unwrap();
        let logs = &mut plan.operations.as_mut().unwrap()[0].delta_file_paths;
        logs.get_or_insert_default().push(log.rsplit_once('/').unwrap().1.to_owned());
        world.store.replace(&path, &plan.encode().unwrap()).unwrap();
    }
    one_bucket().upsert(&world.table(), &nth_rows(4)).unwrap();
    assert_eq!(compaction(&world), (!named).then_some(completed), "else it is made anew");
    assert_eq!(rows_of(&world.table()), upserted(&model, &nth_rows(4)));
    world.assert_tidy();
    world.assert_sound();
}
