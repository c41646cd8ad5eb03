//! Keys looked up in the record index, which is one for all partitions: a row goes where its key is, whatever partition its
//! own values name.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::StringArray;

use super::action::Action;
use super::locate::Names;
use super::located::{Homes, Named};
use crate::Result;

/// A file group, by its slot among those of its partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) partition: String,
    pub(super) slot: i32,
}

/// Of keys that are there.
pub(super) type Places = BTreeMap<String, Vec<Place>>;

pub(super) fn find(action: &mut Action, named: &[Named]) -> Result<Places> {
    let keys = named.iter().flat_map(|named| named.names.keys.iter().flatten());
    let wanted: BTreeSet<String> = keys.map(str::to_owned).collect();
    action.recorded(wanted)
}

/// Moves rows to the partitions of their keys.
pub(super) fn follow(places: &Places, names: &mut Names) {
    let home = |key: Option<&str>| Some(places.get(key?)?.first()?.partition.as_str());
    let moved = names.partitions.iter().zip(&names.keys).map(|(partition, key)| home(key).or(partition));
    names.partitions = moved.collect::<StringArray>();
}

/// The slots of the keys, in the partitions to which their rows were moved.
pub(super) fn homes<'n>(places: &Places, named: &'n [Named]) -> Result<Homes<'n>> {
    let mut homes = Homes::new();
    for Named { names, .. } in named {
        for (partition, key) in names.partitions.iter().zip(&names.keys) {
            let (Some(partition), Some(key)) = (partition, key) else { continue };
            let Some(places) = places.get(key) else { continue };
            let here = places.iter().filter(|place| place.partition == partition);
            homes.entry(partition).or_default().put(key, here.map(|place| place.slot).collect())?;
        }
    }
    Ok(homes)
}
