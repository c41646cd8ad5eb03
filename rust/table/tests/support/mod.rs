//! What the tests of whole tables share: tables over any store, rows as values, and a look at what lies on storage.
#![allow(unreachable_pub, reason = "parts of one program")]

pub mod lake;
pub mod meanwhile;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use hudini_format::action::{
    CleanMetadata, CleanPartitionMetadata, CommitMetadata, InstantInfo, RollbackPlan, RollbackRequest,
};
use hudini_format::instant::{Action as InstantAction, InstantFile};
use hudini_table::config::{self, Buckets, NewTable};
use hudini_table::context::{Context, ManualClock, SeededIds, Watch};
use hudini_table::index::Index;
use hudini_table::options::{IndexType, MergeMode, Operation, Options, TableType};
use hudini_table::scan::{Scan, ScanRequest};
use hudini_table::storage::faulty::{FaultPlan, Faulty};
use hudini_table::storage::local::Local;
use hudini_table::storage::memory::Memory;
use hudini_table::storage::{Entry, Put, Storage};
use hudini_table::timeline::{Instant, Timeline};
use hudini_table::verify::verify;
use hudini_table::view::PARTITION_FILE;
use hudini_table::write::{
    self, Action, AddedFile, CommitResult, Groups, Kept, Located, PlacedTask, Status, WriteRequest,
};
use hudini_table::{Location, Result, Table};
use tempfile::TempDir;

/// When every test begins: 2026-05-28T20:26:40Z.
pub const START: i64 = 1_780_000_000_000;

/// Between the clocks of two handles: much less than the time after which a silent writer counts as dead.
const BETWEEN_HANDLES_MS: i64 = 1_000;

/// The lock that is a file.
pub const SHARED_LOCK: &str = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider";

/// Says where a test was when it failed.
pub struct Scene(pub String);

impl Drop for Scene {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("scene: {}", self.0);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Memory,
    Local,
}

/// One store, used by handles that know nothing of each other.
pub struct World {
    pub store: Arc<dyn Storage>,
    memory: Option<Memory>,
    dir: Option<TempDir>,
    handles: AtomicI64,
    /// Whether writers keep the metadata table.
    keeps_metadata: bool,
    /// Whether writers take the lock file that Apache Hudi asks for.
    shares_lock: bool,
}

impl World {
    /// A world whose writers take the lock file that Apache Hudi asks for.
    pub fn sharing_lock(place: Place) -> Self {
        Self { shares_lock: true, ..Self::new(place) }
    }

    /// A world whose writers keep the metadata table.
    pub fn keeping_metadata(place: Place) -> Self {
        Self { keeps_metadata: true, ..Self::new(place) }
    }

    /// With writers that are told to do without the metadata table.
    pub fn new(place: Place) -> Self {
        let (handles, keeps_metadata, shares_lock) = (AtomicI64::new(0), false, false);
        match place {
            Place::Memory => {
                let memory = Memory::new("t", Arc::new(ManualClock::ticking(START)));
                let store = Arc::new(memory.clone());
                Self { store, memory: Some(memory), dir: None, handles, keeps_metadata, shares_lock }
            }
            Place::Local => {
                let dir = TempDir::new().unwrap();
                let local = Local::new(dir.path().to_str().unwrap(), Arc::new(SeededIds::new(7))).unwrap();
                Self { store: Arc::new(local), memory: None, dir: Some(dir), handles, keeps_metadata, shares_lock }
            }
        }
    }

    /// The same store, with writers that keep the metadata table from now on.
    pub fn now_keeping_metadata(self) -> Self {
        Self { keeps_metadata: true, ..self }
    }

    pub fn keeps_metadata(&self) -> bool {
        self.keeps_metadata
    }

    /// Another store with the same files.
    pub fn copy(&self) -> Self {
        let place = if self.memory.is_some() { Place::Memory } else { Place::Local };
        let copy = Self { keeps_metadata: self.keeps_metadata, shares_lock: self.shares_lock, ..Self::new(place) };
        for (path, bytes) in self.files() {
            copy.put(&path, &bytes);
        }
        copy.handles.store(self.handles.load(Ordering::SeqCst), Ordering::SeqCst);
        copy
    }

    /// A handle of a process of its own, with a clock that ticks.
    pub fn handle(&self) -> (Table, Arc<ManualClock>) {
        self.handle_on(Arc::clone(&self.store))
    }

    pub fn table(&self) -> Table {
        self.handle().0
    }

    /// What lies there is more than an hour old for handles that are made from now on.
    #[allow(clippy::disallowed_methods, reason = "files of a disk have times of the machine's clock")]
    pub fn an_hour_goes_by(&self) {
        self.handles.fetch_add(3_700_000 / BETWEEN_HANDLES_MS, Ordering::SeqCst);
        let Some(dir) = &self.dir else { return };
        let begin = std::time::UNIX_EPOCH + std::time::Duration::from_millis(START as u64);
        for path in self.files().into_keys() {
            std::fs::File::open(dir.path().join(path)).unwrap().set_modified(begin).unwrap();
        }
    }

    /// A handle whose storage fails as planned.
    pub fn faulty(&self, plan: FaultPlan) -> (Table, Faulty) {
        let faulty = Faulty::new(Arc::clone(&self.store), plan);
        (self.handle_on(Arc::new(faulty.clone())).0, faulty)
    }

    fn handle_on(&self, storage: Arc<dyn Storage>) -> (Table, Arc<ManualClock>) {
        let number = self.handles.fetch_add(1, Ordering::SeqCst);
        let clock = Arc::new(ManualClock::ticking(START + number * BETWEEN_HANDLES_MS));
        let context =
            Context { clock: Arc::clone(&clock) as _, ids: Arc::new(SeededIds::new(number as u64)), threads: 1 };
        (self.table_in(storage, context), clock)
    }

    pub fn table_in(&self, storage: Arc<dyn Storage>, context: Context) -> Table {
        let location = Location { url: self.store.root().to_owned(), storage_options: BTreeMap::new() };
        // Compressing a few rows takes longer than all the rest.
        let codec = [("hoodie.parquet.compression.codec", "uncompressed")];
        let metadata = Some(("hoodie.metadata.enable", if self.keeps_metadata { "true" } else { "false" }));
        let lock = self.shares_lock.then_some(("hoodie.write.lock.provider", SHARED_LOCK));
        let options =
            codec.into_iter().chain(metadata).chain(lock).map(|(key, value)| (key.to_owned(), value.to_owned()));
        Table { location, storage, context, options: Options::parse(options).unwrap() }
    }

    /// Every file of the store.
    pub fn files(&self) -> BTreeMap<String, Bytes> {
        let mut files = BTreeMap::new();
        let mut open = vec![String::new()];
        while let Some(dir) = open.pop() {
            for entry in self.store.list(&dir).unwrap() {
                let path = if dir.is_empty() { entry.name().to_owned() } else { format!("{dir}/{}", entry.name()) };
                match entry {
                    Entry::Dir { .. } => open.push(path),
                    Entry::File { .. } => drop(files.insert(path.clone(), self.store.read(&path).unwrap().unwrap())),
                }
            }
        }
        files
    }

    pub fn put(&self, path: &str, bytes: &[u8]) {
        assert!(matches!(self.store.create(path, bytes).unwrap(), Put::Done(_)), "{path} is there");
    }

    pub fn names_below(&self, prefix: &str) -> Vec<String> {
        self.files().into_keys().filter(|path| path.starts_with(prefix)).collect()
    }

    pub fn data_files(&self) -> BTreeSet<String> {
        let is_data = |path: &String| !path.starts_with(".hoodie/") && !path.ends_with(PARTITION_FILE);
        self.files().into_keys().filter(is_data).collect()
    }

    /// A clean says that it took a file, and nothing else.
    pub fn clean_of(&self, path: &str) {
        let (partition, name) = path.rsplit_once('/').unwrap();
        let of_partition = CleanPartitionMetadata {
            partition_path: partition.to_owned(),
            policy: "KEEP_LATEST_COMMITS".to_owned(),
            success_delete_files: vec![name.to_owned()],
            ..CleanPartitionMetadata::default()
        };
        let clean = CleanMetadata {
            total_files_deleted: 1,
            earliest_commit_to_retain: "0".to_owned(),
            partition_metadata: BTreeMap::from([(partition.to_owned(), of_partition)]),
            ..CleanMetadata::default()
        };
        self.put(".hoodie/timeline/29991231235959998_29991231235959999.clean", &clean.encode().unwrap());
    }

    /// Whatever was broken off, nothing is damaged.
    pub fn assert_undamaged(&self) {
        let report = verify(&self.table(), false, &Watch::default()).unwrap();
        assert!(report.ok(), "{:?}", report.findings);
    }

    /// What the metadata table says is what lies there, to the values of every row.
    pub fn assert_sound(&self) {
        let report = verify(&self.table(), true, &Watch::default()).unwrap();
        assert_eq!(report.findings, []);
    }

    /// Nothing is pending, no dead writer left a trace, and every data file belongs to a commit.
    pub fn assert_tidy(&self) {
        let table = self.table();
        let config = table.config().unwrap();
        let timeline = table.timeline().unwrap().with_history(self.store.as_ref(), &config).unwrap();
        assert_eq!(timeline.pending().map(|i| &i.files).collect::<Vec<_>>(), [&[""; 0]; 0], "pending instants");
        self.assert_no_traces();
        let of_commit = |i: &Instant| match i.files.last() {
            Some(file) => files_of_commit(&self.read(&timeline, file)),
            None => paths_of(&timeline.commit_metadata(self.store.as_ref(), i).unwrap()),
        };
        let mut committed: BTreeSet<String> = timeline.commits().flat_map(of_commit).collect();
        for file in self.cleaned(&timeline) {
            committed.remove(&file);
        }
        assert_eq!(self.data_files(), committed, "data files, and those that commits name and no clean took");
    }

    /// The paths of files that cleans took.
    fn cleaned(&self, timeline: &Timeline) -> Vec<String> {
        let cleans = timeline.completed().filter(|i| i.action == InstantAction::Clean);
        let partitions = cleans
            .flat_map(|i| timeline.clean_metadata(self.store.as_ref(), i).unwrap().partition_metadata)
            .map(|(_, cleaned)| (cleaned.partition_path, cleaned.success_delete_files));
        let path = |partition: &str, name: String| {
            if partition.is_empty() { name } else { format!("{partition}/{name}") }
        };
        partitions.flat_map(|(partition, names)| names.into_iter().map(move |name| path(&partition, name))).collect()
    }

    pub fn read(&self, timeline: &Timeline, file: &str) -> Bytes {
        self.store.read(&format!("{}/{file}", timeline.dir)).unwrap().unwrap()
    }

    /// No markers, heartbeats or life locks, and no half-written data.
    pub fn assert_no_traces(&self) {
        assert_eq!(self.names_below(".hoodie/.temp/"), [""; 0], "markers");
        assert_eq!(self.names_below(".hoodie/.heartbeat/"), [""; 0], "heartbeats");
        let locks = self.names_below(".hoodie/.locks/");
        assert!(locks.iter().all(|path| !path.ends_with(".alive")), "life locks: {locks:?}");
        assert_eq!(self.names_below(".hoodie/lock"), [""; 0], "the lock that is shared");
        assert_eq!(self.unfinished_data(), [""; 0], "unfinished writes of data");
    }

    fn unfinished_data(&self) -> Vec<String> {
        let is_data = |path: &String| path.ends_with(".parquet") || path.contains(".log.");
        match (&self.memory, &self.dir) {
            (Some(memory), _) => memory.unfinished().into_iter().filter(is_data).collect(),
            (_, Some(dir)) => leftovers(dir.path()),
            _ => Vec::new(),
        }
    }
}

fn paths_of(metadata: &CommitMetadata) -> Vec<String> {
    metadata.write_stats().filter_map(|stat| stat.path.clone()).collect()
}

/// The paths that a commit names. The same commits are looked at again and again, and decoding one takes its time.
fn files_of_commit(bytes: &Bytes) -> Vec<String> {
    thread_local!(static KNOWN: RefCell<BTreeMap<Bytes, Vec<String>>> = const { RefCell::new(BTreeMap::new()) });
    let decode = || paths_of(&CommitMetadata::decode(bytes).unwrap());
    KNOWN.with_borrow_mut(|known| known.entry(bytes.clone()).or_insert_with(decode).clone())
}

/// Temporary siblings of data files; the store itself does not list them.
#[allow(clippy::disallowed_methods, reason = "looks behind the store")]
fn leftovers(dir: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for child in std::fs::read_dir(dir).unwrap() {
        let child = child.unwrap();
        let name = child.file_name().into_string().unwrap();
        if child.file_type().unwrap().is_dir() {
            found.extend(leftovers(&child.path()));
        } else if name.ends_with(".tmp") && (name.contains("~dparquet") || name.contains("~dlog~d")) {
            found.push(name);
        }
    }
    found
}

/// One row of the test tables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub id: String,
    pub city: String,
    pub ts: i64,
    pub v: String,
    /// `_hoodie_is_deleted`
    pub deleted: bool,
}

pub fn row(id: &str, city: &str, ts: i64, v: &str) -> Row {
    Row { id: id.into(), city: city.into(), ts, v: v.into(), deleted: false }
}

/// A row that deletes its key, if it is not older.
pub fn gone(id: &str, city: &str, ts: i64) -> Row {
    Row { deleted: true, ..row(id, city, ts, "gone") }
}

/// Rows by key.
pub type Model = BTreeMap<String, Row>;

/// What a table holds after an upsert, by event time: of two rows the one with the greater `ts` counts, on a tie the newer.
pub fn upserted(state: &Model, rows: &[Row]) -> Model {
    let mut changes = Model::new();
    for row in rows {
        if changes.get(&row.id).is_none_or(|old| row.ts >= old.ts) {
            changes.insert(row.id.clone(), row.clone());
        }
    }
    let mut state = state.clone();
    for (id, row) in changes {
        if state.get(&id).is_none_or(|old| row.ts >= old.ts) {
            if row.deleted {
                state.remove(&id)
            } else {
                state.insert(id, row)
            };
        }
    }
    state
}

pub fn model(rows: &[Row]) -> Model {
    upserted(&Model::new(), rows)
}

/// What kind of table it is: id → city / ts, v.
#[derive(Debug, Clone)]
pub struct Spec {
    pub table_type: TableType,
    /// Whether rows have `_hoodie_is_deleted`.
    pub with_deletes: bool,
    pub mode: MergeMode,
    pub ordering: Vec<String>,
    pub index: IndexType,
    pub buckets: u32,
    pub partitioned: bool,
    /// Of the table.
    pub version: u32,
}

impl Spec {
    pub fn new(table_type: TableType) -> Self {
        Self {
            table_type,
            with_deletes: false,
            mode: MergeMode::EventTime,
            ordering: vec!["ts".into()],
            index: IndexType::Bucket,
            buckets: 2,
            partitioned: true,
            version: 9,
        }
    }

    pub fn cow() -> Self {
        Self::new(TableType::CopyOnWrite)
    }

    pub fn mor() -> Self {
        Self::new(TableType::MergeOnRead)
    }

    pub fn schema(&self) -> SchemaRef {
        let mut fields = vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("city", DataType::Utf8, true),
            Field::new("ts", DataType::Int64, true),
            Field::new("v", DataType::Utf8, true),
        ];
        if self.with_deletes {
            fields.push(Field::new("_hoodie_is_deleted", DataType::Boolean, true));
        }
        Arc::new(Schema::new(fields))
    }

    fn index(&self) -> Index {
        match self.index {
            IndexType::Bucket => Index::Buckets(Buckets::new(self.buckets, vec!["id".into()])),
            index => Index::Files { by_bloom: index == IndexType::Bloom },
        }
    }

    pub fn new_table(&self) -> NewTable {
        NewTable {
            name: "trips".into(),
            database: None,
            key_generator: None,
            version: self.version,
            table_type: self.table_type,
            schema: self.schema().as_ref().clone(),
            record_key: vec!["id".into()],
            partition_by: if self.partitioned { vec!["city".into()] } else { Vec::new() },
            ordering: self.ordering.clone(),
            merge_mode: Some(self.mode),
            hive_style: false,
            url_encode: false,
            index: self.index(),
        }
    }

    pub fn create(&self, world: &World) -> Table {
        let table = world.table();
        assert!(config::create(world.store.as_ref(), &table.context, &self.new_table()).unwrap());
        table
    }

    pub fn batch(&self, rows: &[Row]) -> RecordBatch {
        let text = |of: fn(&Row) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(of))) };
        let mut columns = vec![
            text(|r| &r.id),
            text(|r| &r.city),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.ts))) as ArrayRef,
            text(|r| &r.v),
        ];
        if self.with_deletes {
            columns.push(Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(r.deleted)))));
        } else {
            assert!(rows.iter().all(|r| !r.deleted), "the table has no column for deletes");
        }
        RecordBatch::try_new(self.schema(), columns).unwrap()
    }

    pub fn write(&self, table: &Table, operation: Operation, rows: &[Row]) -> Result<CommitResult> {
        write_batches(table, operation, &self.schema(), vec![self.batch(rows)])
    }

    pub fn upsert(&self, table: &Table, rows: &[Row]) -> Result<CommitResult> {
        self.write(table, Operation::Upsert, rows)
    }
}

pub fn request(operation: Operation) -> WriteRequest {
    WriteRequest::new(operation)
}

pub fn write_batches(
    table: &Table,
    operation: Operation,
    schema: &SchemaRef,
    batches: Vec<RecordBatch>,
) -> Result<CommitResult> {
    write::write(table, schema, batches.into_iter().map(Ok), &request(operation))
}

/// What a commit says, but for the sizes of its files: pages end where what was merged at a time did.
pub fn without_sizes(result: CommitResult) -> CommitResult {
    let files = result.files.into_iter().map(|file| AddedFile { bytes: 0, ..file }).collect();
    CommitResult { bytes_written: 0, files, ..result }
}

/// All rows in the order in which a scan gives them.
pub fn scanned(table: &Table, batch_size: usize) -> Result<Vec<Row>> {
    let columns = ["id", "city", "ts", "v"].map(str::to_owned).to_vec();
    let request = ScanRequest { columns: Some(columns), batch_size: Some(batch_size), ..ScanRequest::default() };
    let mut rows = Vec::new();
    for batch in Scan::plan(table, request)?.read()? {
        let batch = batch?;
        let text = |at: usize, row: usize| batch.column(at).as_string::<i32>().value(row).to_owned();
        let ts = batch.column(2).as_primitive::<Int64Type>();
        rows.extend((0..batch.num_rows()).map(|n| row(&text(0, n), &text(1, n), ts.value(n), &text(3, n))));
    }
    Ok(rows)
}

/// All rows by key; no key may come twice.
pub fn rows_of(table: &Table) -> Model {
    let rows = scanned(table, 8192).unwrap();
    let count = rows.len();
    let model: Model = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    assert_eq!(model.len(), count, "a key came twice");
    model
}

/// A write taken stage by stage.
pub struct Stages {
    pub table: Table,
    spec: Spec,
    operation: Operation,
    rows: Vec<Row>,
    pub action: Option<Action>,
    pub tasks: Vec<PlacedTask>,
    groups: Groups,
    pub statuses: Vec<Status>,
}

impl Stages {
    pub fn new(world: &World, spec: &Spec, rows: &[Row]) -> Self {
        Self::of(world, spec, Operation::Upsert, rows)
    }

    pub fn of(world: &World, spec: &Spec, operation: Operation, rows: &[Row]) -> Self {
        Self {
            table: world.table(),
            spec: spec.clone(),
            operation,
            rows: rows.to_vec(),
            action: None,
            tasks: Vec::new(),
            groups: Groups::new(),
            statuses: Vec::new(),
        }
    }

    pub fn begin(&mut self) -> Result<()> {
        self.action = Some(Action::begin(&self.table, &self.spec.schema(), request(self.operation))?);
        Ok(())
    }

    pub fn time(&self) -> String {
        self.action.as_ref().unwrap().time().to_owned()
    }

    pub fn place(&mut self) -> Result<()> {
        let batch = self.spec.batch(&self.rows);
        let action = self.action.as_mut().unwrap();
        let rows = Kept::in_memory(vec![batch])?;
        let located = Located::of(&self.table, action, &rows)?;
        self.tasks = action.place(&located.profile())?;
        self.groups = located.placed(action)?;
        Ok(())
    }

    pub fn run(&mut self) -> Result<()> {
        self.statuses = self.attempt(0)?;
        Ok(())
    }

    pub fn attempt(&self, attempt: u32) -> Result<Vec<Status>> {
        let run = |placed: &PlacedTask| {
            let rows = self.groups[&(placed.partition.clone(), placed.slot)].clone();
            let rows = write::batches(rows, 1000);
            placed.task.run_on(&self.table.storage, &self.table.context, attempt, 1, rows)
        };
        self.tasks.iter().map(run).collect()
    }

    pub fn commit(&mut self) -> Result<CommitResult> {
        self.action.take().unwrap().commit(std::mem::take(&mut self.statuses))
    }

    pub fn step(&mut self, number: usize) -> Result<()> {
        match number {
            0 => self.begin(),
            1 => self.place(),
            2 => self.run(),
            _ => self.commit().map(drop),
        }
    }
}

/// Makes others take a writer for dead.
pub fn declare_dead(world: &World, time: &str) {
    assert!(world.store.delete(&format!(".hoodie/.heartbeat/{time}")).unwrap());
    assert!(world.store.delete(&format!(".hoodie/.locks/{time}.alive")).unwrap());
}

/// A rollback of Apache Hudi that was cut off when its plan stood.
pub fn rollback_cut_off_by_another_engine(world: &World, time: &str, victim: &str, files: &[&str]) {
    let root = world.store.root();
    let root = root.split_once("://").map_or(root, |(_, path)| path);
    let plan = RollbackPlan {
        instant_to_rollback: Some(InstantInfo {
            commit_time: victim.into(),
            action: "commit".into(),
            ..Default::default()
        }),
        rollback_requests: Some(vec![RollbackRequest {
            partition_path: "A".into(),
            files_to_be_deleted: files.iter().map(|file| format!("{root}/{file}")).collect(),
            ..RollbackRequest::default()
        }]),
        version: Some(1),
        ..Default::default()
    };
    world.put(&format!(".hoodie/timeline/{time}.rollback.requested"), &plan.encode().unwrap());
}

/// A write of Apache Hudi that was cut off: its instant, a file of partition `A`, and the marker of that file. Returns the
/// path of the file.
pub fn cut_off_by_another_engine(world: &World, time: &str, batched_markers: bool) -> String {
    let timeline = world.table().timeline().unwrap();
    let kind = world.table().config().unwrap();
    let kind = if kind.is_mor() { InstantAction::DeltaCommit } else { InstantAction::Commit };
    for name in [InstantFile::requested(time, kind), InstantFile::inflight(time, kind)] {
        world.put(&format!("{}/{name}", timeline.dir), b"");
    }
    let file = format!("A/5d1b0c6e-1f7e-4c39-9d7a-3f1a2b3c4d5e-0_0-21-34_{time}.parquet");
    world.put(&file, b"PAR1");
    let markers = format!(".hoodie/.temp/{time}");
    if batched_markers {
        world.put(&format!("{markers}/MARKERS.type"), b"TIMELINE_SERVER_BASED");
        world.put(&format!("{markers}/MARKERS0"), format!("{file}.marker.CREATE\n").as_bytes());
    } else {
        world.put(&format!("{markers}/{file}.marker.CREATE"), b"");
    }
    file
}
