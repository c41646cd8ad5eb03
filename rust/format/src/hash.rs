//! The hashes that decide where a key lives: Java's string hash, bucket numbers, metadata-table shards, Hadoop's Murmur2.
//!
//! ```text
//! bucket of a key   (List.hashCode of its hash fields & 0x7fffffff) % buckets
//! file id           bbbbbbbb-xxxx-xxxx-xxxx-xxxxxxxxxxxx-0      b: the bucket, 8 decimal digits in the place of a UUID's
//! metadata shard    abs(abs(hash of the key) % shards)
//! ```
//!
//! All arithmetic is Java's: 32 bits, wrapping, over UTF-16 units.

/// What a composite key holds in the place of a null component.
pub const NULL_KEY_PART: &str = "__null__";
/// What a composite key holds in the place of an empty component.
pub const EMPTY_KEY_PART: &str = "__empty__";

const MURMUR_MULTIPLIER: i32 = 0x5bd1_e995;
const MURMUR_SHIFT: u32 = 24;
const BUCKET_DIGITS: usize = 8;

/// `java.lang.String.hashCode`.
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// The bucket of the values of the hash fields, in record-key order. No buckets count as one.
pub fn bucket_of(values: &[Option<&str>], buckets: u32) -> u32 {
    bucket_of_hash(values.iter().copied().fold(LIST_HASH_SEED, list_hash), buckets)
}

/// The bucket of a record key, hashed by those of its components that `hash_fields` names. Their order in the key counts,
/// not the order of `hash_fields`. A key without such components (every single-field key) is hashed whole.
pub fn bucket_of_key(record_key: &str, hash_fields: &[impl AsRef<str>], buckets: u32) -> u32 {
    let mut hashed = key_parts(record_key)
        .filter(|(field, _)| hash_fields.iter().any(|wanted| wanted.as_ref() == *field))
        .map(|(_, value)| value)
        .peekable();
    if hashed.peek().is_none() {
        return bucket_of(&[Some(record_key)], buckets);
    }
    bucket_of_hash(hashed.fold(LIST_HASH_SEED, list_hash), buckets)
}

const LIST_HASH_SEED: i32 = 1;

/// One step of `java.util.List.hashCode`.
fn list_hash(hash: i32, value: Option<&str>) -> i32 {
    hash.wrapping_mul(31).wrapping_add(value.map_or(0, java_string_hash))
}

fn bucket_of_hash(hash: i32, buckets: u32) -> u32 {
    (hash & i32::MAX).unsigned_abs() % buckets.max(1)
}

/// Takes a composite key `f1:v1,f2:v2` apart: fields with their values, in key order, null and empty ones resolved.
/// Nothing for a key without a colon or without a comma, which is one bare value.
///
/// Values may hold colons and commas themselves: a value ends at the last comma before the next colon that has a comma
/// between. So `ts:10:00:00,x:1` has a `ts` of `10:00:00`, but a colon after a comma inside a value misleads the split.
pub fn key_parts(record_key: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let composite = record_key.contains(':') && record_key.contains(',');
    let mut rest = composite.then_some(record_key);
    std::iter::from_fn(move || {
        let (field, value_on) = rest?.split_once(':')?;
        let (value, next) = split_value(value_on);
        rest = next;
        let value = match value {
            NULL_KEY_PART => None,
            EMPTY_KEY_PART => Some(""),
            other => Some(other),
        };
        Some((field, value))
    })
}

fn split_value(text: &str) -> (&str, Option<&str>) {
    let Some(first_comma) = text.find(',') else {
        return (text, None);
    };
    let (_, from_comma) = text.split_at(first_comma);
    let Some(colon) = from_comma.find(':') else {
        return (text, None);
    };
    match text.get(..first_comma + colon).and_then(|before| before.rfind(',')).and_then(|i| text.split_at_checked(i)) {
        Some((value, next)) => (value, next.get(1..)),
        None => (text, None),
    }
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

/// 32-bit MurmurHash2 as Hadoop has it: the one to three bytes after the last whole word are signed, and enter counted
/// from the wrong end compared with the original.
pub fn hadoop_murmur2(data: &[u8], seed: i32) -> i32 {
    let length = i32::try_from(data.len()).unwrap_or(i32::MAX);
    let (words, tail) = data.as_chunks::<4>();
    let mut hash = words.iter().fold(seed ^ length, |hash, word| {
        let mixed = i32::from_le_bytes(*word).wrapping_mul(MURMUR_MULTIPLIER);
        let mixed = (mixed ^ logical_shift(mixed, MURMUR_SHIFT)).wrapping_mul(MURMUR_MULTIPLIER);
        hash.wrapping_mul(MURMUR_MULTIPLIER) ^ mixed
    });
    if !tail.is_empty() {
        for (byte, shift) in tail.iter().rev().zip([0, 8, 16]) {
            hash ^= i32::from(byte.cast_signed()) << shift;
        }
        hash = hash.wrapping_mul(MURMUR_MULTIPLIER);
    }
    hash ^= logical_shift(hash, 13);
    hash = hash.wrapping_mul(MURMUR_MULTIPLIER);
    hash ^ logical_shift(hash, 15)
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

    fn parts(key: &str) -> Vec<(&str, Option<&str>)> {
        key_parts(key).collect()
    }

    #[rstest]
    #[case("", 0)]
    #[case("a", 97)]
    #[case("polygenelubricants", i32::MIN)]
    #[case("😀x", 54_959_989)]
    fn string_hashes(#[case] text: &str, #[case] expected: i32) {
        assert_eq!(java_string_hash(text), expected);
    }

    #[rstest]
    #[case("id:1,name:A", &[("id", Some("1")), ("name", Some("A"))])]
    #[case("id:1", &[])]
    #[case("TXN-001", &[])]
    #[case("f1:a,b,f2:c:d", &[("f1", Some("a,b")), ("f2", Some("c:d"))])]
    #[case("f1:__null__,f2:__empty__", &[("f1", None), ("f2", Some(""))])]
    #[case("ts:2020-01-01 10:00:00,x:1", &[("ts", Some("2020-01-01 10:00:00")), ("x", Some("1"))])]
    #[case("a:b,,c:d", &[("a", Some("b,")), ("c", Some("d"))])]
    #[case("a:1,b", &[("a", Some("1,b"))])]
    fn composite_keys_come_apart(#[case] key: &str, #[case] expected: &[(&str, Option<&str>)]) {
        assert_eq!(parts(key), expected);
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

    #[rstest]
    #[case("TXN-001", -1_349_093_075)]
    #[case("id:1,name:Alice", 71_696_166)]
    #[case("a", -1_838_653_602)]
    fn murmur(#[case] key: &str, #[case] expected: i32) {
        assert_eq!(hadoop_murmur2(key.as_bytes(), 0), expected);
    }

    proptest! {
        #[test]
        fn any_key_has_a_place(key in "[ab:,é]{0,12}", fields in prop::collection::vec("[ab]{0,2}", 0..3), n in any::<u32>()) {
            prop_assert!(bucket_of_key(&key, &fields, n) < n.max(1));
            prop_assert!(metadata_shard(&key, n) < n.max(1));
        }

        #[test]
        fn plain_values_come_back_from_a_composite_key(values in prop::collection::vec("[^:,]{1,8}", 2..5)) {
            let key = values.iter().enumerate().map(|(i, v)| format!("f{i}:{v}")).collect::<Vec<_>>().join(",");
            prop_assert_eq!(
                key_parts(&key).map(|(_, value)| value).collect::<Vec<_>>(),
                values.iter().map(|v| Some(v.as_str())).collect::<Vec<_>>()
            );
        }
    }
}
