//! Changes that a table logged. How much of a change is in the log tells the log's own schema:
//!
//! | columns | what is missing |
//! |---|---|
//! | `op`, `ts_ms`, `before`, `after` | nothing |
//! | `op`, `record_key`, `before` | rows behind the write: looked up in the file that it wrote |
//! | `op`, `record_key` | these, and the rows before the write |

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch, StringArray, StructArray, UInt64Array};
use arrow_select::filter::{filter, filter_record_batch};
use arrow_select::take::take;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use hudini_format::log::{Block, BlockKind, cdc};
use hudini_format::name::LogFileName;
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::{Record, meta};

use super::compare::{self, ByKey, Fate, Fates, Pairs, Rows};
use super::{ChangeLog, Feed, Part, Side};
use crate::log_file::{Choice, LogFile, Part as BlockPart, Visitor};
use crate::merge::Batches;
use crate::scan::shape::{FolderValues, RowShape};
use crate::scan::split::Reading;
use crate::storage::Storage;
use crate::view::{FileSlice, Missing, missing};
use crate::{Error, Result};

pub(super) fn read(
    feed: &Arc<Feed>,
    part: &Part,
    files: &[ChangeLog],
    before: Option<&FileSlice>,
    after: Option<&FileSlice>,
) -> Result<Batches> {
    let mut blocks = Vec::new();
    for file in files {
        blocks.extend(survey(feed.storage.as_ref(), file)?);
    }
    let columns: BTreeSet<_> = blocks.iter().flat_map(|block| block.columns.iter().cloned()).collect();
    let has = |name: &str| columns.contains(name);
    if blocks.iter().any(|block| block.columns.len() != columns.len()) {
        return Err(Error::unsupported("change logs of several modes in one write"));
    }
    if has(cdc::AFTER) {
        return Ok(whole(feed, part, Shown::of(feed, part, files)?, blocks));
    }
    let log = Log::read(feed, blocks, has(cdc::BEFORE))?;
    let (after, numbers) = match after {
        Some(slice) => match log.rows_after(feed, feed.rows_after(part, slice, None)?)? {
            Some(found) => found,
            None => {
                let before = before.map_or_else(|| Err(no_rows(feed, files, "before")?), Ok)?;
                return compare::states(feed, part, before, slice);
            }
        },
        None if log.needs_rows_after() => return Err(no_rows(feed, files, "behind")?),
        None => Default::default(),
    };
    log.check_found(&numbers)?;
    if has(cdc::BEFORE) {
        return Ok(with_rows_after(feed, part, Shown::of(feed, part, files)?, log, after, numbers));
    }
    let before: Batches = match before {
        Some(before) => feed.rows_before(part, before, &[])?,
        None if log.needs_rows_before() => return Err(no_rows(feed, files, "before")?),
        None => Box::new(std::iter::empty()),
    };
    let fates = ByLog { left: log.operations, gone: HashSet::default(), numbers };
    Ok(Box::new(Pairs::new(feed, part, before, after, Box::new(fates))))
}

/// A block of a change log.
struct Logged {
    path: String,
    size: u64,
    offset: u64,
    columns: Vec<String>,
}

impl Logged {
    fn read(&self, storage: &dyn Storage) -> Result<Vec<RecordBatch>> {
        let mut rows = Vec::new();
        let mut file = LogFile::new(storage, self.path.clone(), self.size);
        let read = file.read_block(self.offset, &mut Take(&mut rows));
        read.map_err(|e| e.at_path(&self.path).at_offset(self.offset))?;
        Ok(rows)
    }
}

fn survey(storage: &dyn Storage, file: &ChangeLog) -> Result<Vec<Logged>> {
    let path = file.path.as_str();
    let Some(size) = storage.head(path)?.map(|found| found.size) else {
        let (partition, name) = path.rsplit_once('/').unwrap_or(("", path));
        return Err(missing(storage, Missing::File(partition, name), "the log of a change of the range")?);
    };
    // What is left of it may be whole blocks, or none at all, which would read as fewer changes.
    if size < file.bytes {
        let message = format!("a change log has {size} bytes, and its commit says {}", file.bytes);
        return Err(Error::corrupt(message).at_path(path));
    }
    let mut survey = Survey { path, size, blocks: Vec::new() };
    LogFile::new(storage, path.to_owned(), size).read_from(0, &mut survey).map_err(|e| e.at_path(path))?;
    Ok(survey.blocks)
}

struct Survey<'p> {
    path: &'p str,
    size: u64,
    blocks: Vec<Logged>,
}

impl Visitor for Survey<'_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        if !matches!(block.kind, BlockKind::CdcData | BlockKind::AvroData) {
            return Err(Error::unsupported(format!("blocks of kind {} in a change log", block.kind.name())));
        }
        let columns = Record::parse(block.schema()?)?.to_arrow()?;
        let columns = columns.fields().iter().map(|field| field.name().clone()).collect();
        self.blocks.push(Logged { path: self.path.to_owned(), size: self.size, offset: block.offset, columns });
        Ok(Choice::Nothing)
    }

    /// In a change log nothing but whole blocks is ever written, in one go: damage is a loss.
    fn take(&mut self, part: BlockPart<'_>) -> Result<()> {
        match part {
            BlockPart::Corrupt(range) => Err(Error::corrupt("a change log is damaged").at_offset(range.start)),
            _ => Ok(()),
        }
    }
}

/// Takes the rows of a block, in the types of their writer.
struct Take<'r>(&'r mut Vec<RecordBatch>);

impl Visitor for Take<'_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        let schema = Record::parse(block.schema()?)?.to_arrow()?;
        Ok(Choice::Rows(block.decoder(Arc::new(schema))?))
    }

    fn take(&mut self, part: BlockPart<'_>) -> Result<()> {
        if let BlockPart::Rows(rows) = part {
            self.0.push(rows);
        }
        Ok(())
    }
}

/// Everything is in the log.
fn whole(feed: &Arc<Feed>, part: &Part, shown: Shown, blocks: Vec<Logged>) -> Batches {
    let (feed, instant) = (Arc::clone(feed), part.instant.clone());
    let read = move |block: Logged| -> Result<Vec<RecordBatch>> {
        let batches = block.read(feed.storage.as_ref())?.into_iter();
        let changes = batches.map(|rows| {
            let (before, after) = (shown.side(&feed, &rows, cdc::BEFORE)?, shown.side(&feed, &rows, cdc::AFTER)?);
            feed.changes(operations(&rows)?, &instant, before, after)
        });
        changes.collect::<Result<_>>().map_err(|e| e.at_path(&block.path).at_offset(block.offset))
    };
    Box::new(blocks.into_iter().flat_map(move |block| match read(block) {
        Ok(batches) => batches.into_iter().map(Ok).collect::<Vec<_>>(),
        Err(e) => vec![Err(e)],
    }))
}

/// What it takes to show logged rows as the table has them.
struct Shown {
    /// The columns of their writer.
    names: Mapping,
    folder: FolderValues,
}

impl Shown {
    fn of(feed: &Feed, part: &Part, files: &[ChangeLog]) -> Result<Self> {
        let Reading { snapshot, shape, .. } = feed.split.reading.as_ref();
        let (partition, _) = place_of(files);
        let stored = meta::without_meta(&RowShape::stored(snapshot)?);
        let folder = shape.folder_values(partition, &stored)?;
        Ok(Self { names: snapshot.names_at(&part.instant)?, folder })
    }

    fn side(&self, feed: &Feed, rows: &RecordBatch, name: &str) -> Result<Side> {
        let logged = rows.column_by_name(name).and_then(|column| column.as_struct_opt());
        let logged: &StructArray = logged.ok_or_else(|| no_column(name))?;
        Ok(Side::Image(feed.image.of_logged(logged, &self.names, &self.folder)?))
    }
}

/// The partition of change logs, and the name of the first one.
fn place_of(files: &[ChangeLog]) -> (&str, &str) {
    let path = files.first().map_or("", |file| file.path.as_str());
    path.rsplit_once('/').unwrap_or(("", path))
}

fn texts<'r>(rows: &'r RecordBatch, name: &str) -> Result<&'r StringArray> {
    let column = rows.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    column.filter(|column| column.null_count() == 0).ok_or_else(|| no_column(name))
}

fn operations(rows: &RecordBatch) -> Result<&StringArray> {
    let operations = texts(rows, cdc::OPERATION)?;
    let known =
        |operation: Option<&str>| operation.is_some_and(|o| [cdc::INSERT, cdc::UPDATE, cdc::DELETE].contains(&o));
    match operations.iter().find(|operation| !known(*operation)) {
        None => Ok(operations),
        Some(unknown) => Err(Error::unsupported(format!("the change '{}' in a log", unknown.unwrap_or_default()))),
    }
}

fn no_column(name: &str) -> Error {
    Error::corrupt(format!("a change log without values of '{name}'"))
}

/// A log whose changes are told by key.
struct Log {
    batches: Vec<RecordBatch>,
    operations: ByKey<Box<str>>,
}

impl Log {
    fn read(feed: &Feed, blocks: Vec<Logged>, keep_rows: bool) -> Result<Self> {
        let mut log = Self { batches: Vec::new(), operations: ByKey::default() };
        let mut bytes = 0;
        for block in blocks {
            for rows in block.read(feed.storage.as_ref())? {
                bytes += rows.get_array_memory_size();
                feed.check_memory(bytes)?;
                let changes = texts(&rows, cdc::KEY)?.iter().flatten().zip(operations(&rows)?.iter().flatten());
                let spelled = |key| feed.split.reading.rule.spelled(key).into_owned().into_boxed_str();
                log.operations.extend(changes.map(|(key, operation)| (spelled(key), Box::from(operation))));
                if keep_rows {
                    log.batches.push(rows);
                }
            }
        }
        Ok(log)
    }

    fn is_there_after(&self, key: &str) -> bool {
        self.operations.get(key).is_some_and(|operation| **operation != *cdc::DELETE)
    }

    /// The rows with its keys behind the write, and their numbers; `None` where several rows have one key, for the log does
    /// not tell which of them it means.
    fn rows_after(&self, feed: &Feed, batches: Batches) -> Result<Option<(Rows, ByKey<usize>)>> {
        let (mut rows, mut numbers) = (Rows::default(), ByKey::default());
        for batch in batches {
            let batch = batch?;
            let keys = feed.split.reading.rule.keys_of(&batch)?;
            let is_told: BooleanArray =
                keys.iter().map(|key| Some(key.is_some_and(|key| self.operations.contains_key(key)))).collect();
            let told = filter_record_batch(&batch, &is_told)?;
            let keys = filter(&keys, &is_told)?;
            let keys = keys.as_string::<i32>();
            let is_left = keys.iter().flatten().any(|key| !self.is_there_after(key));
            numbers.extend(keys.iter().flatten().map(Box::from).zip(rows.push(told)));
            if is_left || numbers.len() < rows.len() {
                return Ok(None);
            }
            feed.check_memory(rows.bytes())?;
        }
        Ok(Some((rows, numbers)))
    }

    fn needs_rows_after(&self) -> bool {
        self.operations.values().any(|operation| **operation != *cdc::DELETE)
    }

    fn needs_rows_before(&self) -> bool {
        self.operations.values().any(|operation| **operation != *cdc::INSERT)
    }

    /// A row that the log speaks of must be in the file that was written with it.
    fn check_found(&self, found: &ByKey<usize>) -> Result<()> {
        let lost = self.operations.keys().find(|key| self.is_there_after(key) && !found.contains_key(*key));
        lost.map_or(Ok(()), |key| Err(lost_row(key)))
    }
}

/// The rows of the group on one side of a change are in no file.
fn no_rows(feed: &Feed, files: &[ChangeLog], side: &str) -> Result<Error> {
    let (partition, name) = place_of(files);
    let id = LogFileName::parse(name).map(|log| log.file_id).unwrap_or_default();
    let what = format!("the range holds a change, and the row {side} it");
    missing(feed.storage.as_ref(), Missing::OfGroup(partition, &id), &what)
}

fn lost_row(key: &str) -> Error {
    Error::corrupt(format!("the change log speaks of the record key '{key}', and no file of its write has that row"))
}

/// The log has the rows before the write.
fn with_rows_after(
    feed: &Arc<Feed>,
    part: &Part,
    shown: Shown,
    log: Log,
    after: Rows,
    numbers: ByKey<usize>,
) -> Batches {
    let (feed, instant) = (Arc::clone(feed), part.instant.clone());
    Box::new(log.batches.into_iter().map(move |rows| {
        let before = shown.side(&feed, &rows, cdc::BEFORE)?;
        let operations = operations(&rows)?;
        let mut picked = Vec::new();
        let places: UInt64Array = texts(&rows, cdc::KEY)?
            .iter()
            .zip(operations)
            .map(|(key, operation)| {
                let key = feed.split.reading.rule.spelled(key?);
                let number = *numbers.get(&*key).filter(|_| operation != Some(cdc::DELETE))?;
                picked.push(number);
                Some(picked.len() as u64 - 1)
            })
            .collect();
        let after = match picked.as_slice() {
            [] => Side::Missing,
            picked => Side::Image(take(&feed.image.of_rows(&after.pick(picked)?)?, &places, None)?),
        };
        feed.changes(operations, &instant, before, after)
    }))
}

/// The log has nothing but keys.
struct ByLog {
    /// What has not been met yet.
    left: ByKey<Box<str>>,
    /// Keys of which no row is left: all that had them are deleted.
    gone: HashSet<Box<str>, FixedState>,
    numbers: ByKey<usize>,
}

impl Fates for ByLog {
    fn of(&mut self, key: &str) -> Result<Fate> {
        if self.gone.contains(key) {
            return Ok(Fate::Deleted);
        }
        let Some((key, operation)) = self.left.remove_entry(key) else { return Ok(Fate::Kept) };
        Ok(match (operation.as_ref(), self.numbers.get(&key)) {
            (cdc::INSERT, _) => Fate::Kept,
            (cdc::UPDATE, Some(number)) => Fate::Updated(*number),
            _ => {
                self.gone.insert(key);
                Fate::Deleted
            }
        })
    }

    fn end(&self) -> Result<()> {
        let lost = self.left.iter().find(|(_, operation)| ***operation != *cdc::INSERT);
        lost.map_or(Ok(()), |(key, _)| Err(lost_row(key)))
    }
}
