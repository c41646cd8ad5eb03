//! Where the samples go.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value};

pub(crate) type Done<T = ()> = Result<T, Box<dyn Error>>;

pub(crate) struct Folder {
    path: PathBuf,
    /// What samples hold, by kind and name.
    told: Map<String, Value>,
}

impl Folder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), told: Map::new() }
    }

    /// Writes one of a sample's files. `file` may lie in folders below the sample's own.
    pub(crate) fn put(&self, kind: &str, sample: &str, file: &str, bytes: impl AsRef<[u8]>) -> Done {
        let path = self.path.join(kind).join(sample).join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(fs::write(path, bytes)?)
    }

    /// Says what a sample holds.
    pub(crate) fn tell(&mut self, kind: &str, sample: &str, holds: Value) {
        let samples = self.told.entry(kind).or_insert_with(|| Value::Object(Map::new()));
        samples[sample] = holds;
    }

    pub(crate) fn finish(self) -> Done {
        Ok(fs::write(self.path.join("samples.json"), serde_json::to_vec_pretty(&self.told)?)?)
    }
}
