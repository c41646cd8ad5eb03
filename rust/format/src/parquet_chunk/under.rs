//! The page under way.

use arrow_array::Array;

use super::hybrid::{append_run, append_runs};

/// Room in front of the values for their levels, so that those of pages without nulls can be laid down there: a size, how
/// often there is a value, and the level that says so.
pub(super) const ROOM_FOR_LEVELS: usize = 4 + 5 + 1;

pub(super) struct Under<B> {
    pub(super) rows: usize,
    pub(super) nulls: usize,
    /// Of each row; none as long as there is no null.
    levels: Vec<u32>,
    /// Where a dictionary is in use, else the values are laid down as they come.
    pub(super) places: Vec<u32>,
    /// The values as they are in the page, behind [`ROOM_FOR_LEVELS`].
    pub(super) laid: Vec<u8>,
    /// That all values take when laid down one by one.
    pub(super) plain_bytes: usize,
    /// Of values that were compared as they came.
    pub(super) extremes: Option<(B, B)>,
    /// Whether there are others.
    pub(super) has_packed: bool,
    pub(super) odd_values: Option<u64>,
}

impl<B> Under<B> {
    pub(super) fn new() -> Self {
        Self {
            rows: 0,
            nulls: 0,
            levels: Vec::new(),
            places: Vec::new(),
            laid: vec![0; ROOM_FOR_LEVELS],
            plain_bytes: 0,
            extremes: None,
            has_packed: false,
            odd_values: None,
        }
    }

    /// Empty, with the room that it had, and that of the page that was written.
    pub(super) fn clear(&mut self, mut laid: Vec<u8>) {
        let mut old = std::mem::replace(self, Self::new());
        old.levels.clear();
        old.places.clear();
        laid.truncate(ROOM_FOR_LEVELS);
        (self.levels, self.places, self.laid) = (old.levels, old.places, laid);
    }

    pub(super) fn laid_bytes(&self) -> usize {
        self.laid.len() - ROOM_FOR_LEVELS
    }

    pub(super) fn append_levels(&mut self, values: &dyn Array) {
        if let Some(nulls) = values.nulls().filter(|nulls| nulls.null_count() > 0) {
            self.levels.resize(self.rows, 1);
            self.levels.extend(nulls.iter().map(u32::from));
            self.nulls += nulls.null_count();
        } else {
            self.append_levels_of_all(values.len());
        }
    }

    /// Of so many values, none of which is null.
    pub(super) fn append_levels_of_all(&mut self, count: usize) {
        if self.nulls > 0 {
            self.levels.resize(self.rows + count, 1);
        }
    }

    /// The whole page, and where in it it begins.
    pub(super) fn lay_levels(&mut self, has_levels: bool) -> (Vec<u8>, usize) {
        let levels = if has_levels { self.levels() } else { Vec::new() };
        let mut page = std::mem::take(&mut self.laid);
        let front = ROOM_FOR_LEVELS.saturating_sub(levels.len());
        page.splice(front..ROOM_FOR_LEVELS, levels);
        (page, front)
    }

    fn levels(&self) -> Vec<u8> {
        const SIZE: usize = 4;
        let mut levels = vec![0; SIZE];
        if self.nulls == 0 {
            append_run(1, self.rows, 1, &mut levels);
        } else {
            append_runs(&self.levels, 1, &mut levels);
        }
        let size = (levels.len() - SIZE) as u32;
        if let Some(place) = levels.first_chunk_mut() {
            *place = size.to_le_bytes();
        }
        levels
    }
}
