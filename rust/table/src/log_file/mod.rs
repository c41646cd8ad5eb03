//! Log files on storage: read in the ranges that a log reader asks for, written block by block.

mod read;
mod write;

pub(crate) use read::{Choice, LogFile, Part, Visitor};
pub(crate) use write::{LogOf, LogOptions, LogWriter, WrittenLog};
