//! What of a table need not be read for a filter: whole partitions by their paths, file groups by the buckets of keys.
//!
//! Both hold for a file group with all its logs, because a row never leaves its partition or its bucket.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::take::take;
use hudini_format::hash::bucket_of_file_id;
use hudini_format::key::{DEFAULT_PARTITION, Generator, KeyConfig};
use hudini_format::schema::meta;

use super::shape::RowShape;
use crate::config::TableConfig;
use crate::filter::{ColumnStats, Predicate, Stats, exact_date};
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, Result};

/// Keys that are looked up one by one; of more, hardly a bucket or a file would be left out.
pub(super) const MOST_KEYS: usize = 1024;

/// How much a filter made it unnecessary to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    pub partitions: usize,
    /// In other partitions.
    pub slices: usize,
    /// What told so, and of how many of them.
    pub by: BTreeMap<Evidence, usize>,
}

/// What tells that something need not be read. The first two tell of partitions, the others of slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    Paths,
    PartitionStats,
    Buckets,
    RecordIndex,
    SecondaryIndex,
    ColumnStats,
    ExpressionIndex,
    BloomFilters,
}

impl Evidence {
    /// As `explain()` says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::PartitionStats => "partition_stats",
            Self::Buckets => "buckets",
            Self::RecordIndex => "record_index",
            Self::SecondaryIndex => "secondary_index",
            Self::ColumnStats => "column_stats",
            Self::ExpressionIndex => "expression_index",
            Self::BloomFilters => "bloom_filters",
        }
    }
}

impl Pruned {
    pub(super) fn add(&mut self, by: Evidence, count: usize) {
        if count == 0 {
            return;
        }
        match by {
            Evidence::Paths | Evidence::PartitionStats => self.partitions += count,
            _ => self.slices += count,
        }
        *self.by.entry(by).or_default() += count;
    }
}

/// A condition on partition columns alone, asked of partition paths. When in doubt, a partition is wanted.
#[derive(Debug)]
pub(crate) struct PartitionFilter(Choice);

impl PartitionFilter {
    pub(crate) fn new(config: &TableConfig, snapshot: &Snapshot, filter: &str) -> Result<Self> {
        let shape = RowShape::of(config)?;
        let columns = shape.shown(snapshot, false)?;
        let predicate = Predicate::new(filter, &columns)?;
        if let Some(other) = predicate.columns().iter().find(|name| !config.partition_by.contains(name)) {
            return Err(Error::option(format!("'{other}' is no partition column"))
                .with_hint("whole partitions are chosen here, not rows"));
        }
        Ok(Self(Choice::of_paths(config, &shape, &columns, Some(predicate))))
    }

    pub(crate) fn wants(&self, path: &str) -> bool {
        self.0.may_hold(path)
    }
}

/// What a filter wants of a table.
#[derive(Debug)]
pub(super) struct Choice {
    predicate: Option<Predicate>,
    paths: Option<KeyConfig>,
    /// Types of the columns that make partition paths, by name.
    kinds: BTreeMap<String, DataType>,
    buckets: Option<WantedBuckets>,
    /// The partition that was asked for last, and the answer: slices come partition by partition.
    last: Option<(String, bool)>,
    dropped: BTreeSet<String>,
    slices: usize,
}

#[derive(Debug)]
struct WantedBuckets {
    wanted: BTreeSet<u32>,
    count: u32,
}

impl Choice {
    pub(super) fn new(
        storage: &dyn Storage,
        config: &TableConfig,
        shape: &RowShape,
        columns: &Schema,
        filter: Option<&str>,
    ) -> Result<Self> {
        let predicate = filter.map(|filter| Predicate::new(filter, columns)).transpose()?;
        let mut choice = Self::of_paths(config, shape, columns, predicate);
        if let (Some(predicate), Some(keys)) = (&choice.predicate, &choice.paths) {
            choice.buckets = wanted_buckets(storage, config, predicate, keys, columns)?;
        }
        Ok(choice)
    }

    /// By paths alone.
    fn of_paths(config: &TableConfig, shape: &RowShape, columns: &Schema, predicate: Option<Predicate>) -> Self {
        // A table whose paths are made in an unknown way is read as a whole.
        let paths = KeyConfig::from_properties(&config.properties).ok().filter(|_| predicate.is_some());
        // What is shown may come from the files, which folders only sort.
        let fields = paths.iter().flat_map(|paths| &paths.partition_fields);
        let fields = fields.filter(|field| shape.folders_say(&field.name));
        let kind = |name: &String| Some((name.clone(), columns.field_with_name(name).ok()?.data_type().clone()));
        let kinds = fields.filter_map(|field| kind(&field.name)).collect();
        Self { predicate, paths, kinds, buckets: None, last: None, dropped: BTreeSet::new(), slices: 0 }
    }

    /// Whether rows of the partition can match.
    pub(super) fn wants_partition(&mut self, path: &str) -> bool {
        if self.predicate.is_none() {
            return true;
        }
        if let Some((last, wanted)) = &self.last
            && last == path
        {
            return *wanted;
        }
        let wanted = self.may_hold(path);
        if !wanted {
            self.dropped.insert(path.to_owned());
        }
        self.last = Some((path.to_owned(), wanted));
        wanted
    }

    fn may_hold(&self, path: &str) -> bool {
        self.predicate.as_ref().is_none_or(|predicate| predicate.may_match(&self.of_path(path)))
    }

    /// Whether the slice can hold rows that match, by its partition and its bucket.
    pub(super) fn wants(&mut self, slice: &FileSlice) -> bool {
        if !self.wants_partition(&slice.partition) {
            return false;
        }
        let Some(buckets) = &self.buckets else { return true };
        let bucket = bucket_of_file_id(&slice.file_id);
        let wanted = bucket.is_none_or(|bucket| bucket >= buckets.count || buckets.wanted.contains(&bucket));
        self.slices += usize::from(!wanted);
        wanted
    }

    pub(super) fn pruned(&self) -> Pruned {
        let mut pruned = Pruned::default();
        pruned.add(Evidence::Paths, self.dropped.len());
        pruned.add(Evidence::Buckets, self.slices);
        pruned
    }

    pub(super) fn predicate(&self) -> Option<&Predicate> {
        self.predicate.as_ref()
    }

    /// The record keys of all rows that the filter can mean, as an index has them; `None` if those are not certain.
    pub(super) fn record_keys(&self, columns: &Schema) -> Result<Option<BTreeSet<String>>> {
        let Some(predicate) = &self.predicate else { return Ok(None) };
        let keys = match predicate.values_of(meta::RECORD_KEY) {
            Some(keys) => Some(keys),
            None => match self.paths.as_ref().filter(|paths| is_plain(paths, columns)) {
                Some(paths) => wanted_keys(predicate, paths, columns)?,
                None => None,
            },
        };
        let keys = keys.as_ref().and_then(|keys| keys.as_string_opt::<i32>()).filter(|keys| keys.len() <= MOST_KEYS);
        Ok(keys.map(|keys| keys.iter().flatten().map(str::to_owned).collect()))
    }

    /// What the path of a partition says about the columns of its rows.
    fn of_path(&self, path: &str) -> PathStats {
        let own: ArrayRef = Arc::new(StringArray::from(vec![path]));
        let mut known = BTreeMap::from([(meta::PARTITION_PATH.to_owned(), exactly(own))]);
        let Some(KeyConfig { partition_fields, path_style, .. }) = &self.paths else { return PathStats(known) };
        let names: Vec<_> = partition_fields.iter().map(|field| field.name.as_str()).collect();
        let Ok(values) = path_style.values(path, &names) else { return PathStats(known) };
        for (at, (field, value)) in partition_fields.iter().zip(values).enumerate() {
            let level = if names.len() == 1 { path } else { path.split('/').nth(at).unwrap_or_default() };
            let Some(kind) = self.kinds.get(&field.name).filter(|_| field.time.is_none()) else { continue };
            let stats = match value {
                None if level.ends_with(DEFAULT_PARTITION) => Some(nothing(kind)),
                // The name that it had once may be a value as well.
                None => None,
                // Which of them were dashes cannot be told, but of dates.
                Some(_) if path_style.slashed_dates && *kind != DataType::Date32 => None,
                // Of a path that only looks like one of Hive's.
                Some(_) if !path_style.hive && level.starts_with(&format!("{}=", field.name)) => None,
                Some(text) => parse(&text, kind).map(exactly),
            };
            known.extend(stats.map(|stats| (field.name.clone(), stats)));
        }
        PathStats(known)
    }
}

struct PathStats(BTreeMap<String, Stats>);

impl ColumnStats for PathStats {
    fn stats(&self, column: &str) -> Option<Stats> {
        self.0.get(column).cloned()
    }
}

fn exactly(value: ArrayRef) -> Stats {
    Stats { min: Some(Arc::clone(&value)), max: Some(value), nulls: Some(0), rows: None }
}

/// Null; empty texts lie there too.
fn nothing(kind: &DataType) -> Stats {
    if *kind == DataType::Utf8 {
        let empty: ArrayRef = Arc::new(StringArray::from(vec![""]));
        return Stats { nulls: None, ..exactly(empty) };
    }
    Stats { nulls: Some(1), rows: Some(1), ..Stats::default() }
}

/// The value of which a key generator makes that text; `None` where that is not certain.
fn parse(text: &str, kind: &DataType) -> Option<ArrayRef> {
    Some(match kind {
        DataType::Utf8 => Arc::new(StringArray::from(vec![text])),
        DataType::Int32 => Arc::new(Int32Array::from(vec![plain::<i32>(text)?])),
        DataType::Int64 => Arc::new(Int64Array::from(vec![plain::<i64>(text)?])),
        DataType::Boolean => Arc::new(BooleanArray::from(vec![plain::<bool>(text)?])),
        DataType::Date32 => exact_date(text)?,
        _ => return None,
    })
}

/// What prints as it was read.
fn plain<T: std::str::FromStr + ToString>(text: &str) -> Option<T> {
    text.parse().ok().filter(|value: &T| value.to_string() == text)
}

/// The buckets of all keys that a filter can mean; `None` if those are not known, or the table's buckets are not.
fn wanted_buckets(
    storage: &dyn Storage,
    config: &TableConfig,
    predicate: &Predicate,
    generator: &KeyConfig,
    columns: &Schema,
) -> Result<Option<WantedBuckets>> {
    let Some(buckets) = config.simple_buckets(storage)? else { return Ok(None) };
    let Some(keys) = wanted_keys(predicate, generator, columns)? else { return Ok(None) };
    let keys = keys.as_string::<i32>().iter().flatten();
    let wanted = keys.map(|key| buckets.only(key)).collect::<Option<_>>();
    Ok(wanted.map(|wanted| WantedBuckets { wanted, count: buckets.count }))
}

/// The record keys of all rows that a filter can mean.
fn wanted_keys(predicate: &Predicate, generator: &KeyConfig, columns: &Schema) -> Result<Option<ArrayRef>> {
    if let Some(keys) = predicate.values_of(meta::RECORD_KEY) {
        return Ok(Some(keys));
    }
    let fields = &generator.key_fields;
    // Releases differ in whether the key of a single field names it, and a table does not tell by which it was written.
    if generator.generator == Generator::Complex && fields.len() == 1 {
        return Ok(None);
    }
    let values: Option<Vec<ArrayRef>> = fields.iter().map(|field| predicate.values_of(field)).collect();
    let Some(values) = values.filter(|values| !values.is_empty() && values.iter().all(prints_alike)) else {
        return Ok(None);
    };
    let count = values.iter().try_fold(1_usize, |count, values| count.checked_mul(values.len()));
    let Some(count) = count.filter(|count| (1..=MOST_KEYS).contains(count)) else { return Ok(None) };
    // Every value of one field with every value of the others.
    let mut stride = count;
    let mut combined = Vec::new();
    for values in &values {
        stride /= values.len();
        let at = (0..count).map(|row| (row / stride % values.len()) as u64);
        combined.push(take(values, &UInt64Array::from_iter_values(at), None)?);
    }
    if fields.iter().any(|field| columns.field_with_name(field).is_err()) {
        return Ok(None);
    }
    let schema = fields.iter().zip(&combined).map(|(name, values)| Field::new(name, values.data_type().clone(), true));
    let rows = RecordBatch::try_new(Arc::new(Schema::new(schema.collect::<Vec<_>>())), combined)?;
    // What cannot be a key has no row, but that is not for here to say.
    Ok(generator.record_keys(&rows).ok().map(|keys| Arc::new(keys) as ArrayRef))
}

/// Whether a record key is the text of one field, whichever release wrote it: of other fields than texts and whole numbers
/// the ways of writing differ.
fn is_plain(keys: &KeyConfig, columns: &Schema) -> bool {
    let kind = |field: &String| columns.field_with_name(field).ok().map(|field| field.data_type().clone());
    matches!(keys.generator, Generator::Simple | Generator::NonPartition)
        && keys.key_fields.len() == 1
        && keys
            .key_fields
            .iter()
            .all(|field| matches!(kind(field), Some(DataType::Utf8 | DataType::Int32 | DataType::Int64)))
}

/// Whether equal values have equal texts in keys: of numbers with a point that is not so.
fn prints_alike(values: &ArrayRef) -> bool {
    matches!(
        values.data_type(),
        DataType::Utf8 | DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Boolean
    )
}
