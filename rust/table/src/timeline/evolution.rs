//! Tables under schema-on-read: which names files have for the columns of a snapshot.

use hudini_format::action::CommitOutline;
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::on_read::{History, LATEST_SCHEMA, TableSchema};
use serde::{Deserialize, Serialize};

use crate::storage::{Storage, file_names};
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
        commit: &CommitOutline,
        counts: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>> {
        let latest = commit.extra_metadata.as_ref().and_then(|extra| extra.get(LATEST_SCHEMA));
        let Some(latest) = latest.filter(|text| !text.is_empty()) else { return Ok(None) };
        let files = file_names(storage, SCHEMA_DIR)?;
        // `T.schemacommit` up to version 6, then `T_<completed>.schemacommit`.
        let requested = |name: &str| {
            let times = name.strip_suffix(SCHEMA_COMMIT)?;
            Some(times.split_once('_').map_or(times, |(requested, _)| requested).to_owned())
        };
        let (counted, later): (Vec<_>, Vec<_>) = files
            .into_iter()
            .filter_map(|name| Some((requested(&name)?, name)))
            .partition(|(requested, _)| counts(requested));
        // Apache Hudi cleans old ones away; those that came later know all that the old ones knew.
        let newest = counted.into_iter().max().or_else(|| later.into_iter().min());
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::ManualClock;
    use crate::storage::memory::Memory;

    fn version(id: u32, name: &str) -> String {
        format!(
            r#"{{"max_column_id":0,"version_id":{id},"type":"record","fields":[{{"id":0,"name":"{name}","optional":true,"type":"string"}}]}}"#
        )
    }

    #[test]
    fn a_state_whose_schema_commit_was_cleaned_away_has_a_later_one() {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        let put = |time: &str, versions: &[String]| {
            let history = format!(r#"{{"schemas":[{}]}}"#, versions.join(","));
            memory.replace(&format!("{SCHEMA_DIR}/{time}_{time}5.schemacommit"), history.as_bytes()).unwrap();
        };
        let known = [version(100, "old"), version(200, "new"), version(300, "newest")];
        put("300", &known);
        memory.replace(&format!("{SCHEMA_DIR}/200.schemacommit.requested"), b"").unwrap();
        let commit = CommitOutline {
            extra_metadata: Some([(LATEST_SCHEMA.to_owned(), version(200, "new"))].into()),
            ..CommitOutline::default()
        };
        let names_then = || {
            let evolution = Evolution::of(&memory, &commit, |requested| requested <= "200").unwrap().unwrap();
            ["100", "200"].map(|time| evolution.names_at(time).unwrap())
        };
        let latest = TableSchema::decode(&version(200, "new")).unwrap();
        let expected = [("old", 100), ("new", 200)]
            .map(|(name, id)| latest.names_in(&TableSchema::decode(&version(id, name)).unwrap()));
        assert_eq!(names_then(), expected);
        put("200", &known[..2]);
        assert_eq!(names_then(), expected, "what counts comes first");
    }
}
