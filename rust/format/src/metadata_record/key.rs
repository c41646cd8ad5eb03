//! Keys of the metadata table.
//!
//! ```text
//! h64(text)      Base64 of 8 bytes, xxHash64 with the seed 0xFFFFFFFFDABADABA, most significant first    12 characters
//! h128(text)     Base64 of 16 bytes, MD5                                                                24 characters
//! secondary key  esc(value) $ esc(record key); esc puts \ before \, $ and U+0000; a null value is one U+0000
//! ```
//!
//! A partition path stands as it is, without a slash at the end; that of an unpartitioned table is `.`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use xxhash_rust::xxh64::xxh64;

use crate::{Error, Result};

/// The record of `files` that lists the partitions.
pub const ALL_PARTITIONS: &str = "__all_partitions__";
/// Stands for the only partition of an unpartitioned table.
pub const UNPARTITIONED: &str = ".";
/// Stands where a partition's statistics in an expression index have a second part of the column's hash.
pub const EXPRESSION_PARTITION_STATS: &str = "__partition_stat__";

/// Java's `0xdabadaba`, an `int` made a `long`.
const SEED: u64 = 0xffff_ffff_daba_daba;
const SEPARATOR: char = '$';
const ESCAPE: char = '\\';
const NULL: char = '\0';

/// The name of a partition path in keys and lists.
pub fn partition_name(path: &str) -> &str {
    if path.is_empty() { UNPARTITIONED } else { path }
}

/// The partition path of a name in keys and lists.
pub fn partition_path(name: &str) -> &str {
    if name == UNPARTITIONED { "" } else { name }
}

pub fn h64(text: &str) -> String {
    STANDARD.encode(xxh64(text.as_bytes(), SEED).to_be_bytes())
}

pub fn h128(text: &str) -> String {
    STANDARD.encode(Md5::digest(text.as_bytes()))
}

/// `partition` is a path, `""` for none; `column` a dotted full name; `file` a name without folders.
pub fn column_stats(column: &str, partition: &str, file: &str) -> String {
    h64(column) + &h64(partition_name(partition)) + &h128(file)
}

/// What the keys of a column's statistics start with, in one partition or in all.
pub fn column_stats_prefix(column: &str, partition: Option<&str>) -> String {
    h64(column) + &partition.map(|path| h64(partition_name(path))).unwrap_or_default()
}

pub fn partition_stats(column: &str, partition: &str) -> String {
    h64(column) + &h64(partition_name(partition))
}

pub fn bloom_filter(partition: &str, file: &str) -> String {
    h64(partition_name(partition)) + &h128(file)
}

/// The statistics of a whole partition in an expression index.
pub fn expression_partition_stats(column: &str, partition: &str) -> String {
    h64(column) + &h64(EXPRESSION_PARTITION_STATS) + &h64(partition_name(partition))
}

/// The value of a secondary index with the record key that has it.
pub fn secondary(value: Option<&str>, record_key: &str) -> String {
    secondary_prefix(value) + &escape(record_key)
}

/// What the keys of a value start with, and what from version 2 of the index on decides about its file group.
pub fn secondary_prefix(value: Option<&str>) -> String {
    value.map_or_else(|| NULL.to_string(), escape) + SEPARATOR.encode_utf8(&mut [0; 4])
}

/// Takes a key of a secondary index apart: value and record key.
pub fn split_secondary(key: &str) -> Result<(Option<String>, String)> {
    let (value, record_key) = split_escaped(key)?;
    let value = if value == NULL.encode_utf8(&mut [0; 4]) { None } else { Some(unescape(value)) };
    Ok((value, unescape(record_key)))
}

/// The escaped value and the separator: see [`secondary_prefix`].
pub(super) fn escaped_prefix(key: &str) -> Result<&str> {
    let (value, _) = split_escaped(key)?;
    key.get(..=value.len()).ok_or_else(|| no_separator(key))
}

/// Splits at the first separator that is not escaped.
fn split_escaped(key: &str) -> Result<(&str, &str)> {
    let mut escaped = false;
    let separator = key.char_indices().find(|(_, c)| {
        let found = !escaped && *c == SEPARATOR;
        escaped = !escaped && *c == ESCAPE;
        found
    });
    let (at, _) = separator.ok_or_else(|| no_separator(key))?;
    let (value, rest) = key.split_at(at);
    Ok((value, rest.strip_prefix(SEPARATOR).unwrap_or_default()))
}

fn no_separator(key: &str) -> Error {
    Error::corrupt(format!("secondary index key '{}' has no '{SEPARATOR}'", key.escape_debug()))
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ESCAPE | SEPARATOR | NULL) {
            out.push(ESCAPE);
        }
        out.push(c);
    }
    out
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == ESCAPE { chars.next() } else { Some(c) });
    }
    out
}
