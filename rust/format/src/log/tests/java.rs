//! Delete blocks as Hudi 0.10.1 and 0.12.3 serialised them, and damage to them.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::ErrorKind;

/// The classes, where they are first mentioned.
const KEYS: &str = "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b6579bb";
const KEY: &str = "01016f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b65f9";
const RECORDS: &str = "01005b4c6f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f7264bb";
const RECORD: &str = "01016f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e44656c6574655265636f72e4";
const KEY_OF_RECORD: &str = "01026f72672e6170616368652e687564692e636f6d6d6f6e2e6d6f64656c2e486f6f6469654b65f9";
const DECIMAL: &str = "01036a6176612e6d6174682e426967446563696d61ec";
const TIMESTAMP: &str = "01036a6176612e73716c2e54696d657374616df0";
const LOCAL_DATE: &str = "01036a6176612e74696d652e4c6f63616c446174e5";
const SQL_DATE: &str = "01036a6176612e73716c2e446174e5";

/// Of 70 characters.
const LONG: &str = "6162636465666768696a6b6c6d6e6f707172737475767778797a6162636465666768696a6b6c6d6e6f707172737475767778797a6162636465666768696a6b6c6d6e6f707172";

fn content(version: i32, payload: &[u8]) -> Vec<u8> {
    [&version.to_be_bytes()[..], &(payload.len() as u32).to_be_bytes(), payload].concat()
}

fn keys(rest: &str) -> Vec<u8> {
    content(1, &hex(&format!("{KEYS}{rest}")))
}

/// An array of one record with key `k1` and partition `p`, and its ordering value.
fn record(ordering: &str) -> Vec<u8> {
    content(2, &hex(&format!("{RECORDS}0102 {RECORD}01{KEY_OF_RECORD}01018270016bb1 {ordering}")))
}

fn delete(key: &str, partition: &str, ordering: OrderingValue) -> DeleteRecord {
    DeleteRecord { key: Some(key.into()), partition: Some(partition.into()), ordering }
}

#[test]
fn keys_of_version_1() {
    let expected = [("k1", "p"), ("k2", "p"), ("k3", "")].map(|(key, path)| delete(key, path, OrderingValue::NONE));
    let content = keys(&format!("0104 {KEY}01018270016bb1 01010104016bb2 01010101 81016bb3"));
    assert_eq!(deletes(&content, 0).unwrap(), expected);
    assert_eq!(deletes(&keys("0101"), 0).unwrap(), []);
}

#[test]
fn texts_of_all_kinds() {
    let text = String::from_utf8(hex(LONG)).unwrap();
    let content = keys(&format!(
        "0105 {KEY}01 018270 0185c3a9e697a5eda0bdedb880  010101 00 018278  010101 01c801 71{LONG} 01c701{LONG}
        010101 01840061c280 016162 6364e5"
    ));
    let expected = [
        delete("é日\u{1F600}", "p", OrderingValue::NONE),
        DeleteRecord { key: Some("x".into()), partition: None, ordering: OrderingValue::NONE },
        delete(&text, &format!("q{text}"), OrderingValue::NONE),
        delete("abcde", "\0a\u{80}", OrderingValue::NONE),
    ];
    assert_eq!(deletes(&content, 0).unwrap(), expected);
}

#[test]
fn the_same_key_twice_and_none() {
    let content = keys(&format!("0105 {KEY}010170f0016beb 010103 00 010101 018270 016bb1"));
    let none = DeleteRecord { key: None, partition: None, ordering: OrderingValue::Null };
    let kk = delete("kk", "pp", OrderingValue::NONE);
    assert_eq!(deletes(&content, 0).unwrap(), [kk.clone(), kk, none, delete("k1", "p", OrderingValue::NONE)]);
}

#[rstest]
#[case("00", OrderingValue::Null)]
#[case("0200", OrderingValue::NONE)]
#[case("0201", OrderingValue::Int(-1))]
#[case("02feffffff0f", OrderingValue::Int(i32::MAX))]
#[case("02ffffffff0f", OrderingValue::Int(i32::MIN))]
#[case("090a", OrderingValue::Long(5))]
#[case("09aac4befdb1bc8706", OrderingValue::Long(1_705_280_523_456_789))]
#[case("09ffffffffffffffffff", OrderingValue::Long(i64::MIN))]
#[case("043fc00000", OrderingValue::Float(1.5))]
#[case("0a3ff8000000000000", OrderingValue::Double(1.5))]
#[case("0501", OrderingValue::Bool(true))]
#[case("03018279", OrderingValue::String("y".into()))]
#[case("0c010279", OrderingValue::String("y".into()))]
#[case("0c0106c3a9e697a5", OrderingValue::String("é日".into()))]
#[case(&format!("{DECIMAL}010304d204"), OrderingValue::Decimal(12_340_000_000_000_000))]
#[case(&format!("{DECIMAL}0102b502"), OrderingValue::Decimal(-7_500_000_000_000_000))]
#[case(&format!("{DECIMAL}01020105"), OrderingValue::Decimal(1_000_000_000_000_000_000))]
#[case(&format!("{TIMESTAMP}01fbd095ffbc31"), OrderingValue::TimestampMicros(1_700_000_000_123_000))]
#[case(&format!("{TIMESTAMP}01fbffffffffffffffff"), OrderingValue::TimestampMicros(-5000))]
#[case(&format!("{LOCAL_DATE}01e80f010f"), OrderingValue::Date(19_737))]
fn ordering_values_of_version_2(#[case] bytes: &str, #[case] value: OrderingValue) {
    assert_eq!(deletes(&record(bytes), 0).unwrap(), [delete("k1", "p", value)]);
}

#[test]
fn records_that_share_their_parts() {
    let content = content(
        2,
        &hex(&format!(
            "{RECORDS}0104 {RECORD}01{KEY_OF_RECORD}0101827001 8261{DECIMAL}010304d204
            010101 010201 05 018262 010307  010101 010201 0173616de5 0d 030d"
        )),
    );
    let decimal = || OrderingValue::Decimal(12_340_000_000_000_000);
    let same = delete("same", "same", OrderingValue::String("same".into()));
    assert_eq!(deletes(&content, 0).unwrap(), [delete("a", "p", decimal()), delete("b", "p", decimal()), same]);
}

#[test]
fn the_same_record_twice_and_the_same_key_in_two() {
    let content = content(
        2,
        &hex(&format!(
            "{RECORDS}0105 {RECORD}01{KEY_OF_RECORD}01018270016bb1 090a  010103
            010101 010201 0170f0 016beb 0902  010101 010208 0904"
        )),
    );
    let (first, k) = (delete("k1", "p", OrderingValue::Long(5)), |n| delete("kk", "pp", OrderingValue::Long(n)));
    assert_eq!(deletes(&content, 0).unwrap(), [first.clone(), first, k(1), k(2)]);
}

#[rstest]
#[case::class(record(SQL_DATE), ErrorKind::UnsupportedFeature, "java.sql.Date")]
#[case::number(record("1e010279"), ErrorKind::UnsupportedFeature, "class number 30")]
#[case::scale(record(&format!("{DECIMAL}01020120")), ErrorKind::UnsupportedFeature, "scale 16")]
#[case::no_date(record(&format!("{LOCAL_DATE}01e80f0d01")), ErrorKind::CorruptFile, "2024-13-1")]
#[case::no_object(record("0309"), ErrorKind::CorruptFile, "to refer to")]
#[case::another_class(record("0303"), ErrorKind::CorruptFile, "no Text to refer to")]
#[case::no_array(content(1, &hex(&format!("{}01018270016bb1", KEY.replacen("0101", "0100", 1)))), ErrorKind::CorruptFile, "no array")]
#[case::huge_array(keys("01ffffffff0f"), ErrorKind::CorruptFile, "4294967294 deletes cannot be")]
#[case::endless(keys("01ffffffffff"), ErrorKind::CorruptFile, "has no end")]
#[case::cut(keys("0102 01"), ErrorKind::CorruptFile, "class name number needs 1 bytes")]
#[case::no_day(record(&format!("{LOCAL_DATE}01e70f021d")), ErrorKind::CorruptFile, "2023-2-29")]
#[case::half_a_character(keys(&format!("0102 {KEY}01 0182eda0bd 00")), ErrorKind::CorruptFile, "half a character")]
#[case::unnamed(keys("0102 0105"), ErrorKind::CorruptFile, "text needs")]
fn what_cannot_be_read_is_named(#[case] content: Vec<u8>, #[case] kind: ErrorKind, #[case] message: &str) {
    let error = deletes(&content, 0).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.message().contains(message), "{error}");
}

/// One text of `length` characters that many keys refer to.
fn repeated(length: usize, keys: usize) -> Vec<u8> {
    let array = (keys as u32 + 2).to_be_bytes();
    let mut payload = hex(KEYS);
    payload.extend([1, array[3] & 0x7f | 0x80, array[3] >> 7 | array[2] << 1]);
    payload.extend(hex(KEY));
    payload.extend([1, 1]);
    payload.extend(vec![b'a'; length - 1]);
    payload.extend([b'a' | 0x80, 4]);
    payload.extend([1, 1, 1, 4, 4].repeat(keys));
    content(1, &payload)
}

#[test]
fn a_text_is_not_copied_without_end() {
    assert_eq!(deletes(&repeated(100, 50), 0).unwrap().len(), 51);
    let error = deletes(&repeated(10_000, 1000), 0).unwrap_err();
    assert!(error.message().contains("over and over"), "{error}");
}

proptest! {
    #[test]
    fn damaged_java_never_panics(at: prop::sample::Index, flip in 1_u8.., cut: prop::sample::Index) {
        let whole = content(2, &hex(&format!(
            "{RECORDS}0105 {RECORD}01{KEY_OF_RECORD}01018270016bb1 {DECIMAL}010304d204 010103
            010101 010201 0170f0 016beb 030179f9  010101 010208 0904"
        )));
        let mut bytes = whole;
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let _ = deletes(&bytes, 0);
        bytes[4..8].copy_from_slice(&0_u32.to_be_bytes());
        let _ = deletes(&bytes[..cut.index(bytes.len())], 0);
    }
}
