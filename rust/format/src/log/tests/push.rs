//! The reader fed in pieces: the events are those of the model, and the same however the bytes are cut.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use proptest::prelude::*;
use rstest::rstest;

use super::model::{Stretch, stretches};
use super::*;

const SCHEMA: &str =
    r#"{"type":"record","name":"r","fields":[{"name":"k","type":"string"},{"name":"n","type":["null","long"]}]}"#;

fn wanted() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true), Field::new("k", DataType::Utf8, false)]))
}

/// What a reader said, in words.
#[derive(Debug, PartialEq)]
enum Said {
    Block(u64, BlockKind, Vec<(HeaderKey, String)>, std::ops::Range<u64>),
    Rows(RecordBatch),
    Content(Vec<u8>),
    Corrupt(std::ops::Range<u64>),
    Error(String),
}

/// What to do with a block's content.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Choice {
    Skip,
    Take,
    Decode,
}

fn by_kind(kind: BlockKind) -> Choice {
    match kind {
        BlockKind::AvroData => Choice::Decode,
        BlockKind::Delete | BlockKind::HfileData => Choice::Take,
        _ => Choice::Skip,
    }
}

/// A run over `file`, which gets `sizes` bytes at a time, in turn, and all that was pushed.
fn run(file: &[u8], sizes: &[usize], choice: fn(BlockKind) -> Choice) -> (Vec<Said>, u64) {
    let mut reader = Reader::new(file.len() as u64).with_batches(2, 64);
    let mut sizes = sizes.iter().cycle();
    let (mut said, mut pushed) = (Vec::new(), 0);
    let mut window = 0..0;
    loop {
        let event = reader.push(window.start as u64, &file[window.clone()]);
        let chosen = match event {
            Ok(Event::Need(need)) => {
                let start = need.offset as usize;
                assert!(need.length > 0 && need.offset + need.length <= file.len() as u64, "{need:?}");
                window = start..(start + sizes.next().unwrap()).min(file.len());
                pushed += window.len() as u64;
                continue;
            }
            Ok(Event::Block(block)) => {
                let headers = block.headers.iter().map(|(key, value)| (key, value.to_owned())).collect();
                let content = block.content_offset..block.content_offset + block.content_length;
                said.push(Said::Block(block.offset, block.kind, headers, content));
                match choice(block.kind) {
                    Choice::Decode => block.decoder(wanted()).map(|decoder| (Choice::Decode, Some(decoder))),
                    other => Ok((other, None)),
                }
            }
            Ok(Event::Rows(rows)) => {
                said.push(Said::Rows(rows));
                continue;
            }
            Ok(Event::Content(content)) => {
                said.push(Said::Content(content.into_owned()));
                continue;
            }
            Ok(Event::Corrupt(range)) => {
                said.push(Said::Corrupt(range));
                continue;
            }
            Ok(Event::End) => break,
            Err(error) => {
                said.push(Said::Error(error.to_string()));
                assert!(matches!(reader.push(0, file), Ok(Event::End)), "nothing follows an error");
                break;
            }
        };
        let done = chosen.and_then(|(choice, decoder)| match (choice, decoder) {
            (Choice::Skip, _) => Ok(()),
            (Choice::Take, _) => reader.take(1 << 20),
            (Choice::Decode, decoder) => reader.decode(decoder.unwrap()),
        });
        if let Err(error) = done {
            said.push(Said::Error(error.to_string()));
            break;
        }
    }
    (said, pushed)
}

fn said(file: &[u8], sizes: &[usize]) -> Vec<Said> {
    run(file, sizes, by_kind).0
}

fn row(key: &str, n: Option<i64>) -> Vec<u8> {
    let mut out = Vec::new();
    crate::wire::put_avro_bytes(&mut out, key.as_bytes());
    crate::wire::put_avro_long(&mut out, i64::from(n.is_some()));
    if let Some(n) = n {
        crate::wire::put_avro_long(&mut out, n);
    }
    out
}

fn avro_block(instant: &str, rows: &[(String, Option<i64>)]) -> Vec<u8> {
    let rows: Vec<_> = rows.iter().map(|(key, n)| row(key, *n)).collect();
    let content = avro_block::encode_records(rows.iter().map(Vec::as_slice)).unwrap();
    let headers = [(HeaderKey::Schema, SCHEMA), (HeaderKey::InstantTime, instant)];
    encode_block(BlockKind::AvroData, &headers, &content).unwrap()
}

fn blob(kind: BlockKind, length: usize) -> Vec<u8> {
    encode_block(kind, &[(HeaderKey::InstantTime, "1")], &vec![7; length]).unwrap()
}

/// Pieces of log files, whole and broken.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let rows = prop::collection::vec(("[a-z]{0,9}", any::<Option<i64>>()), 0..6);
    let kinds = vec![BlockKind::Delete, BlockKind::HfileData, BlockKind::ParquetData, BlockKind::Command];
    let whole = prop_oneof![
        (prop::sample::select(vec!["1", "2"]), rows).prop_map(|(instant, rows)| avro_block(instant, &rows)),
        (prop::sample::select(kinds), 0_usize..80).prop_map(|(kind, length)| blob(kind, length)),
        Just(encode_block(BlockKind::CdcData, &[(HeaderKey::Schema, "#HUDI#")], b"#HUDI##HUDI#").unwrap()),
    ];
    let whole = whole.boxed();
    let cut =
        (whole.clone(), any::<prop::sample::Index>()).prop_map(|(block, at)| block[..at.index(block.len())].to_vec());
    let flipped = (whole.clone(), any::<prop::sample::Index>(), 1_u8..).prop_map(|(mut block, at, flip)| {
        let at = at.index(block.len());
        block[at] ^= flip;
        block
    });
    let garbage = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        Just(b"#HUDI#".to_vec()),
        Just(b"#HUDI##HUDI".to_vec()),
        Just(vec![0; 5000]),
    ];
    prop_oneof![6 => whole, 1 => cut, 1 => flipped, 1 => garbage]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_reader_finds_what_the_model_finds(file in file(), sizes in prop::collection::vec(1_usize..200, 1..5)) {
        let mut model = stretches(&file).into_iter();
        for found in run(&file, &sizes, |_| Choice::Skip).0 {
            match (found, model.next()) {
                (Said::Block(offset, .., content), Some(Stretch::Block(range))) => {
                    prop_assert_eq!(offset, range.start as u64);
                    prop_assert_eq!(content.end + 12, range.end as u64);
                }
                (Said::Corrupt(found), Some(Stretch::Corrupt(range))) => {
                    prop_assert_eq!(found, range.start as u64..range.end as u64);
                }
                // The model does not look into a block, so its unreadable ones are errors here.
                (Said::Error(text), Some(Stretch::Block(_))) => {
                    prop_assert!(!text.contains("magic"), "{}", text);
                    return Ok(());
                }
                (Said::Error(text), Some(Stretch::NoMagic(_))) => prop_assert!(text.contains("magic"), "{}", text),
                (found, expected) => prop_assert!(false, "{:?} where the model has {:?}", found, expected),
            }
        }
        prop_assert_eq!(model.next(), None);
    }

    #[test]
    fn pieces_make_no_difference(file in file(), sizes in prop::collection::vec(1_usize..300, 1..5)) {
        let whole = said(&file, &[usize::MAX >> 1]);
        prop_assert_eq!(&said(&file, &sizes), &whole);
        prop_assert_eq!(&said(&file, &[1]), &whole);
    }

    #[test]
    fn rows_are_those_of_the_frames(rows in prop::collection::vec(("[a-z]{0,40}", any::<Option<i64>>()), 0..12), size in 1_usize..100) {
        let file = avro_block("1", &rows);
        let mut decoder = only_block(&file).decoder(wanted()).unwrap();
        rows.iter().for_each(|(key, n)| decoder.decode(&row(key, *n)).unwrap());
        let batches: Vec<_> = said(&file, &[size]).into_iter().filter_map(|said| match said {
            Said::Rows(rows) => Some(rows),
            _ => None,
        }).collect();
        prop_assert!(batches.iter().all(|batch| (1..=2).contains(&batch.num_rows())));
        let all = arrow_select::concat::concat_batches(&wanted(), &batches).unwrap();
        prop_assert_eq!(all, decoder.flush().unwrap());
    }
}

#[test]
fn skipped_content_is_not_asked_for() {
    let file = [blob(BlockKind::ParquetData, 1 << 20), blob(BlockKind::HfileData, 1 << 20)].concat();
    let (said, pushed) = run(&file, &[64], |_| Choice::Skip);
    assert_eq!(said.len(), 2);
    assert!(pushed < 20_000, "{pushed} bytes were pushed to skip two blocks");
}

#[test]
fn content_is_taken_up_to_a_limit() {
    let file = blob(BlockKind::Delete, 1000);
    for most in [999, 1000] {
        let mut reader = Reader::new(file.len() as u64);
        assert!(matches!(reader.push(0, &file).unwrap(), Event::Block(_)));
        let taken = reader.take(most);
        assert_eq!(taken.is_ok(), most == 1000);
        if let Err(error) = taken {
            assert!(error.message().contains("1000 bytes, at most 999"), "{error}");
            assert_eq!(error.offset(), Some(file.len() as u64 - 1012));
        }
    }
}

#[rstest]
#[case(BlockKind::Delete)]
#[case(BlockKind::ParquetData)]
fn only_rows_of_avro_are_decoded(#[case] kind: BlockKind) {
    let (file, avro) = (blob(kind, 9), avro_block("1", &[]));
    let mut reader = Reader::new(file.len() as u64);
    assert!(matches!(reader.push(0, &file).unwrap(), Event::Block(_)));
    assert!(reader.decode(only_block(&avro).decoder(wanted()).unwrap()).is_err());
}

#[test]
fn a_reader_without_a_block_takes_no_orders() {
    assert!(Reader::new(0).take(1).is_err());
}

#[test]
fn a_reader_can_start_at_any_block() {
    let first = avro_block("1", &[("a".into(), None)]);
    let file = [first.clone(), blob(BlockKind::Delete, 3)].concat();
    let mut reader = Reader::starting_at(first.len() as u64, file.len() as u64);
    match reader.push(0, &file).unwrap() {
        Event::Block(block) => assert_eq!((block.offset, block.kind), (first.len() as u64, BlockKind::Delete)),
        other => panic!("{other:?}"),
    }
}

/// Content holds `count` and what follows it in hexadecimal.
fn avro_content(content: &str) -> Vec<u8> {
    let headers = [(HeaderKey::InstantTime, "1"), (HeaderKey::Schema, SCHEMA)];
    encode_block(BlockKind::AvroData, &headers, &hex(content)).unwrap()
}

#[rstest]
#[case::cut_count("00000003 0000", 0, "number of records needs 8 bytes, 6 are left")]
#[case::negative_count("00000003 ffffffff", 4, "number of records is -1")]
#[case::impossible_count("00000003 7fffffff 00000000", 8, "2147483647 records cannot be in 4 bytes")]
#[case::negative_length("00000003 00000001 ffffffff", 8, "length of a record is -1")]
#[case::cut_record("00000003 00000001 00000003 0102", 8, "record needs 7 bytes, 6 are left")]
#[case::datum("00000003 00000002 00000003 026100 00000001 02", 15, "")]
fn damaged_rows_are_an_error_at_their_place(#[case] content: &str, #[case] offset: u64, #[case] message: &str) {
    let file = avro_content(content);
    let mut reader = Reader::new(file.len() as u64).with_batches(1, 1);
    let Event::Block(block) = reader.push(0, &file).unwrap() else { panic!("a block is expected") };
    let content_offset = block.content_offset;
    let decoder = block.decoder(wanted()).unwrap();
    reader.decode(decoder).unwrap();
    let error = loop {
        match reader.push(0, &file) {
            Ok(Event::Rows(rows)) => assert_eq!(rows.num_rows(), 1),
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.offset()), (crate::ErrorKind::CorruptFile, Some(content_offset + offset)));
    assert!(error.message().contains(message), "{error}");
    assert!(matches!(reader.push(0, &file), Ok(Event::End)));
}

#[test]
fn large_rows_make_small_batches() {
    let rows: Vec<_> = (0..10).map(|i| ("x".repeat(40), Some(i))).collect();
    let file = avro_block("1", &rows);
    let mut reader = Reader::new(file.len() as u64).with_batches(100, 100);
    let Event::Block(block) = reader.push(0, &file).unwrap() else { panic!("a block is expected") };
    let decoder = block.decoder(wanted()).unwrap();
    reader.decode(decoder).unwrap();
    let mut sizes = Vec::new();
    while let Event::Rows(rows) = reader.push(0, &file).unwrap() {
        sizes.push(rows.num_rows());
    }
    assert_eq!(sizes, [3, 3, 3, 1]);
}
