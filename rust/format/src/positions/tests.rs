use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn set(values: impl IntoIterator<Item = u64>) -> Positions {
    values.into_iter().collect()
}

/// Runs of `width` positions, sixteen apart.
fn runs(count: u64, width: u64) -> impl Iterator<Item = u64> {
    (0..count).flat_map(move |run| (0..width).map(move |at| run * 16 + at))
}

// Texts of LogReaderUtils.encodePositions of Apache Hudi 1.2.0.
#[rstest]
#[case(set([]), "AAAAAAAAAAA=")]
#[case(set([0]), "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAAAEAAAAAAA")]
#[case(set([1, 6]), "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAEABgA=")]
#[case(set([0, 3, 7]), "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAAAAwAHAA==")]
#[case(set(0..3), "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAAAAQACAA==")]
#[case(set(0..4), "AQAAAAAAAAAAAAAAOzAAAAEAAAMAAQAAAAMA")]
#[case(set(0..10), "AQAAAAAAAAAAAAAAOzAAAAEAAAkAAQAAAAkA")]
#[case(set([0, 1, 2, 10, 11]), "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAQAEAAAAAAAAQACAAoACwA=")]
#[case(set([0, 1, 2, 10, 11, 12]), "AQAAAAAAAAAAAAAAOzAAAAEAAAUAAgAAAAIACgACAA==")]
#[case(
    set([0, 65535, 65536, 1 << 32]),
    "AgAAAAAAAAAAAAAAOjAAAAIAAAAAAAEAAQAAABgAAAAcAAAAAAD//wAAAQAAADowAAABAAAAAAAAABAAAAAAAA=="
)]
#[case(set((0..6000).chain([70_000])), "AQAAAAAAAAAAAAAAOzABAAEAAG8XAQAAAAEAAABvF3AR")]
#[case(set(0..65_536), "AQAAAAAAAAAAAAAAOzAAAAEAAP//AQAAAP//")]
#[case(set([u64::MAX]), "AQAAAAAAAAD/////OjAAAAEAAAD//wAAEAAAAP//")]
#[case(set([1 << 63, 1]), "AgAAAAAAAAAAAAAAOjAAAAEAAAAAAAAAEAAAAAEAAAAAgDowAAABAAAAAAAAABAAAAAAAA==")]
fn the_texts_of_apache_hudi(#[case] positions: Positions, #[case] text: &str) {
    assert_eq!(positions.to_header(), text);
    assert_eq!(Positions::from_header(text).unwrap(), positions);
}

// Length and CRC-32 of longer texts of the same function: the borders between arrays, bit sets and runs.
#[rstest]
#[case::longest_array(set((0..8192).step_by(2)), 10_960, 2_235_433_262)]
#[case::shortest_bit_set(set((0..8194).step_by(2)), 10_960, 2_035_818_291)]
#[case::a_third_missing(set((0..65_536).filter(|i| i % 3 < 2)), 10_960, 2_305_563_093)]
#[case::runs_of_an_array(set(runs(1365, 3)), 7312, 2_415_939_742)]
#[case::most_runs_of_a_bit_set(set(runs(2047, 4)), 10_948, 3_251_622_819)]
#[case::one_run_too_many(set(runs(2048, 4)), 10_960, 590_237_753)]
#[case::dense(set(0..1_000_000), 324, 377_976_663)]
#[case::sparse(set((0..3_000_000).step_by(3)), 502_960, 1_940_198_192)]
#[case::with_offsets(
    set((0..3000).chain([65_536, 65_538]).chain((131_072..141_072).step_by(2)).chain(196_608..262_144)),
    11_012,
    3_309_007_877
)]
fn the_forms_of_apache_hudi(#[case] positions: Positions, #[case] length: usize, #[case] crc: u32) {
    let text = positions.to_header();
    assert_eq!((text.len(), crc32fast::hash(text.as_bytes())), (length, crc));
    assert_eq!(Positions::from_header(&text).unwrap(), positions);
}

#[test]
fn a_set_of_positions() {
    let mut positions = set([7, 3]);
    positions.extend([3, 1 << 40]);
    assert!(positions.insert(0) && !positions.insert(7));
    assert_eq!((positions.len(), positions.is_empty()), (4, false));
    assert!(positions.contains(1 << 40) && !positions.contains(1));
    assert_eq!(positions.iter().collect::<Vec<_>>(), [0, 3, 7, 1 << 40]);
    assert_eq!(format!("{positions:?} {:?}", set(5..100)), "{0, 3, 7, 1099511627776} {95 positions from 5 to 99}");
}

/// As Java's decoder has it.
#[test]
fn padding_is_optional() {
    let text = "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAAAAwAHAA";
    assert_eq!(Positions::from_header(text).unwrap(), set([0, 3, 7]));
}

#[rstest]
#[case::nothing("", "number of position buckets needs 8 bytes, 0 are left", Some(0))]
#[case::line_end("AAAA\nAAA=", "no Base64", None)]
#[case::letter("AAAAAAAAA\u{e9}A=", "no Base64", None)]
fn texts_that_are_none(#[case] text: &str, #[case] message: &str, #[case] offset: Option<u64>) {
    let error = Positions::from_header(text).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
    assert_eq!((error.kind(), error.offset()), (crate::ErrorKind::CorruptFile, offset));
}

/// One bucket around the bytes of its bitmap.
fn bucket(bitmap: &[u8]) -> Vec<u8> {
    [&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], bitmap].concat()
}

const ARRAY_OF_ONE: [u8; 18] = [0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 1, 0];

#[rstest]
#[case::endless(vec![0xff; 8], 8)]
#[case::no_bitmap(bucket(&[]), 12)]
#[case::unknown_cookie(bucket(&[1, 2, 3, 4, 5, 6, 7, 8]), 12)]
#[case::cut(bucket(ARRAY_OF_ONE.split_last().unwrap().1), 12)]
#[case::trailing([bucket(&ARRAY_OF_ONE), vec![0]].concat(), 30)]
#[case::too_many_chunks(bucket(&[0x3a, 0x30, 0, 0, 0, 0, 1, 1]), 12)]
#[case::all_chunks_declared(bucket(&[0x3b, 0x30, 0xff, 0xff]), 12)]
#[case::array_out_of_order(bucket(&[0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 2, 0, 1, 0]), 12)]
#[case::runs_overlap(bucket(&[0x3b, 0x30, 0, 0, 1, 0, 0, 3, 0, 2, 0, 0, 0, 1, 0, 1, 0, 1, 0]), 12)]
#[case::run_leaves_its_chunk(bucket(&[0x3b, 0x30, 0, 0, 1, 0, 0, 3, 0, 1, 0, 0xff, 0xff, 1, 0]), 12)]
#[case::no_runs(bucket(&[0x3b, 0x30, 0, 0, 1, 0, 0, 3, 0, 0, 0]), 12)]
fn damaged_maps_say_where(#[case] bytes: Vec<u8>, #[case] offset: u64) {
    let error = Positions::decode(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (crate::ErrorKind::CorruptFile, Some(offset)), "{error}");
}

#[rstest]
#[case::twice(0, 0)]
#[case::descending(2, 1)]
fn high_words_ascend(#[case] first: u32, #[case] second: u32) {
    let mut bytes = vec![2, 0, 0, 0, 0, 0, 0, 0];
    for high in [first, second] {
        bytes.extend_from_slice(&high.to_le_bytes());
        bytes.extend_from_slice(&ARRAY_OF_ONE);
    }
    let error = Positions::decode(&bytes).unwrap_err();
    assert!(error.message().contains("do not ascend"), "{error}");
}

#[test]
fn an_empty_bucket_holds_nothing() {
    let none = Positions::decode(&bucket(&[0x3a, 0x30, 0, 0, 0, 0, 0, 0])).unwrap();
    assert_eq!(none, Positions::new());
}

fn any_positions() -> impl Strategy<Value = Positions> {
    let run = (prop_oneof![0..200_000_u64, any::<u64>()], 0..5000_u64, 1..40_u64);
    prop::collection::vec(run, 0..6).prop_map(|runs| {
        runs.into_iter()
            .flat_map(|(start, length, step)| (0..length).map(move |i| start.saturating_add(i * step)))
            .collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(positions in any_positions()) {
        let read = Positions::from_header(&positions.to_header()).unwrap();
        prop_assert_eq!(read.encode(), positions.encode());
        prop_assert_eq!(read.len(), positions.iter().count() as u64);
        prop_assert_eq!(read, positions);
    }

    #[test]
    fn damaged_bytes_decode_or_fail(
        positions in any_positions(),
        at in any::<prop::sample::Index>(),
        flip in any::<u8>(),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = positions.encode();
        let index = at.index(bytes.len());
        bytes[index] ^= flip;
        if let Ok(read) = Positions::decode(&bytes) {
            prop_assert_eq!(Positions::decode(&read.encode()).unwrap(), read);
        }
        bytes[index] ^= flip;
        let length = length.index(bytes.len());
        prop_assert!(Positions::decode(&bytes[..length]).is_err());
    }
}
