//! What an older version of the columns has to do with a newer one: by ids alone.

use std::collections::BTreeMap;

use super::{Column, Kind, TableSchema};
use crate::schema::evolve::{Mapping, Source};

impl TableSchema {
    /// Under which names files written by the version `file` have the columns of this one. A column whose id they lack
    /// is not there, even if they have one of its name.
    pub fn names_in(&self, file: &Self) -> Mapping {
        names(&self.columns, &file.columns)
    }
}

fn names(wanted: &[Column], file: &[Column]) -> Mapping {
    let by_id: BTreeMap<i32, &Column> = file.iter().map(|column| (column.id, column)).collect();
    let sources = wanted.iter().filter_map(|column| {
        let source = match by_id.get(&column.id) {
            Some(had) => Source { name: Some(had.name.clone()), within: within(&column.kind, &had.kind) },
            None => Source::default(),
        };
        let says_itself = source.within.0.is_empty() && source.name.as_ref() == Some(&column.name);
        (!says_itself).then(|| (column.name.clone(), source))
    });
    Mapping(sources.collect())
}

/// Of the record in a field, or in the items or values there. Others have no names.
fn within(wanted: &Kind, file: &Kind) -> Mapping {
    match (wanted, file) {
        (Kind::Record(wanted), Kind::Record(file)) => names(wanted, file),
        (Kind::Array { element: wanted, .. }, Kind::Array { element: file, .. })
        | (Kind::Map { value: wanted, .. }, Kind::Map { value: file, .. }) => within(wanted, file),
        _ => Mapping::default(),
    }
}
