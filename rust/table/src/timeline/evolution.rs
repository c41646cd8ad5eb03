//! Tables under schema-on-read: which names files have for the columns of a snapshot.

use hudini_format::action::CommitMetadata;
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::on_read::{History, LATEST_SCHEMA, TableSchema};
use serde::{Deserialize, Serialize};

use crate::storage::{Entry, Storage};
use crate::{Error, Result};

/// Where completed schema commits lie.
const SCHEMA_DIR: &str = ".hoodie/.schema";

const SCHEMA_COMMIT: &str = ".schemacommit";

/// The columns by their ids, as texts, so that it can travel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evolution {
    /// What the snapshot's newest commit says.
    latest: String,
    /// All versions so far.
    history: String,
}

impl Evolution {
    /// What a commit says of it; `None` for a table without schema-on-read. `counts` tells which commits count.
    pub(super) fn of(
        storage: &dyn Storage,
        commit: &CommitMetadata,
        counts: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>> {
        let latest = commit.extra_metadata.as_ref().and_then(|extra| extra.get(LATEST_SCHEMA));
        let Some(latest) = latest.filter(|text| !text.is_empty()) else { return Ok(None) };
        let files = storage.list(SCHEMA_DIR)?.into_iter().filter_map(|entry| match entry {
            Entry::File { name, .. } => Some(name),
            Entry::Dir { .. } => None,
        });
        // `T.schemacommit` up to version 6, then `T_<completed>.schemacommit`.
        let requested = |name: &str| {
            let times = name.strip_suffix(SCHEMA_COMMIT)?;
            Some(times.split_once('_').map_or(times, |(requested, _)| requested).to_owned())
        };
        let commits = files.filter_map(|name| Some((requested(&name)?, name)));
        let newest = commits.filter(|(requested, _)| counts(requested)).max();
        let (_, name) = newest.ok_or_else(|| {
            Error::unsupported(format!("a table whose columns have ids ({LATEST_SCHEMA}), but no history of them"))
                .at_path(SCHEMA_DIR)
        })?;
        let path = format!("{SCHEMA_DIR}/{name}");
        let bytes = storage.read(&path)?;
        let bytes = bytes.ok_or_else(|| Error::storage("a schema commit vanished").gone().at_path(&path))?;
        let history = History::decode(&bytes).map_err(|e| e.at_path(&path))?.encode();
        Ok(Some(Self { latest: latest.clone(), history }))
    }

    /// The names in files that a commit of that time wrote.
    pub(crate) fn names_at(&self, requested: &str) -> Result<Mapping> {
        let latest = TableSchema::decode(&self.latest)?;
        let history = History::decode(self.history.as_bytes())?;
        let time = requested
            .parse()
            .map_err(|e| Error::corrupt(format!("'{requested}' is not the time of a commit")).caused_by(e))?;
        let then = history.at(time).ok_or_else(|| {
            Error::corrupt(format!("the history of columns has no version for files of {requested}"))
                .at_path(SCHEMA_DIR)
        })?;
        Ok(latest.names_in(then))
    }
}
