use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn prefixes(file: &RingFile) -> Vec<&str> {
    file.nodes.iter().map(|node| node.file_id_prefix.as_deref().unwrap()).collect()
}

fn values<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Vec<u32> {
    nodes.into_iter().map(|node| node.value).collect()
}

/// A file that Apache Hudi 1.2.0 wrote.
const FILE: &str = r#"{
  "version" : 0,
  "partitionPath" : "sf",
  "instant" : "00000000000000",
  "numBuckets" : 4,
  "seqNo" : 0,
  "nodes" : [ {
    "value" : 536870912,
    "fileIdPrefix" : "b191fdb9-1561-3229-90af-667100004fe7",
    "tag" : "NORMAL"
  }, {
    "value" : 1073741824,
    "fileIdPrefix" : "e009af8c-59dd-37ea-8cd4-c40db9f59b70",
    "tag" : "NORMAL"
  }, {
    "value" : 1610612736,
    "fileIdPrefix" : "4c1755a8-ea8a-334c-800b-7ecc7763d480",
    "tag" : "NORMAL"
  }, {
    "value" : 2147483647,
    "fileIdPrefix" : "e45844a0-f593-3584-b330-d1a850d5d69e",
    "tag" : "NORMAL"
  } ]
}"#;

#[test]
fn the_first_ring_to_the_byte() {
    let ring = RingFile::first("sf", 4);
    assert_eq!(String::from_utf8(ring.encode().unwrap()).unwrap(), FILE);
    assert_eq!(RingFile::decode(FILE.as_bytes()).unwrap(), ring);
    assert_eq!(ring.file_name(), "00000000000000.hashing_meta");
    assert_eq!(ring.nodes[0].file_id().unwrap(), "b191fdb9-1561-3229-90af-667100004fe7-0");
}

// Nodes as HoodieConsistentHashingMetadata of Apache Hudi 1.2.0 makes them.
#[rstest]
#[case("p1", 1, &[2_147_483_647], &["efe0bc58-ad56-3e3b-9595-7a54e3fe1a4d"])]
#[case(
    "p1",
    4,
    &[536_870_912, 1_073_741_824, 1_610_612_736, 2_147_483_647],
    &["c47f2c8e-7d46-3b96-83f5-8eebc912150e", "1213f6bd-782d-3c88-b9d3-02cbd6c52839",
      "d565737e-2390-3db1-a9a4-a1bfe6c6f87d", "2a5cbbcf-2b87-3237-9643-9e440ea0658b"]
)]
#[case(
    "ci=ä/日",
    3,
    &[715_827_883, 1_431_655_766, 2_147_483_647],
    &["3fcaa025-f763-34b8-8eb1-d1095de0e39b", "1d78a6b1-3f97-3aa0-a5eb-b4ad8e65732f", "0bc379b4-e4e6-3110-9789-4f5c13bea47b"]
)]
#[case("", 1, &[2_147_483_647], &["360d2334-1249-37e5-9698-814cf4b62672"])]
fn first_nodes(#[case] partition: &str, #[case] buckets: u32, #[case] positions: &[u32], #[case] ids: &[&str]) {
    let ring = RingFile::first(partition, buckets);
    assert_eq!(values(&ring.nodes), positions);
    assert_eq!(prefixes(&ring), ids);
}

// Answers of ConsistentBucketIdentifier of Apache Hudi 1.2.0 for the first ring of `p1` with four buckets.
#[rstest]
#[case("TXN-001", &["id"], 1_073_741_824)]
#[case("id:1,name:Alice", &["id"], 1_073_741_824)]
#[case("id:1,name:Alice", &["id", "name"], 536_870_912)]
#[case("id:1,name:Alice", &["zz"], 2_147_483_647)]
#[case("id:__null__,name:x", &["id"], 536_870_912)]
#[case("id:__null__,name:x", &["id", "name"], 1_610_612_736)]
#[case("id:__empty__,name:__null__", &["id", "name"], 536_870_912)]
#[case("", &["id"], 536_870_912)]
#[case("日本", &["id"], 2_147_483_647)]
#[case("k2", &["id"], 1_610_612_736)]
fn look_ups(#[case] key: &str, #[case] fields: &[&str], #[case] value: u32) {
    let ring = Ring::new(&RingFile::first("p1", 4), &[]).unwrap();
    assert_eq!(ring.bucket_of_key(key, fields).unwrap().value, value);
}

fn small() -> RingFile {
    let node = |value, prefix: &str| Node { value, file_id_prefix: Some(prefix.into()), tag: NodeTag::Normal };
    RingFile { nodes: vec![node(5, "a"), node(6, "b")], num_buckets: 2, ..RingFile::first("p", 1) }
}

#[test]
fn behind_the_last_node_comes_the_first() {
    let ring = Ring::new(&small(), &[]).unwrap();
    assert_eq!([0, 5, 6, 7].map(|at| ring.bucket_at(at).unwrap().value), [5, 5, 6, 5]);
}

#[rstest]
#[case(536_870_912, 268_435_455)]
#[case(1_073_741_824, 805_306_368)]
#[case(2_147_483_647, 1_879_048_191)]
fn splits(#[case] value: u32, #[case] middle: u32) {
    let ring = Ring::new(&RingFile::first("p1", 4), &[]).unwrap();
    let children = ring.split(value, ["x".into(), "y".into()]).unwrap().unwrap();
    assert_eq!(values(&children), [middle, value]);
    assert!(children.iter().all(|child| child.tag == NodeTag::Replace));
}

#[test]
fn splits_of_odd_rings() {
    let halves = || ["x".into(), "y".into()];
    let one = Ring::new(&RingFile::first("p1", 1), &[]).unwrap();
    assert_eq!(values(&one.split(2_147_483_647, halves()).unwrap().unwrap()), [1_073_741_823, 2_147_483_647]);
    let small = Ring::new(&small(), &[]).unwrap();
    assert_eq!(small.split(6, halves()).unwrap(), None, "one position cannot be cut");
    assert_eq!(values(&small.split(5, halves()).unwrap().unwrap()), [1_073_741_829, 5]);
    assert!(small.split(7, halves()).is_err());
}

#[test]
fn merges() {
    let ring = Ring::new(&RingFile::first("p1", 4), &[]).unwrap();
    let [a, b, c, d] = values(ring.nodes())[..] else { panic!() };
    let merged = ring.merge(&[a, b], "x".into()).unwrap();
    let tags: Vec<_> = merged.iter().map(|node| (node.value, node.tag, node.file_id_prefix.as_deref())).collect();
    assert_eq!(tags, [(a, NodeTag::Delete, None), (b, NodeTag::Replace, Some("x"))]);
    assert_eq!(values(&ring.merge(&[d, a], "x".into()).unwrap()), [d, a]);
    for wrong in [&[a, c][..], &[b, a], &[a], &[], &[a, 7]] {
        assert!(ring.merge(wrong, "x".into()).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_resize() {
    let first = RingFile::first("p1", 4);
    let ring = Ring::new(&first, &[]).unwrap();
    let children = ring.split(first.nodes[0].value, ["x".into(), "y".into()]).unwrap().unwrap();
    let next = first.resized("20260307162459000", &children).unwrap();
    assert_eq!((next.num_buckets, next.seq_no, next.instant.as_str()), (5, 1, "20260307162459000"));
    assert_eq!(prefixes(&next)[..2], ["x", "y"]);
    assert!(next.nodes.iter().all(|node| node.tag == NodeTag::Normal));
    assert_eq!(RingFile::decode(&next.encode().unwrap()).unwrap(), next);
}

#[test]
fn child_nodes_as_jackson_prints_them() {
    let children = [replacing(5, "a".into()), Node { value: 6, file_id_prefix: None, tag: NodeTag::Delete }];
    let text = "[ {\n  \"value\" : 5,\n  \"fileIdPrefix\" : \"a\",\n  \"tag\" : \"REPLACE\"\n}, {\n  \"value\" : 6,\n  \
        \"fileIdPrefix\" : null,\n  \"tag\" : \"DELETE\"\n} ]";
    assert_eq!(String::from_utf8(Node::encode_list(&children).unwrap()).unwrap(), text);
    assert_eq!(Node::decode_list(text.as_bytes()).unwrap(), children);
}

#[rstest]
#[case(NodeTag::Delete, 9)]
#[case(NodeTag::Normal, 5)]
fn children_that_mean_nothing(#[case] tag: NodeTag, #[case] value: u32) {
    assert!(Ring::new(&small(), &[Node { value, file_id_prefix: Some("c".into()), tag }]).is_err());
}

#[rstest]
#[case("", "cannot be decoded")]
#[case("{\"nodes\":[]}", "cannot be decoded")]
#[case(&FILE.replace("\"version\" : 0", "\"version\" : 1"), "version 1")]
#[case(&FILE.replace("2147483647", "2147483648"), "2147483648 is no position")]
#[case(&FILE.replace("NORMAL", "OTHER"), "cannot be decoded")]
#[case(&FILE.replace("seqNo", "more"), "unknown field `more`")]
fn files_that_are_none(#[case] text: &str, #[case] message: &str) {
    assert!(RingFile::decode(text.as_bytes()).unwrap_err().to_string().contains(message));
}

#[test]
fn a_ring_without_nodes_is_none() {
    assert!(Ring::new(&RingFile { nodes: Vec::new(), ..small() }, &[]).is_err());
}

proptest! {
    #[test]
    fn every_position_has_a_bucket(partition in "\\PC{0,6}", buckets in 0_u32..50, key in "\\PC{0,6}") {
        let file = RingFile::first(&partition, buckets);
        prop_assert_eq!(RingFile::decode(&file.encode().unwrap()).unwrap(), file.clone());
        let ring = Ring::new(&file, &[]).unwrap();
        prop_assert_eq!(ring.nodes().count(), buckets.max(1) as usize);
        prop_assert!(ring.bucket_of_key(&key, &["a"]).is_some());
    }
}
