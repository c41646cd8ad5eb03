//! `hoodie.properties` and its backup, also where a table could not be opened by them.

use hudini_format::properties::{Document, TABLE_CHECKSUM};
use serde_json::{Map, Value, json};

use crate::config::{self, PROPERTIES_FILES};
use crate::storage::Storage;
use crate::{Error, Location, Result};

/// The properties of a table, from each file that has them, in the order in which readers look. A file that readers pass
/// over says why.
pub fn properties(table: &Location) -> Result<Value> {
    let storage = table.open()?;
    let mut found = Vec::new();
    for path in PROPERTIES_FILES {
        if let Some(bytes) = storage.read(path)? {
            found.push(show(storage.as_ref(), path, &bytes));
        }
    }
    if found.is_empty() {
        return Err(config::no_table(storage.as_ref()));
    }
    Ok(found.into())
}

fn show(storage: &dyn Storage, path: &str, bytes: &[u8]) -> Value {
    let place = format!("{}/{path}", storage.root().trim_end_matches('/'));
    let at = |e: Error| e.at_path(&place).to_string();
    let document = match Document::parse(bytes) {
        Ok(document) => document,
        Err(e) => return json!({"path": path, "error": at(e)}),
    };
    let properties = document.properties();
    let pairs: Map<_, _> = properties.iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
    json!({
        "path": path,
        "comments": document.comments(),
        "properties": pairs,
        "checksum": {"stored": properties.get(TABLE_CHECKSUM), "computed": properties.computed_checksum().to_string()},
        "error": properties.verify_checksum().err().map(at),
    })
}
