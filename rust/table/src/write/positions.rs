//! Which rows of a base file changes are about, for readers that merge by position.

use std::collections::HashMap;

use crate::Result;
use crate::merge::{Batches, record_keys};

/// Rows of keys that the base file has once; the others have no position.
pub(super) struct RowsOfKeys(HashMap<String, Option<u64>>);

impl RowsOfKeys {
    /// `base`: the keys of the file, in its order.
    pub(super) fn find<'k>(wanted: impl Iterator<Item = &'k str>, base: Batches) -> Result<Self> {
        let mut found: HashMap<String, Option<u64>> = wanted.map(|key| (key.to_owned(), None)).collect();
        let mut doubled = Vec::new();
        let mut row = 0;
        for batch in base {
            for key in record_keys(&batch?)? {
                if let Some((key, place)) = key.and_then(|key| Some((key, found.get_mut(key)?)))
                    && place.replace(row).is_some()
                {
                    doubled.push(key.to_owned());
                }
                row += 1;
            }
        }
        for key in doubled {
            found.remove(&key);
        }
        Ok(Self(found))
    }

    /// Where the keys are; `None` if one has no row.
    pub(super) fn of<'k>(&self, keys: impl Iterator<Item = &'k str>) -> Option<Vec<u64>> {
        keys.map(|key| self.0.get(key).copied().flatten()).collect()
    }
}

/// Items in the order of their rows, and the rows; as they came and without rows, if not all have one.
pub(super) fn sorted<T>(items: Vec<T>, rows: Option<Vec<u64>>) -> (Vec<T>, Vec<u64>) {
    let Some(rows) = rows else { return (items, Vec::new()) };
    let mut placed: Vec<(u64, T)> = rows.into_iter().zip(items).collect();
    placed.sort_by_key(|(row, _)| *row);
    let (rows, items) = placed.into_iter().unzip();
    (items, rows)
}
