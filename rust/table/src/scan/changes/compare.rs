//! A file group before and after a write, compared by record key.
//!
//! Commit time and sequence number name one version of a row, unless logs put it together of several: there its values
//! count. A hash of the version is kept of all rows from before the write, by key; the rows behind it stream by, and those
//! that changed wait for the one that they were. Rows of tables without meta columns are compared by value, too.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave_record_batch;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hudini_format::schema::meta;

use super::{Feed, Part, hash};
use crate::merge::Batches;
use crate::view::FileSlice;
use crate::{Error, Result};

/// What is known by record key.
pub(super) type ByKey<T> = HashMap<Box<str>, T, FixedState>;

/// What became of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    Kept,
    Deleted,
    /// It became that one of the rows behind the write.
    Updated(usize),
}

/// Who knows what became of rows.
pub(super) trait Fates: Send {
    fn of(&mut self, key: &str) -> Result<Fate>;

    /// When all rows from before the write were asked for.
    fn end(&self) -> Result<()>;
}

/// Rows that are kept, by number.
#[derive(Debug, Default)]
pub(super) struct Rows {
    batches: Vec<RecordBatch>,
    /// Batch and row.
    places: Vec<(usize, usize)>,
    batch_bytes: usize,
}

impl Rows {
    /// In memory.
    pub(super) fn bytes(&self) -> usize {
        self.batch_bytes + self.places.len() * size_of::<(usize, usize)>()
    }

    /// The numbers of the added rows.
    pub(super) fn push(&mut self, rows: RecordBatch) -> Range<usize> {
        let start = self.places.len();
        if rows.num_rows() > 0 {
            self.places.extend((0..rows.num_rows()).map(|row| (self.batches.len(), row)));
            self.batch_bytes += rows.get_array_memory_size();
            self.batches.push(rows);
        }
        start..self.places.len()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn pick(&self, numbers: &[usize]) -> Result<RecordBatch> {
        let place = |number: &usize| self.places.get(*number).copied();
        let places: Option<Vec<_>> = numbers.iter().map(place).collect();
        let places = places.ok_or_else(|| Error::internal("a row that was not kept"))?;
        Ok(interleave_record_batch(&self.batches.iter().collect::<Vec<_>>(), &places)?)
    }
}

/// Compares two states.
pub(super) fn states(feed: &Arc<Feed>, part: &Part, before: &FileSlice, after: &FileSlice) -> Result<Batches> {
    let rule = &feed.split.reading.rule;
    let by_values = !after.logs.is_empty() || rule.virtual_keys.is_some();
    let mut versions = Versions { by_values, ..Versions::default() };
    for rows in feed.rows_before(part, before, if by_values { &[] } else { &VERSION })? {
        let rows = rows?;
        versions.remember(&rule.keys_of(&rows)?, &rows)?;
        feed.check_memory(versions.bytes())?;
    }
    let mut changed = Rows::default();
    for rows in feed.rows_after(part, after, None)? {
        let rows = rows?;
        versions.compare(&rule.keys_of(&rows)?, &rows, &mut changed)?;
        feed.check_memory(versions.bytes() + changed.bytes())?;
    }
    versions.settle();
    let before = feed.rows_before(part, before, &[])?;
    Ok(Box::new(Pairs::new(feed, part, before, changed, Box::new(versions))))
}

/// What tells one version of a row from another.
const VERSION: [&str; 3] = [meta::COMMIT_TIME, meta::COMMIT_SEQNO, meta::RECORD_KEY];

/// The rows from before a write, in their order, and what became of them. Some tables let several rows have one key.
#[derive(Default)]
struct Versions {
    rows: Vec<Version>,
    /// The first and the last row with a key.
    by_key: ByKey<(usize, usize)>,
    key_bytes: usize,
    /// Of each row that is not what it was: the first row from before the write that had its key.
    changed: Vec<Option<usize>>,
    /// How many rows were asked for.
    asked: usize,
    by_values: bool,
}

struct Version {
    hash: u64,
    /// The next row with the same key.
    next: Option<usize>,
    fate: Fate,
}

impl Versions {
    /// In memory.
    fn bytes(&self) -> usize {
        self.rows.len() * size_of::<Version>()
            + self.by_key.len() * size_of::<(Box<str>, (usize, usize))>()
            + self.key_bytes
            + self.changed.len() * size_of::<Option<usize>>()
    }

    fn hashed<'r>(
        &self,
        keys: &'r StringArray,
        rows: &RecordBatch,
    ) -> Result<impl Iterator<Item = (&'r str, u64)> + use<'r>> {
        if keys.null_count() > 0 {
            return Err(Error::corrupt("a row without record key"));
        }
        // The name of its file is not a matter of the row.
        let counts = |name: &str| name != meta::FILE_NAME && (self.by_values || VERSION.contains(&name));
        let mut hashes = vec![0; rows.num_rows()];
        let columns = rows.schema_ref().fields().iter().zip(rows.columns());
        for (_, column) in columns.filter(|(field, _)| counts(field.name())) {
            hash::fold(&mut hashes, column)?;
        }
        Ok(keys.iter().flatten().zip(hashes))
    }

    fn remember(&mut self, keys: &StringArray, rows: &RecordBatch) -> Result<()> {
        for (key, hash) in self.hashed(keys, rows)? {
            let at = self.rows.len();
            self.rows.push(Version { hash, next: None, fate: Fate::Deleted });
            match self.by_key.get_mut(key) {
                None => {
                    self.key_bytes += key.len();
                    self.by_key.insert(key.into(), (at, at));
                }
                Some((_, last)) => {
                    if let Some(last) = self.rows.get_mut(std::mem::replace(last, at)) {
                        last.next = Some(at);
                    }
                }
            }
        }
        Ok(())
    }

    /// The first row with the key of `first` of which nothing is known yet and that is as asked for.
    fn find(&mut self, first: Option<usize>, wanted: impl Fn(&Version) -> bool) -> Option<&mut Version> {
        let mut at = first;
        while let Some(version) = at.and_then(|at| self.rows.get(at)) {
            if matches!(version.fate, Fate::Deleted) && wanted(version) {
                break;
            }
            at = version.next;
        }
        self.rows.get_mut(at?)
    }

    /// Keeps the rows that are not what they were.
    fn compare(&mut self, keys: &StringArray, rows: &RecordBatch, changed: &mut Rows) -> Result<()> {
        let mut is_changed = Vec::with_capacity(rows.num_rows());
        for (key, hash) in self.hashed(keys, rows)? {
            let first = self.by_key.get(key).map(|(first, _)| *first);
            let same = self.find(first, |version| version.hash == hash);
            is_changed.push(same.is_none());
            match same {
                Some(same) => same.fate = Fate::Kept,
                None => self.changed.push(first),
            }
        }
        changed.push(filter_record_batch(rows, &is_changed.into())?);
        Ok(())
    }

    /// When all rows were compared: of those that are not what they were, each is one with its key that is no more.
    fn settle(&mut self) {
        for (number, first) in std::mem::take(&mut self.changed).into_iter().enumerate() {
            if let Some(old) = self.find(first, |_| true) {
                old.fate = Fate::Updated(number);
            }
        }
    }
}

impl Fates for Versions {
    /// The rows are asked for in their order.
    fn of(&mut self, _: &str) -> Result<Fate> {
        let row = self.rows.get(self.asked).ok_or_else(|| Error::internal("a row that came later"))?;
        self.asked += 1;
        Ok(row.fate)
    }

    fn end(&self) -> Result<()> {
        Ok(())
    }
}

/// Meets the rows from before a write with those behind it.
pub(super) struct Pairs {
    feed: Arc<Feed>,
    instant: String,
    before: Option<Batches>,
    after: Rows,
    /// Which of the rows behind the write were rows before it.
    met: Vec<bool>,
    fates: Box<dyn Fates>,
    ready: VecDeque<RecordBatch>,
}

impl Pairs {
    pub(super) fn new(feed: &Arc<Feed>, part: &Part, before: Batches, after: Rows, fates: Box<dyn Fates>) -> Self {
        Self {
            feed: Arc::clone(feed),
            instant: part.instant.clone(),
            before: Some(before),
            met: vec![false; after.len()],
            after,
            fates,
            ready: VecDeque::new(),
        }
    }

    fn meet(&mut self, rows: &RecordBatch) -> Result<()> {
        let mut is_deleted = Vec::with_capacity(rows.num_rows());
        let mut is_updated = Vec::with_capacity(rows.num_rows());
        let mut became = Vec::new();
        for key in &self.feed.split.reading.rule.keys_of(rows)? {
            let fate = self.fates.of(key.ok_or_else(|| Error::corrupt("a row without record key"))?)?;
            is_deleted.push(matches!(fate, Fate::Deleted));
            is_updated.push(matches!(fate, Fate::Updated(_)));
            if let Fate::Updated(number) = fate {
                became.push(number);
                if let Some(met) = self.met.get_mut(number) {
                    *met = true;
                }
            }
        }
        let deleted = filter_record_batch(rows, &is_deleted.into())?;
        if deleted.num_rows() > 0 {
            self.ready.push_back(self.feed.deleted(&self.instant, &deleted)?);
        }
        if !became.is_empty() {
            let before = filter_record_batch(rows, &is_updated.into())?;
            self.ready.push_back(self.feed.updated(&self.instant, &before, &self.after.pick(&became)?)?);
        }
        Ok(())
    }

    /// The rows that nobody was before.
    fn finish(&mut self) -> Result<()> {
        self.before = None;
        self.fates.end()?;
        let new: Vec<_> = self.met.iter().enumerate().filter(|(_, met)| !**met).map(|(number, _)| number).collect();
        for numbers in new.chunks(self.feed.manner.batch_size) {
            let rows = self.after.pick(numbers)?;
            self.ready.push_back(self.feed.inserted(&self.instant, &rows)?);
        }
        Ok(())
    }
}

impl Iterator for Pairs {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            let done = match self.before.as_mut()?.next() {
                Some(rows) => rows.and_then(|rows| self.meet(&rows)),
                None => self.finish(),
            };
            if let Err(e) = done {
                self.before = None;
                return Some(Err(e));
            }
        }
    }
}
