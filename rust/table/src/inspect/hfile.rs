//! An HFile: what its trailer, index and info say, and its entries.

use hudini_format::hfile::{Index, IndexEntry, Layout, Span, TRAILER_BYTES, Trailer, info};
use serde_json::{Map, Value, json};

use super::values::Values;
use super::{File, Piece, Sink, json};
use crate::Result;

/// Trailer, root index and info are mostly within this many bytes of the end.
const TAIL: u64 = 64 << 10;
/// Blocks of Apache Hudi have 64 KiB of cells, and are fetched in groups of about this size.
const FETCH: u64 = 4 << 20;

/// Which entries are shown.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'k> {
    All,
    Key(&'k str),
    Prefix(&'k str),
}

impl Wanted<'_> {
    fn span(&self) -> Span<'_> {
        match self {
            Self::All => Span::All,
            Self::Key(key) => Span::Key(key.as_bytes()),
            Self::Prefix(prefix) => Span::Prefix(prefix.as_bytes()),
        }
    }
}

/// Shows what an HFile says of itself, then at most `limit` of the wanted entries.
pub fn hfile(file: &File, wanted: Wanted<'_>, limit: u64, sink: &mut Sink<'_>) -> Result<()> {
    let opened = layout(file).and_then(|layout| Ok((leaves(file, &layout)?, layout)));
    let (blocks, layout) = opened.map_err(|e| file.at(e))?;
    sink(Piece::Block(&head(&layout, blocks.entries())))?;
    let mut shown = 0;
    let read = entries(file, &layout, &blocks.select(&[wanted.span()]), wanted, limit, |entries| {
        shown += entries.len() as u64;
        sink(Piece::Records(entries))
    });
    let read = read.map_err(|e| file.at(e));
    sink(Piece::End { records: shown, error: read.as_ref().err() })?;
    read
}

fn entries(
    file: &File,
    layout: &Layout,
    blocks: &[&IndexEntry],
    wanted: Wanted<'_>,
    limit: u64,
    mut show: impl FnMut(&[Value]) -> Result<()>,
) -> Result<()> {
    let mut values = layout.info.schema()?.map(Values::of).transpose()?;
    let (span, mut left) = (wanted.span(), limit);
    for group in grouped(blocks) {
        if left == 0 {
            break;
        }
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let bytes = file.range(first.block.start..last.block.end)?;
        for entry in &group {
            let at = usize::try_from(entry.block.start - first.block.start).unwrap_or(usize::MAX);
            let block = layout.data_block(bytes.get(at..).unwrap_or_default(), entry.block.start)?;
            let mut found = Vec::new();
            for cell in block.cells() {
                let cell = cell?;
                if left > 0 && span.contains(cell.key) {
                    let value = match &mut values {
                        Some(values) => values.show(&cell)?,
                        None => json::bytes(cell.value),
                    };
                    found.push(json!({"key": json::bytes(cell.key), "value": value}));
                    left -= 1;
                }
            }
            if !found.is_empty() {
                show(&found)?;
            }
        }
    }
    Ok(())
}

fn layout(file: &File) -> Result<Layout> {
    let tail_start = file.size.saturating_sub(TAIL.max(TRAILER_BYTES as u64));
    let tail = file.range(tail_start..file.size)?;
    let trailer = Trailer::decode(&tail, file.size)?;
    let section = trailer.load_on_open();
    let bytes = match section.start.checked_sub(tail_start) {
        Some(at) => {
            let end = usize::try_from(section.end.saturating_sub(tail_start)).unwrap_or(usize::MAX);
            tail.slice(usize::try_from(at).unwrap_or(usize::MAX).min(tail.len())..end.min(tail.len()))
        }
        None => file.range(section)?,
    };
    Layout::decode(trailer, &bytes)
}

/// The index entries of the data blocks.
fn leaves(file: &File, layout: &Layout) -> Result<Index> {
    let mut index = layout.index.clone();
    while !index.is_leaf() {
        let blocks = index.select(&[Span::All]);
        let bytes = blocks.iter().map(|entry| Ok((entry.block.start, file.range(entry.block.clone())?)));
        let bytes = bytes.collect::<Result<Vec<_>>>()?;
        index = index.descend(&layout.decoder, bytes.iter().map(|(offset, bytes)| (*offset, bytes.as_ref())))?;
    }
    Ok(index)
}

/// Neighbours that are worth one request.
fn grouped<'b>(blocks: &[&'b IndexEntry]) -> Vec<Vec<&'b IndexEntry>> {
    let mut groups: Vec<Vec<&IndexEntry>> = Vec::new();
    for entry in blocks.iter().copied() {
        match groups.last_mut() {
            Some(group)
                if group.last().is_some_and(|last| last.block.end == entry.block.start)
                    && group.first().is_some_and(|first| entry.block.end - first.block.start <= FETCH) =>
            {
                group.push(entry);
            }
            _ => groups.push(vec![entry]),
        }
    }
    groups
}

fn head(layout: &Layout, blocks: &[IndexEntry]) -> Value {
    let trailer = &layout.trailer;
    let place = |entry: &IndexEntry| {
        let length = entry.block.end - entry.block.start;
        json!({"offset": entry.block.start, "length": length, "first_key": json::bytes(&entry.key)})
    };
    let info: Map<_, _> = layout.info.iter().map(|(key, value)| (lossy(key), info_value(key, value))).collect();
    json!({
        "version": format!("3.{}", trailer.minor_version),
        "entries": trailer.entry_count,
        "codec": trailer.codec.name(),
        "index_levels": trailer.index_levels,
        "comparator": trailer.comparator,
        "load_on_open_offset": trailer.load_on_open_offset,
        "info": info,
        "meta_blocks": layout.meta_blocks.iter().map(place).collect::<Vec<_>>(),
        "blocks": blocks.iter().map(place).collect::<Vec<_>>(),
    })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Numbers as such, the last key without its frame.
fn info_value(key: &[u8], value: &[u8]) -> Value {
    let number = match value {
        [a, b, c, d] => Some(i64::from(i32::from_be_bytes([*a, *b, *c, *d]))),
        [a, b, c, d, e, f, g, h] => Some(i64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h])),
        _ => None,
    };
    let is_number = [
        info::AVERAGE_KEY_LENGTH,
        info::AVERAGE_VALUE_LENGTH,
        info::CREATE_TIME,
        info::KEY_VALUE_VERSION,
        info::MAX_MEMSTORE_TS,
        info::MAX_TAGS_LENGTH,
    ];
    match number {
        Some(number) if is_number.iter().any(|name| name.as_bytes() == key) => number.into(),
        _ if key == info::LAST_KEY.as_bytes() => {
            let row =
                value.split_first_chunk().and_then(|(length, rest)| rest.get(..u16::from_be_bytes(*length).into()));
            json::bytes(row.unwrap_or(value))
        }
        _ => json::bytes(value),
    }
}
