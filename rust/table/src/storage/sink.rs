//! A new file as encoders write to one.

use std::io;

use super::{Put, Writer};
use crate::{Error, Result};

/// Counts what goes through.
pub(crate) struct Sink {
    writer: Box<dyn Writer>,
    bytes: u64,
}

impl Sink {
    pub(crate) fn new(writer: Box<dyn Writer>) -> Self {
        Self { writer, bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Shows the file, unless something is there.
    pub(crate) fn close(self) -> Result<Put> {
        self.writer.close()
    }
}

impl io::Write for Sink {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.writer.write(buffer).map_err(io::Error::other)?;
        self.bytes += buffer.len() as u64;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What went wrong below an encoder or a decoder, which know of `io` alone. `what` is said of errors that are not ours.
pub(crate) fn from_io(e: io::Error, what: &str) -> Error {
    match e.into_inner().map(|inner| inner.downcast::<Error>()) {
        Some(Ok(ours)) => *ours,
        Some(Err(other)) => Error::storage(what).caused_by(other),
        None => Error::storage(what),
    }
}
