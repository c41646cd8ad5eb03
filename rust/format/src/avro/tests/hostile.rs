//! Datums that claim more than they hold, schemas that mean more than they say, and damage.

use arrow_array::types::Decimal128Type;
use rstest::rstest;

use super::*;
use crate::ErrorKind;

/// A decoder of all columns of a record with these fields, and its record.
fn decoder(fields: &str) -> RowDecoder {
    let record = Record::parse(&record_text(fields)).unwrap();
    RowDecoder::new(&record, Arc::new(record.to_arrow().unwrap())).unwrap()
}

fn record_text(fields: &str) -> String {
    format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)
}

/// As the bytes of a datum.
fn long(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    crate::wire::put_avro_long(&mut out, value);
    out
}

fn refused(decoder: &mut RowDecoder, datum: &[u8]) -> (ErrorKind, String) {
    let error = decoder.decode(datum).unwrap_err();
    (error.kind(), error.message().to_owned())
}

fn memory(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| column.get_buffer_memory_size()).sum()
}

#[rstest]
#[case::negative_length(&long(-1), "length of -1")]
#[case::length_beyond_the_end(&long(9), "length of 9")]
#[case::length_of_many_terabytes(&long(i64::MAX), "length of 9223372036854775807")]
#[case::number_without_end(&[0x80; 12], "does not end")]
#[case::number_of_more_than_64_bits(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], "64 bits")]
#[case::nothing(&[], "does not end")]
fn lengths_that_are_none(#[case] datum: &[u8], #[case] says: &str) {
    let (kind, message) = refused(&mut decoder(r#"{"name":"s","type":"string"}"#), datum);
    assert_eq!(kind, ErrorKind::CorruptFile);
    assert!(message.contains(says), "{message}");
}

#[test]
fn numbers_may_be_longer_than_they_have_to() {
    let mut decoder = decoder(r#"{"name":"u","type":["null","long"]},{"name":"n","type":["null","long"]}"#);
    decoder.decode(&[0x82, 0x80, 0, 0x83, 0x80, 0x80, 0, 0x80, 0]).unwrap();
    let batch = decoder.flush().unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), -2);
    assert!(batch.column(1).is_null(0));
}

#[rstest]
#[case::int_beyond_32_bits("\"int\"", &long(1 << 31), "exceeds 32 bits")]
#[case::boolean("\"boolean\"", &[2], "boolean 2")]
#[case::third_branch_of_two(r#"["null","int"]"#, &[4, 0], "branch 2")]
#[case::negative_branch(r#"["null","int"]"#, &[1, 0], "branch -1")]
#[case::second_branch_of_one(r#"["int"]"#, &[2, 0], "branch 1")]
#[case::symbol_beyond_the_last(r#"{"type":"enum","name":"e","symbols":["a"]}"#, &[2], "symbol 1 of 1")]
#[case::decimal_without_digits(r#"{"type":"bytes","logicalType":"decimal","precision":4}"#, &[0], "no bytes")]
#[case::more_items_than_bytes(r#"{"type":"array","items":"int"}"#, &[200, 1, 0, 0], "100 items")]
#[case::more_entries_than_bytes(r#"{"type":"map","values":"null"}"#, &[4, 0], "2 items")]
#[case::bytes_behind_the_end("\"int\"", &[0, 0], "1 bytes after the end")]
fn damage_is_named(#[case] kind: &str, #[case] datum: &[u8], #[case] says: &str) {
    let record = Record::parse(&record_text(&format!(r#"{{"name":"c","type":{kind}}}"#))).unwrap();
    let single = Record::parse(&record_text(r#"{"name":"c","type":"int"}"#)).unwrap();
    let schema = record.to_arrow().or_else(|_| single.to_arrow()).unwrap();
    let mut decoder = RowDecoder::new(&record, Arc::new(schema)).unwrap();
    let (kind, message) = refused(&mut decoder, datum);
    assert_eq!(kind, ErrorKind::CorruptFile);
    assert!(message.contains(says), "{message}");
}

#[test]
fn decimals_beyond_their_type_are_refused() {
    let mut decoder =
        decoder(r#"{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}}"#);
    // 17 bytes that only repeat the sign, then two digits.
    decoder.decode(&[&long(19)[..], &[0xff; 18], &[0x85]].concat()).unwrap();
    assert_eq!(decoder.flush().unwrap().column(0).as_primitive::<Decimal128Type>().value(0), -123);
    let (kind, message) = refused(&mut decoder, &[&long(17)[..], &[1; 17]].concat());
    assert_eq!((kind, message.as_str()), (ErrorKind::UnsupportedFeature, "a decimal of 17 bytes"));
    decoder.decode(&[4, 0x27, 0x10]).unwrap();
    let error = decoder.flush().unwrap_err();
    assert_eq!(error.message(), "the decimal 10000 (unscaled) of more than 4 digits");
}

#[test]
fn text_that_is_none_is_refused_with_its_batch() {
    let mut decoder = decoder(r#"{"name":"s","type":"string"}"#);
    decoder.decode(&[2, 0xff]).unwrap();
    assert_eq!(decoder.flush().unwrap_err().kind(), ErrorKind::CorruptFile);
    // Two halves of a letter make no letter.
    decoder.decode(&[2, 0xc3]).unwrap();
    decoder.decode(&[2, 0xbc]).unwrap();
    assert_eq!(decoder.flush().unwrap_err().kind(), ErrorKind::CorruptFile);
}

#[test]
fn blocks_may_state_their_size() {
    let text = record_text(r#"{"name":"a","type":{"type":"array","items":"string"}},{"name":"i","type":"int"}"#);
    let record = Record::parse(&text).unwrap();
    let datum = [&long(-2)[..], &long(5), &[2, b'a', 4, b'b', b'c'], &long(1), &[2, b'd'], &[0], &[14]].concat();
    let all = decode(std::slice::from_ref(&datum), &record, record.to_arrow().unwrap());
    assert_eq!(all.column(0).as_list::<i32>().value(0).as_string::<i32>(), &StringArray::from(vec!["a", "bc", "d"]));
    let last = decode(&[datum], &record, record.to_arrow().unwrap().project(&[1]).unwrap());
    assert_eq!(last.column(0), all.column(1));
    for size in [-1, 1000, i64::MAX] {
        let datum = [&long(-2)[..], &long(size), &[2, b'a', 4, b'b', b'c', 0, 14]].concat();
        let mut decoder = RowDecoder::new(&record, last.schema()).unwrap();
        assert_eq!(refused(&mut decoder, &datum).0, ErrorKind::CorruptFile, "a block of {size} bytes to jump over");
    }
}

#[test]
fn what_lies_behind_the_last_wanted_field_is_not_looked_at() {
    let record = Record::parse(&record_text(r#"{"name":"a","type":"int"},{"name":"b","type":"string"}"#)).unwrap();
    let (first, second) = (record.to_arrow().unwrap().project(&[0]), record.to_arrow().unwrap().project(&[1]));
    let damaged = [14, 200, 200];
    let batch = decode(&[damaged.to_vec()], &record, first.unwrap());
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().value(0), 7);
    let mut decoder = RowDecoder::new(&record, Arc::new(second.unwrap())).unwrap();
    assert_eq!(refused(&mut decoder, &damaged).0, ErrorKind::CorruptFile);
}

#[test]
fn unions_of_several_types_are_passed_over_or_refused_by_name() {
    let text = record_text(r#"{"name":"u","type":["null","int","string"]},{"name":"i","type":"int"}"#);
    let record = Record::parse(&text).unwrap();
    let number = Schema::new(vec![Field::new("i", DataType::Int32, false)]);
    let rows = [vec![0, 14], vec![2, 3, 14], vec![4, 2, b'x', 14]];
    let batch = decode(&rows, &record, number.clone());
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().values(), &[7; 3]);
    let mut decoder = RowDecoder::new(&record, Arc::new(number)).unwrap();
    assert!(refused(&mut decoder, &[6, 14]).1.contains("branch 3 of a union of 3"));
    let union = Schema::new(vec![Field::new("u", DataType::Utf8, true)]);
    let error = RowDecoder::new(&record, Arc::new(union)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    assert!(error.message().contains("column 'u'"), "{error}");
}

#[test]
fn schemas_that_go_too_deep_are_refused() {
    let nested = |levels: usize| {
        let kind = (0..levels).fold("\"int\"".to_owned(), |inner, _| format!(r#"{{"type":"array","items":{inner}}}"#));
        Record::parse(&record_text(&format!(r#"{{"name":"a","type":{kind}}},{{"name":"i","type":"int"}}"#))).unwrap()
    };
    let number = Schema::new(vec![Field::new("i", DataType::Int32, true)]);
    let of = |record: &Record, schema: Schema| RowDecoder::new(record, Arc::new(schema));
    let (flat, deep) = (nested(60), nested(110));
    of(&flat, flat.to_arrow().unwrap()).unwrap();
    for schema in [deep.to_arrow().unwrap(), number] {
        let error = of(&deep, schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
        assert!(error.message().contains("types within types"), "{error}");
    }
}

#[test]
fn empty_items_end_soon_however_they_are_nested() {
    // Each inner block claims as many items as bytes are left.
    let mut decoder = decoder(r#"{"name":"a","type":{"type":"array","items":{"type":"array","items":"null"}}}"#);
    let blocks = 200_000;
    let mut datum = long(blocks);
    (0..blocks).for_each(|_| datum.extend([&long(blocks)[..], &[0]].concat()));
    datum.push(0);
    let (kind, message) = refused(&mut decoder, &datum);
    assert_eq!(kind, ErrorKind::UnsupportedFeature);
    assert!(message.contains("empty items"), "{message}");
}

#[test]
fn a_few_empty_items_are_read() {
    let fields = r#"{"name":"a","type":{"type":"array","items":{"type":"record","name":"e","fields":[]}}}"#;
    let mut decoder = decoder(fields);
    decoder.decode(&[6, 0]).unwrap();
    assert_eq!(decoder.flush().unwrap().column(0).as_list::<i32>().value(0).len(), 3);
}

#[test]
fn fields_of_the_same_name_are_refused() {
    // No text says so, but a record may be put together.
    let fields = vec![crate::schema::Field { name: "a".into(), node: crate::schema::Node::Int }; 2];
    let record = Record { name: "r".into(), fields };
    let number = Field::new("a", DataType::Int32, true);
    for wanted in [vec![number.clone()], vec![number.clone(), number]] {
        assert!(RowDecoder::new(&record, Arc::new(Schema::new(wanted))).is_err());
    }
}

#[test]
fn types_without_a_byte_are_counted() {
    let fields = |count: usize| (0..count).map(|at| format!(r#"{{"name":"n{at}","type":"null"}}"#)).collect::<Vec<_>>();
    decoder(&fields(100).join(",")).decode(&[]).unwrap();
    let record = Record::parse(&record_text(&fields(101).join(","))).unwrap();
    let error = RowDecoder::new(&record, Arc::new(record.to_arrow().unwrap())).unwrap_err();
    assert!(error.message().contains("types without a byte"), "{error}");
}

/// A struct of a hundred decimals that is null takes a byte in a datum, and 1600 in Arrow.
fn wide_struct() -> String {
    let decimal = r#"{"type":"fixed","name":"d","size":16,"logicalType":"decimal","precision":38}"#;
    let fields: Vec<_> = (0..100)
        .map(|at| format!(r#"{{"name":"f{at}","type":{}}}"#, if at == 0 { decimal } else { "\"d\"" }))
        .collect();
    format!(r#"["null",{{"type":"record","name":"w","fields":[{}]}}]"#, fields.join(","))
}

#[test]
fn nulls_of_wide_items_are_bounded() {
    let mut decoder = decoder(&format!(r#"{{"name":"a","type":{{"type":"array","items":{}}}}}"#, wide_struct()));
    decoder.decode(&[&long(100)[..], &[0; 101]].concat()).unwrap();
    assert_eq!(decoder.flush().unwrap().column(0).as_list::<i32>().value(0).null_count(), 100);
    let (kind, message) = refused(&mut decoder, &[&long(1_000_000)[..], &[0; 1_000_001]].concat());
    assert_eq!(kind, ErrorKind::UnsupportedFeature);
    assert!(message.contains("nulls"), "{message}");
}

#[rstest]
#[case::null_structs(&wide_struct(), &[0])]
#[case::null_fixeds(r#"["null",{"type":"fixed","name":"f","size":65536}]"#, &[0])]
#[case::long_symbols(&format!(r#"{{"type":"enum","name":"e","symbols":["{}"]}}"#, "x".repeat(60_000)), &[0])]
fn a_batch_is_full_before_it_outgrows_its_rows(#[case] kind: &str, #[case] datum: &[u8]) {
    let mut decoder = decoder(&format!(r#"{{"name":"c","type":{kind}}}"#));
    let rows = 100_000;
    let mut batches = 0;
    for row in 0..rows {
        decoder.decode(datum).unwrap();
        if decoder.is_full() {
            let input = decoder.buffered() * datum.len();
            let batch = decoder.flush().unwrap();
            assert!(memory(&batch) <= 16 * input + (1 << 20), "row {row}: {} of {input}", memory(&batch));
            batches += 1;
        }
    }
    assert!(batches > 1, "many nulls should have filled a batch");
}

#[test]
fn missing_columns_fill_a_batch_too() {
    let record = Record::parse(&record_text(r#"{"name":"i","type":"int"}"#)).unwrap();
    let wanted = (0..1000).map(|at| Field::new(format!("later{at}"), DataType::Int64, true));
    let mut decoder = RowDecoder::new(&record, Arc::new(Schema::new(wanted.collect::<Vec<_>>()))).unwrap();
    let full = (0..1000).find(|_| {
        decoder.decode(&[0]).unwrap();
        decoder.is_full()
    });
    assert!(full.is_some_and(|row| row > 20), "{full:?}");
    assert_eq!(refused(&mut decoder, &[0]).0, ErrorKind::MemoryLimit);
    assert!(memory(&decoder.flush().unwrap()) <= 1 << 20);
    assert!(!decoder.is_full());
}
