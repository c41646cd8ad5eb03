//! The targets: one a room of the format floor, two for rooms with two kinds of bytes.

pub(crate) mod action;
mod avro;
mod bloom;
mod delete;
pub(crate) mod documents;
mod hash;
mod hfile;
mod history;
mod instant;
mod key;
mod log;
pub(crate) mod metadata_record;
mod name;
mod parquet;
mod positions;
mod properties;
mod schema;
mod schema_commit;

use crate::input::Input;
use crate::memory::bounded;
use hudini_format::Result;

/// One decoder under fire.
#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    /// Takes any bytes.
    ///
    /// # Panics
    /// If a promise is broken.
    pub run: fn(&[u8]),
    /// What the format is spelled with, for mutations.
    pub words: &'static [&'static [u8]],
    /// Makes lengths and checksums right again after a mutation, where it can.
    pub mend: fn(&mut [u8]),
}

/// All targets, by name.
pub const TARGETS: &[Target] = &[
    action::TARGET,
    avro::TARGET,
    bloom::TARGET,
    delete::TARGET,
    documents::TARGET,
    hash::TARGET,
    hfile::TARGET,
    history::TARGET,
    instant::TARGET,
    key::TARGET,
    log::TARGET,
    metadata_record::TARGET,
    name::TARGET,
    parquet::TARGET,
    positions::TARGET,
    properties::TARGET,
    schema::TARGET,
    schema_commit::TARGET,
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// For formats without lengths or checksums.
fn nothing_to_mend(_: &mut [u8]) {}

/// Decodes within the limit of memory.
fn decode<'a, T>(bytes: &'a [u8], decode: impl FnOnce(&'a [u8]) -> Result<T>) -> Option<T> {
    decode_declared(bytes, 0, decode)
}

/// Decodes bytes that declare some uncompressed size within the limit of memory.
fn decode_declared<'a, T>(bytes: &'a [u8], declared: usize, decode: impl FnOnce(&'a [u8]) -> Result<T>) -> Option<T> {
    match bounded(bytes.len(), declared, || decode(bytes)) {
        Ok(value) => Some(value),
        Err(error) => {
            check_error(&error);
            None
        }
    }
}

/// Bytes are never a defect of hudini, and an error can always be shown.
fn check_error(error: &hudini_format::Error) {
    assert_ne!(error.kind(), hudini_format::ErrorKind::Internal, "{error}");
    assert!(!error.to_string().is_empty());
}

/// What was decoded is encoded, decoded and encoded again: both encodings must be the same bytes. Gives the first.
fn survives<T>(value: &T, encode: impl Fn(&T) -> Result<Vec<u8>>, decode: impl Fn(&[u8]) -> Result<T>) -> Vec<u8> {
    let first = encode(value).unwrap_or_else(|error| panic!("what was decoded does not encode: {error}"));
    let again = decode(&first).unwrap_or_else(|error| panic!("what was encoded does not decode: {error}"));
    let second = encode(&again).unwrap_or_else(|error| panic!("what was decoded again does not encode: {error}"));
    assert!(first == second, "encoding changes what is encoded\n{first:02x?}\n{second:02x?}");
    first
}

/// Lines of text of an input, for targets that take many short texts at once.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &str> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_takes_nothing_and_anything() {
        for target in TARGETS {
            (target.run)(&[]);
            for byte in 0..=255 {
                (target.run)(&[byte]);
                (target.run)(&[byte; 40]);
            }
        }
    }

    #[test]
    fn names_are_in_order_and_mends_take_anything() {
        assert!(TARGETS.is_sorted_by(|a, b| a.name < b.name));
        for target in TARGETS {
            for word in target.words {
                let mut bytes = word.repeat(3);
                (target.mend)(&mut bytes);
                bytes.truncate(5);
                (target.mend)(&mut bytes);
            }
        }
        assert!(target("log").is_some() && target("none").is_none());
    }
}
