//! Where an action takes place, and with what.

use std::ops::Deref;
use std::sync::Arc;

use crate::concurrency::TableLock;
use crate::context::Context;
use crate::options::Options;
use crate::storage::Storage;

/// The table's storage, what comes from outside, and what the caller asked for.
#[derive(Debug, Clone, Copy)]
pub struct Site<'s> {
    pub storage: &'s Arc<dyn Storage>,
    pub context: &'s Context,
    pub options: &'s Options,
}

impl<'s> Site<'s> {
    pub fn store(&self) -> &'s dyn Storage {
        self.storage.as_ref()
    }
}

/// The same for what may happen under the table's lock alone.
#[derive(Debug, Clone, Copy)]
pub struct Locked<'s> {
    pub site: Site<'s>,
    pub lock: &'s TableLock,
}

impl<'s> Deref for Locked<'s> {
    type Target = Site<'s>;

    fn deref(&self) -> &Site<'s> {
        &self.site
    }
}
