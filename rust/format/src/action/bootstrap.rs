//! The bootstrap index: which file elsewhere holds the columns of a base file that has the meta columns alone.
//!
//! It is an HFile. A key names partition and file id, its value is a record in a container file.

use serde::Deserialize;

use super::container::Container;
use crate::schema::Record;
use crate::{Error, Result};

/// The source of one base file. The status holds more, about times and owners of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename = "HoodieBootstrapFilePartitionInfo", rename_all = "camelCase")]
pub struct BootstrapFile {
    /// The folder below the bootstrap's base path.
    pub bootstrap_partition_path: Option<String>,
    pub bootstrap_file_status: Option<BootstrapFileStatus>,
    pub partition_path: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename = "HoodieFileStatus", rename_all = "camelCase")]
pub struct BootstrapFileStatus {
    pub path: Option<BootstrapPath>,
    pub length: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename = "HoodiePath", rename_all = "camelCase")]
pub struct BootstrapPath {
    pub uri: Option<String>,
}

impl BootstrapFile {
    /// The key of a base file in the index.
    pub fn key(partition: &str, file_id: &str) -> String {
        format!("part={partition};fileid={file_id}")
    }

    /// Decodes a value of the index.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let broken = |e: Error| Error::new(e.kind(), "an entry of the bootstrap index cannot be decoded").caused_by(e);
        let container = Container::parse(bytes).map_err(broken)?;
        let schema = Record::parse(container.schema).map_err(broken)?;
        container.decode(&schema, bytes.len()).map_err(broken)
    }

    /// The path below the bootstrap's base path.
    pub fn relative_path(&self) -> Result<String> {
        let uri = self.bootstrap_file_status.as_ref().and_then(|status| status.path.as_ref()?.uri.as_deref());
        let name = uri.and_then(|uri| uri.rsplit('/').next()).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::corrupt("an entry of the bootstrap index names no file"))?;
        Ok(match self.bootstrap_partition_path.as_deref() {
            None | Some("") => name.to_owned(),
            Some(folder) => format!("{folder}/{name}"),
        })
    }
}
