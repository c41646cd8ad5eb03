//! Bodies of layout 1 that are JSON, as Jackson writes them; other small files of a table too.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::datum::Budget;
use super::metered::Metered;
use crate::wire::utf8;
use crate::{Error, Result};

pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    read(bytes, Budget::of(bytes.len())).map_err(|e| Error::corrupt(format!("{what} cannot be decoded")).caused_by(e))
}

/// A body as it is.
pub(super) fn tree(bytes: &[u8], what: &str) -> Result<Value> {
    read(bytes, Budget::of_tree(bytes.len()))
        .map_err(|e| Error::corrupt(format!("{what} cannot be decoded")).caused_by(e))
}

fn read<T: DeserializeOwned>(bytes: &[u8], mut budget: Budget) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = T::deserialize(Metered::new(&mut json, &mut budget))?;
    json.end()?;
    Ok(value)
}

/// The text of a body that is kept as it stands.
pub(super) fn text(bytes: &[u8], what: &str) -> Result<String> {
    let valid = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
    valid.map_err(|e| Error::corrupt(format!("{what} is not JSON")).caused_by(e))?;
    utf8(bytes, what, 0).map(str::to_owned)
}
