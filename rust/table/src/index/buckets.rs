//! Which buckets a table's keys fall into: stored by the table, or told by the job and then tried on its files.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use hudini_format::hash::bucket_of_file_id;
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::meta;

use crate::config::{Buckets, TableConfig};
use crate::merge::record_keys;
use crate::options::{self, Options};
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::{self, FileSlice};
use crate::{Error, Result, base_file};

/// Keys that are looked at; a wrong count agrees with all of them by chance once in a million.
const SAMPLED_KEYS: usize = 64;

/// The buckets by which this write finds its rows. A count that contradicts the table is refused, for keys looked for in
/// the wrong bucket are written a second time.
pub(super) fn resolve(
    storage: &Arc<dyn Storage>,
    config: &TableConfig,
    snapshot: &Snapshot,
    given: &Options,
) -> Result<Buckets> {
    let told = given.get(&options::BUCKET_COUNT)?;
    let fields = given.get(&options::HASH_FIELDS)?;
    if let (Some(stored), Some(fields)) = (config.buckets()?, &fields)
        && stored.hash_fields != *fields
    {
        let (key, told, stored) = (options::HASH_FIELDS.key(), fields.join(","), stored.hash_fields.join(","));
        return Err(Error::option(format!("{key}={told}, and the table's buckets are made of {stored}")));
    }
    match (config.buckets()?, told) {
        (Some(stored), None) => Ok(stored),
        (Some(stored), Some(told)) if stored.count == told => Ok(stored),
        (Some(stored), Some(told)) => Err(Error::option(format!(
            "{}={told}, and the table has {} buckets",
            options::BUCKET_COUNT.key(),
            stored.count
        ))),
        (None, Some(count)) => {
            let buckets = config.buckets_of(count, fields.unwrap_or_default());
            try_on_files(storage, config, snapshot, &buckets)?;
            Ok(buckets)
        }
        (None, None) => Err(Error::unsupported("writing to a table that is not known to be bucketed").with_hint(
            "if its files are buckets, say so: hoodie.index.type=BUCKET and hoodie.bucket.index.num.buckets",
        )),
    }
}

/// Looks whether keys lie where the told buckets would have put them, in the first base file to be found.
fn try_on_files(
    storage: &Arc<dyn Storage>,
    config: &TableConfig,
    snapshot: &Snapshot,
    buckets: &Buckets,
) -> Result<()> {
    for partition in view::partitions(storage.as_ref(), config)? {
        for slice in view::newest_slices(storage.as_ref(), config, snapshot, &partition)? {
            if let Some(keys) = sample(storage, &slice)? {
                return check(&keys, &slice, buckets);
            }
        }
    }
    Ok(())
}

/// Some keys of the slice's base file; `None` if it has no base file, or an empty one.
fn sample(storage: &Arc<dyn Storage>, slice: &FileSlice) -> Result<Option<RecordBatch>> {
    let Some(base) = &slice.base else { return Ok(None) };
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new(meta::RECORD_KEY, DataType::Utf8, true)]));
    base_file::read(storage, &slice.path(base), &schema, &Mapping::default(), SAMPLED_KEYS)?.next().transpose()
}

fn check(rows: &RecordBatch, slice: &FileSlice, buckets: &Buckets) -> Result<()> {
    let lies_in = bucket_of_file_id(&slice.file_id);
    match record_keys(rows)?.iter().flatten().find(|key| Some(buckets.today(key)) != lies_in) {
        Some(key) => Err(Error::option(format!(
            "with {} buckets the key '{key}' belongs to bucket {}, and it lies in the file group {}",
            buckets.count,
            buckets.today(key),
            slice.file_id
        ))
        .with_hint("the table was written with another bucket count or other hash fields, or has no buckets at all")),
        None => Ok(()),
    }
}
