//! The hashes that decide where a key lives: Java's string hash, bucket numbers, metadata-table shards, Hadoop's Murmur2.
//!
//! ```text
//! bucket of a key   (List.hashCode of its hash fields & 0x7fffffff) % buckets
//! file id           bbbbbbbb-xxxx-xxxx-xxxx-xxxxxxxxxxxx-0      b: the bucket, 8 decimal digits in the place of a UUID's
//! metadata shard    abs(abs(hash of the key) % shards)
//! ```
//!
//! All arithmetic is Java's: 32 bits, wrapping, over UTF-16 units.

mod consistent;
mod digest;
mod murmur;
mod partition_buckets;

use arrow_array::StringArray;

use crate::extremes::bytes_of_all;
use crate::key::{key_parts, part_value};

pub use consistent::{FIRST_RING_INSTANT, Node, NodeTag, RING_COMMIT_SUFFIX, RING_FOLDER, RING_SUFFIX, Ring, RingFile};
pub use digest::fingerprint;
pub(crate) use murmur::MurmurLanes;
pub use murmur::hadoop_murmur2;
pub use partition_buckets::{PARTITION_BUCKETS_FOLDER, PARTITION_BUCKETS_SUFFIX, PartitionBuckets};

const BUCKET_DIGITS: usize = 8;

/// `java.lang.String.hashCode`.
pub fn java_string_hash(text: &str) -> i32 {
    let step = |hash: i32, unit: u16| hash.wrapping_mul(FACTOR).wrapping_add(i32::from(unit));
    // Keys are ASCII nearly always, and then nothing has to be decoded.
    if !text.is_ascii() {
        return text.encode_utf16().fold(0, step);
    }
    let (eights, rest) = text.as_bytes().as_chunks::<8>();
    let hash = eights.iter().fold(0_i32, |hash, eight| {
        hash.wrapping_mul(FACTOR.wrapping_pow(8)).wrapping_add(hash_of_eight(u64::from_le_bytes(*eight)))
    });
    match (rest.len(), text.as_bytes().last_chunk()) {
        (0, _) => hash,
        (count @ 1..8, Some(last)) => {
            // Zeros in front count for nothing.
            let known = u64::BITS - 8 * count as u32;
            let last = u64::from_le_bytes(*last) >> known << known;
            hash.wrapping_mul(FACTOR.wrapping_pow(count as u32)).wrapping_add(hash_of_eight(last))
        }
        _ => rest.iter().fold(hash, |hash, unit| step(hash, u16::from(*unit))),
    }
}

/// What a character counts more than the one behind it.
const FACTOR: i32 = 31;

/// Of eight ASCII characters, the first in the lowest byte: neighbours are brought together, then their neighbours.
fn hash_of_eight(word: u64) -> i32 {
    const FOURTH: u32 = FACTOR.unsigned_abs().pow(4);
    const BYTES: u64 = 0x00ff_00ff_00ff_00ff;
    const PAIRS: u64 = 0x0000_ffff_0000_ffff;
    let pairs = (word & BYTES) * 31 + (word >> 8 & BYTES);
    let fours = (pairs & PAIRS) * 961 + (pairs >> 16 & PAIRS);
    let [first, second] = [fours as u32, (fours >> 32) as u32];
    first.wrapping_mul(FOURTH).wrapping_add(second).cast_signed()
}

/// The bucket of the values of the hash fields, in record-key order. No buckets count as one.
pub fn bucket_of(values: &[Option<&str>], buckets: u32) -> u32 {
    bucket_of_hash(values.iter().copied().fold(LIST_HASH_SEED, list_hash), buckets)
}

/// The bucket of a record key, hashed by those of its components that `hash_fields` names. Their order in the key counts,
/// not the order of `hash_fields`. A key without such components (every single-field key) is hashed whole.
pub fn bucket_of_key(record_key: &str, hash_fields: &[impl AsRef<str>], buckets: u32) -> u32 {
    match hashed_values(record_key, hash_fields) {
        Some(values) => bucket_of_hash(values.fold(LIST_HASH_SEED, list_hash), buckets),
        None => bucket_of(&[Some(record_key)], buckets),
    }
}

/// The bucket into which release 0.15 puts a key. It takes keys with a colon apart at each comma, whatever they are made of:
/// what has a colon counts only behind a hash field's name, what has none counts whole.
pub fn bucket_of_key_by_0_15(record_key: &str, hash_fields: &[impl AsRef<str>], buckets: u32) -> u32 {
    if !record_key.contains(':') {
        return bucket_of(&[Some(record_key)], buckets);
    }
    let value_of = |part| match str::split_once(part, ':') {
        Some((field, value)) => hash_fields.iter().any(|wanted| wanted.as_ref() == field).then(|| part_value(value)),
        None => Some(Some(part)),
    };
    // Java's `split` knows no empty parts at the end.
    let values = record_key.trim_end_matches(',').split(',').filter_map(value_of);
    bucket_of_hash(values.fold(LIST_HASH_SEED, list_hash), buckets)
}

/// The bucket of each key, none of which may be null.
pub fn buckets_of_keys(keys: &StringArray, hash_fields: &[impl AsRef<str>], buckets: u32) -> Vec<u32> {
    // Where there is no colon there are no components, and nothing has to be looked for key by key.
    let may_have_parts = bytes_of_all(keys).contains(&b':');
    let of = |key| match may_have_parts {
        true => bucket_of_key(key, hash_fields, buckets),
        false => bucket_of(&[Some(key)], buckets),
    };
    keys.iter().flatten().map(of).collect()
}

/// The components of a composite key that are hashed; `None` if there are none, and the key is hashed whole.
fn hashed_values<'a>(
    record_key: &'a str,
    hash_fields: &[impl AsRef<str>],
) -> Option<impl Iterator<Item = Option<&'a str>>> {
    let wanted = |(field, _): &(&str, Option<&str>)| hash_fields.iter().any(|wanted| wanted.as_ref() == *field);
    let mut values = key_parts(record_key).filter(wanted).map(|(_, value)| value).peekable();
    values.peek().is_some().then_some(values)
}

const LIST_HASH_SEED: i32 = 1;

/// One step of `java.util.List.hashCode`.
fn list_hash(hash: i32, value: Option<&str>) -> i32 {
    hash.wrapping_mul(31).wrapping_add(value.map_or(0, java_string_hash))
}

fn bucket_of_hash(hash: i32, buckets: u32) -> u32 {
    let hash = (hash & i32::MAX).unsigned_abs();
    // A division takes longer than the rest.
    if buckets.is_power_of_two() { hash & (buckets - 1) } else { hash % buckets.max(1) }
}

/// The eight digits that start the file ids of a bucket.
pub fn bucket_file_id_prefix(bucket: u32) -> String {
    format!("{bucket:0BUCKET_DIGITS$}")
}

/// The bucket in a file id; `None` if it does not start with eight digits.
pub fn bucket_of_file_id(file_id: &str) -> Option<u32> {
    let digits = file_id.get(..BUCKET_DIGITS)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Which of a metadata-table partition's file groups holds a key. No shards count as one.
pub fn metadata_shard(key: &str, shards: u32) -> u32 {
    // The absolute value of the least integer is itself in Java; only the second `abs` makes it positive.
    let hash = i64::from(java_string_hash(key).wrapping_abs());
    u32::try_from((hash % i64::from(shards.max(1))).abs()).unwrap_or_default()
}

/// 32-bit Jenkins hash (lookup3) as Hadoop has it: words are little-endian, the last twelve bytes come last.
pub fn hadoop_jenkins(data: &[u8], seed: i32) -> i32 {
    const GOLDEN: u32 = 0xdead_beef;
    let start = GOLDEN.wrapping_add(data.len() as u32).wrapping_add(seed.cast_unsigned());
    let mut state = [start; 3];
    // Even of a whole number of blocks the last one is treated as the tail.
    let blocks = data.len().saturating_sub(1) / 12;
    for (at, block) in data.chunks(12).enumerate() {
        for (word, bytes) in state.iter_mut().zip(block.chunks(4)) {
            let value = bytes.iter().rev().fold(0, |value: u32, byte| value << 8 | u32::from(*byte));
            *word = word.wrapping_add(value);
        }
        state = if at < blocks { jenkins_mix(state) } else { jenkins_final(state) };
    }
    state[2].cast_signed()
}

fn jenkins_mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for [first, second, third] in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

fn jenkins_final([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    [a, b, c]
}

/// Java's `>>>`.
fn logical_shift(value: i32, bits: u32) -> i32 {
    (value.cast_unsigned() >> bits).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("", 0)]
    #[case("a", 97)]
    #[case("polygenelubricants", i32::MIN)]
    #[case("😀x", 54_959_989)]
    fn string_hashes(#[case] text: &str, #[case] expected: i32) {
        assert_eq!(java_string_hash(text), expected);
    }

    proptest! {
        #[test]
        fn string_hashes_take_a_unit_at_a_time(text in "[ -~]{0,40}|[a-zé😀]{0,12}") {
            let by_units = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(unit.into());
            prop_assert_eq!(java_string_hash(&text), text.encode_utf16().fold(0, by_units));
        }
    }

    // Answers of BucketIdentifier of Apache Hudi 1.2.0.
    #[rstest]
    #[case("TXN-001", &["id"], 256, 77)]
    #[case("TXN-001", &["id"], 4, 1)]
    #[case("id:TXN-001", &["id"], 256, 238)]
    #[case("id:1,name:Alice", &["name"], 8, 7)]
    #[case("id:1,name:Alice", &["id", "name"], 8, 0)]
    #[case("id:1,name:Alice", &["name", "id"], 8, 0)]
    #[case("a:b", &["id"], 16, 8)]
    #[case("k", &["id"], 16, 10)]
    #[case("", &["id"], 16, 15)]
    #[case("f1:v1,f2:__null__", &["f1", "f2"], 16, 6)]
    #[case("f1:v1,f2:__empty__", &["f2"], 16, 15)]
    #[case("f1:a,b,f2:c", &["f1"], 16, 6)]
    #[case("日本", &["id"], 256, 6)]
    #[case("f1:a,b,f2:c:d", &["f2"], 256, 44)]
    #[case("ts:2020-01-01 10:00:00,x:1", &["ts"], 256, 34)]
    #[case("ts:2020-01-01 10:00:00,x:1", &["x"], 256, 80)]
    #[case("a:1,b", &["a"], 256, 198)]
    #[case("a:1,b", &["b"], 256, 45)]
    #[case("http://x,y:z", &["h"], 256, 210)]
    #[case("http://x,y", &["http"], 256, 132)]
    #[case(",a:b", &["a"], 256, 252)]
    #[case(":x,b:y", &["b"], 256, 152)]
    #[case("a:,b:", &["b"], 256, 31)]
    #[case("a:1,a:2", &["a"], 256, 226)]
    #[case("x:1:2:3,y:4:5", &["y"], 256, 142)]
    #[case("x:1:2:3,y:4:5", &["x", "y"], 256, 78)]
    #[case("a,b:c", &["a", "b"], 256, 159)]
    #[case("a:b,,c:d", &["a"], 256, 41)]
    #[case("a:b,,c:d", &["c"], 256, 131)]
    fn buckets(#[case] key: &str, #[case] fields: &[&str], #[case] count: u32, #[case] expected: u32) {
        assert_eq!(bucket_of_key(key, fields, count), expected);
    }

    // Where Apache Hudi 0.15.0 puts the rows of these keys.
    #[rstest]
    #[case("plain", &["k0"], 393)]
    #[case("x,y", &["k0"], 836)]
    #[case("a:b", &["k0"], 1)]
    #[case("a:b,c:d", &["k0"], 1)]
    #[case("a:b,c", &["k0"], 130)]
    #[case("a:b,c,d", &["k0"], 130)]
    #[case("c,a:b", &["k0"], 130)]
    #[case("k0:x", &["k0"], 151)]
    #[case("k0:x,y", &["k0"], 802)]
    #[case("k0:plain,k1:z", &["k0", "k1"], 657)]
    #[case("k0:k0:x,k1:z", &["k0", "k1"], 256)]
    #[case("k0:a:b,k1:z", &["k0", "k1"], 586)]
    #[case("k0:x,y,k1:z", &["k0", "k1"], 984)]
    #[case("k0:k0:x,y,k1:z", &["k0", "k1"], 379)]
    #[case("k0:a:b,c,k1:z", &["k0", "k1"], 575)]
    #[case("k0:a:b,c,d,k1:z", &["k0", "k1"], 617)]
    #[case("k0:c,a:b,k1:z", &["k0", "k1"], 152)]
    fn buckets_by_0_15(#[case] key: &str, #[case] fields: &[&str], #[case] expected: u32) {
        assert_eq!(bucket_of_key_by_0_15(key, fields, 1000), expected);
    }

    #[test]
    fn values_without_a_key_hash_as_their_key_does() {
        assert_eq!(bucket_of(&[Some("1"), Some("Alice")], 8), 0);
        assert_eq!(bucket_of(&[Some("v1"), None], 16), 6);
        assert_eq!(bucket_of(&[Some("TXN-001")], 0), 0);
    }

    /// Apache Hudi 1.2.0 loops forever here; the rule has an answer all the same.
    #[test]
    fn a_skipped_last_value_with_a_colon_ends_the_key() {
        assert_eq!(bucket_of_key("f1:a,b,f2:c:d", &["f1"], 256), bucket_of(&[Some("a,b")], 256));
    }

    #[rstest]
    #[case("00000003-5b2e-4d38-9f0e-1f0a0b0c0d0e-0", Some(3))]
    #[case("00000256", Some(256))]
    #[case("0000000", None)]
    #[case("+0000003-", None)]
    #[case("0ad34fbd-dd1a-4a9e-b367-63404003fa9c-0", None)]
    #[case("0000000é", None)]
    fn buckets_of_file_ids(#[case] file_id: &str, #[case] expected: Option<u32>) {
        assert_eq!(bucket_of_file_id(file_id), expected);
    }

    #[test]
    fn prefixes_of_file_ids() {
        assert_eq!(bucket_file_id_prefix(3), "00000003");
        assert_eq!(bucket_file_id_prefix(99_999_999), "99999999");
    }

    #[rstest]
    #[case("", [0, 0, 0, 0, 0])]
    #[case("a", [0, 1, 1, 7, 33])]
    #[case("1", [0, 1, 1, 9, 49])]
    #[case("uuid-1234", [0, 0, 0, 0, 44])]
    #[case("abc/def", [0, 0, 0, 2, 40])]
    #[case("city=sf", [0, 1, 1, 3, 5])]
    #[case("Ω≈ç", [0, 0, 0, 4, 8])]
    #[case("😀x", [0, 1, 1, 9, 53])]
    #[case("polygenelubricants", [0, 0, 0, 8, 0])]
    fn metadata_shards(#[case] key: &str, #[case] expected: [u32; 5]) {
        assert_eq!([1, 2, 4, 10, 64].map(|shards| metadata_shard(key, shards)), expected);
    }

    // Answers of Hadoop's JenkinsHash.
    #[rstest]
    #[case("", -559_038_737, -1_857_223_334)]
    #[case("a", 1_490_454_280, 345_865_521)]
    #[case("abc", 238_646_833, 613_177_496)]
    #[case("abcd", -1_242_265_444, -737_953_624)]
    #[case("TXN-001", -1_827_061_846, -2_069_022_279)]
    #[case("日本", -78_664_528, 204_821_469)]
    #[case("0123456789a", 1_347_777_199, 815_462_665)]
    #[case("0123456789ab", 275_113_226, 1_582_594_428)]
    #[case("0123456789abc", 1_934_741_078, -857_059_743)]
    #[case("0123456789abcdef0123456789abcdef", -1_978_437_757, -105_407_557)]
    fn jenkins(#[case] key: &str, #[case] unseeded: i32, #[case] seeded: i32) {
        assert_eq!([0, -1_298_184_597].map(|seed| hadoop_jenkins(key.as_bytes(), seed)), [unseeded, seeded]);
    }

    proptest! {
        #[test]
        fn any_key_has_a_place(key in "[ab:,é]{0,12}", fields in prop::collection::vec("[ab]{0,2}", 0..3), n in any::<u32>()) {
            prop_assert!(bucket_of_key(&key, &fields, n) < n.max(1));
            prop_assert!(metadata_shard(&key, n) < n.max(1));
        }

        #[test]
        fn keys_have_the_same_places_together(
            keys in prop_oneof![
                prop::collection::vec("[ab:,é]{0,12}", 0..6),
                prop::collection::vec("[ab,é]{0,12}", 0..6),
            ],
            fields in prop::collection::vec("[ab]{0,2}", 0..3),
            skipped in 0_usize..3,
        ) {
            let column = StringArray::from_iter_values(&keys);
            let skipped = skipped.min(keys.len());
            let together = buckets_of_keys(&column.slice(skipped, keys.len() - skipped), &fields, 64);
            let alone: Vec<u32> = keys[skipped..].iter().map(|key| bucket_of_key(key, &fields, 64)).collect();
            prop_assert_eq!(together, alone);
        }
    }
}
