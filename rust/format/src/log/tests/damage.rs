//! What a scan makes of damage: each row of the table in `read`, then damage at every place.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::ErrorKind;

fn block(instant: &str, content: &[u8]) -> Vec<u8> {
    encode_block(BlockKind::AvroData, &[(HeaderKey::InstantTime, instant)], content).unwrap()
}

fn a() -> Vec<u8> {
    block("A", b"rows of A")
}

fn b() -> Vec<u8> {
    block("B", b"rows of B, #HUDI# inside")
}

/// Instants of whole blocks, `x` for a corrupt range, `!` for an error.
fn seen(bytes: &[u8]) -> String {
    let item = |item: crate::Result<Scanned<'_>>| match item {
        Ok(Scanned::Block(block)) => block.instant_time().unwrap().to_owned(),
        Ok(Scanned::Corrupt(_)) => "x".to_owned(),
        Err(_) => "!".to_owned(),
    };
    scan(bytes).map(item).collect()
}

fn with_length(mut block: Vec<u8>, change: impl Fn(i64) -> i64) -> Vec<u8> {
    let length = i64::from_be_bytes(block[6..14].try_into().unwrap());
    block[6..14].copy_from_slice(&change(length).to_be_bytes());
    block
}

fn with_trailer(mut block: Vec<u8>, change: impl Fn(i64) -> i64) -> Vec<u8> {
    let at = block.len() - 8;
    let trailer = i64::from_be_bytes(block[at..].try_into().unwrap());
    block[at..].copy_from_slice(&change(trailer).to_be_bytes());
    block
}

#[test]
fn whole_blocks() {
    assert_eq!(seen(&[a(), b(), a()].concat()), "ABA");
}

#[rstest]
#[case(b"")]
#[case(b"#H")]
#[case(b"\0\0\0\0\0")]
fn a_file_shorter_than_a_magic_is_empty(#[case] bytes: &[u8]) {
    assert_eq!(seen(bytes), "");
}

#[test]
fn a_cut_last_block_leaves_the_first() {
    let (a, b) = (a(), b());
    for cut in 0..b.len() {
        let expected = match cut {
            0..6 => "A",
            // The magic inside B's content is a false start, skipped like the rest.
            _ if [&a, &b[..cut]].concat().windows(6).filter(|w| w == b"#HUDI#").count() == 3 => "Axx",
            _ => "Ax",
        };
        assert_eq!(seen(&[&a, &b[..cut]].concat()), expected, "B cut at {cut}");
    }
}

#[rstest]
#[case(1)]
#[case(5)]
fn a_few_stray_bytes_cost_nothing(#[case] count: usize) {
    assert_eq!(seen(&[a(), vec![0; count]].concat()), "A");
}

#[rstest]
#[case(0)]
#[case(4)]
#[case(8)]
fn a_magic_with_half_a_length_costs_nothing(#[case] count: usize) {
    assert_eq!(seen(&[a(), b"#HUDI#".to_vec(), vec![0; count]].concat()), "Ax");
}

#[test]
fn six_bytes_of_garbage_cost_the_block_before_them() {
    assert_eq!(seen(&[a(), vec![0; 6]].concat()), "x");
    assert_eq!(seen(&[a(), vec![0; 600]].concat()), "x");
}

#[rstest]
#[case(3)]
#[case(300)]
fn garbage_between_two_blocks_costs_the_first(#[case] count: usize) {
    let bytes = [a(), vec![7; count], b()].concat();
    assert_eq!(seen(&bytes), "xB");
    let corrupt = scan(&bytes).next().unwrap().unwrap();
    assert_eq!(corrupt, Scanned::Corrupt(6..(a().len() + count) as u64));
}

#[test]
fn a_block_after_a_torn_one_is_found() {
    let a = a();
    for cut in 6..a.len() {
        assert_eq!(seen(&[&a[..cut], &b()].concat()), "xB", "A cut at {cut}");
    }
}

#[rstest]
#[case(|l| l + 1)]
#[case(|l| l - 1)]
#[case(|_| 0)]
#[case(|_| 8)]
#[case(|_| -1)]
#[case(|l: i64| -l)]
#[case(|_| i64::MAX)]
#[case(|_| i64::MIN)]
#[case(|_| i64::from(i32::MAX))]
#[case(|_| i64::from(i32::MIN))]
#[case(|_| 1 << 40)]
fn a_wrong_length_costs_the_block(#[case] change: fn(i64) -> i64) {
    assert_eq!(seen(&[with_length(a(), change), b()].concat()), "xB");
    assert_eq!(seen(&[b(), with_length(a(), change)].concat()), "Bx");
}

#[rstest]
#[case(|t| t + 1)]
#[case(|t| t - 6)]
#[case(|_| 0)]
#[case(|_| i64::MIN)]
#[case(|t| t + (1 << 32))]
fn a_wrong_trailer_costs_the_block(#[case] change: fn(i64) -> i64) {
    assert_eq!(seen(&[with_trailer(a(), change), b()].concat()), "xB");
}

#[test]
fn only_the_low_half_of_the_length_counts() {
    assert_eq!(seen(&[with_length(a(), |l| l + (5 << 32)), b()].concat()), "AB");
}

/// Where the content length stands in `a()`.
const CONTENT_LENGTH: usize = 6 + 8 + 4 + 4 + 4 + 8 + 1;

#[rstest]
#[case(1)]
#[case(8)]
#[case(10)]
#[case(13)]
#[case(1000)]
#[case(-1)]
#[case(i64::from(i32::MAX))]
fn a_content_length_that_does_not_fit_is_an_error(#[case] length: i64) {
    let mut bytes = [a(), b()].concat();
    assert_eq!(bytes[CONTENT_LENGTH..CONTENT_LENGTH + 8], 9_i64.to_be_bytes());
    bytes[CONTENT_LENGTH..CONTENT_LENGTH + 8].copy_from_slice(&length.to_be_bytes());
    let mut items = scan(&bytes);
    assert_eq!(items.next().unwrap().unwrap_err().kind(), ErrorKind::CorruptFile);
    assert!(items.next().is_none(), "nothing follows an error");
}

fn first_error(bytes: &[u8]) -> (ErrorKind, Option<u64>, String) {
    let error = scan(bytes).find_map(Result::err).unwrap();
    (error.kind(), error.offset(), error.message().to_owned())
}

#[rstest]
#[case(vec![0; 6])]
#[case(vec![0; 4096])]
#[case(b"PAR1PAR1".to_vec())]
#[case([vec![0], a()].concat())]
fn a_file_must_start_with_a_magic(#[case] bytes: Vec<u8>) {
    let (kind, offset, message) = first_error(&bytes);
    assert_eq!((kind, offset), (ErrorKind::CorruptFile, Some(0)));
    assert!(message.contains("magic"), "{message}");
}

fn with_i32(mut block: Vec<u8>, at: usize, value: i32) -> Vec<u8> {
    block[at..at + 4].copy_from_slice(&value.to_be_bytes());
    block
}

#[rstest]
#[case::legacy_version(14, 0, ErrorKind::UnsupportedFeature, "log format version 0")]
#[case::later_version(14, 2, ErrorKind::UnsupportedFeature, "log format version 2")]
#[case::corrupt_kind(18, 2, ErrorKind::CorruptFile, "log block type 2 (corrupt)")]
#[case::unknown_kind(18, 7, ErrorKind::UnsupportedFeature, "log block type 7")]
#[case::negative_kind(18, -1, ErrorKind::UnsupportedFeature, "log block type -1")]
#[case::negative_headers(22, -1, ErrorKind::CorruptFile, "number of block headers is -1")]
#[case::too_many_headers(22, 9, ErrorKind::CorruptFile, "header")]
#[case::unknown_header(26, 9, ErrorKind::UnsupportedFeature, "log block header 9")]
#[case::negative_header(26, -1, ErrorKind::UnsupportedFeature, "log block header -1")]
#[case::long_header(30, 1000, ErrorKind::CorruptFile, "INSTANT_TIME needs 1000 bytes")]
fn whole_blocks_that_cannot_be_read(
    #[case] at: usize,
    #[case] value: i32,
    #[case] kind: ErrorKind,
    #[case] what: &str,
) {
    let first = b();
    let bytes = [first.clone(), with_i32(a(), at, value)].concat();
    let (found, offset, message) = first_error(&bytes);
    assert_eq!(found, kind, "{message}");
    assert!(message.contains(what), "{message}");
    assert!(offset.unwrap() >= first.len() as u64, "the offset counts from the start of the file");
    assert_eq!(seen(&bytes), "B!");
}

#[test]
fn footers_are_an_error() {
    let block = a();
    let at = block.len() - 12;
    let (kind, _, message) = first_error(&with_i32(block, at, 1));
    assert_eq!(kind, ErrorKind::CorruptFile);
    assert!(message.contains("footer"), "{message}");
}

#[test]
fn a_header_that_is_no_text_is_an_error() {
    let mut block = a();
    block[34] = 0xff;
    let (kind, offset, message) = first_error(&block);
    assert_eq!((kind, offset), (ErrorKind::CorruptFile, Some(34)));
    assert!(message.contains("INSTANT_TIME"), "{message}");
}

fn any_block() -> impl Strategy<Value = (BlockKind, Vec<(HeaderKey, String)>, Vec<u8>)> {
    let kind =
        prop::sample::select(vec![BlockKind::Command, BlockKind::Delete, BlockKind::AvroData, BlockKind::CdcData]);
    let headers = prop::collection::btree_map(0..HeaderKey::ALL.len(), "\\PC{0,20}", 0..9)
        .prop_map(|map| map.into_iter().map(|(i, v)| (HeaderKey::ALL[i], v)).collect());
    (kind, headers, prop::collection::vec(any::<u8>(), 0..60))
}

proptest! {
    #[test]
    fn blocks_read_back(blocks in prop::collection::vec(any_block(), 0..5)) {
        let mut file = Vec::new();
        for (kind, headers, content) in &blocks {
            let headers: Vec<_> = headers.iter().map(|(key, value)| (*key, value.as_str())).collect();
            file.extend(encode_block(*kind, &headers, content).unwrap());
        }
        let scanned: Vec<_> = scan(&file).map(|item| item.unwrap()).collect();
        prop_assert_eq!(scanned.len(), blocks.len());
        for (item, (kind, headers, content)) in scanned.into_iter().zip(&blocks) {
            let Scanned::Block(block) = item else { panic!("a whole block was taken for corrupt") };
            prop_assert_eq!((block.kind, block.content), (*kind, content.as_slice()));
            prop_assert!(block.headers.iter().eq(headers.iter().map(|(key, value)| (*key, value.as_str()))));
            let at = block.content_offset as usize;
            prop_assert_eq!(&file[at..at + content.len()], content.as_slice());
        }
    }

    #[test]
    fn flipped_bytes_never_panic(flips in prop::collection::vec((0_usize..300, any::<u8>()), 1..4)) {
        let mut bytes = [a(), b(), rollback_command("C", "A").unwrap()].concat();
        for (at, flip) in flips {
            let at = at % bytes.len();
            bytes[at] ^= flip;
        }
        for item in scan(&bytes) {
            if let Ok(Scanned::Corrupt(range)) = item {
                prop_assert!(range.start <= range.end && range.end <= bytes.len() as u64);
            }
        }
    }

    #[test]
    fn any_bytes_after_a_magic_scan(tail in prop::collection::vec(any::<u8>(), 0..120)) {
        let bytes = [&b"#HUDI#"[..], &tail].concat();
        prop_assert!(scan(&bytes).count() <= bytes.len() / 6);
    }
}
