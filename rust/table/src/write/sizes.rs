//! How many new rows go to which file: small base files are filled first, then new ones are begun.
//!
//! As Apache Hudi's partitioner has it: what a row takes is what it took in the newest commits that wrote enough to tell.
//! Until there are such, its values tell; Apache Hudi takes any row to be of a kilobyte then, which for most is far too much.

use hudini_format::action::CommitMetadata;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::options::{self, Options};
use crate::storage::Storage;
use crate::timeline::Timeline;
use crate::view::{BASE_EXTENSION, FileSlice};

/// What says how large base files get.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    small: u64,
    largest: u64,
    /// What a row takes, if that is known.
    row: Option<u64>,
    /// Rows of a new file group, if not as many as fit.
    fixed: Option<u64>,
    candidates: usize,
}

/// How many times less values take in a file than in memory, at least: most are repeated, or compressed well.
const PACKED: u64 = 2;

/// Some of the new rows of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// To the live file group at that place of the list.
    Fill {
        group: usize,
        rows: u64,
    },
    New {
        rows: u64,
    },
}

impl Sizes {
    pub(super) fn of(given: &Options, storage: &dyn Storage, found: &Timeline) -> Result<Self> {
        let small = given.get_or_default(&options::SMALL_FILE_LIMIT)?;
        let threshold = given.get_or_default(&options::RECORD_SIZE_THRESHOLD)? * small as f64;
        let commits = given.get_or_default(&options::RECORD_SIZE_COMMITS)?;
        let estimate = given.get(&options::RECORD_SIZE)?;
        let auto = given.get_or_default(&options::INSERT_AUTO_SPLIT)?;
        let fixed = given.get_or_default(&options::INSERT_SPLIT_SIZE)?;
        let candidates = given.get_or_default(&options::SMALL_FILE_CANDIDATES)?;
        Ok(Self {
            small,
            largest: given.get_or_default(&options::MAX_FILE_SIZE)?,
            row: seen(storage, found, commits, threshold)?.or(estimate),
            fixed: (!auto).then_some(fixed),
            candidates: usize::try_from(candidates).unwrap_or(usize::MAX),
        })
    }

    /// Shares out the new rows of a partition, whose values take so many bytes. `may_fill` says which of the live groups
    /// take any; in a merge-on-read table only so many of them, the smallest first.
    pub(super) fn share(
        &self,
        rows: u64,
        bytes: u64,
        live: &[FileSlice],
        may_fill: impl Fn(&FileSlice) -> bool,
        is_mor: bool,
    ) -> Vec<Share> {
        let row = self.row.unwrap_or(bytes / rows.max(1) / PACKED).max(1);
        let size = |slice: &FileSlice| slice.base.as_ref().map_or(u64::MAX, |base| base.size);
        let fits = |(_, slice): &(usize, &FileSlice)| size(slice) < self.small && may_fill(slice);
        let mut small: Vec<(usize, &FileSlice)> = live.iter().enumerate().filter(fits).collect();
        if is_mor {
            small.sort_by_key(|(at, slice)| (size(slice), *at));
            small.truncate(self.candidates);
        }
        let (mut left, mut shares) = (rows, Vec::new());
        for (group, slice) in small {
            let rows = (self.largest.saturating_sub(size(slice)) / row).min(left);
            if rows > 0 {
                shares.push(Share::Fill { group, rows });
                left -= rows;
            }
        }
        let most = self.fixed.unwrap_or(self.largest / row).max(1);
        while left > 0 {
            let rows = left.min(most);
            shares.push(Share::New { rows });
            left -= rows;
        }
        shares
    }
}

/// What a row took in the newest commit that wrote that many bytes of base files.
fn seen(storage: &dyn Storage, found: &Timeline, commits: u32, threshold: f64) -> Result<Option<u64>> {
    for instant in found.commits().rev().take(usize::try_from(commits).unwrap_or(usize::MAX)) {
        let (bytes, rows) = in_base_files(&found.commit_metadata(storage, instant)?);
        if rows > 0 && bytes as f64 > threshold {
            return Ok(Some(bytes / rows));
        }
    }
    Ok(None)
}

/// Bytes and rows.
fn in_base_files(metadata: &CommitMetadata) -> (u64, u64) {
    let is_base = |path: &str| path.rsplit_once('.').is_some_and(|(_, extension)| extension == BASE_EXTENSION);
    let stats = metadata.write_stats().filter(|stat| stat.path.as_deref().is_some_and(is_base));
    let number = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    stats.fold((0, 0), |(bytes, rows), stat| {
        (bytes.saturating_add(number(stat.total_write_bytes)), rows.saturating_add(number(stat.num_writes)))
    })
}

/// Which of several file groups a new key goes to: by its hash, so that neither the order of rows nor who counts them
/// matters, and rows of one key come together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spread {
    /// Slots with the sum of the rows up to them.
    ends: Vec<(u64, i32)>,
}

impl Spread {
    pub(super) fn add(&mut self, slot: i32, rows: u64) {
        let before = self.ends.last().map_or(0, |(end, _)| *end);
        self.ends.push((before.saturating_add(rows), slot));
    }

    pub(super) fn only(&self) -> Option<i32> {
        if let [(_, slot)] = self.ends.as_slice() { Some(*slot) } else { None }
    }

    pub(super) fn slot(&self, Point(point): Point) -> Option<i32> {
        let (total, last) = self.ends.last()?;
        let point = u64::try_from((u128::from(point) * u128::from(*total)) >> 64).unwrap_or(*total);
        let at = self.ends.partition_point(|(end, _)| *end <= point);
        Some(self.ends.get(at).map_or(*last, |(_, slot)| *slot))
    }
}

/// What of a new key tells its file group: where it would be if all keys were spread evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point(u64);

impl Point {
    /// Eight bytes at a time, and each time all bits mixed, since keys are often alike.
    pub(super) fn of(key: &str) -> Self {
        let (words, rest) = key.as_bytes().as_chunks::<8>();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
        let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
        Self(words.fold(mixed(key.len() as u64), |hash, word| mixed(hash ^ word)))
    }
}

/// Both halves of a product with an odd number, put together: each bit depends on many.
fn mixed(bits: u64) -> u64 {
    let product = u128::from(bits ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::DataFile;

    fn sizes() -> Sizes {
        Sizes { small: 100, largest: 120, row: Some(10), fixed: None, candidates: 1 }
    }

    fn slice(size: u64) -> FileSlice {
        let base = Some(DataFile { name: format!("f{size}"), size });
        FileSlice {
            partition: String::new(),
            file_id: format!("f{size}"),
            base_instant: "1".into(),
            base,
            logs: vec![],
        }
    }

    #[test]
    fn small_files_are_filled_first() {
        let live = [slice(90), slice(100), slice(50)];
        let all = |_: &FileSlice| true;
        let expected = [
            Share::Fill { group: 0, rows: 3 },
            Share::Fill { group: 2, rows: 7 },
            Share::New { rows: 12 },
            Share::New { rows: 3 },
        ];
        assert_eq!(sizes().share(25, 0, &live, all, false), expected);
        assert_eq!(sizes().share(2, 0, &live, all, false), [Share::Fill { group: 0, rows: 2 }]);
        assert_eq!(sizes().share(8, 0, &live, all, true), [Share::Fill { group: 2, rows: 7 }, Share::New { rows: 1 }]);
        assert_eq!(sizes().share(8, 0, &live, |_| false, true), [Share::New { rows: 8 }]);
        let fixed = Sizes { fixed: Some(5), ..sizes() };
        assert_eq!(fixed.share(6, 0, &[], all, false), [Share::New { rows: 5 }, Share::New { rows: 1 }]);
    }

    #[test]
    fn values_tell_what_a_row_takes_if_nothing_else_does() {
        let unknown = Sizes { row: None, ..sizes() };
        let none = |_: &FileSlice| false;
        assert_eq!(unknown.share(6, 6 * 80, &[], none, false), [Share::New { rows: 3 }, Share::New { rows: 3 }]);
        assert_eq!(sizes().share(6, 6 * 80, &[], none, false), [Share::New { rows: 6 }]);
        assert_eq!(unknown.share(6, 0, &[], none, false), [Share::New { rows: 6 }]);
    }

    #[test]
    fn keys_spread_by_weight() {
        let mut spread = Spread::default();
        [(7, 100), (3, 0), (9, 300)].into_iter().for_each(|(slot, rows)| spread.add(slot, rows));
        let mut counts = std::collections::BTreeMap::new();
        for n in 0..4000 {
            *counts.entry(spread.slot(Point::of(&format!("key-{n}"))).unwrap()).or_insert(0) += 1;
        }
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [7, 9]);
        assert!((900..1100).contains(&counts[&7]), "{counts:?}");
        assert_eq!((spread.only(), Spread::default().slot(Point::of("a"))), (None, None));
        let mut one = Spread::default();
        one.add(7, 100);
        assert_eq!((one.only(), one.slot(Point::of("a"))), (Some(7), Some(7)));
    }
}
