//! Hashes of keys, composite keys taken apart, buckets in file ids: total functions, each with a range of answers.

use hudini_format::hash::{
    bucket_file_id_prefix, bucket_of, bucket_of_file_id, bucket_of_key, hadoop_murmur2, metadata_shard,
};
use hudini_format::key::key_parts;

use super::{Input, Target, decode, nothing_to_mend};

pub(super) const TARGET: Target = Target {
    name: "hash",
    run,
    words: &[b"f1:v1,f2:v2", b"__null__", b"__empty__", b":", b",", b"00000007-", "é日😀".as_bytes()],
    mend: nothing_to_mend,
};

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let buckets = u32::from(input.choice()) << (input.choice() % 25);
    let key = input.text();
    let fields: Vec<&str> = input.text().split(',').collect();
    let parts = key_parts(key).map(|(field, value)| field.len() + 1 + value.map_or(0, str::len));
    let held: usize = decode(bytes, |_| Ok(parts.sum())).unwrap_or_default();
    assert!(held <= key.len() + 1, "{key:?} fell into {:?}", key_parts(key).collect::<Vec<_>>());
    let bucket = bucket_of_key(key, &fields, buckets);
    assert!(bucket < buckets.max(1), "bucket {bucket} of {buckets}");
    assert!(bucket_of(&[Some(key), None], buckets) < buckets.max(1));
    assert!(metadata_shard(key, buckets) < buckets.max(1));
    assert_eq!(
        bucket_of_file_id(&format!("{}-x", bucket_file_id_prefix(bucket % 100_000_000))),
        Some(bucket % 100_000_000)
    );
    let _ = bucket_of_file_id(key);
    let _ = hadoop_murmur2(input.rest(), bucket as i32);
}
