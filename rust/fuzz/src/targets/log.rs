//! Whole log files: the scanner and the push reader, what the blocks hold, and the blocks written again.

use std::sync::Arc;

use arrow_array::RecordBatch;
use hudini_format::Result;
use hudini_format::log::{
    BlockKind, BlockRef, Event, HeaderKey, Reader, Scanned, avro_block, delete, encode_block, scan,
};
use hudini_format::schema::Record;

use super::{Target, check_error, decode, hfile};

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

/// Longer inputs are not pushed byte by byte.
const SHORT: usize = 4096;
/// Content that the push reader is told to take whole.
const MOST_TAKEN: u64 = 1 << 20;

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
    check_pushing(bytes);
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
    match scan(&written).collect::<Result<Vec<_>>>().as_deref() {
        Ok([Scanned::Block(again)]) => {
            assert_eq!((again.kind, again.content), (block.kind, block.content));
            assert!(again.headers.iter().eq(headers));
        }
        other => panic!("a block that was written is read as {other:?}"),
    }
    match block.kind {
        BlockKind::Delete => {
            let deletes =
                |content| delete::records(content, block.content_offset)?.try_for_each(|record| record.map(drop));
            decode(block.content, deletes);
        }
        BlockKind::AvroData | BlockKind::CdcData => read_rows(block),
        BlockKind::HfileData => hfile::run(block.content),
        _ => {}
    }
}

fn read_rows(block: &BlockRef<'_>) {
    let text = block.headers.get(HeaderKey::Schema).unwrap_or_default();
    let Some(schema) = decode(text.as_bytes(), |_| Record::parse(text)?.to_arrow()) else { return };
    // The schema is input too: a column of no rows still takes memory.
    let input = [text.as_bytes(), block.content].concat();
    decode(&input, |_| {
        let mut decoder = block.decoder(Arc::new(schema))?;
        for datum in avro_block::records(block.content, block.content_offset)? {
            decoder.decode(datum?)?;
            if decoder.is_full() {
                decoder.flush()?;
            }
        }
        decoder.flush()
    });
}

/// What a reader tells, whatever the pieces it is fed.
#[derive(Debug, PartialEq)]
enum Told {
    Block(String),
    Rows(RecordBatch),
    Content(Vec<u8>),
    Corrupt(std::ops::Range<u64>),
    Failed(String),
}

fn check_pushing(bytes: &[u8]) {
    let mut whole = Vec::new();
    push(bytes, usize::MAX, &mut |told| whole.push(told));
    let mut held = 0;
    // Held at a time is what the reader holds and the event it hands out.
    decode(bytes, |bytes| {
        push(bytes, usize::MAX, &mut |_| held += 1);
        Ok(())
    });
    assert_eq!(held, whole.len());
    let odd = 2 + bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % 500;
    for size in [if bytes.len() <= SHORT { 1 } else { 511 }, odd] {
        let mut whole = whole.iter();
        push(bytes, size, &mut |told| assert_eq!(whole.next(), Some(&told), "in pieces of {size}"));
        assert_eq!(whole.next(), None, "in pieces of {size}");
    }
}

/// Pushes pieces of `size` bytes: rows are decoded where the schema can be, other content is taken.
fn push(bytes: &[u8], size: usize, tell: &mut impl FnMut(Told)) {
    let mut reader = Reader::new(bytes.len() as u64);
    let mut window = 0..0;
    let mut steps = 0;
    loop {
        steps += 1;
        assert!(steps <= 8 * (bytes.len() + 8), "the reader asks for ever");
        let decoder = match reader.push(window.start as u64, &bytes[window.clone()]) {
            Ok(Event::Need(need)) => {
                let start = usize::try_from(need.offset).unwrap_or(usize::MAX);
                assert!(need.length > 0 && start < bytes.len(), "{need:?} of {} bytes", bytes.len());
                window = start..start.saturating_add(size).min(bytes.len());
                continue;
            }
            Ok(Event::Block(block)) => {
                tell(Told::Block(format!("{block:?}")));
                let rows = matches!(block.kind, BlockKind::AvroData | BlockKind::CdcData);
                let text = block.headers.get(HeaderKey::Schema).filter(|_| rows);
                text.map(|text| block.decoder(Arc::new(Record::parse(text)?.to_arrow()?)))
            }
            Ok(Event::Rows(rows)) => {
                tell(Told::Rows(rows));
                continue;
            }
            Ok(Event::Content(content)) => {
                tell(Told::Content(content.into_owned()));
                continue;
            }
            Ok(Event::Corrupt(range)) => {
                tell(Told::Corrupt(range));
                continue;
            }
            Ok(Event::End) => return,
            Err(error) => {
                check_error(&error);
                tell(Told::Failed(error.to_string()));
                return;
            }
        };
        let done = match decoder {
            Some(decoder) => decoder.and_then(|decoder| reader.decode(decoder)),
            None => reader.take(MOST_TAKEN),
        };
        if let Err(error) = done {
            check_error(&error);
            tell(Told::Failed(error.to_string()));
            return;
        }
    }
}

/// Gives every stretch from one magic to the next the lengths that make it a whole block.
fn mend(bytes: &mut [u8]) {
    let is_magic = |(_, window): &(usize, &[u8])| *window == MAGIC;
    let mut starts: Vec<usize> = bytes.windows(MAGIC.len()).enumerate().filter(is_magic).map(|(at, _)| at).collect();
    starts.push(bytes.len());
    for block in starts.windows(2) {
        mend_block(&mut bytes[block[0]..block[1]]);
    }
}

/// Bytes in front of the header map, and those behind the content.
const IN_FRONT: usize = 22;
const BEHIND: usize = 12;

fn mend_block(block: &mut [u8]) {
    let length = block.len();
    if length < IN_FRONT + 4 + 8 + BEHIND {
        return;
    }
    let put = |block: &mut [u8], at: usize, value: usize| {
        block[at..at + 8].copy_from_slice(&(value as u64).to_be_bytes());
    };
    put(block, 6, length - 14);
    put(block, length - 8, length - 8);
    block[length - BEHIND..length - 8].fill(0);
    let number = |at: usize| block.get(at..)?.first_chunk().copied().map(i32::from_be_bytes);
    let mut at = IN_FRONT + 4;
    for _ in 0..number(IN_FRONT).unwrap_or(0) {
        let Some(value) = number(at + 4).and_then(|value| usize::try_from(value).ok()) else { return };
        at += 8 + value;
        if at + 8 + BEHIND > length {
            return;
        }
    }
    put(block, at, length - at - 8 - BEHIND);
}
