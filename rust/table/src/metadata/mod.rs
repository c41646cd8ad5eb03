//! The metadata table: a table of its own within its table's folder, of keys and what is known of them.
//!
//! ```text
//! MetadataTable   which partitions there are; its timeline, and which of its log blocks count
//!   lookup        a partition: which file groups there are and which one holds a key
//!     group       a file group: base HFile and logs, merged by key; look-ups touch only the blocks they need
//! named           which files its commits wrote: what is gone or cut is not taken for what says nothing
//! files           the partition `files` as a list of the table's files; whether it knows of every commit
//! indexes         statistics, bloom filters, where record keys are
//! record_groups   the record index, to be asked on other machines
//! rows            records as Arrow rows, for people
//! keep            it is told of every action of the table
//! ranges          what is in the columns of a file, of which statistics are made
//! ```
//!
//! A write of the table goes first into the metadata table, with the same instant, and is completed there before it is on
//! the table's own timeline. So what has completed there counts only unless the table says that it is still pending.

mod files;
mod group;
mod indexes;
pub(crate) mod keep;
mod lookup;
mod named;
pub(crate) mod ranges;
mod record_groups;
mod rows;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hudini_format::instant::{Action, Layout};
use hudini_format::metadata_record::{IndexVersion, Partition};
use hudini_format::properties::{INDEX_DEFINITIONS_FILE, IndexDefinitions};

use crate::config::{HOODIE, TableConfig, keys, split_fields};
use crate::storage::Storage;
use crate::storage::folder::Folder;
use crate::timeline::{Instant, Snapshot, Timeline, Until, instants_in};
use crate::{Error, Result};

use named::Named;

pub use files::ListedFiles;
pub use indexes::{InPartition, OfFiles, SecondaryEntry};
pub(crate) use record_groups::RecordGroups;
pub use rows::{MetadataRows, rows};

/// Below the table.
pub const FOLDER: &str = ".hoodie/metadata";

/// One reading of the metadata table.
#[derive(Debug)]
pub struct MetadataTable {
    /// Of the table that it belongs to.
    table: Arc<dyn Storage>,
    /// Of its own folder.
    storage: Arc<dyn Storage>,
    config: TableConfig,
    /// Those that readers may use, in the order of the table's properties.
    partitions: Vec<String>,
    timeline: Timeline,
    /// Which of its files count, by that.
    snapshot: Snapshot,
    /// Which files that names, once somebody has asked.
    named: OnceLock<Named>,
    /// The same by what the history knows besides, where a file is missing.
    named_with_history: OnceLock<Named>,
    /// Which log blocks of these count, by both timelines.
    counted: Snapshot,
    /// Where it is said what the indexes are about.
    definitions_path: String,
    /// Whether the table's logs may be longer than is said of them.
    logs_grow: bool,
    /// Whether something has completed here that the table's timeline does not show as completed.
    is_ahead: bool,
}

impl MetadataTable {
    /// Opens the metadata table of a table whose timeline was read before: so there is nothing on that timeline which
    /// is not here yet. `None` if readers are told that there is none.
    pub fn open(storage: &Arc<dyn Storage>, table: &TableConfig, timeline: &Timeline) -> Result<Option<Self>> {
        let partitions = partitions(table);
        if partitions.is_empty() {
            return Ok(None);
        }
        let folder: Arc<dyn Storage> = Arc::new(Folder::new(Arc::clone(storage), FOLDER));
        let config = TableConfig::load(folder.as_ref())?;
        let format = config.get(keys::BASE_FORMAT).unwrap_or_default();
        if !format.eq_ignore_ascii_case("hfile") {
            return Err(Error::unsupported(format!("a metadata table with base files of format '{format}'"))
                .at_path(folder.root()));
        }
        let own = Timeline::load(folder.as_ref(), &config).map_err(|e| e.at_path(folder.root()))?;
        let snapshot =
            Snapshot::pin(folder.as_ref(), &config, &own, Until::Now).map_err(|e| e.at_path(folder.root()))?;
        if snapshot.completed.is_empty() {
            return Err(Error::corrupt("the metadata table has no completed commit").at_path(folder.root()));
        }
        let logs_grow = timeline.layout == Layout::One;
        let counted = counted(&snapshot, &own, timeline);
        let is_ahead = is_ahead(&own, timeline);
        let definitions_path = definitions_path(table).to_owned();
        let table = Arc::clone(storage);
        let storage = folder;
        Ok(Some(Self {
            table,
            storage,
            config,
            partitions,
            timeline: own,
            snapshot,
            named: OnceLock::new(),
            named_with_history: OnceLock::new(),
            counted,
            definitions_path,
            logs_grow,
            is_ahead,
        }))
    }

    /// The names of the partitions that readers may use.
    pub fn partitions(&self) -> &[String] {
        &self.partitions
    }

    pub fn has(&self, partition: &Partition) -> bool {
        self.partitions.contains(&partition.to_string())
    }

    /// Whether readers are still told to use a partition. Who gives it up says so first, and then deletes it file by file:
    /// so what was read before this is asked was all there.
    pub fn still_has(&self, partition: &Partition) -> Result<bool> {
        let now = TableConfig::load(self.table.as_ref())?;
        Ok(partitions(&now).contains(&partition.to_string()))
    }

    /// Whether this may be the state of the table in the future: something has completed here that had not on the table's
    /// timeline when it was read, or that was taken back there, or is being taken back.
    pub fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// What the indexes are about.
    pub fn definitions(&self) -> Result<IndexDefinitions> {
        read_definitions(self.table.as_ref(), &self.definitions_path)
    }

    /// How the keys of an index are made, which differs for secondary indexes alone. Not every index has a definition;
    /// each release has a version for those.
    fn key_version(&self, partition: &Partition) -> Result<IndexVersion> {
        if *partition == Partition::Files {
            return Ok(IndexVersion::V1);
        }
        match (self.definitions()?.get(&partition.to_string()), partition) {
            (Some(definition), Partition::SecondaryIndex(_)) => definition.key_version(),
            // Its keys are made as they always were, unless it is of a version that is not known.
            (Some(definition), _) => definition.key_version().map(|_| IndexVersion::V1),
            (None, Partition::SecondaryIndex(_)) if self.config.version >= FIRST_WITH_VERSIONS => Ok(IndexVersion::V2),
            (None, _) => Ok(IndexVersion::V1),
        }
    }

    /// When a partition was built, or built anew, if its name tells; however long ago.
    fn built(&self, partition: &Partition) -> Result<Option<String>> {
        let storage = self.storage.as_ref();
        let timeline = self.timeline.clone().with_history(storage, &self.config)?;
        let mut built = None;
        for commit in timeline.commits().filter(|commit| commit.requested.starts_with(INITIAL)) {
            let written = timeline.commit_metadata(storage, commit)?.partition_to_write_stats;
            if written.is_some_and(|written| written.contains_key(&partition.to_string())) {
                built = built.max(commit.completed.clone());
            }
        }
        Ok(built)
    }

    fn named(&self) -> Result<&Named> {
        match self.named.get() {
            Some(named) => Ok(named),
            None => {
                let named = Named::by(self.storage.as_ref(), &self.timeline)?;
                Ok(self.named.get_or_init(|| named))
            }
        }
    }

    fn named_with_history(&self) -> Result<&Named> {
        match self.named_with_history.get() {
            Some(named) => Ok(named),
            None => {
                let timeline = self.timeline.clone().with_history(self.storage.as_ref(), &self.config)?;
                let named = Named::by(self.storage.as_ref(), &timeline)?;
                Ok(self.named_with_history.get_or_init(|| named))
            }
        }
    }

    /// Whether that action has completed here.
    fn knows(&self, requested: &str) -> bool {
        self.snapshot.completed.contains_key(requested)
    }

    /// Avro text of its records, as its newest commit states it.
    fn schema(&self) -> Result<&str> {
        let schema = self.snapshot.schema.as_deref();
        schema
            .ok_or_else(|| Error::corrupt("no commit of the metadata table has a schema").at_path(self.storage.root()))
    }
}

/// Times of initial commits start so: they are of no action of the table.
const INITIAL: &str = "00000000000000";
/// Digits of an instant. Version 6 puts more behind it, for what kind of action of the metadata table it is.
const INSTANT_DIGITS: usize = 17;

/// Whether there is a metadata table that was told of an action: where its table is new, it is but made.
pub(crate) fn was_told(storage: &dyn Storage, table: &TableConfig) -> Result<bool> {
    if partitions(table).is_empty() {
        return Ok(false);
    }
    let own = instants_in(storage, &format!("{FOLDER}/{}", table.timeline_dir()), table.layout)?;
    let mut told = own.iter().filter(|instant| instant.action == Action::DeltaCommit && instant.is_completed());
    Ok(told.any(|instant| !instant.requested.starts_with(INITIAL)))
}

fn is_ahead(own: &Timeline, table: &Timeline) -> bool {
    let completed: BTreeSet<&str> = table.completed().map(|instant| instant.requested.as_str()).collect();
    let start = table.instants.iter().find(|instant| instant.action.writes_data()).map(|instant| &instant.requested);
    let is_known = |requested: &str| {
        let of_table = requested.get(..INSTANT_DIGITS).unwrap_or(requested);
        of_table.starts_with(INITIAL)
            || completed.contains(of_table)
            || start.is_some_and(|start| of_table < start.as_str())
    };
    // What was there when this was built was told of by no write of its own.
    let takes_back = |instant: &Instant| matches!(instant.action, Action::Rollback | Action::Restore);
    let mut writes = own.completed().filter(|instant| instant.action == Action::DeltaCommit);
    table.pending().any(takes_back) || writes.any(|instant| !is_known(&instant.requested))
}

/// The table version from which on indexes have versions other than the first.
const FIRST_WITH_VERSIONS: u32 = 9;

/// The partitions of the metadata table that readers may use; those being built are not among them.
pub fn partitions(table: &TableConfig) -> Vec<String> {
    split_fields(table.get(keys::METADATA_PARTITIONS).unwrap_or_default())
}

/// Those that are being built.
pub fn partitions_in_flight(table: &TableConfig) -> Vec<String> {
    split_fields(table.get(keys::METADATA_INFLIGHT).unwrap_or_default())
}

/// What the indexes of a table are about; nothing is said of some of them.
pub fn index_definitions(storage: &dyn Storage, table: &TableConfig) -> Result<IndexDefinitions> {
    read_definitions(storage, definitions_path(table))
}

fn definitions_path(table: &TableConfig) -> &str {
    // The specification has an absolute path here, and no release writes one.
    let stated = table.get(keys::INDEX_DEFINITIONS).filter(|path| path.starts_with(HOODIE));
    stated.unwrap_or(INDEX_DEFINITIONS_FILE)
}

fn read_definitions(storage: &dyn Storage, path: &str) -> Result<IndexDefinitions> {
    match storage.read(path)? {
        Some(bytes) => IndexDefinitions::decode(&bytes).map_err(|e| e.at_path(path)),
        None => Ok(IndexDefinitions::default()),
    }
}

/// A log block counts if its action has completed on the table, or here without being pending there: initial commits,
/// indexes being built, actions archived there or rolled back. What is older than both timelines has completed.
fn counted(snapshot: &Snapshot, own: &Timeline, table: &Timeline) -> Snapshot {
    let is_pending = |requested: &str| table.pending().any(|instant| instant.requested == requested);
    let counts = |requested: &str, action: Action| action != Action::DeltaCommit || !is_pending(requested);
    let own = own.completed().filter(|instant| counts(&instant.requested, instant.action));
    let completed = own.chain(table.completed());
    let completed = completed.map(|i| (i.requested.clone(), i.completed.clone().unwrap_or_default())).collect();
    let first_pending = table.pending().map(|instant| instant.requested.clone()).min();
    let start = snapshot.start.clone();
    let start = start.map(|start| first_pending.map_or(start.clone(), |pending| pending.min(start)));
    // Blocks answer for themselves.
    Snapshot { completed, start, logs_named_by_slice: true, ..snapshot.clone() }
}
