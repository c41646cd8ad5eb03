//! Record indexes that a restore left behind.
//!
//! Apache Hudi builds a metadata table that has compacted since the savepoint anew before it takes the writes back. The list of files
//! is told of that; the record index goes on saying where rows were that are elsewhere now, or not at all.

use hudini_format::instant::Action;
use hudini_format::metadata_record::Partition;

use super::{has_record_index, is_wanted};
use crate::config::TableConfig;
use crate::metadata::MetadataTable;
use crate::site::Site;
use crate::timeline::Timeline;
use crate::{Error, Result};

const HINT: &str = "a write with hoodie.metadata.enable=false and hoodie.index.type=SIMPLE removes the metadata table, and the next \
                    one that asks for the index builds it anew";

/// A write that looks keys up there would write some twice.
pub(crate) fn refuse_left_behind(site: Site<'_>, config: &TableConfig, found: &Timeline) -> Result<()> {
    if !has_record_index(config) || !is_wanted(site)? {
        return Ok(());
    }
    let storage = site.store();
    let timeline = found.clone().with_history(storage, config)?;
    let restores: Vec<_> = timeline.completed().filter(|instant| instant.action == Action::Restore).collect();
    if restores.is_empty() {
        return Ok(());
    }
    let metadata = MetadataTable::open(site.storage, config, found)?;
    let Some(built) = metadata.map(|metadata| metadata.built(&Partition::RecordIndex)).transpose()?.flatten() else {
        return Ok(());
    };
    for restore in restores.into_iter().filter(|restore| restore.completed.as_ref() > Some(&built)) {
        let taken_back = timeline.restore_metadata(storage, restore)?.instants_to_rollback;
        if taken_back.iter().any(|instant| *instant < built) {
            return Err(Error::unsupported("writing by a record index that knows rows which a restore took back")
                .at_instant(&restore.requested)
                .with_hint(HINT));
        }
    }
    Ok(())
}
