//! Whole blocks that Apache Hudi wrote, or wrote and read back.

use rstest::rstest;

use super::*;
use crate::ErrorKind;

const AVRO_SCHEMA: &str = r#"{"type":"record","name":"r","fields":[{"name":"k","type":["null","string"]},{"name":"n","type":["null","int"]}]}"#;
const AVRO_BLOCK: &str = "
    23485544492300000000000000ca000000010000000300000002000000000000001132303236303130313030303030303030310000000200000070
    7b2274797065223a227265636f7264222c226e616d65223a2272222c226669656c6473223a5b7b226e616d65223a226b222c2274797065223a5b226e756c6c222c22737472696e67225d7d2c
    7b226e616d65223a226e222c2274797065223a5b226e756c6c222c22696e74225d7d5d7d
    0000000000000019 00000003 00000002 00000005 020261020e 00000004 02026200 00000000 00000000000000d0";
const DELETE_BLOCK: &str = "
    234855444923 0000000000000052 00000001 00000001 00000001 00000000 00000011 3230323630313031303030303030303032
    0000000000000019 00000003 00000011 04 0202610202700400 02026202000664 00 00000000 0000000000000058";
const ROLLBACK_BLOCK: &str = "
    234855444923 000000000000005b 00000001 00000000 00000003 00000000 00000011 3230323630313031303030303030303033
    00000001 00000011 3230323630313031303030303030303032 00000003 00000001 30 0000000000000000 00000000 0000000000000061";
const CDC_SCHEMA: &str = r#"{"type":"record","name":"Record","fields":[{"name":"op","type":["string","null"]},{"name":"record_key","type":["string","null"]}]}"#;
const CDC_CONTENT: &str = "00000003 00000002 00000006 000275000233 00000006 000269000239";

#[test]
fn avro_data_block() {
    let bytes = hex(AVRO_BLOCK);
    let block = only_block(&bytes);
    assert_eq!((block.offset, block.kind, block.content_offset), (0, BlockKind::AvroData, 179));
    assert_eq!((block.instant_time().unwrap(), block.schema().unwrap()), ("20260101000000001", AVRO_SCHEMA));
    assert_eq!(block.compacted_block_times().count(), 0);
    assert!(!block.is_partial());
    let rows: Vec<_> = avro_block::records(block.content, block.content_offset).unwrap().map(|r| r.unwrap()).collect();
    assert_eq!(rows, [&hex("020261020e")[..], &hex("02026200")]);

    let content = avro_block::encode_records(rows).unwrap();
    let headers = [(HeaderKey::InstantTime, "20260101000000001"), (HeaderKey::Schema, AVRO_SCHEMA)];
    assert_eq!(encode_block(BlockKind::AvroData, &headers, &content).unwrap(), bytes);
}

#[test]
fn delete_block() {
    let bytes = hex(DELETE_BLOCK);
    let block = only_block(&bytes);
    assert_eq!((block.kind, block.instant_time().unwrap()), (BlockKind::Delete, "20260101000000002"));
    let record = |key: &str, partition: &str, ordering| DeleteRecord {
        key: Some(key.to_owned()),
        partition: Some(partition.to_owned()),
        ordering,
    };
    let records = [record("a", "p", OrderingValue::NONE), record("b", "", OrderingValue::Long(50))];
    assert_eq!(deletes(block.content, block.content_offset).unwrap(), records);

    let content = delete::encode(&records).unwrap();
    let headers = [(HeaderKey::InstantTime, "20260101000000002")];
    assert_eq!(encode_block(BlockKind::Delete, &headers, &content).unwrap(), bytes);
}

#[test]
fn rollback_command_block() {
    let bytes = hex(ROLLBACK_BLOCK);
    let block = only_block(&bytes);
    assert_eq!(block.kind, BlockKind::Command);
    assert_eq!(block.instant_time().unwrap(), "20260101000000003");
    assert_eq!(block.rollback_target().unwrap(), "20260101000000002");
    assert_eq!(rollback_command("20260101000000003", "20260101000000002").unwrap(), bytes);
}

/// As 0.15 wrote it into a table of version 6: another order of headers.
#[test]
fn golden_rollback_command() {
    let bytes = hex("234855444923 000000000000005b 00000001 00000000 00000003
        00000000 00000011 3230323530313236303430393336353738
        00000003 00000001 30
        00000001 00000011 3230323530313236303430383236383738
        0000000000000000 00000000 0000000000000061");
    let block = only_block(&bytes);
    assert_eq!(block.rollback_target().unwrap(), "20250126040826878");
    let order = [HeaderKey::InstantTime, HeaderKey::CommandBlockType, HeaderKey::TargetInstantTime];
    let headers = order.map(|key| (key, block.headers.get(key).unwrap()));
    assert_eq!(encode_block(BlockKind::Command, &headers, &[]).unwrap(), bytes);
}

/// The file that Apache Hudi starts every file group of a metadata table with.
#[test]
fn golden_empty_delete_block() {
    let bytes = hex("234855444923 0000000000000042 00000001 00000001 00000001
        00000000 00000011 3030303030303030303030303030303031
        0000000000000009 00000003 00000001 00 00000000 0000000000000048");
    let block = only_block(&bytes);
    assert_eq!(deletes(block.content, block.content_offset).unwrap(), []);
    let headers = [(HeaderKey::InstantTime, "00000000000000001")];
    assert_eq!(encode_block(BlockKind::Delete, &headers, &delete::encode(&[]).unwrap()).unwrap(), bytes);
}

#[test]
fn cdc_block() {
    let head = hex("234855444923 00000000000000df 00000001 00000006 00000002
        00000000 00000011 3230323630313031303030303030303034 00000002 00000082");
    let tail = hex(&format!("000000000000001c {CDC_CONTENT} 00000000 00000000000000e5"));
    let bytes = [&head, CDC_SCHEMA.as_bytes(), &tail].concat();
    assert_eq!(bytes.len(), 237);
    let block = only_block(&bytes);
    assert_eq!((block.kind, block.schema().unwrap()), (BlockKind::CdcData, CDC_SCHEMA));
    let rows: Vec<_> = avro_block::records(block.content, block.content_offset).unwrap().map(|r| r.unwrap()).collect();
    assert_eq!(rows, [hex("000275000233"), hex("000269000239")]);
    let headers = [(HeaderKey::InstantTime, "20260101000000004"), (HeaderKey::Schema, CDC_SCHEMA)];
    assert_eq!(encode_block(BlockKind::CdcData, &headers, &hex(CDC_CONTENT)).unwrap(), bytes);
}

#[test]
fn cdc_content_with_images() {
    let content = hex("00000003 00000002 0000001c 02027502023302020602046e330200000000000012400214020473660000
        000702026902023900");
    let lengths: Vec<_> = avro_block::records(&content, 0).unwrap().map(|r| r.unwrap().len()).collect();
    assert_eq!(lengths, [28, 7]);
}

/// Apache Hudi 1.2.0's headers of two golden tables; the meta columns are ours to take away.
#[test]
fn cdc_schemas() {
    let user = concat!(
        r#"{"name":"id","type":["null","string"],"default":null},{"name":"ts","type":["null","long"],"default":null}"#,
        r#"]}"#
    );
    let table = format!(
        r#"{{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[{{"name":"_hoodie_record_key","type":["null","string"],"doc":"","default":null}},{user}"#
    );
    let text = |name: &str| format!(r#"{{"name":"{name}","type":["null","string"],"doc":"","default":null}}"#);
    let (op, key, time) = (text("op"), text("record_key"), text("ts_ms"));
    let head = r#"{"type":"record","name":"CDC","namespace":"hoodie.t","doc":"","fields":["#;
    let before = format!(
        r#"{{"name":"before","type":["null",{{"type":"record","name":"t_record","fields":[{user}],"doc":"","default":null}}"#
    );
    let after = r#"{"name":"after","type":["null","t_record"],"doc":"","default":null}"#;
    assert_eq!(CdcMode::OpKeyOnly.schema(&table).unwrap(), CDC_SCHEMA);
    assert_eq!(CdcMode::DataBefore.schema(&table).unwrap(), format!("{head}{op},{key},{before}]}}"));
    let all = format!("{head}{op},{time},{before},{after}]}}");
    assert_eq!(CdcMode::DataBeforeAfter.schema(&table).unwrap(), all);
    crate::schema::Record::parse(&all).unwrap();
}

#[test]
fn cdc_modes_by_name() {
    assert_eq!(CdcMode::parse("data_before_AFTER").unwrap(), CdcMode::DataBeforeAfter);
    assert_eq!(CdcMode::parse("ALL").unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    for bad in ["", "[]", r#"{"type":"record"}"#, r#"{"type":"record","name":"r"}"#] {
        assert!(CdcMode::DataBefore.schema(bad).is_err(), "{bad}");
    }
}

#[test]
fn positions_need_their_base_file() {
    let text = crate::positions::Positions::from_iter([1, 6]).to_header();
    let positions = (HeaderKey::RecordPositions, text.as_str());
    let base = (HeaderKey::BaseFileInstantTimeOfRecordPositions, "20260101000000000");
    let block = |headers: &[(HeaderKey, &str)]| encode_block(BlockKind::AvroData, headers, &[]).unwrap();
    let both = block(&[positions, base]);
    let (found, instant) = only_block(&both).positions().unwrap().unwrap();
    assert_eq!((found.iter().collect::<Vec<_>>(), instant), (vec![1, 6], "20260101000000000"));
    for one in [positions, base] {
        assert_eq!(only_block(&block(&[one])).positions().unwrap(), None);
    }
    let damaged = block(&[(HeaderKey::RecordPositions, "?"), base]);
    assert_eq!(only_block(&damaged).positions().unwrap_err().offset(), Some(0));
}

#[rstest]
#[case(0)]
#[case(1)]
#[case(4)]
#[case(-7)]
fn the_version_of_avro_content_means_nothing(#[case] version: i32) {
    let mut content = version.to_be_bytes().to_vec();
    content.extend(hex("00000001 00000002 abcd"));
    let rows: Vec<_> = avro_block::records(&content, 0).unwrap().map(|r| r.unwrap()).collect();
    assert_eq!(rows, [[0xab, 0xcd]]);
}

#[test]
fn no_records_are_content_too() {
    let content = avro_block::encode_records([]).unwrap();
    assert_eq!(content, hex("00000003 00000000"));
    assert_eq!(avro_block::records(&content, 0).unwrap().count(), 0);
}

#[rstest]
#[case::cut_count("00000003 0000", 104, "number of records needs 4 bytes, 2 are left")]
#[case::negative_count("00000003 ffffffff", 104, "number of records is -1")]
#[case::impossible_count("00000003 7fffffff 00000000", 108, "2147483647 records cannot be in 4 bytes")]
#[case::negative_length("00000003 00000001 ffffffff", 108, "length of a record is -1")]
#[case::cut_record("00000003 00000001 00000003 0102", 112, "record needs 3 bytes, 2 are left")]
fn damaged_avro_content(#[case] content: &str, #[case] offset: u64, #[case] message: &str) {
    let content = hex(content);
    let error = match avro_block::records(&content, 100) {
        Ok(mut records) => {
            let error = records.next().unwrap().unwrap_err();
            assert!(records.next().is_none());
            error
        }
        Err(error) => error,
    };
    assert_eq!((error.kind(), error.offset(), error.message()), (ErrorKind::CorruptFile, Some(offset), message));
}

#[test]
fn headers_tell_what_is_missing() {
    let bytes = encode_block(BlockKind::Delete, &[], &delete::encode(&[]).unwrap()).unwrap();
    let error = only_block(&bytes).instant_time().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::CorruptFile, Some(0)));
    assert!(error.message().contains(":delete") && error.message().contains("INSTANT_TIME"), "{error}");
}

#[rstest]
#[case(&[(HeaderKey::TargetInstantTime, "1")], ErrorKind::CorruptFile, "COMMAND_BLOCK_TYPE")]
#[case(&[(HeaderKey::CommandBlockType, "0")], ErrorKind::CorruptFile, "TARGET_INSTANT_TIME")]
#[case(&[(HeaderKey::CommandBlockType, "1"), (HeaderKey::TargetInstantTime, "1")], ErrorKind::UnsupportedFeature, "command 1")]
fn commands_that_are_no_rollback(
    #[case] headers: &[(HeaderKey, &str)],
    #[case] kind: ErrorKind,
    #[case] message: &str,
) {
    let bytes = encode_block(BlockKind::Command, headers, &[]).unwrap();
    let error = only_block(&bytes).rollback_target().unwrap_err();
    assert_eq!(error.kind(), kind);
    assert!(error.message().contains(message), "{error}");
}

#[test]
fn optional_headers() {
    let headers = [
        (HeaderKey::IsPartial, "TRUE"),
        (HeaderKey::CompactedBlockTimes, "20261121090344767,20261121090346422"),
        (HeaderKey::Schema, "old"),
        (HeaderKey::Schema, "new"),
    ];
    let bytes = encode_block(BlockKind::AvroData, &headers, &[]).unwrap();
    let block = only_block(&bytes);
    assert!(block.is_partial());
    assert_eq!(block.compacted_block_times().collect::<Vec<_>>(), ["20261121090344767", "20261121090346422"]);
    assert_eq!(block.schema().unwrap(), "new", "the last of a repeated key counts");
    assert_eq!(
        block.headers.iter().collect::<Vec<_>>(),
        [(HeaderKey::IsPartial, "TRUE"), (HeaderKey::CompactedBlockTimes, headers[1].1), (HeaderKey::Schema, "new")]
    );
}

#[test]
fn ordinals_are_those_of_the_wire() {
    let kinds = [
        BlockKind::Command,
        BlockKind::Delete,
        BlockKind::AvroData,
        BlockKind::HfileData,
        BlockKind::ParquetData,
        BlockKind::CdcData,
    ];
    assert_eq!(kinds.map(BlockKind::ordinal), [0, 1, 3, 4, 5, 6]);
    for kind in kinds {
        let bytes = encode_block(kind, &[], b"content").unwrap();
        assert_eq!((only_block(&bytes).kind, only_block(&bytes).content), (kind, &b"content"[..]));
    }
    assert_eq!(HeaderKey::ALL.map(HeaderKey::ordinal), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}
