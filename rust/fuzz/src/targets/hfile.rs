//! HFiles: opened, walked through, looked up in, and written again.

use std::ops::Bound;

use hudini_format::Result;
use hudini_format::hfile::{BlockKind, Cell, Codec, Options, Reader, Span, Writer};

use super::{Target, decode_declared};

pub(super) const TARGET: Target = Target {
    name: "hfile",
    run,
    words: &[
        b"DATABLK*",
        b"IDXROOT2",
        b"IDXLEAF2",
        b"IDXINTE2",
        b"METABLKc",
        b"FILEINF2",
        b"TRABLK\"$",
        b"\0\0\x40\0",
        b"PBUF",
        b"bloomFilter",
        b"schema",
        b"hfile.LASTKEY",
        b"\x80\0\0\0",
    ],
    mend,
};

const KINDS: [BlockKind; 6] = [
    BlockKind::Data,
    BlockKind::LeafIndex,
    BlockKind::IntermediateIndex,
    BlockKind::RootIndex,
    BlockKind::Meta,
    BlockKind::FileInfo,
];
/// Where a block header declares the decompressed size, and the kind of its checksums.
const DECLARED_AT: usize = 12;
const CHECKSUM_AT: usize = 24;
/// Blocks that declare more are refused: inputs are short.
const BLOCK_LIMIT: usize = 1 << 22;
/// How many entries are looked up.
const LOOKED_UP: usize = 8;

/// Where blocks seem to start.
fn blocks(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let starts = |window: &[u8]| KINDS.iter().any(|kind| window == kind.magic());
    bytes.windows(8).enumerate().filter(move |(_, window)| starts(window)).map(|(at, _)| at)
}

/// Takes the checksums away, so that damage below them is seen.
fn mend(bytes: &mut [u8]) {
    for start in blocks(bytes).collect::<Vec<_>>() {
        if let Some(kind) = bytes.get_mut(start + CHECKSUM_AT) {
            *kind = 0;
        }
    }
}

fn declared(bytes: &[u8]) -> usize {
    let size = |start: usize| bytes.get(start + DECLARED_AT..)?.first_chunk().copied().map(u32::from_be_bytes);
    blocks(bytes).filter_map(size).map(|size| BLOCK_LIMIT.min(size as usize)).sum()
}

pub(super) fn run(bytes: &[u8]) {
    let declared = declared(bytes);
    let Some(reader) = decode_declared(bytes, declared, |bytes| Reader::open_with_limit(bytes, BLOCK_LIMIT)) else {
        return;
    };
    let mut count = 0;
    let walked = decode_declared(bytes, declared, |_| {
        reader.visit(Span::All, |_| {
            count += 1;
            Ok(())
        })
    });
    assert!(count <= bytes.len().saturating_add(declared), "{count} entries");
    look_up(&reader, bytes, declared);
    let entries = reader.entries().take(LOOKED_UP).map_while(Result::ok);
    for key in entries.map(|entry| entry.key).collect::<Vec<_>>() {
        decode_declared(bytes, declared, |_| reader.get(&key));
    }
    if walked.is_some() && count > 0 {
        check_writing(&reader);
    }
}

/// Pieces of the input as keys, and what else can be asked of a file.
fn look_up(reader: &Reader<'_>, bytes: &[u8], declared: usize) {
    let key = bytes.get(..5).unwrap_or(bytes);
    let other = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let spans =
        [Span::Key(key), Span::Prefix(key), Span::Range(Bound::Included(key), Bound::Excluded(other)), Span::Key(b"")];
    for span in spans {
        decode_declared(bytes, declared, |_| {
            reader.visit(span, |cell| {
                assert!(span.contains(cell.key), "{span:?} gave {:?}", cell.key);
                Ok(())
            })
        });
    }
    decode_declared(bytes, declared, |_| reader.get_many([key, other, key]));
    decode_declared(bytes, declared, |_| reader.meta_block("bloomFilter"));
    let info = reader.info();
    decode_declared(bytes, declared, |_| {
        let _ = (info.schema()?, info.min_record_key()?, info.max_record_key()?, info.bloom_filter_type()?);
        Ok(())
    });
}

/// A file with the same entries reads back as they were, compressed or not.
fn check_writing(reader: &Reader<'_>) {
    for codec in [Codec::None, Codec::Gzip] {
        let mut writer = Writer::new(Options { codec, ..Options::default() }).unwrap_or_else(|error| panic!("{error}"));
        // A damaged file may hold keys that do not ascend; such entries are left out.
        let mut expected = Vec::new();
        let put = |cell: &Cell<'_>| {
            if writer.put(cell.key, cell.value).is_ok() {
                expected.push((cell.key.to_vec(), cell.value.to_vec()));
            }
            Ok(())
        };
        reader.visit(Span::All, put).unwrap_or_else(|error| panic!("{error}"));
        let written = writer.finish().unwrap_or_else(|error| panic!("{error}"));
        let again = Reader::open(&written).unwrap_or_else(|error| panic!("what was written does not open: {error}"));
        assert_eq!(again.count(), expected.len() as u64);
        let entries = again.entries().map(|entry| entry.unwrap_or_else(|error| panic!("{error}")));
        assert!(entries.map(|entry| (entry.key, entry.value)).eq(expected), "entries changed");
    }
}
