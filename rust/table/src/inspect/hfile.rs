//! An HFile: what its trailer, index and info say, and its entries.

use hudini_format::hfile::{IndexEntry, Layout, Span, info};
use serde_json::{Map, Value, json};

use super::values::Values;
use super::{File, Piece, Sink, json};
use crate::Result;
use crate::hfile_file::HFile;

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
    let opened = HFile::open(&file.storage, file.name.clone(), 0..file.size);
    let opened = opened.and_then(|hfile| Ok((hfile.blocks(&[Span::All])?, hfile)));
    let (blocks, hfile) = opened.map_err(|e| file.at(e))?;
    sink(Piece::Block(&head(hfile.layout(), &blocks)))?;
    let mut shown = 0;
    let read = entries(&hfile, wanted, limit, |entries| {
        shown += entries.len() as u64;
        sink(Piece::Records(entries))
    });
    let read = read.map_err(|e| file.at(e));
    sink(Piece::End { records: shown, error: read.as_ref().err() })?;
    read
}

fn entries(hfile: &HFile, wanted: Wanted<'_>, limit: u64, mut show: impl FnMut(&[Value]) -> Result<()>) -> Result<()> {
    let mut values = hfile.layout().info.schema()?.map(Values::of).transpose()?;
    let (span, mut left) = (wanted.span(), limit);
    let mut blocks = hfile.blocks(&[span])?.into_iter();
    while left > 0 {
        let Some(fetched) = hfile.fetch(&mut blocks)? else { break };
        hfile.visit(&fetched, |cells| {
            let mut found = Vec::new();
            for cell in cells.iter().filter(|cell| span.contains(cell.key)) {
                if left == 0 {
                    break;
                }
                let value = match &mut values {
                    Some(values) => values.show(cell)?,
                    None => json::bytes(cell.value),
                };
                found.push(json!({"key": json::bytes(cell.key), "value": value}));
                left -= 1;
            }
            if found.is_empty() { Ok(()) } else { show(&found) }
        })?;
    }
    Ok(())
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
