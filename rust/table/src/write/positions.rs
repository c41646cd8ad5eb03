//! Which rows of a base file changes are about, for readers that merge by position.

use std::collections::HashMap;

use crate::Result;
use crate::merge::{Batches, record_keys};

/// The rows of the keys; `None` if one has none in the base file, or several. `base`: the keys of the file, in its order.
pub(super) fn rows_of(keys: &[&str], base: Batches) -> Result<Option<Vec<u64>>> {
    let mut found: HashMap<&str, Option<u64>> = keys.iter().map(|key| (*key, None)).collect();
    let mut row = 0;
    for batch in base {
        for key in record_keys(&batch?)? {
            if let Some(place) = key.and_then(|key| found.get_mut(key))
                && place.replace(row).is_some()
            {
                return Ok(None);
            }
            row += 1;
        }
    }
    Ok(keys.iter().map(|key| found.get(key).copied().flatten()).collect())
}

/// Items in the order of their rows, and the rows.
pub(super) fn sorted<T>(items: Vec<T>, rows: Vec<u64>) -> (Vec<T>, Vec<u64>) {
    let mut placed: Vec<(u64, T)> = rows.into_iter().zip(items).collect();
    placed.sort_by_key(|(row, _)| *row);
    let (rows, items) = placed.into_iter().unzip();
    (items, rows)
}
