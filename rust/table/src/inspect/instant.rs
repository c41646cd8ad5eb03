//! A file of the timeline, active or archived, of either layout.

use std::ops::RangeFull;

use hudini_format::action::to_json;
use hudini_format::history::{Columns, Entry, FileName, Manifest, Reader, VERSION_FILE, archive, parse_version};
use hudini_format::instant::InstantFile;
use hudini_format::name::ArchiveFileName;
use serde_json::{Value, json};

use super::File;
use crate::{Error, Result};

/// Commit metadata of the largest tables takes some hundred megabytes.
const MOST: u64 = 1 << 30;
const MANIFEST: &str = "manifest_";

/// Says what the file is by its name, and what it holds. A file of another name is taken for the content of an instant.
pub fn instant_file(file: &File) -> Result<Value> {
    let bytes = file.read(MOST)?;
    show(&file.name, &bytes).map_err(|e| file.at(e))
}

fn show(name: &str, bytes: &bytes::Bytes) -> Result<Value> {
    if name == VERSION_FILE {
        return Ok(json!({"file": "history version", "content": parse_version(bytes)?}));
    }
    if name.starts_with(MANIFEST) {
        let manifest = Manifest::decode(bytes)?;
        let files = manifest.files.iter().map(|file| json!({"name": file.file_name, "length": file.file_len}));
        return Ok(json!({"file": "history manifest", "content": files.collect::<Vec<_>>()}));
    }
    if FileName::parse(name).is_some() {
        let entries = Reader::open(bytes.clone(), Columns::All, &RangeFull)?;
        let entries = entries.map(|entry| archived(&entry?)).collect::<Result<Vec<_>>>()?;
        return Ok(json!({"file": "history", "content": entries}));
    }
    if ArchiveFileName::parse(name).is_some() {
        let states = archive::Archives::default().decode(bytes)?;
        let states = states.iter().map(|state| {
            Ok(json!({
                "requested": state.requested,
                "reached": state.reached,
                "action": state.action.name(),
                "state": state.state.name(),
                "metadata": state.metadata.as_deref().map(to_json).transpose()?,
                "plan": state.plan.as_deref().map(to_json).transpose()?,
            }))
        });
        return Ok(json!({"file": "archive", "content": states.collect::<Result<Vec<_>>>()?}));
    }
    let content = to_json(bytes);
    let Some(instant) = InstantFile::parse(name) else {
        let foreign = || {
            Error::corrupt("this is no file of a timeline, by its name and by its content")
                .with_hint("give a file of .hoodie, .hoodie/timeline or its history, or of .hoodie/archived")
        };
        return match content {
            Ok(Value::Null) => Err(foreign().at_offset(0)),
            Ok(content) => Ok(json!({"file": "unknown", "content": content})),
            Err(e) => Err(foreign().at_offset(e.offset().unwrap_or(0)).caused_by(e)),
        };
    };
    let content = content.map_err(|e| e.at_instant(&instant.requested))?;
    Ok(json!({
        "file": "instant",
        "requested": instant.requested,
        "completed": instant.completed,
        "action": instant.action.name(),
        "state": instant.state.name(),
        "content": content,
    }))
}

fn archived(entry: &Entry) -> Result<Value> {
    let shown = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(to_json).transpose();
    Ok(json!({
        "requested": entry.requested,
        "completed": entry.completed,
        "action": entry.action.map(|action| action.name()),
        "metadata": shown(&entry.metadata).map_err(|e| e.at_instant(&entry.requested))?,
        "plan": shown(&entry.plan).map_err(|e| e.at_instant(&entry.requested))?,
    }))
}
