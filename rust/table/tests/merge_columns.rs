//! Rows that are put together of several versions, or found by other means than stored keys: partial updates, placeholders,
//! positions, virtual keys, mergers of one's own. The answers are those of Apache Hudi 1.2.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hudini_format::action::CommitMetadata;
use hudini_format::avro::RowEncoder;
use hudini_format::instant::{Action, InstantFile};
use hudini_format::log::{BlockKind, DeleteRecord, HeaderKey, OrderingValue, avro_block, delete, encode_block};
use hudini_format::name::LogFileName;
use hudini_format::positions::Positions;
use hudini_format::schema::{Record, avro_text, meta};
use hudini_table::config::{self, Buckets, NewTable};
use hudini_table::index::Index;
use hudini_table::merge::{self, MergeRows};
use hudini_table::options::{MergeMode, Operation, Options, TableType};
use hudini_table::scan::{Scan, ScanRequest, Window};
use hudini_table::table::Table;
use hudini_table::{ErrorKind, Result, view};
use rstest::rstest;

use crate::support::{Place, World, write_batches};

/// id, ts, v, w.
type Line<'a> = (&'a str, i64, Option<&'a str>, Option<&'a str>);

fn user_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("ts", DataType::Int64, true),
        Field::new("v", DataType::Utf8, true),
        Field::new("w", DataType::Utf8, true),
    ]))
}

fn batch(lines: &[Line<'_>]) -> RecordBatch {
    let text =
        |of: fn(&Line<'_>) -> Option<String>| -> ArrayRef { Arc::new(lines.iter().map(of).collect::<StringArray>()) };
    let columns = vec![
        text(|l| Some(l.0.to_owned())),
        Arc::new(Int64Array::from_iter_values(lines.iter().map(|l| l.1))) as ArrayRef,
        text(|l| l.2.map(str::to_owned)),
        text(|l| l.3.map(str::to_owned)),
    ];
    RecordBatch::try_new(user_schema(), columns).unwrap()
}

/// A merge-on-read table of one file group whose base file has these rows, with more in its properties.
fn table(lines: &[Line<'_>], properties: &[(&str, &str)]) -> World {
    let world = World::new(Place::Memory);
    let new = NewTable {
        name: "trips".into(),
        database: None,
        key_generator: None,
        version: 9,
        table_type: TableType::MergeOnRead,
        schema: user_schema().as_ref().clone(),
        record_key: vec!["id".into()],
        partition_by: Vec::new(),
        ordering: vec!["ts".into()],
        merge_mode: Some(MergeMode::EventTime),
        hive_style: false,
        url_encode: false,
        index: Index::Buckets(Buckets::new(1, vec!["id".into()])),
    };
    let handle = world.table();
    assert!(config::create(world.store.as_ref(), &handle.context, &new).unwrap());
    write_batches(&handle, Operation::Upsert, &user_schema(), vec![batch(lines)]).unwrap();
    let path = ".hoodie/hoodie.properties";
    let mut text = String::from_utf8(world.store.read(path).unwrap().unwrap().to_vec()).unwrap();
    for (key, value) in properties {
        text = text.lines().filter(|line| !line.starts_with(&format!("{key}="))).collect::<Vec<_>>().join("\n");
        text += &format!("\n{key}={value}\n");
    }
    world.store.replace(path, text.as_bytes()).unwrap();
    world
}

fn base(world: &World) -> (String, String) {
    let table = world.table();
    let (config, snapshot) = (table.config().unwrap(), table.snapshot(None).unwrap());
    let slice = view::newest_slices(world.store.as_ref(), &config, &snapshot, "").unwrap().remove(0);
    (slice.file_id, slice.base_instant)
}

#[derive(Debug, Clone, Default)]
struct Block<'a> {
    lines: Vec<Line<'a>>,
    /// A delete block of these keys, with that ordering value, instead.
    deletes: Option<(Vec<&'a str>, i32)>,
    /// Only these columns, in a block of partial updates.
    only: Option<&'a [&'a str]>,
    positions: Option<Vec<u64>>,
    /// The instant of the positions, if it is not the base file's.
    of: Option<&'a str>,
    /// The key in the meta column, if it is not the row's.
    key: Option<&'a str>,
}

fn rows<'a>(lines: &[Line<'a>]) -> Block<'a> {
    Block { lines: lines.to_vec(), ..Block::default() }
}

fn partial<'a>(lines: &[Line<'a>], only: &'a [&'a str]) -> Block<'a> {
    Block { only: Some(only), ..rows(lines) }
}

fn deletes<'a>(keys: &[&'a str], ordering: i32) -> Block<'a> {
    Block { deletes: Some((keys.to_vec(), ordering)), ..Block::default() }
}

impl Block<'_> {
    fn encode(&self, instant: &str, base_instant: &str) -> Vec<u8> {
        let positions = self.positions.as_ref().map(|p| p.iter().copied().collect::<Positions>().to_header());
        let mut headers = vec![(HeaderKey::InstantTime, instant)];
        if let Some(positions) = &positions {
            headers.push((HeaderKey::RecordPositions, positions.as_str()));
            headers.push((HeaderKey::BaseFileInstantTimeOfRecordPositions, self.of.unwrap_or(base_instant)));
        }
        if let Some((keys, ordering)) = &self.deletes {
            let delete = |key: &&str| DeleteRecord {
                key: Some((*key).to_owned()),
                partition: Some(String::new()),
                ordering: if *ordering == 0 {
                    OrderingValue::Int(0)
                } else {
                    OrderingValue::Long(i64::from(*ordering))
                },
            };
            let content = delete::encode(&keys.iter().map(delete).collect::<Vec<_>>()).unwrap();
            return encode_block(BlockKind::Delete, &headers, &content).unwrap();
        }
        let user = batch(&self.lines);
        let at: Vec<usize> = match self.only {
            Some(only) => only.iter().map(|name| user.schema().index_of(name).unwrap()).collect(),
            None => (0..user.num_columns()).collect(),
        };
        let user = user.project(&at).unwrap();
        let count = user.num_rows();
        let same = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; count])) };
        let keys: ArrayRef =
            Arc::new(self.lines.iter().map(|l| Some(self.key.unwrap_or(l.0))).collect::<StringArray>());
        let columns = [same(instant), same("0_0_1"), keys, same(""), same("f")];
        let columns = columns.into_iter().chain(user.columns().iter().cloned()).collect();
        let schema = meta::with_meta(&user.schema());
        let text = avro_text(&schema, "trips").unwrap();
        let all = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
        let record = Record::parse(&text).unwrap();
        let encoder = RowEncoder::new(&record, &all).unwrap();
        let datums = (0..count).map(|row| {
            let mut out = Vec::new();
            encoder.encode(row, &mut out).unwrap();
            out
        });
        let datums: Vec<Vec<u8>> = datums.collect();
        headers.push((HeaderKey::Schema, text.as_str()));
        if self.only.is_some() {
            headers.push((HeaderKey::IsPartial, "true"));
        }
        let content = avro_block::encode_records(datums.iter().map(Vec::as_slice)).unwrap();
        encode_block(BlockKind::AvroData, &headers, &content).unwrap()
    }
}

/// A delta commit of one log file with these blocks.
fn log(world: &World, blocks: &[Block<'_>]) {
    let (file_id, base_instant) = base(world);
    let timeline = world.table().timeline().unwrap();
    let newest: u64 = timeline.newest_time().unwrap().parse().unwrap();
    let (time, completed) = ((newest + 1).to_string(), (newest + 2).to_string());
    let content: Vec<u8> = blocks.iter().flat_map(|block| block.encode(&time, &base_instant)).collect();
    let token = Some("0-12-34".to_owned());
    let name = LogFileName { file_id, instant: time.clone(), version: 1, token, cdc: false };
    world.put(&name.to_string(), &content);
    let newest = timeline.commits().next_back().unwrap();
    let metadata: CommitMetadata = timeline.commit_metadata(world.store.as_ref(), newest).unwrap();
    let file = InstantFile::completed(&time, &completed, Action::DeltaCommit);
    world.put(&format!("{}/{file}", timeline.dir), &metadata.encode().unwrap());
}

fn with_options(mut table: Table, options: &[(&str, &str)]) -> Table {
    table.options = Options::parse(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))).unwrap();
    table
}

fn read(table: &Table, columns: &[&str]) -> Result<Vec<Vec<String>>> {
    let columns = Some(columns.iter().map(|c| (*c).to_owned()).collect());
    let mut lines = Vec::new();
    for batch in Scan::plan(table, ScanRequest { columns, ..ScanRequest::default() })?.read()? {
        let batch = batch?;
        let cell = |column: &ArrayRef, row: usize| match column.data_type() {
            _ if column.is_null(row) => "-".to_owned(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            _ => column.as_string::<i32>().value(row).to_owned(),
        };
        lines.extend((0..batch.num_rows()).map(|n| batch.columns().iter().map(|c| cell(c, n)).collect::<Vec<_>>()));
    }
    lines.sort();
    Ok(lines)
}

/// Every row in one text: `id ts v w`.
fn seen(table: &Table) -> Vec<String> {
    read(table, &["id", "ts", "v", "w"]).unwrap().iter().map(|line| line.join(" ")).collect()
}

#[rstest]
#[case::newer(&[partial(&[("k", 6, Some("new"), None)], &["ts", "v"])], "k 6 new w")]
#[case::as_old(&[partial(&[("k", 5, Some("new"), None)], &["ts", "v"])], "k 5 new w")]
#[case::older(&[partial(&[("k", 4, Some("new"), None)], &["ts", "v"])], "k 5 v w")]
#[case::null_is_a_value(&[partial(&[("k", 6, None, None)], &["ts", "v"])], "k 6 - w")]
#[case::two(&[partial(&[("k", 6, Some("x"), None)], &["ts", "v"]), partial(&[("k", 7, None, Some("y"))], &["ts", "w"])], "k 7 x y")]
#[case::filled_by_an_older_one(&[partial(&[("k", 7, Some("x"), None)], &["ts", "v"]), partial(&[("k", 6, None, Some("y"))], &["ts", "w"])], "k 7 x y")]
#[case::on_a_whole_row(&[rows(&[("k", 7, Some("x"), Some("y"))]), partial(&[("k", 8, Some("z"), None)], &["ts", "v"])], "k 8 z y")]
#[case::after_a_delete(&[deletes(&["k"], 0), partial(&[("k", 9, Some("z"), None)], &["ts", "v"])], "k 9 z w")]
fn partial_updates(#[case] blocks: &[Block<'_>], #[case] expected: &str) {
    let one_commit = table(&[("k", 5, Some("v"), Some("w"))], &[]);
    log(&one_commit, blocks);
    assert_eq!(seen(&one_commit.table()), [expected]);
    let many = table(&[("k", 5, Some("v"), Some("w"))], &[]);
    blocks.iter().for_each(|block| log(&many, std::slice::from_ref(block)));
    assert_eq!(seen(&many.table()), [expected]);
    let last = expected.rsplit(' ').next().unwrap();
    assert_eq!(read(&many.table(), &["w"]).unwrap(), [[last]]);
}

#[test]
fn a_delete_of_a_partial_update() {
    let world = table(&[("k", 5, Some("v"), Some("w"))], &[]);
    log(&world, &[partial(&[("k", 6, Some("x"), None)], &["ts", "v"]), deletes(&["k"], 0)]);
    assert!(seen(&world.table()).is_empty());
}

#[test]
fn partial_updates_that_cannot_be_ordered_are_refused() {
    let world = table(&[("k", 5, Some("v"), Some("w"))], &[]);
    log(&world, &[partial(&[("k", 0, Some("x"), None)], &["v"])]);
    let e = read(&world.table(), &["id"]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
    assert!(e.message().contains("'ts'"), "{e}");
}

const MODE: &str = "hoodie.table.partial.update.mode";
const MERGE_MODE: &str = "hoodie.record.merge.mode";
const UNAVAILABLE: &str = "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value";

#[rstest]
#[case::filled("EVENT_TIME_ORDERING", &[("k", 6, None, Some("2"))], "k 6 base 2")]
#[case::logs_first("EVENT_TIME_ORDERING", &[("k", 8, None, Some("7")), ("k", 7, Some("x"), None)], "k 8 x 7")]
#[case::later_wins("COMMIT_TIME_ORDERING", &[("k", 8, None, Some("7")), ("k", 7, Some("x"), None)], "k 7 x 7")]
fn defaults_are_ignored(#[case] mode: &str, #[case] lines: &[Line<'_>], #[case] expected: &str) {
    let world = table(&[("k", 5, Some("base"), Some("1"))], &[(MODE, "IGNORE_DEFAULTS"), (MERGE_MODE, mode)]);
    lines.iter().for_each(|line| log(&world, &[rows(&[*line])]));
    assert_eq!(seen(&world.table()), [expected]);
}

#[test]
fn a_late_row_fills_what_the_winner_lacks() {
    let world = table(&[("k", 5, None, Some("1"))], &[(MODE, "IGNORE_DEFAULTS")]);
    log(&world, &[rows(&[("k", 4, Some("x"), Some("9"))])]);
    assert_eq!(seen(&world.table()), ["k 5 x 1"]);
    let commit = read(&world.table(), &[meta::COMMIT_TIME]).unwrap();
    assert_eq!(commit, [[base(&world).1]], "the winner's meta columns stay");
}

/// In tables of version 8 the payload class itself merges. Apache Hudi 1.2 answers so for versions 6 and 8.
const BY_PAYLOAD: &[(&str, &str)] = &[
    ("hoodie.table.version", "8"),
    ("hoodie.table.precombine.field", "ts"),
    (MERGE_MODE, "CUSTOM"),
    ("hoodie.record.merge.strategy.id", "00000000-0000-0000-0000-000000000000"),
    ("hoodie.compaction.payload.class", "org.apache.hudi.common.model.PartialUpdateAvroPayload"),
];

#[rstest]
#[case::a_late_delete(&[deletes(&["k"], 4)], None, true)]
#[case::a_delete_behind_a_newer_row(&[rows(&[("k", 9, Some("u"), None)]), deletes(&["k"], 7)], None, true)]
#[case::a_late_row_behind_a_delete(&[deletes(&["k"], 9), rows(&[("k", 7, Some("late"), None)])], Some("k 7 late 1"), false)]
#[case::a_late_row(&[rows(&[("k", 4, Some("x"), Some("9"))])], Some("k 5 x 1"), false)]
#[case::late_among_logs(&[rows(&[("k", 8, None, Some("8"))]), rows(&[("k", 7, Some("x"), None)])], Some("k 8 x 8"), false)]
fn partial_updates_by_the_payload_class(
    #[case] blocks: &[Block<'_>],
    #[case] expected: Option<&str>,
    #[case] keeps_commit: bool,
) {
    let world = table(&[("k", 5, None, Some("1"))], BY_PAYLOAD);
    blocks.iter().for_each(|block| log(&world, std::slice::from_ref(block)));
    assert_eq!(seen(&world.table()), Vec::from_iter(expected));
    let commits = read(&world.table(), &[meta::COMMIT_TIME]).unwrap();
    let newest = world.table().timeline().unwrap().commits().next_back().unwrap().requested.clone();
    assert!(commits.iter().all(|commit| keeps_commit || *commit == [newest.clone()]), "the later row's meta columns");
}

#[test]
fn unavailable_values_are_filled_and_nulls_are_not() {
    let world = table(
        &[("a", 5, Some("base"), Some("1")), ("b", 5, None, Some("1"))],
        &[(MODE, "FILL_UNAVAILABLE"), (UNAVAILABLE, "?")],
    );
    log(&world, &[rows(&[("a", 6, Some("?"), None), ("b", 6, Some("?"), Some("?")), ("c", 1, Some("?"), Some("2"))])]);
    assert_eq!(seen(&world.table()), ["a 6 base -", "b 6 - 1", "c 1 ? 2"]);
}

#[rstest]
#[case::unknown_mode(&[(MODE, "FILL_SOMEHOW")], "FILL_SOMEHOW")]
#[case::no_text(&[(MODE, "FILL_UNAVAILABLE")], "without its text")]
#[case::unregistered(&[(MERGE_MODE, "CUSTOM"), ("hoodie.record.merge.strategy.id", "none-of-ours")], "none-of-ours")]
#[case::payload(&[(MERGE_MODE, "CUSTOM"), ("hoodie.compaction.payload.class", "com.example.Mine")], "com.example.Mine")]
#[case::half_a_marker(&[("hoodie.payload.delete.field", "v")], "without the other")]
fn what_is_not_understood_is_refused_by_name(#[case] properties: &[(&str, &str)], #[case] named: &str) {
    let world = table(&[("k", 5, None, None)], properties);
    assert_eq!(seen(&world.table()), ["k 5 - -"], "where there are no logs, nothing is merged");
    log(&world, &[rows(&[("k", 6, None, None)])]);
    let e = read(&world.table(), &["id"]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
    assert!(e.message().contains(named), "{e}");
}

#[rstest]
#[case(&[(MODE, "IGNORE_DEFAULTS")])]
#[case(&[("hoodie.populate.meta.fields", "false")])]
#[case(&[("hoodie.datasource.write.drop.partition.columns", "true")])]
#[case(&[("hoodie.bootstrap.base.path", "/elsewhere")])]
#[case(&[("hoodie.record.merge.property.hoodie.payload.delete.field", "v")])]
fn what_is_only_read_is_not_written(#[case] properties: &[(&str, &str)]) {
    let world = table(&[("k", 5, Some("v"), Some("w"))], properties);
    assert_eq!(seen(&world.table()), ["k 5 v w"]);
    let lines = batch(&[("k", 6, None, None)]);
    let e = write_batches(&world.table(), Operation::Upsert, &user_schema(), vec![lines]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn rows_with_the_delete_marker_are_deletes() {
    let marker = [("hoodie.payload.delete.field", "v"), ("hoodie.payload.delete.marker", "D")];
    let lines = [("a", 5, Some("x"), None), ("b", 5, Some("x"), None), ("c", 5, Some("D"), None)];
    let world = table(&lines, &marker);
    log(&world, &[rows(&[("a", 6, Some("D"), None), ("b", 4, Some("D"), None), ("d", 1, Some("D"), None)])]);
    // Rows of base files were taken in before.
    assert_eq!(seen(&world.table()), ["b 5 x -", "c 5 D -"]);
}

const POSITIONS: &str = "hoodie.merge.use.record.positions";

/// Keys a, b, c at 0, 1, 2; the log has b with the position of c.
#[rstest]
#[case::positions(Block::default(), &["a 5 - -", "b 5 - -", "b 6 x -"])]
#[case::of_another_base(Block { of: Some("20200101000000000"), ..Block::default() }, &["a 5 - -", "b 6 x -", "c 5 - -"])]
#[case::none(Block { positions: Some(Vec::new()), ..Block::default() }, &["a 5 - -", "b 6 x -", "c 5 - -"])]
fn positions_shifted_by_one(#[case] how: Block<'_>, #[case] expected: &[&str]) {
    let world = table(&[("a", 5, None, None), ("b", 5, None, None), ("c", 5, None, None)], &[]);
    let lines = vec![("b", 6, Some("x"), None)];
    log(&world, &[Block { lines, positions: how.positions.clone().or(Some(vec![2])), ..how }]);
    assert_eq!(seen(&world.table()), expected);
    let by_key = with_options(world.table(), &[(POSITIONS, "false")]);
    assert_eq!(seen(&by_key), ["a 5 - -", "b 6 x -", "c 5 - -"]);
}

/// Neither the key nor an ordering field is read: of a count no column at all.
#[test]
fn rows_are_counted_by_position() {
    let commit_time = [("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING")];
    let world = table(&[("a", 5, None, None), ("b", 5, None, None), ("c", 5, None, None)], &commit_time);
    log(&world, &[Block { positions: Some(vec![1]), ..rows(&[("b", 6, Some("x"), None)]) }]);
    log(&world, &[Block { positions: Some(vec![0]), ..deletes(&["a"], 0) }]);
    assert_eq!(Scan::plan(&world.table(), ScanRequest::default()).unwrap().count().unwrap(), 2);
}

#[test]
fn one_block_without_positions_and_all_merge_by_key() {
    let world = table(&[("a", 5, None, None), ("b", 5, None, None), ("c", 5, None, None)], &[]);
    log(&world, &[Block { positions: Some(vec![2]), ..rows(&[("b", 6, Some("x"), None)]) }]);
    log(&world, &[rows(&[("a", 6, Some("y"), None)])]);
    assert_eq!(seen(&world.table()), ["a 6 y -", "b 6 x -", "c 5 - -"]);
}

#[test]
fn deletes_and_partial_updates_by_position() {
    let world = table(&[("a", 5, None, Some("w")), ("b", 5, None, None), ("c", 5, None, None)], &[]);
    log(&world, &[Block { positions: Some(vec![0, 2]), ..deletes(&["a", "c"], 4) }]);
    log(&world, &[Block { positions: Some(vec![1]), ..deletes(&["b"], 0) }]);
    let update = partial(&[("a", 6, Some("x"), None)], &["ts", "v"]);
    log(&world, &[Block { positions: Some(vec![0]), ..update }]);
    assert_eq!(seen(&world.table()), ["a 6 x w", "c 5 - -"]);
    assert_eq!(read(&world.table(), &["w"]).unwrap(), [["-"], ["w"]]);
    let merged_by = Scan::plan(&world.table(), ScanRequest::default()).unwrap().explain().unwrap().merged_by;
    assert!(merged_by.contains("position"), "{merged_by}");
}

#[test]
fn fewer_positions_than_rows_are_damage() {
    let world = table(&[("a", 5, None, None), ("b", 5, None, None)], &[]);
    log(&world, &[Block { positions: Some(vec![0]), ..rows(&[("a", 6, None, None), ("b", 6, None, None)]) }]);
    assert_eq!(read(&world.table(), &["id"]).unwrap_err().kind(), ErrorKind::CorruptFile);
}

#[test]
fn virtual_keys_are_made_of_the_rows() {
    let world = table(&[("a", 5, None, None), ("b", 5, None, None)], &[("hoodie.populate.meta.fields", "false")]);
    log(&world, &[Block { key: Some("rubbish"), ..rows(&[("a", 6, Some("x"), None), ("b", 4, Some("x"), None)]) }]);
    log(&world, &[deletes(&["b"], 5)]);
    assert_eq!(seen(&world.table()), ["a 6 x -"]);
    assert_eq!(read(&world.table(), &["v"]).unwrap(), [["x"]]);
    let scan = Scan::plan(&world.table(), ScanRequest::default()).unwrap();
    assert!(scan.schema().fields().iter().all(|f| !meta::is_meta(f.name())), "meta columns mean nothing there");
    let window = ScanRequest { window: Some(Window::default()), ..ScanRequest::default() };
    assert_eq!(Scan::plan(&world.table(), window).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn unmerged_rows_stand_side_by_side() {
    let world = table(&[("a", 5, None, None), ("b", 5, None, None)], &[]);
    log(&world, &[rows(&[("a", 4, Some("x"), None)]), deletes(&["b"], 0)]);
    let unmerged = with_options(world.table(), &[("hoodie.datasource.merge.type", "skip_merge")]);
    assert_eq!(seen(&unmerged), ["a 4 x -", "a 5 - -", "b 5 - -"]);
    assert_eq!(seen(&world.table()), ["a 5 - -"]);
}

/// Joins the texts of `v`; what becomes too long is gone.
struct Joining {
    rows_lost: bool,
}

impl MergeRows for Joining {
    fn merge(&self, old: &RecordBatch, new: &RecordBatch) -> Result<RecordBatch> {
        if self.rows_lost {
            return Ok(new.slice(0, 0));
        }
        let at = new.schema().index_of("v").unwrap();
        let texts = |rows: &RecordBatch| rows.column(at).as_string::<i32>().clone();
        let pairs = texts(old)
            .iter()
            .zip(&texts(new))
            .map(|(old, new)| Some(format!("{}{}", old.unwrap(), new.unwrap())))
            .collect::<StringArray>();
        let mut columns = new.columns().to_vec();
        columns[at] = Arc::new(pairs);
        Ok(RecordBatch::try_new(new.schema(), columns)?)
    }
}

#[test]
fn a_merger_of_ones_own_sees_every_pair() {
    let id = "12345678-0000-0000-0000-000000000001";
    merge::register(id, Arc::new(Joining { rows_lost: false }));
    let lines = [("a", 5, Some("a"), None), ("b", 5, Some("b"), None), ("c", 5, Some("c"), None)];
    let world = table(&lines, &[(MERGE_MODE, "CUSTOM"), ("hoodie.record.merge.strategy.id", id)]);
    // Twice in one block, in two blocks, a delete that loses, one that wins, and a new key.
    log(&world, &[rows(&[("a", 1, Some("1"), None), ("a", 2, Some("2"), None), ("d", 1, Some("d"), None)])]);
    log(&world, &[rows(&[("a", 3, Some("3"), None), ("d", 0, Some("e"), None)]), deletes(&["b"], 4)]);
    log(&world, &[deletes(&["c"], 6)]);
    assert_eq!(seen(&world.table()), ["a 3 a123 -", "b 5 b -", "d 0 de -"]);
    assert_eq!(read(&world.table(), &["v"]).unwrap(), [["a123"], ["b"], ["de"]], "a merger gets all columns");
    let e = write_batches(&world.table(), Operation::Upsert, &user_schema(), vec![batch(&lines)]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn a_merger_that_loses_rows_is_an_error() {
    let id = "12345678-0000-0000-0000-000000000002";
    merge::register(id, Arc::new(Joining { rows_lost: true }));
    let properties = [(MERGE_MODE, "CUSTOM"), ("hoodie.record.merge.strategy.id", id)];
    let world = table(&[("a", 5, Some("a"), None)], &properties);
    log(&world, &[rows(&[("a", 1, Some("1"), None)])]);
    let e = read(&world.table(), &["id"]).unwrap_err();
    assert_eq!((e.kind(), e.message()), (ErrorKind::SchemaMismatch, "a merger gave 0 rows for 1 pairs"));
}
