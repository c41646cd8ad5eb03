//! What of a scan any reader of Parquet can read: base files without logs whose rows are shown as they lie there.
//!
//! Engines read such files with means of their own: they take the columns and rows that they need from them, and know how
//! large they are.

use std::sync::Arc;

use super::pin::Found;
use super::shape::RowShape;
use super::{Scan, Split};
use crate::Result;
use crate::base_file;
use crate::context::pool::run_all;
use crate::storage::absolute;
use crate::view::{BASE_EXTENSION, FileSlice};

/// A scan in two.
#[derive(Debug, Clone, PartialEq)]
pub struct Plain {
    /// Absolute paths on the local file system. Their rows are those of the scan, in columns of its schema; columns that a
    /// file lacks are null.
    pub files: Vec<String>,
    /// All others.
    pub rest: Vec<Split>,
}

impl Scan {
    /// Looks into the footers of all base files that may be plain.
    pub fn plain(&self) -> Result<Plain> {
        self.request.refuse_limit()?;
        if !self.may_be_plain()? {
            return Ok(Plain { files: Vec::new(), rest: self.parts(None) });
        }
        let parts = run_all(self.table.context.threads, self.by_slice(), |_, (slice, split)| {
            Ok((self.plain_file(&slice)?, split))
        })?;
        let (mut files, mut rest) = (Vec::new(), Vec::new());
        for (file, split) in parts {
            match file {
                Some(file) => files.push(file),
                None => rest.push(split),
            }
        }
        Ok(Plain { files, rest })
    }

    /// Whether rows of base files are shown as they are: all of them, in the types in which they lie there.
    fn may_be_plain(&self) -> Result<bool> {
        let (reading, request) = (&self.reading, &self.request);
        let stored = RowShape::stored(&reading.snapshot)?;
        let is_stored = |field: &arrow_schema::Field| {
            let found = stored.field_with_name(field.name()).is_ok_and(|found| found.data_type() == field.data_type());
            found && base_file::is_plain_type(field.data_type())
        };
        let is_local = self.table.storage.root().starts_with('/');
        let takes_all = matches!(&self.pinned.found, Found::Rows { commits: None, .. });
        let is_elsewhere = reading.sources.is_some() || reading.snapshot.evolution.is_some();
        let fits = !self.schema.fields().is_empty() && self.schema.fields().iter().all(|field| is_stored(field));
        Ok(is_local && takes_all && request.filter.is_none() && !is_elsewhere && fits)
    }

    fn plain_file(&self, slice: &FileSlice) -> Result<Option<String>> {
        let Some(base) = slice.base.as_ref().filter(|_| slice.logs.is_empty()) else { return Ok(None) };
        let path = slice.path(base);
        let shown = absolute(self.table.storage.as_ref(), &path);
        let is_parquet = base.name.rsplit_once('.').is_some_and(|(_, extension)| extension == BASE_EXTENSION);
        if !is_parquet || !is_plain_path(&shown) {
            return Ok(None);
        }
        let folder = self.reading.shape.folder_values(&slice.partition, &self.schema)?;
        let is_plain = base_file::is_plain(&self.table.storage, &path, &Arc::clone(&self.schema), folder.values())?;
        Ok(is_plain.then_some(shown))
    }
}

/// Characters that Hadoop takes for a pattern.
const PATTERN: &[char] = &['{', '}', '[', ']', '*', '?', '\\'];

/// Whether nobody takes any character of it for something else; beyond ASCII that depends on the JVM's locale.
fn is_plain_path(path: &str) -> bool {
    path.chars().all(|c| (c.is_ascii_graphic() || c == ' ') && !PATTERN.contains(&c))
}
