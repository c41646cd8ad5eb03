//! Bodies of layout 1 that are JSON, as Jackson writes them.

use serde::de::DeserializeOwned;

use super::datum::Budget;
use crate::wire::utf8;
use crate::{Error, Result};

/// The memory of an empty object at most: that of write statistics, thrice while a list of them grows.
const OBJECT: usize = 3 * 640;
/// The memory of any other value at most, in a list that grows.
const VALUE: usize = 3 * 80;

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    check_size(bytes)?;
    serde_json::from_slice(bytes)
        .map_err(|e| Error::corrupt(format!("{what} cannot be decoded from JSON")).caused_by(e))
}

/// Refuses texts that are short for what they would take in memory, such as a million empty objects.
fn check_size(bytes: &[u8]) -> Result<()> {
    let mut budget = Budget::of(bytes.len());
    let (mut quoted, mut escaped) = (false, false);
    for byte in bytes {
        match (quoted, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => quoted = false,
            (true, _) => {}
            (false, b'"') => quoted = true,
            (false, b'{') => budget.spend(OBJECT)?,
            (false, b',' | b'[') => budget.spend(VALUE)?,
            (false, _) => {}
        }
    }
    Ok(())
}

/// The text of a body that is kept as it stands.
pub(super) fn text(bytes: &[u8], what: &str) -> Result<String> {
    let valid = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
    valid.map_err(|e| Error::corrupt(format!("{what} is not JSON")).caused_by(e))?;
    utf8(bytes, what, 0).map(str::to_owned)
}
