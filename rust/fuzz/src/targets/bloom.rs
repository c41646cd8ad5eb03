//! Bloom filters. The first byte says which kind, the rest are the bytes behind the footer's text.

use hudini_format::bloom::{BloomFilter, BloomKind};

use super::{Input, Target, decode, nothing_to_mend};

pub(super) const TARGET: Target = Target {
    name: "bloom",
    run,
    words: &[b"\xff\xff\xff\xff", b"\0\0\0\x1e\x01", b"\0\0\0\x01", b"\xff\xff\xff\xff\0\0\0\x1e\x01"],
    mend: nothing_to_mend,
};

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = if input.choice().is_multiple_of(2) { BloomKind::Simple } else { BloomKind::DynamicV0 };
    let bytes = input.rest();
    let Some(mut filter) = decode(bytes, |bytes| BloomFilter::parse(kind, bytes)) else { return };
    let written = filter.to_bytes();
    assert_eq!(BloomFilter::parse(kind, &written).ok().as_ref(), Some(&filter));
    // Filters of the time before versions get one; so may the rows of a dynamic filter, whatever its own head says.
    if written.len() == bytes.len() {
        assert!(bytes == written, "a filter changes when it is written again");
    }
    assert_eq!(BloomFilter::from_text(kind, &filter.to_text()).ok().as_ref(), Some(&filter));
    let key = String::from_utf8_lossy(bytes);
    let key: String = key.chars().rev().take(40).collect();
    filter.add(&key);
    assert!(filter.contains(&key), "a key that was added is denied");
}
