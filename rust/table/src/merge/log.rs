//! The changes that the log files of a slice hold.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use hashbrown::HashMap;
use hudini_format::avro::RowDecoder;
use hudini_format::log::{BlockKind, BlockRef, Scanned, avro_block, delete, scan};
use hudini_format::schema::{Record, meta};

use super::deltas::{Deltas, MergeRule};
use crate::storage::Storage;
use crate::timeline::Snapshot;
use crate::view::FileSlice;
use crate::{Error, Result};

/// Rows of a log that become one batch.
const BATCH_ROWS: usize = 8192;

/// Blocks and bytes, for `explain()`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogStats {
    pub files: u64,
    pub bytes: u64,
    pub blocks: u64,
    pub corrupt: u64,
}

/// Reads all logs of a slice as rows of `schema`, merged among themselves.
pub fn read_logs(
    storage: &dyn Storage,
    snapshot: &Snapshot,
    slice: &FileSlice,
    schema: &SchemaRef,
    rule: &MergeRule,
) -> Result<(Deltas, LogStats)> {
    let mut stats = LogStats::default();
    let mut files = Vec::new();
    for log in &slice.logs {
        let path = slice.path(log);
        let bytes = storage.read(&path)?;
        let bytes = bytes.ok_or_else(|| Error::storage("a log file of the snapshot is gone").at_path(&path))?;
        stats.files += 1;
        stats.bytes += bytes.len() as u64;
        files.push((path, bytes));
    }
    let mut deltas = Deltas::new(rule.clone());
    for (path, block) in visible_blocks(&files, snapshot, &mut stats)? {
        push_block(&mut deltas, &block, schema).map_err(|e| e.at_path(path).at_offset(block.offset))?;
    }
    Ok((deltas, stats))
}

type Located<'a> = (&'a str, BlockRef<'a>);

/// The blocks that count, oldest first: those a rollback undid are gone, and those a log compaction folded together are
/// replaced by the outcome, at the place of the newest of them.
fn visible_blocks<'a>(
    files: &'a [(String, Bytes)],
    snapshot: &Snapshot,
    stats: &mut LogStats,
) -> Result<Vec<Located<'a>>> {
    let mut arrivals: Vec<&str> = Vec::new();
    let mut blocks: HashMap<&str, Vec<Located<'a>>, foldhash::fast::FixedState> = HashMap::default();
    for (path, bytes) in files {
        for scanned in scan(bytes) {
            let block = match scanned.map_err(|e| e.at_path(path))? {
                Scanned::Corrupt(_) => {
                    stats.corrupt += 1;
                    continue;
                }
                Scanned::Block(block) => block,
            };
            stats.blocks += 1;
            if block.kind == BlockKind::Command {
                let target = block.rollback_target().map_err(|e| e.at_path(path))?;
                arrivals.retain(|t| *t != target);
                blocks.remove(target);
                continue;
            }
            let instant = block.instant_time().map_err(|e| e.at_path(path))?;
            if !counts(snapshot, instant) {
                continue;
            }
            let of_instant = blocks.entry(instant).or_insert_with(|| {
                arrivals.push(instant);
                Vec::new()
            });
            of_instant.push((path.as_str(), block));
        }
    }
    Ok(resolve_compacted(&arrivals, blocks))
}

/// Since version 8 the file name's instant has been checked already; before, each block answers for itself. Never read
/// what is newer than the snapshot.
fn counts(snapshot: &Snapshot, instant: &str) -> bool {
    let known = snapshot.newest().is_some_and(|newest| instant <= newest);
    known && (!snapshot.logs_named_by_slice || snapshot.is_committed(instant))
}

fn resolve_compacted<'a>(
    arrivals: &[&'a str],
    mut blocks: HashMap<&'a str, Vec<Located<'a>>, foldhash::fast::FixedState>,
) -> Vec<Located<'a>> {
    // From an original to the outermost compacted instant that holds it.
    let mut folded: HashMap<&str, &'a str, foldhash::fast::FixedState> = HashMap::default();
    let mut chosen: Vec<&str> = Vec::new();
    for instant in arrivals.iter().rev().copied() {
        let originals: Vec<&'a str> = match blocks.get(instant).and_then(|b| b.first()) {
            Some((_, block)) => block.compacted_block_times().collect(),
            None => continue,
        };
        if !originals.is_empty() {
            let outermost = folded.get(instant).copied().unwrap_or(instant);
            folded.extend(originals.into_iter().map(|original| (original, outermost)));
            continue;
        }
        let stands_for = folded.get(instant).copied().unwrap_or(instant);
        if !chosen.contains(&stands_for) {
            chosen.push(stands_for);
        }
    }
    chosen.iter().rev().flat_map(|instant| blocks.remove(instant).unwrap_or_default()).collect()
}

fn push_block(deltas: &mut Deltas, block: &BlockRef<'_>, schema: &SchemaRef) -> Result<()> {
    if block.is_partial() {
        return Err(Error::unsupported("partial updates in a log (IS_PARTIAL)"));
    }
    match block.kind {
        BlockKind::AvroData => push_avro(deltas, block, schema),
        BlockKind::ParquetData => push_parquet(deltas, block, schema),
        BlockKind::Delete => deltas.push_deletes(&delete::decode(block.content, block.content_offset)?),
        other => Err(Error::unsupported(format!("log blocks of kind {}", other.name()))),
    }
}

/// The columns of a data block. Rows of a changelog say in a column of their own whether they are deletes, and would be
/// shown as data.
fn writer_schema(block: &BlockRef<'_>) -> Result<Record> {
    let writer = Record::parse(block.schema()?)?;
    match writer.field(meta::OPERATION) {
        Some(_) => Err(Error::unsupported(format!("log rows with the column {}", meta::OPERATION))),
        None => Ok(writer),
    }
}

fn push_avro(deltas: &mut Deltas, block: &BlockRef<'_>, schema: &SchemaRef) -> Result<()> {
    let writer = writer_schema(block)?;
    let mut decoder = RowDecoder::new(&writer, Arc::clone(schema))?;
    for datum in avro_block::records(block.content, block.content_offset)? {
        decoder.decode(datum?)?;
        if decoder.buffered() == BATCH_ROWS {
            deltas.push_rows(decoder.flush()?)?;
        }
    }
    if decoder.buffered() > 0 {
        deltas.push_rows(decoder.flush()?)?;
    }
    Ok(())
}

fn push_parquet(deltas: &mut Deltas, block: &BlockRef<'_>, schema: &SchemaRef) -> Result<()> {
    writer_schema(block)?;
    let content = Bytes::copy_from_slice(block.content);
    for batch in crate::base_file::read_bytes(content, schema, BATCH_ROWS)? {
        deltas.push_rows(batch?)?;
    }
    Ok(())
}
