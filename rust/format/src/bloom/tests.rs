use super::*;
use proptest::prelude::*;
use rstest::rstest;

// Texts by BloomFilterFactory of Apache Hudi 1.2.0: 4 entries, rate 0.1, at most 10 entries, keys key-0, key-1, …
#[rstest]
#[case::empty(0, "/////wAAAAQBAAAAFAAAAAQAAAAAAAAAAf////8AAAAEAQAAABQAAAA=")]
#[case::full_row(4, "/////wAAAAQBAAAAFAAAAAQAAAAEAAAAAf////8AAAAEAQAAABS6uQw=")]
#[case::second_row(5, "/////wAAAAQBAAAAFAAAAAQAAAABAAAAAv////8AAAAEAQAAABS6uQz/////AAAABAEAAAAUGAAI")]
#[case::all_rows_full(
    12,
    "/////wAAAAQBAAAAFAAAAAQAAAAEAAAAA/////8AAAAEAQAAABS6uQz/////AAAABAEAAAAUH2AO/////wAAAAQBAAAAFG9eCw=="
)]
#[case::back_to_the_first_row(
    13,
    "/////wAAAAQBAAAAFAAAAAQAAAAFAAAAA/////8AAAAEAQAAABS+uQz/////AAAABAEAAAAUH2AO/////wAAAAQBAAAAFG9eCw=="
)]
#[case::round_and_round(
    20,
    "/////wAAAAQBAAAAFAAAAAQAAAAMAAAAA/////8AAAAEAQAAABT+uw3/////AAAABAEAAAAUX3gO/////wAAAAQBAAAAFG/+Cw=="
)]
fn dynamic_filters_grow_like_java(#[case] keys: usize, #[case] text: &str) {
    let mut filter = BloomFilter::dynamic(4, 0.1, 10).unwrap();
    (0..keys).for_each(|i| filter.add(&format!("key-{i}")));
    assert_eq!(filter.to_text(), text);
    let read = BloomFilter::from_text(BloomKind::DynamicV0, text).unwrap();
    assert_eq!((read.to_text().as_str(), read.kind()), (text, BloomKind::DynamicV0));
    assert!((0..keys).all(|i| read.contains(&format!("key-{i}"))));
    assert_eq!(read.contains("absent"), filter.contains("absent"));
}

// Entries, rate, most entries, keys k0, k1, …; length and CRC-32 of the text, and again after reading it back and adding
// z0 to z19: all by BloomFilterFactory of Apache Hudi 1.2.0.
#[rstest]
#[case(4, 0.1, 10, 25, 100, [329_816_874, 3_858_119_119])]
#[case(4, 0.1, 10, 11, 100, [2_838_542_997, 2_417_163_591])]
#[case(4, 0.1, 0, 9, 56, [2_868_040_465, 3_743_590_414])]
#[case(1, 0.5, 3, 10, 92, [2_044_533_326, 3_090_955_567])]
#[case(5, 0.01, 12, 40, 112, [3_515_835_701, 1_598_230_041])]
#[case(100, 1e-3, 250, 600, 808, [2_741_953_105, 3_212_333_646])]
#[case(3, 0.1, 9, 30, 96, [2_007_708_757, 3_551_928_164])]
fn dynamic_filters_fill_like_java(
    #[case] entries: u32,
    #[case] rate: f64,
    #[case] most: u32,
    #[case] keys: usize,
    #[case] length: usize,
    #[case] crcs: [u32; 2],
) {
    let mut filter = BloomFilter::dynamic(entries, rate, most).unwrap();
    (0..keys).for_each(|i| filter.add(&format!("k{i}")));
    let text = filter.to_text();
    let mut read = BloomFilter::from_text(BloomKind::DynamicV0, &text).unwrap();
    (0..20).for_each(|i| read.add(&format!("z{i}")));
    let longer = read.to_text();
    assert_eq!([text.len(), longer.len()], [length; 2]);
    assert_eq!([text, longer].map(|text| crc32fast::hash(text.as_bytes())), crcs);
}

/// Random bits, and which of k0 to k63 the same class finds in them.
#[test]
fn filters_by_the_older_hash() {
    let text = "/////wAAAAMAAAADIJkXD7sYNHejWpTJvzkLdwIJ0ypZXUqYfUH0s+WSRxq+BRlLtV3Ks5EAFhdaoUfh8+mO6B7ff65Av+eT2fztUrIC400V5\
        cTKrxZvwu3OpPsbZeJApOlEsx0HBebItxz4vfyXxpY=";
    let found = "1000011100010000010000001000101000100000000000000000000000000000";
    let filter = BloomFilter::from_text(BloomKind::Simple, text).unwrap();
    assert_eq!(filter.to_text(), text);
    let bytes = filter.to_bytes();
    let unversioned = [&bytes[4..8], &bytes[9..]].concat();
    for filter in [filter, BloomFilter::parse(BloomKind::Simple, &unversioned).unwrap()] {
        let answers: String = (0..64).map(|i| if filter.contains(&format!("k{i}")) { '1' } else { '0' }).collect();
        assert_eq!(answers, found);
    }
}

#[test]
fn a_simple_filter_by_java() {
    let text = "/////wAAAAQBAAAAFG39AA==";
    let keys = ["TXN-001", "a", "日本", "id:1,name:Alice"];
    let mut filter = BloomFilter::simple(4, 0.1).unwrap();
    keys.iter().for_each(|key| filter.add(key));
    assert_eq!(filter.to_text(), text);
    let read = BloomFilter::from_text(BloomKind::Simple, text).unwrap();
    assert_eq!(read, filter);
    assert!(keys.iter().all(|key| read.contains(key)));
    assert!(!read.contains("b"), "row 6d fd 00 leaves no room for it");
}

/// The footer of the first base files in the golden tables that 0.15.0, 1.0.2 and 1.2.0 wrote with the same 30 keys.
#[test]
fn the_footer_of_golden_base_files() {
    let mut filter = BloomFilter::dynamic(DEFAULT_ENTRIES, DEFAULT_FALSE_POSITIVES, DEFAULT_MAX_ENTRIES).unwrap();
    (1..=88).step_by(3).for_each(|i| filter.add(&format!("k{i:05}")));
    let text = filter.to_text();
    assert_eq!((text.len(), crc32fast::hash(text.as_bytes())), (431_380, 4_057_087_018));
    assert!(filter.contains("k00088"));
    assert!(!filter.contains("k00000"));
}

#[rstest]
#[case(60_000, 1e-9, 30, 2_587_966)]
#[case(1, 0.5, 2, 2)]
#[case(4, 0.1, 4, 20)]
#[case(100_000, 1e-9, 30, 4_313_277)]
#[case(100, 1e-3, 10, 1438)]
#[case(60_000, 1e-6, 20, 1_725_311)]
#[case(7, 0.9, 1, 2)]
fn sizes_like_java(#[case] entries: u32, #[case] rate: f64, #[case] hashes: u32, #[case] bits: u32) {
    assert_eq!(Shape::for_entries(entries, rate).unwrap(), Shape { hashes, bits, hash: KeyHash::Murmur });
}

#[rstest]
#[case("TXN-001", [762_789, 591_431, 1_893_349, 899_664, 868_522])]
#[case("id:1,name:Alice", [1_821_084, 1_259_695, 2_258_328, 240_278, 789_559])]
#[case("a", [1_197_742, 96_836, 620_118, 143_505, 376_103])]
fn first_positions(#[case] key: &str, #[case] expected: [usize; 5]) {
    let shape = Shape { hashes: 5, bits: 2_587_966, hash: KeyHash::Murmur };
    let bits: Vec<_> =
        shape.positions(key).map(|Position(byte, mask)| byte * 8 + mask.trailing_zeros() as usize).collect();
    assert_eq!(bits, expected);
}

#[rstest]
#[case(0, 0.1)]
#[case(u32::MAX, 0.1)]
#[case(10, 0.0)]
#[case(10, 1.0)]
#[case(10, f64::NAN)]
#[case(2_000_000_000, 1e-9)]
fn sizes_that_make_no_filter(#[case] entries: u32, #[case] rate: f64) {
    assert_eq!(BloomFilter::simple(entries, rate).unwrap_err().kind(), crate::ErrorKind::InvalidOption);
}

fn header(version: i32, hashes: i32, hash: u8, bits: i32) -> Vec<u8> {
    [&version.to_be_bytes()[..], &hashes.to_be_bytes(), &[hash], &bits.to_be_bytes()].concat()
}

#[rstest]
#[case::version_0(header(0, 4, 1, 8), "version 0")]
#[case::version_minus_2(header(-2, 4, 1, 8), "version -2")]
#[case::unknown_hash(header(-1, 4, 2, 8), "hash 2")]
#[case::trailing([header(-1, 4, 1, 8), vec![0, 0]].concat(), "1 bytes behind")]
#[case::no_bits(header(-1, 4, 1, 0), "0 bits")]
#[case::no_hashes(header(-1, 0, 1, 8), "0 hashes")]
#[case::endless_hashing(header(-1, i32::MAX, 1, 8), "2147483647 hashes")]
#[case::negative(header(-1, 4, 1, -8), "number of bits is -8")]
#[case::cut(header(-1, 4, 1, i32::MAX), "needs 268435456 bytes, 0 are left")]
#[case::empty(vec![], "needs 4 bytes")]
fn damaged_filters_say_what_is_wrong(#[case] bytes: Vec<u8>, #[case] message: &str) {
    let error = BloomFilter::parse(BloomKind::Simple, &bytes).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn rows_must_be_there_and_alike() {
    let whole = BloomFilter::dynamic(4, 0.1, 10).unwrap().to_bytes();
    let rows_at = 13 + 8;
    for rows in [0_i32, 2, i32::MAX, -1] {
        let mut bytes = whole.clone();
        bytes[rows_at..rows_at + 4].copy_from_slice(&rows.to_be_bytes());
        assert!(BloomFilter::parse(BloomKind::DynamicV0, &bytes).is_err(), "{rows} rows");
    }
    let mut bytes = whole;
    bytes[rows_at + 4 + 7] = 9;
    let error = BloomFilter::parse(BloomKind::DynamicV0, &bytes).unwrap_err();
    assert!(error.message().contains("another size"), "{error}");
}

#[test]
fn kinds() {
    for kind in [BloomKind::Simple, BloomKind::DynamicV0] {
        assert_eq!(BloomKind::parse(kind.code()).unwrap(), kind);
    }
    assert!(BloomKind::parse("CUCKOO").unwrap_err().message().contains("CUCKOO"));
    assert!(BloomFilter::from_text(BloomKind::Simple, "not base64!").is_err());
}

proptest! {
    #[test]
    fn no_key_is_denied(keys in prop::collection::vec("\\PC{0,12}", 0..60), entries in 1_u32..20, max in 0_u32..60) {
        let mut filter = BloomFilter::dynamic(entries, 0.01, max).unwrap();
        keys.iter().for_each(|key| filter.add(key));
        let read = BloomFilter::from_text(filter.kind(), &filter.to_text()).unwrap();
        prop_assert_eq!(read.to_bytes(), filter.to_bytes());
        prop_assert!(keys.iter().all(|key| read.contains(key)));
    }

    #[test]
    fn any_bytes_parse_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0_usize..40, flip in any::<u8>()) {
        let mut near_miss = BloomFilter::dynamic(4, 0.1, 10).unwrap().to_bytes();
        if let Some(byte) = near_miss.get_mut(at) {
            *byte ^= flip;
        }
        for kind in [BloomKind::Simple, BloomKind::DynamicV0] {
            for bytes in [&bytes, &near_miss] {
                if let Ok(mut filter) = BloomFilter::parse(kind, bytes) {
                    filter.add("a");
                    prop_assert!(filter.contains("a"));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn keys_at_a_time_are_keys_one_by_one(
        keys in prop_oneof![
            prop::collection::vec(prop_oneof!["[a-c]{7}", "[a-cé]{0,12}"], 0..100),
            prop::collection::vec("[a-d]{9}", 120..300),
        ],
        entries in 1_u32..30,
        rows in 1_u32..4,
        before in 0_usize..20,
    ) {
        let mut one_by_one = BloomFilter::dynamic(entries, 0.01, rows * entries).unwrap();
        (0..before).for_each(|i| one_by_one.add(&format!("k{i}")));
        let mut at_once = one_by_one.clone();
        keys.iter().for_each(|key| one_by_one.add(key));
        at_once.add_all(&StringArray::from(keys));
        prop_assert_eq!(at_once, one_by_one);
    }
}
