//! Delete blocks: the bytes of every ordering value, and what the decoder takes beyond what the encoder writes.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::ErrorKind;

fn keyed(ordering: OrderingValue) -> DeleteRecord {
    DeleteRecord { key: Some("k".to_owned()), partition: None, ordering }
}

/// A content of one record with key `k`, no partition, and the ordering value in hexadecimal.
fn content_with(ordering: &str) -> Vec<u8> {
    content(3, &format!("02 02026b 00 {ordering} 00"))
}

fn content(version: i32, payload: &str) -> Vec<u8> {
    let payload = hex(payload);
    [&version.to_be_bytes()[..], &(payload.len() as u32).to_be_bytes(), &payload].concat()
}

// Written or read by Apache Hudi 1.2.0, where a writer may use the branch.
#[rstest]
#[case(OrderingValue::Null, "00")]
#[case(OrderingValue::Bool(true), "02 01")]
#[case(OrderingValue::NONE, "04 00")]
#[case(OrderingValue::Int(-1), "04 01")]
#[case(OrderingValue::Long(50), "06 64")]
#[case(OrderingValue::Long(1_705_280_523_456_789), "06 aac4befdb1bc8706")]
#[case(OrderingValue::Float(1.5), "08 0000c03f")]
#[case(OrderingValue::Double(1.5), "0a 000000000000f83f")]
#[case(OrderingValue::Bytes(vec![1, 2]), "0c 04 0102")]
#[case(OrderingValue::String("y".to_owned()), "0e 02 79")]
#[case(OrderingValue::Date(19_737), "10 b2b402")]
#[case(OrderingValue::Decimal(12_340_000_000_000_000), "12 0e 2bd72a24874000")]
#[case(OrderingValue::Decimal(-7_500_000_000_000_000), "12 0e e55aca2c2f4000")]
#[case(OrderingValue::Decimal(0), "12 02 00")]
#[case(OrderingValue::Decimal(-1), "12 02 ff")]
#[case(OrderingValue::Decimal(128), "12 04 0080")]
#[case(OrderingValue::Decimal(i128::MIN), "12 20 80000000000000000000000000000000")]
#[case(OrderingValue::TimeMicros(1), "14 02")]
#[case(OrderingValue::TimestampMicros(1), "16 02")]
#[case(OrderingValue::Array(vec![OrderingValue::Int(3), OrderingValue::Int(3)]), "18 02 04 0406 0406 00")]
#[case(OrderingValue::Array(vec![OrderingValue::Long(6), OrderingValue::String("y".to_owned())]), "18 02 04 060c 0e0279 00")]
#[case(OrderingValue::Array(vec![OrderingValue::Long(6), OrderingValue::LocalDate(19_737)]), "18 02 04 060c 18b2b402 00")]
#[case(OrderingValue::Array(vec![]), "18 02 00")]
fn ordering_values(#[case] value: OrderingValue, #[case] bytes: &str) {
    let bytes = content_with(bytes);
    assert_eq!(delete::encode(&[keyed(value.clone())]).unwrap(), bytes);
    assert_eq!(deletes(&bytes, 0).unwrap(), [keyed(value)]);
}

#[rstest]
#[case(OrderingValue::LocalDate(1), "local date")]
#[case(OrderingValue::Array(vec![OrderingValue::Array(vec![])]), "array inside an array")]
fn values_without_a_branch(#[case] value: OrderingValue, #[case] message: &str) {
    let error = delete::encode(&[keyed(value)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    assert!(error.message().contains(message), "{error}");
}

#[test]
fn arrays_in_several_blocks_and_with_sizes() {
    let records = [keyed(OrderingValue::Int(1)), keyed(OrderingValue::Int(2)), keyed(OrderingValue::Int(3))];
    let several = content(3, "02 02026b00 0402  03 10 02026b00 0404 02026b00 0406  00");
    assert_eq!(deletes(&several, 0).unwrap(), records);
}

#[test]
fn trailing_bytes_and_later_versions_are_read() {
    assert_eq!(deletes(&content(3, "00 ffff"), 0).unwrap(), []);
    assert_eq!(deletes(&[content(4, "00"), vec![9]].concat(), 0).unwrap(), []);
    assert_eq!(deletes(&content(3, "02 00 00 0400 00"), 0).unwrap().first().unwrap().key, None);
}

#[rstest]
#[case(0)]
#[case(-1)]
fn unknown_versions_are_refused(#[case] version: i32) {
    let error = deletes(&content(version, "00"), 500).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::UnsupportedFeature, Some(500)));
    assert!(error.message().contains(&format!("version {version}")), "{error}");
}

#[rstest]
#[case::cut_version("0000", "version of a delete block needs 4 bytes")]
#[case::negative_length("00000003 ffffffff", "length of a delete block is -1")]
#[case::cut("00000003 00000002 00", "records of a delete block needs 2 bytes, 1 are left")]
#[case::no_end("00000003 00000000", "array count needs 1 bytes")]
#[case::impossible_count("00000003 00000005 feffffff0f", "2147483647 array items cannot be in 0 bytes")]
#[case::least_count("00000003 0000000b ffffffffffffffffff01 00", "9223372036854775808 array items")]
#[case::key_branch("00000003 00000005 02 04 00 0400", "recordKey has no union branch 2")]
#[case::negative_key("00000003 00000005 02 02 01 0400", "recordKey has length -1")]
#[case::long_key("00000003 00000005 02 02 64 0400", "recordKey needs 50 bytes")]
#[case::no_text("00000003 00000006 02 02 02 ff 0400", "recordKey is no UTF-8")]
#[case::branch("00000003 00000005 02 00 00 1a 00", "orderingVal has no union branch 13")]
#[case::boolean("00000003 00000006 02 00 00 02 02 00", "orderingVal has boolean 2")]
#[case::wide_int("00000003 00000009 02 00 00 04 8080808010", "orderingVal is 2147483648")]
#[case::empty_decimal("00000003 00000006 02 00 00 12 00 00", "decimal ordering value without bytes")]
#[case::no_array("00000003 00000006 02 00 00 18 00 00", "wrappedValues has no union branch 0")]
#[case::nested("00000003 00000009 02 00 00 18 02 02 1a 00 00", "orderingVal has no union branch 13")]
fn damaged_content(#[case] bytes: &str, #[case] message: &str) {
    let error = deletes(&hex(bytes), 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptFile);
    assert!(error.message().contains(message), "{error}");
}

#[test]
fn decimals_may_repeat_their_sign_but_not_exceed_38_digits() {
    let long = content_with(&format!("12 24 ffff {}", "fe".repeat(16)));
    let expected = i128::from_be_bytes([0xfe; 16]);
    assert_eq!(deletes(&long, 0).unwrap(), [keyed(OrderingValue::Decimal(expected))]);
    for head in ["00", "01"] {
        let wide = content_with(&format!("12 22 {head} {}", "fe".repeat(16)));
        assert_eq!(deletes(&wide, 0).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    }
}

fn any_plain_value() -> impl Strategy<Value = OrderingValue> {
    prop_oneof![
        Just(OrderingValue::Null),
        any::<bool>().prop_map(OrderingValue::Bool),
        any::<i32>().prop_map(OrderingValue::Int),
        any::<i64>().prop_map(OrderingValue::Long),
        prop::num::f32::ANY.prop_filter("NaN is not itself", |f| !f.is_nan()).prop_map(OrderingValue::Float),
        prop::num::f64::ANY.prop_filter("NaN is not itself", |f| !f.is_nan()).prop_map(OrderingValue::Double),
        any::<Vec<u8>>().prop_map(OrderingValue::Bytes),
        any::<String>().prop_map(OrderingValue::String),
        any::<i32>().prop_map(OrderingValue::Date),
        any::<i128>().prop_map(OrderingValue::Decimal),
        any::<i64>().prop_map(OrderingValue::TimeMicros),
        any::<i64>().prop_map(OrderingValue::TimestampMicros),
    ]
}

fn any_value() -> impl Strategy<Value = OrderingValue> {
    let element = prop_oneof![any_plain_value(), any::<i32>().prop_map(OrderingValue::LocalDate)];
    prop_oneof![4 => any_plain_value(), 1 => prop::collection::vec(element, 0..4).prop_map(OrderingValue::Array)]
}

fn any_record() -> impl Strategy<Value = DeleteRecord> {
    let text = || prop::option::of(any::<String>());
    (text(), text(), any_value()).prop_map(|(key, partition, ordering)| DeleteRecord { key, partition, ordering })
}

proptest! {
    #[test]
    fn deletes_read_back(records in prop::collection::vec(any_record(), 0..6)) {
        prop_assert_eq!(deletes(&delete::encode(&records).unwrap(), 0).unwrap(), records);
    }

    #[test]
    fn damaged_deletes_never_panic(records in prop::collection::vec(any_record(), 0..3), at: prop::sample::Index, flip: u8) {
        let mut bytes = delete::encode(&records).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let _ = deletes(&bytes, 0);
        let _ = deletes(&bytes[..at], 0);
    }

    #[test]
    fn rows_read_back(rows in prop::collection::vec(any::<Vec<u8>>(), 0..6)) {
        let content = avro_block::encode_records(rows.iter().map(Vec::as_slice)).unwrap();
        let read: Vec<_> = avro_block::records(&content, 0).unwrap().map(|row| row.unwrap()).collect();
        prop_assert_eq!(read, rows);
    }

    #[test]
    fn any_content_frames_or_fails(content in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok(records) = avro_block::records(&content, 0) {
            prop_assert!(records.map_while(Result::ok).map(|row| row.len() + 4).sum::<usize>() <= content.len());
        }
    }
}
