//! Whole log files: the scanner, then what the blocks hold, then the blocks written again.

use hudini_format::avro::RowDecoder;
use hudini_format::log::{BlockKind, BlockRef, HeaderKey, Scanned, avro_block, delete, encode_block, scan};
use hudini_format::schema::Record;
use std::sync::Arc;

use super::{Target, check_error, decode};

const MAGIC: &[u8] = b"#HUDI#";

pub(super) const TARGET: Target = Target {
    name: "log",
    run,
    words: &[
        MAGIC,
        b"#HUDI#\0\0\0\0\0\0\0",
        b"\0\0\0\x01\0\0\0\x03\0\0\0\x02",
        b"\0\0\0\0\0\0\0\x1120260307162459000",
        b"\0\0\0\x02",
        b"\0\0\0\x05",
        b"\0\0\0\x07\0\0\0\x04true",
        b"\0\0\0\0\0\0\0\0",
    ],
    mend,
};

fn run(bytes: &[u8]) {
    decode(bytes, |bytes| Ok(scan(bytes).count()));
    let mut end = 0;
    for item in scan(bytes) {
        match item {
            Ok(Scanned::Block(block)) => {
                assert!(block.offset >= end, "a block at {} before {end}", block.offset);
                end = block.content_offset + block.content.len() as u64;
                check_block(&block);
            }
            Ok(Scanned::Corrupt(range)) => {
                assert!(range.start >= end && range.start <= range.end && range.end <= bytes.len() as u64, "{range:?}");
                end = range.end;
            }
            Err(error) => check_error(&error),
        }
    }
}

fn check_block(block: &BlockRef<'_>) {
    for result in [block.instant_time(), block.schema(), block.rollback_target()] {
        if let Err(error) = result {
            check_error(&error);
        }
    }
    let _ = (block.compacted_block_times().count(), block.is_partial());
    let headers: Vec<(HeaderKey, &str)> = block.headers.iter().collect();
    let written = encode_block(block.kind, &headers, block.content).unwrap_or_else(|error| panic!("{error}"));
    match scan(&written).collect::<Result<Vec<_>, _>>().as_deref() {
        Ok([Scanned::Block(again)]) => {
            assert_eq!((again.kind, again.headers, again.content), (block.kind, block.headers, block.content));
        }
        other => panic!("a block that was written is read as {other:?}"),
    }
    match block.kind {
        BlockKind::Delete => drop(decode(block.content, |content| delete::decode(content, block.content_offset))),
        BlockKind::AvroData | BlockKind::CdcData => read_rows(block),
        _ => {}
    }
}

fn read_rows(block: &BlockRef<'_>) {
    let text = block.headers.get(HeaderKey::Schema).unwrap_or_default();
    let Some(record) = decode(text.as_bytes(), |_| Record::parse(text)) else { return };
    let Some(schema) = decode(text.as_bytes(), |_| record.to_arrow()) else { return };
    // The schema is input too: a column of no rows still takes memory.
    let input = [text.as_bytes(), block.content].concat();
    decode(&input, |_| {
        let mut decoder = RowDecoder::new(&record, Arc::new(schema))?;
        for datum in avro_block::records(block.content, block.content_offset)? {
            decoder.decode(datum?)?;
        }
        decoder.flush()
    });
}

/// Gives every stretch from one magic to the next the lengths that make it a whole block.
fn mend(bytes: &mut [u8]) {
    let starts: Vec<usize> =
        bytes.windows(MAGIC.len()).enumerate().filter(|(_, w)| *w == MAGIC).map(|(i, _)| i).collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    for (start, end) in starts.iter().copied().zip(ends.collect::<Vec<_>>()) {
        mend_block(&mut bytes[start..end]);
    }
}

fn mend_block(block: &mut [u8]) {
    let length = block.len();
    let put = |block: &mut [u8], at: usize, value: usize| {
        if let Some(slot) = block.get_mut(at..at + 8) {
            slot.copy_from_slice(&(value as u64).to_be_bytes());
        }
    };
    if length < 46 {
        return;
    }
    put(block, 6, length - 14);
    put(block, length - 8, length - 8);
    // Magic, length, version and kind are 22 bytes; behind the headers stands the length of the content.
    let number = |at: usize| block.get(at..)?.first_chunk().copied().map(i32::from_be_bytes);
    let mut at = 26;
    for _ in 0..number(22).unwrap_or(0) {
        let Some(value) = number(at + 4).and_then(|value| usize::try_from(value).ok()) else { return };
        at += 8 + value;
        if at + 20 > length {
            return;
        }
    }
    put(block, at, length - at - 20);
    block[length - 12..length - 8].fill(0);
}
