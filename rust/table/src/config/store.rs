//! `hoodie.properties` on storage: the one file of a table that is rewritten in place, with a backup to fall back to.

use hudini_format::instant::format_time;
use hudini_format::properties::{INDEX_DEFINITIONS_FILE, Properties, java_date};

use super::{HOODIE, keys};
use crate::context::Context;
use crate::storage::{Put, Storage};
use crate::{Error, ErrorKind, Result};

const FILE: &str = ".hoodie/hoodie.properties";
const BACKUP: &str = ".hoodie/hoodie.properties.backup";
/// Where the properties stand, in the order in which they are looked for.
pub(crate) const PROPERTIES_FILES: [&str; 2] = [FILE, BACKUP];

/// Reads the properties, or their backup where a rewrite was interrupted.
pub fn read_properties(storage: &dyn Storage) -> Result<Properties> {
    let mut broken = None;
    for path in PROPERTIES_FILES {
        match read(storage, path) {
            Ok(Some(properties)) => return Ok(properties),
            Ok(None) => {}
            Err(e) if e.kind() == ErrorKind::CorruptFile => broken = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(broken.unwrap_or_else(|| no_table(storage)))
}

pub(crate) fn no_table(storage: &dyn Storage) -> Error {
    Error::new(ErrorKind::TableNotFound, "there is no Hudi table here: .hoodie/hoodie.properties is missing")
        .at_path(storage.root())
}

fn read(storage: &dyn Storage, path: &str) -> Result<Option<Properties>> {
    let Some(bytes) = storage.read(path)? else { return Ok(None) };
    let parsed = Properties::parse(&bytes).and_then(|p| p.verify_checksum().map(|()| p)).and_then(named);
    parsed.map(Some).map_err(|e| e.at_path(path))
}

/// A rewrite that was broken off may leave an empty file: no properties of a table.
fn named(properties: Properties) -> Result<Properties> {
    match properties.get(keys::NAME).is_some_and(|name| !name.trim().is_empty()) {
        true => Ok(properties),
        false => Err(Error::corrupt(format!("the properties of a table without {}", keys::NAME))),
    }
}

/// Tells readers that there is no metadata table, then removes it.
///
/// A writer that does not keep the metadata table must do this under the table's lock before it commits: files that
/// the metadata table does not list stay invisible to its readers for ever. The order matters, since readers trust the
/// property alone. Apache Hudi builds the table anew with its next write.
pub fn clear_metadata_table(storage: &dyn Storage, context: &Context) -> Result<()> {
    update(storage, context, |properties| {
        for key in [keys::METADATA_PARTITIONS, keys::METADATA_INFLIGHT] {
            if properties.get(key).is_some() {
                properties.set(key, "");
            }
        }
    })?;
    storage.delete_dir(&format!("{HOODIE}/metadata"))
}

/// Tells readers that there is a metadata table, and which partitions of it they may use; and where it is said what indexes
/// are about, if there are such.
pub(crate) fn announce_metadata_table(
    storage: &dyn Storage,
    context: &Context,
    partitions: &[String],
    with_definitions: bool,
) -> Result<()> {
    update(storage, context, |properties| {
        properties.set(keys::METADATA_PARTITIONS, partitions.join(","));
        properties.set(keys::METADATA_INFLIGHT, "");
        if with_definitions && properties.get(keys::INDEX_DEFINITIONS).is_none() {
            properties.set(keys::INDEX_DEFINITIONS, INDEX_DEFINITIONS_FILE);
        }
    })
}

/// Writes the properties of a new table; `false` if there are some already.
pub(crate) fn write_properties(storage: &dyn Storage, context: &Context, properties: &Properties) -> Result<bool> {
    let now = context.clock.now_ms();
    let bytes = properties.to_bytes(&format!("Properties saved on {}", iso(now)), &java_date(now));
    Ok(matches!(storage.create(FILE, &bytes)?, Put::Done(_)))
}

/// Rewrites the properties so that a reader finds the old ones or the new ones at any moment. Callers hold the lock.
fn update(storage: &dyn Storage, context: &Context, change: impl FnOnce(&mut Properties)) -> Result<()> {
    let mut properties = read_properties(storage)?;
    let now = context.clock.now_ms();
    let write = |properties: &Properties| properties.to_bytes(&format!("Updated at {}", iso(now)), &java_date(now));
    // Never without a whole copy: a backup left by an interrupted rewrite is written over, not deleted first.
    storage.replace(BACKUP, &write(&properties))?;
    change(&mut properties);
    storage.replace(FILE, &write(&properties))?;
    storage.delete(BACKUP).map(drop)
}

/// `2026-11-21T09:25:35.519Z`
fn iso(epoch_ms: i64) -> String {
    let digits = format_time(epoch_ms, 0);
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-{}T{}:{}:{}.{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14),
        part(14, 17)
    )
}
