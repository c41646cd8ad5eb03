//! Which history files are valid: a manifest for every change, and the number of the newest.
//!
//! ```text
//! {
//!   "files" : [ {
//!     "fileName" : "20261121100057710_20261121100138866_2.parquet",
//!     "fileLen" : 11581
//!   }, {
//!     …
//!   } ]
//! }
//! ```

use std::fmt::Write;

use serde::Deserialize;

use crate::{Error, Result};

/// Holds the number of the newest manifest as text.
pub const VERSION_FILE: &str = "_version_";

const PREFIX: &str = "manifest_";

/// The name of the manifest with this number. The first is 1.
pub fn manifest_name(version: u32) -> String {
    format!("{PREFIX}{version}")
}

/// The content of [`VERSION_FILE`].
pub fn parse_version(bytes: &[u8]) -> Result<u32> {
    let text = str::from_utf8(bytes).ok().map(str::trim);
    text.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let shown = String::from_utf8_lossy(bytes.get(..32).unwrap_or(bytes)).into_owned();
        Error::corrupt(format!("'{shown}' is not the number of a history manifest")).at_offset(0)
    })
}

/// The number of the newest manifest, from [`VERSION_FILE`] or, if that is missing or unreadable, from the names in the
/// folder; `None` where there is no history.
pub fn latest_version<'a>(version_file: Option<&[u8]>, names: impl IntoIterator<Item = &'a str>) -> Option<u32> {
    let stated = version_file.and_then(|bytes| parse_version(bytes).ok());
    stated.or_else(|| names.into_iter().filter_map(|name| name.strip_prefix(PREFIX)?.parse().ok()).max())
}

/// A manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Manifest {
    pub files: Vec<HistoryFile>,
}

/// A history file, as a manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryFile {
    pub file_name: String,
    /// In bytes.
    pub file_len: u64,
}

impl Manifest {
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).map_err(|e| Error::corrupt("a history manifest cannot be decoded").caused_by(e))
    }

    /// As Jackson prints it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = "{\n  \"files\" : [ ".to_owned();
        for (at, HistoryFile { file_name, file_len }) in self.files.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            // Writing into a string cannot fail; names are quoted as JSON.
            let name = serde_json::Value::from(file_name.as_str());
            let _ = write!(out, "{comma}{{\n    \"fileName\" : {name},\n    \"fileLen\" : {file_len}\n  }}");
        }
        out.push_str(if self.files.is_empty() { "]\n}" } else { " ]\n}" });
        out.into_bytes()
    }
}
