//! Small files of a table in JSON, markers, and the Parquet form of partition metadata. The first byte says which.

use hudini_format::Result;
use hudini_format::hash::{Node, PartitionBuckets, Ring, RingFile};
use hudini_format::name::Markers;
use hudini_format::properties::{IndexDefinitions, PartitionMetadata};

use super::{Input, Target, check_error, decode, nothing_to_mend, survives};

pub(super) const TARGET: Target = Target {
    name: "documents",
    run,
    words: &[
        b"\"indexDefinitions\"",
        b"\"indexName\":",
        b"\"sourceFields\":[",
        b"\"indexOptions\":{",
        b"\"partitionPath\":",
        b"\"numBuckets\":",
        b"\"nodes\":[",
        b"{\"value\":2147483647,\"fileIdPrefix\":null,\"tag\":\"DELETE\"}",
        b"\"REPLACE\"",
        b"\"expressions\":\"a.*,7;b,9\"",
        b"TIMELINE_SERVER_BASED",
        b".parquet.marker.CREATE\n",
        b"PAR1",
    ],
    mend: nothing_to_mend,
};

/// What the first byte chooses.
pub(crate) const INDEXES: u8 = 0;
pub(crate) const RING: u8 = 1;
pub(crate) const BUCKETS: u8 = 2;
pub(crate) const PARTITION: u8 = 3;
pub(crate) const MARKERS: u8 = 4;
pub(crate) const MARKER_TYPE: u8 = 5;
const KINDS: u8 = 6;

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let choice = input.choice() % KINDS;
    let bytes = input.rest();
    match choice {
        INDEXES => {
            let Some(indexes) = decode(bytes, IndexDefinitions::decode) else { return };
            survives(&indexes, IndexDefinitions::encode, IndexDefinitions::decode);
            for (name, definition) in indexes.iter() {
                assert_eq!(indexes.get(name), Some(definition));
                if let Err(error) = definition.key_version() {
                    check_error(&error);
                }
            }
        }
        RING => run_ring(bytes),
        BUCKETS => {
            if let Some(buckets) = decode(bytes, PartitionBuckets::decode) {
                survives(&buckets, PartitionBuckets::encode, PartitionBuckets::decode);
            }
        }
        PARTITION => {
            if let Some(partition) = decode(bytes, PartitionMetadata::parse_parquet) {
                assert_eq!(PartitionMetadata::parse(&partition.to_bytes("date")).ok(), Some(partition));
            }
        }
        MARKERS => {
            if let Some(names) = decode(bytes, Markers::decode_names) {
                survives(&names, |names| Ok(Markers::encode_names(names).into_bytes()), Markers::decode_names);
            }
        }
        _ => {
            if let Some(markers) = decode(bytes, Markers::decode_type) {
                assert_eq!(Markers::decode_type(markers.encode_type().as_bytes()).ok(), Some(markers));
            }
        }
    }
}

/// A ring, and behind a zero the child nodes of a clustering.
fn run_ring(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let Some(file) = decode(input.piece(), RingFile::decode) else { return };
    survives(&file, RingFile::encode, RingFile::decode);
    let children = input.rest();
    let children = decode(children, Node::decode_list).unwrap_or_default();
    survives(&children, |children| Node::encode_list(children), Node::decode_list);
    let Some(ring) = decode(bytes, |_| Ring::new(&file, &children)) else { return };
    let one = ring.bucket_of_key("f1:a,f2:b", &["f1"]);
    assert!(one.is_some() && [0, 1 << 30, i32::MAX as u32].iter().all(|at| ring.bucket_at(*at).is_some()));
    let resized: Result<RingFile> = file.resized("1", &children);
    let resized = resized.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(resized.nodes.len(), ring.nodes().count());
    for value in ring.nodes().map(|node| node.value).take(20) {
        if let Ok(Some(halves)) = ring.split(value, ["x".to_owned(), "y".to_owned()]) {
            assert!(Ring::new(&resized, &halves).is_ok(), "{halves:?}");
        }
    }
}
