//! How many new rows go to which file: small base files are filled first, then new ones are begun.
//!
//! As Apache Hudi's partitioner has it: what a row takes is what it took in the newest commits that wrote enough to tell.

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
    row: u64,
    /// Rows of a new file group, if not as many as fit.
    fixed: Option<u64>,
    candidates: usize,
}

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
        let estimate = given.get_or_default(&options::RECORD_SIZE)?;
        let auto = given.get_or_default(&options::INSERT_AUTO_SPLIT)?;
        let fixed = given.get_or_default(&options::INSERT_SPLIT_SIZE)?;
        let candidates = given.get_or_default(&options::SMALL_FILE_CANDIDATES)?;
        Ok(Self {
            small,
            largest: given.get_or_default(&options::MAX_FILE_SIZE)?,
            row: seen(storage, found, commits, threshold)?.unwrap_or(estimate).max(1),
            fixed: (!auto).then_some(fixed),
            candidates: usize::try_from(candidates).unwrap_or(usize::MAX),
        })
    }

    /// Shares out the new rows of a partition. `may_fill` says which of the live groups take any; in a merge-on-read table
    /// only so many of them, the smallest first.
    pub(super) fn share(
        &self,
        rows: u64,
        live: &[FileSlice],
        may_fill: impl Fn(&FileSlice) -> bool,
        is_mor: bool,
    ) -> Vec<Share> {
        let size = |slice: &FileSlice| slice.base.as_ref().map_or(u64::MAX, |base| base.size);
        let fits = |(_, slice): &(usize, &FileSlice)| size(slice) < self.small && may_fill(slice);
        let mut small: Vec<(usize, &FileSlice)> = live.iter().enumerate().filter(fits).collect();
        if is_mor {
            small.sort_by_key(|(at, slice)| (size(slice), *at));
            small.truncate(self.candidates);
        }
        let (mut left, mut shares) = (rows, Vec::new());
        for (group, slice) in small {
            let rows = (self.largest.saturating_sub(size(slice)) / self.row).min(left);
            if rows > 0 {
                shares.push(Share::Fill { group, rows });
                left -= rows;
            }
        }
        let most = self.fixed.unwrap_or(self.largest / self.row).max(1);
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
    /// FNV-1a, and its bits well mixed, since keys are often alike.
    pub(super) fn of(key: &str) -> Self {
        let hash = key
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        Self(hash ^ (hash >> 33))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::DataFile;

    fn sizes() -> Sizes {
        Sizes { small: 100, largest: 120, row: 10, fixed: None, candidates: 1 }
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
        assert_eq!(sizes().share(25, &live, all, false), expected);
        assert_eq!(sizes().share(2, &live, all, false), [Share::Fill { group: 0, rows: 2 }]);
        assert_eq!(sizes().share(8, &live, all, true), [Share::Fill { group: 2, rows: 7 }, Share::New { rows: 1 }]);
        assert_eq!(sizes().share(8, &live, |_| false, true), [Share::New { rows: 8 }]);
        let fixed = Sizes { fixed: Some(5), ..sizes() };
        assert_eq!(fixed.share(6, &[], all, false), [Share::New { rows: 5 }, Share::New { rows: 1 }]);
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
        assert_eq!(Spread::default().slot(Point::of("a")), None);
    }
}
