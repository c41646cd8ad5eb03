//! What the allocator is told.

use std::hint::black_box;
use std::sync::Once;

/// As large as a column of a batch is likely to be.
const KEPT_BYTES: usize = 8 << 20;

/// Has the allocator keep blocks of up to that size when they are freed. That of glibc gives those beyond a threshold back to
/// the system, which clears the memory of the next one anew: a twentieth of the work on a base file. The threshold follows
/// the largest block that was freed so far (mallopt(3), `M_MMAP_THRESHOLD`). Other allocators don't mind.
pub(crate) fn keep_freed_blocks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| drop(black_box(Vec::<u8>::with_capacity(KEPT_BYTES))));
}
