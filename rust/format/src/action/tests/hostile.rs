//! Files made to cost memory or time, and other containers than Apache Hudi's.

use std::io::Write;

use rstest::rstest;

use super::container::Container;
use super::*;
use crate::ErrorKind;
use crate::wire::{put_avro_bytes, put_avro_long};

/// A container of one record, with other header entries and framing than Apache Hudi's.
fn container_of(schema: &str, codec: &str, blocks: &[(i64, &[u8])]) -> Vec<u8> {
    let mut out = b"Obj\x01".to_vec();
    // A block of two entries that says its length, as any writer may.
    let mut entries = Vec::new();
    for (key, value) in [("avro.codec", codec), ("avro.schema", schema)] {
        put_avro_bytes(&mut entries, key.as_bytes());
        put_avro_bytes(&mut entries, value.as_bytes());
    }
    put_avro_long(&mut out, -2);
    put_avro_bytes(&mut out, &entries);
    put_avro_long(&mut out, 0);
    out.extend_from_slice(&[7; 16]);
    for (count, content) in blocks {
        put_avro_long(&mut out, *count);
        put_avro_bytes(&mut out, content);
        out.extend_from_slice(&[7; 16]);
    }
    out
}

const PLAN: &str = r#"{"type":"record","name":"HoodieIndexPlan","fields":[{"name":"version","type":"int"}]}"#;

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

#[test]
fn containers_of_other_writers() {
    let version_5 = |bytes: Vec<u8>| assert_eq!(IndexPlan::decode(&bytes).unwrap().version, Some(5));
    version_5(container_of(PLAN, "null", &[(1, b"\x0a")]));
    version_5(container_of(PLAN, "null", &[(0, b""), (1, b"\x0a"), (0, b"")]));
    version_5(container_of(PLAN, "deflate", &[(1, &deflated(b"\x0a"))]));
    let refused = |bytes: Vec<u8>, kind: ErrorKind, what: &str| {
        let error = IndexPlan::decode(&bytes).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(what), "{error}");
    };
    refused(container_of(PLAN, "xz", &[(1, b"\x0a")]), ErrorKind::UnsupportedFeature, "the Avro codec 'xz'");
    refused(container_of(PLAN, "null", &[(2, b"\x0a\x0a")]), ErrorKind::CorruptFile, "holds one record");
    refused(container_of(PLAN, "null", &[(1, b"\x0a"), (1, b"\x0a")]), ErrorKind::CorruptFile, "holds one record");
    refused(container_of(PLAN, "null", &[]), ErrorKind::CorruptFile, "holds no record");
    refused(container_of(PLAN, "null", &[(1, b"\x0a\x00")]), ErrorKind::CorruptFile, "1 bytes follow");
    refused(container_of(PLAN, "null", &[(1, b"")]), ErrorKind::CorruptFile, "version needs 1 bytes, 0 are left");
    refused(container_of(PLAN, "deflate", &[(1, b"\xff\xff")]), ErrorKind::CorruptFile, "does not inflate");
    let mut torn = container_of(PLAN, "null", &[(1, b"\x0a")]);
    *torn.last_mut().unwrap() = 8;
    refused(torn, ErrorKind::CorruptFile, "sync marker");
    let recursive =
        r#"{"type":"record","name":"HoodieIndexPlan","fields":[{"name":"x","type":["null","HoodieIndexPlan"]}]}"#;
    refused(container_of(recursive, "null", &[(1, b"\x00")]), ErrorKind::UnsupportedFeature, "recursive");
}

/// A schema in which an item takes no or one byte, and an array that claims `count` of them.
fn many(item: &str, count: i64, bytes: usize) -> Vec<u8> {
    let schema = format!(
        r#"{{"type":"record","name":"HoodieCommitMetadata","fields":[{{"name":"partitionToWriteStats","type":
            {{"type":"map","values":{{"type":"array","items":{item}}}}}}}]}}"#
    );
    let mut content = b"\x02\x02p".to_vec();
    put_avro_long(&mut content, count);
    content.resize(content.len() + bytes, 0);
    content.extend_from_slice(b"\x00\x00");
    container::write(&schema, &content)
}

#[rstest]
#[case(r#"{"type":"record","name":"S","fields":[]}"#, i64::MAX, 0)]
#[case(r#"{"type":"record","name":"S","fields":[]}"#, 1_000_000, 0)]
#[case(r#"{"type":"record","name":"S","fields":[{"name":"path","type":["null","string"]}]}"#, 1_000_000, 1_000_000)]
#[case(r#"{"type":"record","name":"S","fields":[{"name":"new","type":{"type":"array","items":"null"}}]}"#, 1, 0)]
fn items_of_few_bytes_come_to_an_end(#[case] item: &str, #[case] count: i64, #[case] bytes: usize) {
    let mut file = many(item, count, bytes);
    if count == 1 {
        // One statistic with an unknown field that claims a billion nulls.
        let claim = [b"\x02\x02p\x02".to_vec(), long(1_000_000_000), b"\x00\x00\x00".to_vec()].concat();
        file = container::write(Container::parse(&file).unwrap().schema, &claim);
    }
    for error in [CommitMetadata::decode(&file).unwrap_err(), CommitOutline::decode(&file).unwrap_err()] {
        assert!(error.to_string().contains("far more memory"), "{error}");
    }
}

fn long(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    put_avro_long(&mut out, value);
    out
}

/// The leanest file that Apache Hudi writes: a profile with nothing but zeros in each statistic.
#[test]
fn lean_statistics_are_not_taken_for_hostile() {
    let stat = WriteStat { file_id: Some(String::new()), ..WriteStat::zeroed() };
    let stats: BTreeMap<_, _> = (0..40_000).map(|p| (format!("{p}"), vec![stat.clone()])).collect();
    let one_list = BTreeMap::from([(String::new(), vec![stat; 40_000])]);
    for stats in [stats, one_list] {
        let commit = CommitMetadata { partition_to_write_stats: Some(stats), ..CommitMetadata::default() };
        assert!(CommitMetadata::decode(&commit.encode().unwrap()).unwrap() == commit);
    }
}

#[test]
fn json_that_is_short_for_what_it_means_is_refused() {
    let stats = "{},".repeat(100_000);
    let json = format!(r#"{{"partitionToWriteStats":{{"p":[{stats}{{}}]}}}}"#);
    let error = CommitMetadata::decode(json.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("far more memory"), "{error}");
    for (item, count) in [("0,", 300_000), ("[],", 300_000), ("{\"a\":0},", 100_000), ("\"a\":0,", 0)] {
        let later = match count {
            0 => format!("{{{}\"b\":0}}", (0..100_000).map(|n| format!("\"{n}\":0,")).collect::<String>()),
            count => format!("{{\"later\":[{}0]}}", item.repeat(count)),
        };
        let error = CommitMetadata::decode(later.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("far more memory"), "{item}: {error}");
        assert!(to_json(later.as_bytes()).is_ok());
    }
    let text = r#"{"extraMetadata":{"schema":"[{\"{},[{},{\\"}}"#.replace("{},", &stats);
    assert!(CommitMetadata::decode(text.as_bytes()).is_ok(), "braces in a text cost nothing");
    let deep = format!("{{\"later\":{}", "[".repeat(100_000));
    assert_eq!(CommitMetadata::decode(deep.as_bytes()).unwrap_err().kind(), ErrorKind::CorruptFile);
}

/// As an inflight file of a large metadata table of version 6.
#[test]
fn lean_json_is_not_taken_for_hostile() {
    let stat = WriteStat { file_id: Some(String::new()), ..WriteStat::zeroed() };
    let commit = CommitMetadata {
        partition_to_write_stats: Some(BTreeMap::from([("files".to_owned(), vec![stat; 5_000])])),
        ..CommitMetadata::default()
    };
    let json = serde_json::to_vec(&commit).unwrap();
    assert!(CommitMetadata::decode(&json).unwrap() == commit);
}

#[test]
fn a_schema_that_is_too_long_is_refused() {
    let file = container::write(&format!("{PLAN}{}", " ".repeat(200_000)), b"\x0a");
    let error = IndexPlan::decode(&file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
}
