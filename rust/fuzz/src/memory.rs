//! How much memory a decoder holds at its worst, and the most it may.
//!
//! The counting allocator is part of every program that links this crate. It counts by thread, so that workers do not
//! disturb each other, and takes a reallocation for what it may be: a new piece beside the old one.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Bytes that a decoder may hold for each byte of its input and of the uncompressed size that the input declares.
pub const FACTOR: usize = 16;
/// What it may hold beside.
pub const ALLOWANCE: usize = 1 << 20;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Debug)]
struct Counting;

fn count(bytes: isize) {
    // What is said of a panic, perhaps with a backtrace, is not the decoder's: those of the Parquet crate become errors.
    if std::thread::panicking() {
        return;
    }
    // While a thread ends its cells are gone; nothing is measured then.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: each call goes on to the system's allocator with the arguments it came with, and its answer is handed back
// unchanged; counting touches two cells of the thread and allocates nothing.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize);
        let moved = unsafe { System.realloc(block, layout, new_size) };
        count(-(layout.size() as isize));
        moved
    }
}

/// What `work` gives, and the most bytes it held at a time.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    (result, usize::try_from(PEAK.get() - before).unwrap_or(0))
}

/// Runs a decoder over `input` bytes that declare `declared` uncompressed bytes.
///
/// # Panics
/// If it held more than it may.
pub fn bounded<T>(input: usize, declared: usize, decode: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_of(decode);
    let limit = input.saturating_add(declared).saturating_mul(FACTOR).saturating_add(ALLOWANCE);
    assert!(peak <= limit, "{peak} bytes held for an input of {input} that declares {declared}: the limit is {limit}");
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_counts_what_was_freed_again() {
        let (left, peak) = peak_of(|| {
            drop(vec![0_u8; 3_000]);
            vec![0_u8; 1_000]
        });
        assert_eq!((left.len(), peak), (1_000, 3_000));
    }

    #[test]
    fn growing_counts_old_and_new() {
        let mut grown = Vec::<u8>::with_capacity(1_000);
        let ((), peak) = peak_of(|| grown.reserve_exact(1_500));
        assert_eq!(peak, 1_500);
    }

    #[test]
    fn threads_do_not_see_each_other() {
        let ((), peak) = peak_of(|| {
            std::thread::scope(|scope| scope.spawn(|| drop(vec![0_u8; 5_000_000])).join()).unwrap();
        });
        assert!(peak < 1_000_000, "{peak}");
    }

    #[test]
    #[should_panic(expected = "the limit is 1048592")]
    fn too_much_is_too_much() {
        bounded(1, 0, || vec![0_u8; ALLOWANCE + FACTOR + 1]);
    }
}
