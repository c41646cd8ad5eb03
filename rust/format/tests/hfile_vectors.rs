//! HFiles of the HBase classes inside Apache Hudi 0.15.0: every codec it can write, and an index of several levels.

use std::ops::Range;

use hudini_format::hfile::{Codec, Layout, Options, Reader, Span, TRAILER_BYTES, Trailer, Writer, info};
use rstest::rstest;

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn few() -> Rows {
    (0..5).map(|i| (format!("key-{i:05}").into_bytes(), format!("v{i}").into_bytes())).collect()
}

fn some() -> Rows {
    (0..60).map(|i| (format!("key-{i:05}").into_bytes(), format!("value {i} ").repeat(i % 7).into_bytes())).collect()
}

fn large() -> Rows {
    vec![(b"k".to_vec(), b"abc".repeat(100_000))]
}

fn many() -> Rows {
    (0..260).map(|i| (format!("key-{i:05}").into_bytes(), format!("v{i}").into_bytes())).collect()
}

#[rstest]
#[case::none(include_bytes!("vectors/hfile/none.hfile"), few())]
#[case::empty(include_bytes!("vectors/hfile/empty.hfile"), vec![])]
#[case::gzip(include_bytes!("vectors/hfile/gz.hfile"), some())]
#[case::snappy(include_bytes!("vectors/hfile/snappy.hfile"), some())]
#[case::lz4(include_bytes!("vectors/hfile/lz4.hfile"), some())]
#[case::snappy_in_chunks(include_bytes!("vectors/hfile/snappy-big.hfile"), large())]
#[case::lz4_in_chunks(include_bytes!("vectors/hfile/lz4-big.hfile"), large())]
#[case::deep_index(include_bytes!("vectors/hfile/deep.hfile"), many())]
fn files_of_hbase(#[case] bytes: &[u8], #[case] expected: Rows) {
    let reader = Reader::open(bytes).unwrap();
    assert_eq!(reader.entries().map(|e| e.map(|e| (e.key, e.value))).collect::<Result<Rows, _>>().unwrap(), expected);
    for (key, value) in &expected {
        assert_eq!(reader.get(key).unwrap().as_ref(), Some(value));
    }
    assert_eq!(reader.info().schema().unwrap(), Some("\"bytes\""));
}

/// Where nothing is compressed, our files are those of HBase to the last byte.
#[rstest]
#[case(include_bytes!("vectors/hfile/none.hfile"), few())]
#[case(include_bytes!("vectors/hfile/empty.hfile"), vec![])]
fn written_as_hbase_writes(#[case] expected: &[u8], #[case] rows: Rows) {
    let mut writer = Writer::new(Options { codec: Codec::None, ..Options::default() }).unwrap();
    for (key, value) in rows {
        writer.put(&key, &value).unwrap();
    }
    writer.info(info::SCHEMA, "\"bytes\"");
    assert!(writer.finish().unwrap() == expected);
}

#[test]
fn a_deep_index_is_read_by_ranges() {
    let file = include_bytes!("vectors/hfile/deep.hfile");
    let fetch = |range: Range<u64>| &file[range.start as usize..range.end as usize];
    let trailer = Trailer::decode(&file[file.len() - TRAILER_BYTES..], file.len() as u64).unwrap();
    assert!(trailer.index_levels > 2);
    let load = fetch(trailer.load_on_open());
    let layout = Layout::decode(trailer, load).unwrap();
    let spans = [Span::Key(b"key-00007"), Span::Key(b"key-00200"), Span::Key(b"none")];
    let mut index = layout.index.clone();
    let mut fetched = 0;
    while !index.is_leaf() {
        let blocks = index.select(&spans).into_iter().map(|entry| (entry.block.start, fetch(entry.block.clone())));
        let blocks: Vec<_> = blocks.collect();
        fetched += blocks.len();
        index = index.descend(&layout.decoder, blocks).unwrap();
    }
    assert!(fetched <= 6, "{fetched} index blocks");
    let mut found = Vec::new();
    for entry in index.select(&spans) {
        let block = layout.data_block(fetch(entry.block.clone()), entry.block.start).unwrap().for_lookups().unwrap();
        found.extend(spans.iter().flat_map(|span| block.select(*span)).map(|cell| cell.value.to_vec()));
    }
    assert_eq!(found, [b"v7".to_vec(), b"v200".to_vec()]);
}
