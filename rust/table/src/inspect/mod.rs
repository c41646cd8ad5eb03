//! Looking into a table, for people: what it consists of (`state`), and what the bytes of one file say, without the table.
//!
//! What is in a file comes out as JSON values, piece by piece, so that a file of any size can be shown. Damage is a piece
//! like others: what stands before it is shown first.

mod hfile;
mod instant;
mod log;
mod properties;
mod state;
mod values;
mod writers;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use serde_json::Value;

pub use hfile::{Wanted, hfile};
pub use instant::instant_file;
pub use log::log_file;
pub use properties::properties;
pub use state::{IndexLine, IndexState, PartitionLine, indexes, partitions, slices};
pub use writers::{LockLine, locks, markers};

use crate::storage::Storage;
use crate::{Error, Location, Result, json};

/// What is found in a file, in the order of the file.
#[derive(Debug)]
pub enum Piece<'a> {
    /// A block begins, or the file as a whole.
    Block(&'a Value),
    Records(&'a [Value]),
    /// The block is over.
    End {
        /// Those not shown count too.
        records: u64,
        /// Why there are no more.
        error: Option<&'a Error>,
    },
    /// Offsets that were passed over, because they are no whole block.
    Damaged(Range<u64>),
}

/// Takes the pieces. Its error ends the showing.
pub type Sink<'s> = dyn FnMut(Piece<'_>) -> Result<()> + 's;

/// One file, by its own path or URL.
#[derive(Debug, Clone)]
pub struct File {
    storage: Arc<dyn Storage>,
    name: String,
    size: u64,
}

impl File {
    /// `location` is the file's own. A folder, or nothing at all, is refused.
    pub fn open(location: &Location) -> Result<Self> {
        let url = location.url.as_str();
        let (folder, name) = match url.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some((folder, name)) => (folder, name),
            None => (".", url),
        };
        let folder = Location { url: folder.to_owned(), storage_options: location.storage_options.clone() };
        let storage = folder.open()?;
        let missing = || Error::storage("there is no such file").at_path(url).with_hint("give the path of one file");
        if name.is_empty() {
            return Err(missing());
        }
        let meta = storage.head(name)?.ok_or_else(missing)?;
        Ok(Self { storage, name: name.to_owned(), size: meta.size })
    }

    /// A file of a store that is open.
    pub(crate) fn within(storage: &Arc<dyn Storage>, path: String, size: u64) -> Self {
        Self { storage: Arc::clone(storage), name: path, size }
    }

    /// The last part of its path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All of it, if it has at most `most` bytes.
    fn read(&self, most: u64) -> Result<Bytes> {
        if self.size > most {
            let message = format!("the file has {} bytes, at most {most} are read of such a file", self.size);
            return Err(self.at(Error::unsupported(message)));
        }
        self.range(0..self.size)
    }

    fn range(&self, range: Range<u64>) -> Result<Bytes> {
        let parts = self.storage.submit(&self.name, vec![range]).wait()?;
        parts.into_iter().next().ok_or_else(|| Error::internal("a store left out a part"))
    }

    /// The error with the file's path.
    fn at(&self, error: Error) -> Error {
        error.at_path(format!("{}/{}", self.storage.root().trim_end_matches('/'), self.name))
    }
}
