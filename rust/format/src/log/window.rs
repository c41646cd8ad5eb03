//! Stretches of a file that need not come in one piece.

use std::ops::Range;

/// Bytes of a file, as a caller has them at hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) at: u64,
    pub(super) bytes: &'a [u8],
}

impl<'a> Window<'a> {
    /// What there is from `offset` on; nothing if the window starts behind it or ends before it.
    pub(super) fn from(&self, offset: u64) -> &'a [u8] {
        let skipped = offset.checked_sub(self.at).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| self.bytes.get(skipped..)).unwrap_or_default()
    }

    fn get(&self, range: &Range<u64>) -> Option<&'a [u8]> {
        self.from(range.start).get(..length(range)?)
    }
}

/// Room that is kept from one stretch to the next.
const KEPT: usize = 1 << 20;

/// The beginning of a stretch whose rest has not come yet.
#[derive(Debug, Default)]
pub(super) struct Held {
    at: u64,
    bytes: Vec<u8>,
}

impl Held {
    /// The bytes of `range`, if they are all in the window, or in it and in the windows before it. If not, what there is
    /// of them is kept; [`Self::missing_from`] tells where the rest starts.
    pub(super) fn span<'a>(&'a mut self, window: Window<'a>, range: &Range<u64>) -> Option<&'a [u8]> {
        if let Some(bytes) = window.get(range) {
            return Some(bytes);
        }
        self.start_at(range.start);
        let length = length(range)?;
        let more = window.from(self.missing_from());
        let missing = length.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(more.get(..missing).unwrap_or(more));
        self.bytes.get(..length)
    }

    /// The same bytes to keep, without a copy if they were held.
    pub(super) fn take(&mut self, range: &Range<u64>) -> Option<Vec<u8>> {
        let whole = self.at == range.start && Some(self.bytes.len()) == length(range);
        whole.then(|| std::mem::take(&mut self.bytes))
    }

    /// The first byte that [`Self::span`] was without.
    pub(super) fn missing_from(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    /// Drops what lies before `offset`, or everything if the stretch held does not reach it.
    fn start_at(&mut self, offset: u64) {
        let passed = offset.checked_sub(self.at).and_then(|passed| usize::try_from(passed).ok());
        match passed.filter(|passed| *passed < self.bytes.len()) {
            Some(passed) => drop(self.bytes.drain(..passed)),
            None => {
                self.bytes.clear();
                self.bytes.shrink_to(KEPT);
            }
        }
        self.at = offset;
    }
}

fn length(range: &Range<u64>) -> Option<usize> {
    usize::try_from(range.end.checked_sub(range.start)?).ok()
}
