use std::ops::Bound;

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::ErrorKind;

/// Written and read by Apache Hudi: rows a → 01, b → 0203, without compression.
const SMALL: &str = "\
    44415441424c4b2a000000330000002fffffffffffffffff0200004000000000500000000d00000001000161007fffffffffffffff04010000\
    00000d00000002000162007fffffffffffffff04020300a3c5bc34494458524f4f54320000001e0000001affffffffffffffff020000400000\
    00003b0000000000000000000000540d000161007fffffffffffffff04d109a712494458524f4f54320000000400000000ffffffffffffffff\
    02000040000000002116dcab2546494c45494e4632000000d1000000cdffffffffffffffff0200004000000000ee50425546c7010a1e0a0d68\
    66696c652e4c4153544b4559120d000162007fffffffffffffff040a190a116866696c652e4156475f4b45595f4c454e1204000000010a1b0a\
    136866696c652e4156475f56414c55455f4c454e1204000000010a200a146866696c652e4352454154455f54494d455f545312080000000000\
    0000000a190a114b45595f56414c55455f56455253494f4e1204000000010a1f0a134d41585f4d454d53544f52455f54535f4b455912080000\
    0000000000000a0f0a06736368656d61120522696e742255b5d506";
const SMALL_TRAILER: &str = "\
    545241424c4b22244908b8011054182f2801300038024001480050005a326f72672e6170616368652e687564692e696f2e73746f726167652e\
    486f6f64696548426173654b56436f6d70617261746f726002";

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn small() -> Vec<u8> {
    let mut bytes = unhex(SMALL);
    let mut trailer = unhex(SMALL_TRAILER);
    trailer.resize(TRAILER_BYTES - 4, 0);
    bytes.append(&mut trailer);
    bytes.extend_from_slice(&[3, 0, 0, 3]);
    bytes
}

fn write(options: Options, rows: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(options).unwrap();
    for (key, value) in rows {
        writer.put(key, value).unwrap();
    }
    writer.info(info::SCHEMA, "\"bytes\"");
    writer.finish().unwrap()
}

fn rows(reader: &Reader<'_>) -> crate::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    reader.entries().map(|entry| entry.map(|e| (e.key, e.value))).collect()
}

#[test]
fn a_file_that_apache_hudi_reads() {
    let bytes = small();
    let reader = Reader::open(&bytes).unwrap();
    assert_eq!(rows(&reader).unwrap(), [(b"a".to_vec(), vec![1]), (b"b".to_vec(), vec![2, 3])]);
    assert_eq!((reader.count(), reader.info().schema().unwrap()), (2, Some("\"int\"")));
    assert_eq!(reader.info().last_key(), Some(&b"b"[..]));
    assert_eq!(reader.get(b"b").unwrap(), Some(vec![2, 3]));
    assert_eq!(reader.get(b"").unwrap(), None);
    let cell = reader.blocks(Span::All).next().unwrap().unwrap();
    let cell = cell.cells().next().unwrap().unwrap();
    assert_eq!((cell.timestamp, cell.mvcc, cell.family.len()), (i64::MAX, 0, 0));
}

#[test]
fn a_file_without_entries() {
    let bytes = write(Options::default(), &[]);
    let reader = Reader::open(&bytes).unwrap();
    assert_eq!(rows(&reader).unwrap(), []);
    assert_eq!(reader.layout().trailer.first_data_block, None);
    assert_eq!(reader.get(b"a").unwrap(), None);
}

#[test]
fn the_writer_refuses_what_could_not_be_read() {
    let mut writer = Writer::new(Options::default()).unwrap();
    writer.put(b"b", b"").unwrap();
    assert_eq!(writer.put(b"b", b"").unwrap_err().kind(), ErrorKind::DuplicateKey);
    assert_eq!(writer.put(b"a", b"").unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(writer.put(&[b'c'; 40_000], b"").unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    assert_eq!(
        Writer::new(Options { block_bytes: 1 << 20, ..Options::default() }).unwrap_err().kind(),
        ErrorKind::InvalidOption
    );
}

#[test]
fn meta_blocks_are_found_by_name() {
    let mut writer = Writer::new(Options::default()).unwrap();
    writer.meta_block("bloomFilter", b"AAAA".to_vec());
    writer.meta_block("a", vec![7; 300]);
    let bytes = writer.finish().unwrap();
    let reader = Reader::open(&bytes).unwrap();
    assert_eq!(reader.meta_block("bloomFilter").unwrap().unwrap(), &b"AAAA"[..]);
    assert_eq!(reader.meta_block("a").unwrap().unwrap(), vec![7; 300]);
    assert_eq!(reader.meta_block("b").unwrap(), None);
}

/// Only what the plan names is read.
#[test]
fn ranges_are_enough() {
    let wanted: Vec<_> = (0..5000).map(|i| (format!("key-{i:05}").into_bytes(), vec![i as u8; 40])).collect();
    let file = write(Options { block_bytes: 4096, ..Options::default() }, &wanted);
    let trailer = Trailer::decode(&file[file.len() - TRAILER_BYTES..], file.len() as u64).unwrap();
    let fetch = |range: std::ops::Range<u64>| &file[range.start as usize..range.end as usize];
    let load = fetch(trailer.load_on_open());
    let layout = Layout::decode(trailer, load).unwrap();
    let spans = [Span::Key(b"key-00003"), Span::Key(b"key-00004"), Span::Prefix(b"key-0499")];
    let plan = layout.index.select(&spans);
    assert!(plan.len() <= 3 && layout.index.entries().len() > 50);
    let mut found = 0;
    for entry in plan {
        let block = layout.data_block(fetch(entry.block.clone()), entry.block.start).unwrap().for_lookups().unwrap();
        found += spans.iter().map(|span| block.select(*span).count()).sum::<usize>();
    }
    assert_eq!(found, 12);
}

#[rstest]
#[case::not_an_hfile(|f: &mut Vec<u8>| { f.truncate(100); }, ErrorKind::CorruptFile)]
#[case::empty(|f: &mut Vec<u8>| f.clear(), ErrorKind::CorruptFile)]
#[case::version(|f: &mut Vec<u8>| *f.last_mut().unwrap() = 2, ErrorKind::UnsupportedFeature)]
#[case::checksum(|f: &mut Vec<u8>| f[50] ^= 1, ErrorKind::CorruptFile)]
#[case::checksum_type(|f: &mut Vec<u8>| f[24] = 9, ErrorKind::UnsupportedFeature)]
#[case::encoded_keys(|f: &mut Vec<u8>| f[7] = b'E', ErrorKind::UnsupportedFeature)]
#[case::magic(|f: &mut Vec<u8>| f[0] = b'X', ErrorKind::CorruptFile)]
fn damage_is_named(#[case] damage: fn(&mut Vec<u8>), #[case] kind: ErrorKind) {
    let mut file = small();
    damage(&mut file);
    let error = Reader::open(&file).and_then(|reader| rows(&reader)).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.offset().is_some(), "{error}");
}

#[test]
fn a_declared_size_is_limited() {
    let file = write(Options::default(), &[(b"a".to_vec(), vec![0; 100_000])]);
    assert!(Reader::open_with_limit(&file, 200_000).unwrap().get(b"a").unwrap().is_some());
    let error = Reader::open_with_limit(&file, 50_000).unwrap().get(b"a").unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::UnsupportedFeature, Some(0)));
}

/// A file of blocks in whatever order, each key its own value.
fn assemble(blocks: &[&[&str]], entries: u64) -> Vec<u8> {
    let (mut file, mut root) = (Vec::new(), Vec::new());
    for keys in blocks {
        let mut cells = Vec::new();
        keys.iter().for_each(|key| cell::put_cell(&mut cells, key.as_bytes(), key.as_bytes()));
        let start = file.len() as u64;
        block::write(&mut file, BlockKind::Data, Codec::None, &cells, None).unwrap();
        let mut first = Vec::new();
        cell::put_key(&mut first, keys[0].as_bytes());
        writer::put_root_entry(&mut root, &(start..file.len() as u64), &first).unwrap();
    }
    let mut trailer = Trailer::decode(&small(), small().len() as u64).unwrap();
    trailer.load_on_open_offset = file.len() as u64;
    (trailer.data_index_count, trailer.entry_count) = (blocks.len() as u32, entries);
    block::write(&mut file, BlockKind::RootIndex, Codec::None, &root, None).unwrap();
    block::write(&mut file, BlockKind::RootIndex, Codec::None, &[], None).unwrap();
    block::write(&mut file, BlockKind::FileInfo, Codec::None, &FileInfo::default().encode(), None).unwrap();
    file.extend_from_slice(&trailer.encode());
    file
}

/// Java sorts strings by UTF-16 units: U+10000 before U+FFFF. Apache Hudi's log blocks come in that order.
#[test]
fn keys_in_the_order_of_java_are_found() {
    let keys = ["a", "a\u{10000}", "a\u{10001}b", "a\u{e000}", "a\u{ffff}", "b", "\u{1f600}", "\u{ff01}"];
    assert!(keys.is_sorted_by_key(|key| key.encode_utf16().collect::<Vec<_>>()) && !keys.is_sorted());
    for length in 1..=keys.len() {
        let blocks: Vec<&[&str]> = keys.chunks(length).collect();
        let file = assemble(&blocks, keys.len() as u64);
        let reader = Reader::open(&file).unwrap();
        for key in keys {
            assert_eq!(reader.get(key.as_bytes()).unwrap().as_deref(), Some(key.as_bytes()), "{length} a block");
            let spans = [Span::Key(key.as_bytes())];
            let index = &reader.layout().index;
            let mut places = index.select(&spans).into_iter().map(|entry| entry.block.start);
            let found = places.any(|start| {
                let block = reader.layout().data_block(&file[start as usize..], start).unwrap();
                block.for_lookups().unwrap().get(key.as_bytes()).is_some()
            });
            assert!(found, "{key} with {length} a block");
        }
        let count = |span| reader.select(span).map(Result::unwrap).count();
        assert_eq!(count(Span::Prefix(b"a")), 5);
        assert_eq!(count(Span::Prefix("a\u{e000}".as_bytes())), 1);
        let from = Bound::Included("a\u{e000}".as_bytes());
        assert_eq!(count(Span::Range(from, Bound::Unbounded)), 7);
        assert_eq!(count(Span::Range(Bound::Unbounded, from)), 2);
    }
}

/// As Apache Hudi 1.2.0 answers: the first of the last block that may begin with the key.
#[test]
fn of_equal_keys_the_first_in_the_block_counts() {
    let file = assemble(&[&["a", "b", "b"], &["b", "c"]], 5);
    let reader = Reader::open(&file).unwrap();
    assert_eq!(reader.select(Span::Prefix(b"b")).count(), 3);
    let starts: Vec<_> = reader.layout().index.select(&[Span::Key(b"b")]).iter().map(|e| e.block.start).collect();
    assert_eq!(starts, [reader.layout().index.entries()[1].block.start]);
}

#[test]
fn a_wrong_number_of_entries_is_damage() {
    let file = assemble(&[&["a", "b"]], 3);
    let error = rows(&Reader::open(&file).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::CorruptFile, "HFile declares 3 entries and holds 2"));
}

/// Else a small file could keep a reader busy for ever.
#[test]
fn index_entries_that_share_a_block_are_damage() {
    let mut file = assemble(&[&["a"], &["b"], &["c"]], 3);
    let index = Reader::open(&file).unwrap().layout().index.clone();
    let second = &index.entries()[1].block;
    let at = file.windows(8).rposition(|window| window == second.start.to_be_bytes()).unwrap();
    file[at..at + 8].copy_from_slice(&0_u64.to_be_bytes());
    let root = index.entries()[2].block.end as usize;
    file[root + 24] = 0;
    let error = Reader::open(&file).unwrap_err();
    assert!(error.message().contains("names a block at 0.."), "{error}");
}

// Hadoop's numbers, and those of Protocol Buffers that release 1.1.1 wrote in their place.
#[rstest]
#[case(&[5], 3)]
#[case(&[0x8f, 131], 129)]
#[case(&[0x83, 0x01], 129)]
#[case(&[0x8f, 0x01], 141)]
#[case(&[0x8e, 0x01, 0x02], 256)]
#[case(&[0x99, 0x01], 151)]
fn lengths_of_index_keys_in_both_forms(#[case] length: &[u8], #[case] row: usize) {
    let row = vec![b'k'; row];
    let (place, size) = (7_u64.to_be_bytes(), 9_u32.to_be_bytes());
    let root = [&place, &size[..], length, &(row.len() as u16).to_be_bytes(), &row].concat();
    let index = Index::decode_root(&root, 0, 1, 1, 100).unwrap();
    assert_eq!(index.entries(), [IndexEntry { block: 7..16, key: row }]);
}

#[rstest]
#[case::text(b"some text, some text, some text".repeat(100))]
#[case::runs_of_four((0..80_000_u32).flat_map(|i| [(i * 7) as u8; 4]).collect())]
#[case::noise((0..250_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect())]
fn codecs_that_need_hadoop_natively(#[case] raw: Vec<u8>) {
    let zstd = zstd::bulk::compress(&raw, 3).unwrap();
    let mut bzip2 = Vec::new();
    let mut stream = bzip2::read::BzEncoder::new(raw.as_slice(), bzip2::Compression::best());
    std::io::Read::read_to_end(&mut stream, &mut bzip2).unwrap();
    for (codec, bytes) in [(Codec::Zstd, &zstd), (Codec::Bzip2, &bzip2)] {
        assert!(codec.decompress(bytes, raw.len(), vec![1, 2, 3]).unwrap() == raw, "{codec:?}");
        for wrong in [raw.len() - 1, raw.len() + 1] {
            let decompressed = codec.decompress(bytes, wrong, Vec::new());
            assert!(decompressed.is_err() || decompressed.unwrap().len() != wrong, "{codec:?} {wrong}");
        }
        assert!(codec.decompress(&bytes[..bytes.len() - 9], raw.len(), Vec::new()).is_err(), "{codec:?}");
        assert!(codec.decompress(&raw, raw.len(), Vec::new()).is_err(), "{codec:?}");
    }
}

#[test]
fn lzo_is_refused_by_name() {
    let error = Codec::from_number(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
    assert!(error.message().contains("LZO"));
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..6),
        "[a-c\u{e000}\u{ffff}\u{10000}\u{1f600}é]{0,5}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 120..300),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        map in proptest::collection::btree_map(key(), proptest::collection::vec(any::<u8>(), 0..40), 0..80),
        gzip in any::<bool>(),
        block_bytes in 0_usize..600,
        probes in proptest::collection::vec(key(), 0..8),
    ) {
        let codec = if gzip { Codec::Gzip } else { Codec::None };
        let expected: Vec<_> = map.clone().into_iter().collect();
        let file = write(Options { codec, block_bytes }, &expected);
        let reader = Reader::open(&file).unwrap();
        prop_assert_eq!(&rows(&reader).unwrap(), &expected);
        for key in map.keys().chain(&probes) {
            prop_assert_eq!(reader.get(key).unwrap(), map.get(key).cloned());
            let prefix = &key[..key.len().min(2)];
            let span = Span::Prefix(prefix);
            let inside = expected.iter().filter(|(key, _)| key.starts_with(prefix)).count();
            prop_assert_eq!(reader.select(span).map(Result::unwrap).count(), inside);
            let span = Span::Range(Bound::Excluded(prefix), Bound::Included(key));
            let inside = map.range::<[u8], _>((Bound::Excluded(prefix), Bound::Unbounded)).filter(|(k, _)| *k <= key);
            prop_assert_eq!(reader.select(span).map(Result::unwrap).count(), inside.count());
        }
        let many = reader.get_many(probes.iter().map(Vec::as_slice)).unwrap();
        prop_assert_eq!(many, probes.iter().map(|key| map.get(key).cloned()).collect::<Vec<_>>());
    }

    #[test]
    fn flipped_and_cut_files_are_errors_or_rows(flip in 0_usize..6000, bit in 0_u8..8, cut in 0_usize..6000) {
        let expected: Vec<_> = (0..60).map(|i| (format!("k{i:03}").into_bytes(), vec![i; 9])).collect();
        let mut file = write(Options { codec: Codec::Gzip, block_bytes: 300 }, &expected);
        file.truncate(file.len().saturating_sub(cut).max(1));
        let at = flip % file.len();
        file[at] ^= 1 << bit;
        if let Ok(found) = Reader::open(&file).and_then(|reader| rows(&reader)) {
            prop_assert_eq!(found, expected);
        }
    }
}
