//! One file group: the base file and the logs on top of it, merged by key.
//!
//! Records of one key merge in the order of their arrival. What the logs say of the wanted keys is held in memory; the
//! base file is gone through a stretch of blocks at a time. It is sorted by bytes, or as Java sorts texts if Apache Hudi
//! wrote it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use hudini_format::hfile::{self, IndexEntry, Span};
use hudini_format::log::{Block, BlockKind, delete};
use hudini_format::metadata_record::{MetadataRecord, RecordSchema, merge};

use crate::hfile_file::{Fetched, HFile};
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::merge::{LogStats, visible_blocks};
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, Result};

/// Log blocks up to this size are read whole; of larger ones only the parts that may hold wanted keys.
const WHOLE_BLOCK: u64 = 1 << 20;

/// Which keys are looked for.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    All,
    /// Each once, in order.
    Keys(Vec<String>),
    /// Keys that start with one of these, which are in order; none starts another one.
    Prefixes(Vec<String>),
}

impl Wanted {
    fn spans(&self) -> Vec<Span<'_>> {
        match self {
            Self::All => vec![Span::All],
            Self::Keys(keys) => keys.iter().map(|key| Span::Key(key.as_bytes())).collect(),
            Self::Prefixes(prefixes) => prefixes.iter().map(|prefix| Span::Prefix(prefix.as_bytes())).collect(),
        }
    }

    fn holds(&self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Keys(keys) => keys.binary_search_by(|wanted| wanted.as_bytes().cmp(key)).is_ok(),
            Self::Prefixes(prefixes) => {
                // Anything between a prefix of the key and the key starts with that prefix.
                let behind = prefixes.partition_point(|prefix| prefix.as_bytes() <= key);
                let nearest = behind.checked_sub(1).and_then(|at| prefixes.get(at));
                nearest.is_some_and(|prefix| key.starts_with(prefix.as_bytes()))
            }
        }
    }

    /// The same for one key after the other: where they ascend, as they mostly do, without a search for each.
    fn in_turn(&self) -> impl FnMut(&[u8]) -> bool {
        // Nowhere yet: the first key is searched for.
        let mut next = usize::MAX;
        move |key| {
            let Self::Keys(keys) = self else { return self.holds(key) };
            let is_before = |at: usize| keys.get(at).is_some_and(|wanted| wanted.as_bytes() < key);
            if next.checked_sub(1).is_some_and(|last| !is_before(last)) {
                next = keys.partition_point(|wanted| wanted.as_bytes() < key);
            }
            while is_before(next) {
                next += 1;
            }
            keys.get(next).is_some_and(|wanted| wanted.as_bytes() == key)
        }
    }
}

/// The records of a group, merged, in the order of the base file. Nothing follows an error.
pub(super) struct Records {
    wanted: Wanted,
    base: Option<Base>,
    changes: Changes,
    ready: VecDeque<MetadataRecord>,
    is_over: bool,
}

struct Base {
    path: String,
    file: HFile,
    schema: Arc<RecordSchema>,
    blocks: std::vec::IntoIter<IndexEntry>,
}

impl Records {
    pub(super) fn open(
        storage: &Arc<dyn Storage>,
        counted: &Snapshot,
        slice: &FileSlice,
        wanted: Wanted,
    ) -> Result<Self> {
        let mut schemas = Schemas::default();
        let changes = read_logs(storage, counted, slice, &wanted, &mut schemas)?;
        let base = match &slice.base {
            None => None,
            Some(base) => {
                let path = slice.path(base);
                Some(Base::open(storage, path.clone(), base.size, &wanted, &mut schemas).map_err(|e| e.at_path(path))?)
            }
        };
        Ok(Self { wanted, base, changes, ready: VecDeque::new(), is_over: false })
    }

    fn advance(&mut self) -> Result<Option<MetadataRecord>> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Ok(Some(record));
            }
            if let Some(base) = &mut self.base {
                let Some(fetched) = base.file.fetch(&mut base.blocks).map_err(|e| e.at_path(&base.path))? else {
                    self.base = None;
                    continue;
                };
                let base = &*base;
                merge_base(base, &fetched, &self.wanted, &mut self.changes, &mut self.ready)
                    .map_err(|e| e.at_path(&base.path))?;
                continue;
            }
            self.ready = std::mem::take(&mut self.changes).rest();
            if self.ready.is_empty() {
                return Ok(None);
            }
        }
    }
}

impl Iterator for Records {
    type Item = Result<MetadataRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.advance().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

impl Base {
    fn open(
        storage: &Arc<dyn Storage>,
        path: String,
        size: u64,
        wanted: &Wanted,
        schemas: &mut Schemas,
    ) -> Result<Self> {
        let file = HFile::open(storage, path.clone(), 0..size)?;
        let schema = file.layout().info.schema()?;
        let schema =
            schemas.get(schema.ok_or_else(|| Error::corrupt("a base file of the metadata table has no schema"))?)?;
        let blocks = file.blocks(&wanted.spans())?.into_iter();
        Ok(Self { path, file, schema, blocks })
    }
}

/// Records with their keys in the order of bytes.
///
/// Where the order of Java's texts is another one, only neighbours of ambiguous keys change places.
pub(super) fn by_bytes(
    records: impl Iterator<Item = Result<MetadataRecord>>,
) -> impl Iterator<Item = Result<MetadataRecord>> {
    let mut records = records.peekable();
    let mut ready = VecDeque::new();
    std::iter::from_fn(move || {
        if ready.is_empty() {
            let is_ambiguous = |record: &Result<MetadataRecord>| {
                record.as_ref().is_ok_and(|record| hfile::is_ambiguous(record.key.as_bytes()))
            };
            let neighbours = std::iter::from_fn(|| records.next_if(is_ambiguous)?.ok());
            ready = neighbours.collect();
            ready.make_contiguous().sort_by(|a: &MetadataRecord, b| a.key.cmp(&b.key));
        }
        ready.pop_front().map(Ok).or_else(|| records.next())
    })
}

fn merge_base(
    base: &Base,
    fetched: &Fetched,
    wanted: &Wanted,
    changes: &mut Changes,
    merged: &mut VecDeque<MetadataRecord>,
) -> Result<()> {
    base.file.visit(fetched, |cells| {
        let mut is_wanted = wanted.in_turn();
        for cell in cells.iter().filter(|cell| is_wanted(cell.key)) {
            let record = MetadataRecord::decode(cell.key, cell.value, &base.schema)?;
            changes.merge(record, merged)?;
        }
        Ok(())
    })
}

/// The schema of one file is mostly that of all.
#[derive(Default)]
struct Schemas(HashMap<String, Arc<RecordSchema>>);

impl Schemas {
    fn get(&mut self, text: &str) -> Result<Arc<RecordSchema>> {
        if let Some(known) = self.0.get(text) {
            return Ok(Arc::clone(known));
        }
        let schema = RecordSchema::shared(text)?;
        self.0.insert(text.to_owned(), Arc::clone(&schema));
        Ok(schema)
    }
}

/// What the logs say, by key.
#[derive(Debug, Default)]
struct Changes(BTreeMap<String, Change>);

#[derive(Debug)]
enum Change {
    /// To be merged with what is older.
    Merges(MetadataRecord),
    /// The key was deleted; what is older does not count. Perhaps it was written again.
    Replaces(Option<MetadataRecord>),
}

impl Change {
    /// What becomes of a record that is older than all of it.
    fn over(self, older: MetadataRecord) -> Result<Option<MetadataRecord>> {
        match self {
            Self::Merges(newer) => merge(older, newer).map(Some),
            Self::Replaces(newer) => Ok(newer),
        }
    }

    /// What it comes to where there is nothing older.
    fn alone(self) -> Option<MetadataRecord> {
        match self {
            Self::Merges(record) => record.settle(),
            Self::Replaces(record) => record?.settle(),
        }
    }

    fn then(self, newer: MetadataRecord) -> Result<Self> {
        Ok(match self {
            Self::Merges(older) => Self::Merges(merge(older, newer)?),
            Self::Replaces(None) => Self::Replaces(Some(newer)),
            Self::Replaces(Some(older)) => Self::Replaces(Some(merge(older, newer)?)),
        })
    }
}

impl Changes {
    fn put(&mut self, newer: MetadataRecord) -> Result<()> {
        let key = newer.key.clone();
        let change = match self.0.remove(&key) {
            None => Change::Merges(newer),
            Some(change) => change.then(newer)?,
        };
        self.0.insert(key, change);
        Ok(())
    }

    fn delete(&mut self, key: String) {
        self.0.insert(key, Change::Replaces(None));
    }

    /// Merges them with the next record of the base file.
    fn merge(&mut self, older: MetadataRecord, merged: &mut VecDeque<MetadataRecord>) -> Result<()> {
        self.take_before(&older.key, merged);
        let record = match self.0.remove(&older.key) {
            None => Some(older),
            Some(change) => change.over(older)?,
        };
        merged.extend(record.and_then(MetadataRecord::settle));
        Ok(())
    }

    /// The records of keys that come before one of the base file, and so are not in it.
    fn take_before(&mut self, key: &str, taken: &mut VecDeque<MetadataRecord>) {
        let is_before = |first: &str| hfile::is_before(first.as_bytes(), key.as_bytes());
        while let Some(first) = self.0.first_entry().filter(|first| is_before(first.key())) {
            taken.extend(first.remove().alone());
        }
    }

    /// Those of keys that the base file does not have.
    fn rest(self) -> VecDeque<MetadataRecord> {
        self.0.into_values().filter_map(Change::alone).collect()
    }
}

fn read_logs(
    storage: &Arc<dyn Storage>,
    counted: &Snapshot,
    slice: &FileSlice,
    wanted: &Wanted,
    schemas: &mut Schemas,
) -> Result<Changes> {
    let logs = slice.logs.iter();
    let mut files: Vec<_> = logs.map(|log| LogFile::new(storage.as_ref(), slice.path(log), log.size)).collect();
    let mut seen = LogStats::default();
    let blocks = visible_blocks(&mut files, counted, None, &mut seen)?;
    if seen.corrupt > 0 {
        // What is lost here might be the only mention of a file.
        let message = format!("a log file of the metadata table's file group {} is damaged", slice.file_id);
        return Err(Error::corrupt(message).at_path(&slice.partition));
    }
    let mut reader = LogReader { storage, wanted, schemas, met: None, changes: Changes::default() };
    for located in blocks {
        if let Some(file) = files.get_mut(located.file) {
            let read = reader.read(file, located.offset);
            read.map_err(|e| e.at_path(file.path()).at_offset(located.offset))?;
            file.rest();
        }
    }
    Ok(reader.changes)
}

struct LogReader<'a> {
    storage: &'a Arc<dyn Storage>,
    wanted: &'a Wanted,
    schemas: &'a mut Schemas,
    met: Option<Met>,
    changes: Changes,
}

/// The block at hand.
struct Met {
    content: Range<u64>,
    /// Of its records; none of deletes.
    schema: Option<Arc<RecordSchema>>,
    /// Its content is fetched by parts.
    is_large: bool,
}

impl LogReader<'_> {
    fn read(&mut self, file: &mut LogFile<'_>, offset: u64) -> Result<()> {
        file.read_block(offset, self)?;
        match self.met.take() {
            Some(Met { content, schema: Some(schema), is_large: true }) => {
                let hfile = HFile::open(self.storage, file.path().to_owned(), content)?;
                self.put_cells(&hfile, &schema)
            }
            _ => Ok(()),
        }
    }

    fn put_cells(&mut self, hfile: &HFile, schema: &RecordSchema) -> Result<()> {
        let mut blocks = hfile.blocks(&self.wanted.spans())?.into_iter();
        while let Some(fetched) = hfile.fetch(&mut blocks)? {
            hfile.visit(&fetched, |cells| {
                let mut is_wanted = self.wanted.in_turn();
                let mut wanted = cells.iter().filter(|cell| is_wanted(cell.key));
                wanted.try_for_each(|cell| self.changes.put(MetadataRecord::decode(cell.key, cell.value, schema)?))
            })?;
        }
        Ok(())
    }
}

impl Visitor for LogReader<'_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        let content = block.content_offset..block.content_offset.saturating_add(block.content_length);
        let (schema, is_large) = match block.kind {
            BlockKind::HfileData => (Some(self.schemas.get(block.schema()?)?), block.content_length > WHOLE_BLOCK),
            BlockKind::Delete => (None, false),
            other => return Err(Error::unsupported(format!("{} log blocks in the metadata table", other.name()))),
        };
        self.met = Some(Met { content, schema, is_large });
        Ok(if is_large { Choice::Nothing } else { Choice::Content })
    }

    fn take(&mut self, part: Part<'_>) -> Result<()> {
        let (Some(met), Part::Content(content)) = (&self.met, part) else { return Ok(()) };
        let start = met.content.start;
        let Some(schema) = met.schema.clone() else {
            for deleted in delete::records(&content, start)? {
                let key = deleted?.key.unwrap_or_default();
                if self.wanted.holds(key.as_bytes()) {
                    self.changes.delete(key);
                }
            }
            return Ok(());
        };
        let hfile = HFile::of_bytes(self.storage, start, content.into_owned().into())?;
        self.put_cells(&hfile, &schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hudini_format::metadata_record::{FileEntry, Payload};
    use proptest::prelude::*;

    fn record(key: &str, file: &str) -> MetadataRecord {
        let payload = Payload::Files(BTreeMap::from([(file.to_owned(), FileEntry::new(1))]));
        MetadataRecord { key: key.to_owned(), payload, file_name: None }
    }

    proptest! {
        /// Whichever way the base file is sorted.
        #[test]
        fn records_merge_and_come_by_bytes(
            base in prop::collection::btree_set("[a-b\u{e000}\u{10000}]{1,3}", 0..12),
            changed in prop::collection::btree_set("[a-b\u{e000}\u{10000}]{1,3}", 0..12),
            by_java in any::<bool>(),
        ) {
            let mut sorted: Vec<_> = base.iter().collect();
            if by_java {
                sorted.sort_by_key(|key| key.encode_utf16().collect::<Vec<_>>());
            }
            let mut changes = Changes::default();
            changed.iter().for_each(|key| changes.put(record(key, "new")).unwrap());
            let mut merged = VecDeque::new();
            for key in sorted {
                changes.merge(record(key, "old"), &mut merged).unwrap();
            }
            merged.extend(changes.rest());
            let found: Vec<_> = by_bytes(merged.into_iter().map(Ok)).map(Result::unwrap).collect();
            let expected: Vec<_> = base.union(&changed).map(|key| {
                let sides = [(&base, "old"), (&changed, "new")];
                let files = sides.iter().filter(|(keys, _)| keys.contains(key));
                (key.clone(), files.map(|(_, file)| (*file).to_owned()).collect::<std::collections::BTreeSet<_>>())
            }).collect();
            let files = |record: &MetadataRecord| match &record.payload {
                Payload::Files(files) => files.keys().cloned().collect(),
                other => panic!("{other:?}"),
            };
            let found: Vec<_> = found.iter().map(|record| (record.key.clone(), files(record))).collect();
            prop_assert_eq!(found, expected);
        }

        /// Blocks in Java's order of texts do not ascend.
        #[test]
        fn keys_in_any_order_are_told(
            wanted in prop::collection::btree_set("[a-c\u{e000}\u{10000}]{0,3}", 0..8),
            keys in prop::collection::vec("[a-c\u{e000}\u{10000}]{0,3}", 0..20),
        ) {
            let wanted = Wanted::Keys(wanted.into_iter().collect());
            let mut in_turn = wanted.in_turn();
            for key in keys {
                prop_assert_eq!(in_turn(key.as_bytes()), wanted.holds(key.as_bytes()), "{}", key);
            }
        }
    }
}
