//! Where an action takes place, and with what.

use std::sync::Arc;

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
