//! Which index a write goes by: what the table stores, what the job says, and what its files look like.

use std::sync::Arc;

use hudini_format::hash::{PARTITION_BUCKETS_FOLDER, bucket_of_file_id};

use super::{Index, buckets, has_rings};
use crate::config::{HOODIE, TableConfig, keys};
use crate::metadata::keep::{has_record_index, wants_record_index};
use crate::options::{self, IndexType, Options};
use crate::storage::Storage;
use crate::timeline::{Snapshot, Timeline};
use crate::view::FileSlice;
use crate::{Error, Result};

/// No partition has as many buckets, and one random file id in forty thousand begins with a smaller number.
const PLAUSIBLE_BUCKETS: u32 = 100_000;

/// The index of a write. Where table and job contradict each other nothing is written: a key that is looked for in the
/// wrong way is written a second time.
pub(crate) fn resolve(
    storage: &Arc<dyn Storage>,
    config: &TableConfig,
    found: &Timeline,
    snapshot: &Snapshot,
    given: &Options,
) -> Result<Index> {
    let has_records = has_record_index(config) || wants_record_index(given)?;
    let with_records = has_records && given.get_or_default(&options::METADATA_ENABLE)?;
    let told = given.get(&options::INDEX_TYPE)?;
    told.map_or(Ok(()), IndexType::require_writable)?;
    let stored = config.get(keys::INDEX_TYPE).map(|word| options::INDEX_TYPE.read(word)).transpose()?;
    stored.map_or(Ok(()), IndexType::require_writable)?;
    let stored = stored.or(config.buckets()?.map(|_| IndexType::Bucket));
    let has_buckets = |index: IndexType| index == IndexType::Bucket;
    match (stored, told) {
        (Some(stored), Some(told)) if has_buckets(stored) != has_buckets(told) => {
            let key = options::INDEX_TYPE.key();
            Err(Error::option(format!("{key}={told}, and the table was made with {stored}"))
                .with_hint("keys would be written twice; leave the option out"))
        }
        (_, Some(IndexType::Bucket)) | (Some(IndexType::Bucket), _) => {
            refuse_other_buckets(storage.as_ref())?;
            buckets::resolve(storage, config, snapshot, given).map(Index::Buckets)
        }
        (None, None) if given.is_set(&options::BUCKET_COUNT) => {
            refuse_other_buckets(storage.as_ref())?;
            buckets::resolve(storage, config, snapshot, given).map(Index::Buckets)
        }
        (stored, told) => {
            refuse_other_layouts(storage.as_ref(), config, found)?;
            match told.or(stored) {
                Some(IndexType::GlobalRecordLevel) if !with_records => Err(no_record_index()),
                None | Some(IndexType::GlobalRecordLevel) if with_records => Ok(Index::Records),
                None if has_record_index(config) => Err(keys_of_all_partitions()),
                told => Ok(Index::Files { by_bloom: told == Some(IndexType::Bloom) }),
            }
        }
    }
}

fn no_record_index() -> Error {
    Error::option(format!("{}=RECORD_INDEX without a metadata table", options::INDEX_TYPE.key()))
        .with_hint(format!("leave {}=false out", options::METADATA_ENABLE.key()))
}

fn keys_of_all_partitions() -> Error {
    Error::option(format!("{}=false, and the table has a record index", options::METADATA_ENABLE.key())).with_hint(
        "a key is one for all partitions there, and would be one for each: leave the option out, or name an index",
    )
}

/// Buckets that are not of one number for all partitions.
fn refuse_other_buckets(storage: &dyn Storage) -> Result<()> {
    if has_rings(storage)? {
        return Err(Error::unsupported("writing to a table with the consistent hashing index"));
    }
    if !storage.list(&format!("{HOODIE}/{PARTITION_BUCKETS_FOLDER}"))?.is_empty() {
        return Err(Error::unsupported("writing to a table whose partitions have numbers of buckets of their own"));
    }
    Ok(())
}

/// Apache Hudi stores nowhere that a table has buckets: the folders of its bucket indexes tell of some, file ids of others.
fn refuse_other_layouts(storage: &dyn Storage, config: &TableConfig, found: &Timeline) -> Result<()> {
    refuse_other_buckets(storage)?;
    let newest = found.commits().rev().filter(|i| !i.files.is_empty());
    for instant in newest {
        let metadata = found.commit_metadata(storage, instant)?;
        let ids: Vec<_> = metadata.write_stats().filter_map(|stat| stat.file_id.as_deref()).collect();
        if !ids.is_empty() {
            return refuse_bucket_ids(ids.into_iter()).map_err(|e| e.at_path(config.timeline_dir()));
        }
    }
    Ok(())
}

/// Refuses a partition whose file groups all look like buckets.
pub(crate) fn refuse_buckets(slices: &[FileSlice]) -> Result<()> {
    refuse_bucket_ids(slices.iter().map(|slice| slice.file_id.as_str()))
}

fn refuse_bucket_ids<'i>(ids: impl Iterator<Item = &'i str>) -> Result<()> {
    let mut ids = ids.peekable();
    let looks_so = |id: &str| bucket_of_file_id(id).is_some_and(|bucket| bucket < PLAUSIBLE_BUCKETS);
    if ids.peek().is_none() || !ids.all(looks_so) {
        return Ok(());
    }
    Err(Error::unsupported("writing to a table whose files look like buckets, but that is not known to be bucketed")
        .with_hint("if its files are buckets, say so: hoodie.index.type=BUCKET and hoodie.bucket.index.num.buckets"))
}
