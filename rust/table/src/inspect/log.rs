//! The blocks of a log file, one after the other, with their records.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hudini_format::hfile::{self, Span};
use hudini_format::log::block::MAGIC;
use hudini_format::log::{Block, BlockKind, delete};
use hudini_format::schema::Record;
use hudini_format::schema::evolve::Mapping;
use serde_json::{Map, Value, json};

use super::values::Values;
use super::{File, Piece, Sink, json};
use crate::base_file;
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::storage::Storage;
use crate::{Error, Result};

/// Rows of a block that become one batch.
const BATCH_ROWS: usize = 1024;
/// The empty footers of a block and its length, behind its content.
const BEHIND_CONTENT: u64 = 4 + 8;

/// Shows the blocks of a log file and at most `limit` records of each.
///
/// What cannot be read of a block ends that block alone. An error of the framing ends the file, since nothing behind it
/// can be trusted.
pub fn log_file(file: &File, limit: u64, sink: &mut Sink<'_>) -> Result<()> {
    if file.size < MAGIC.len() as u64 {
        let message = format!("{} bytes are no log file: it starts with the magic #HUDI#", file.size);
        return Err(file.at(Error::corrupt(message).at_offset(0)));
    }
    let mut log = LogFile::new(file.storage.as_ref(), file.name.clone(), file.size);
    let mut show = Show { storage: &file.storage, path: &file.name, limit, at_hand: None, sink };
    let mut from = 0;
    while let Err(error) = log.read_from(from, &mut show).and_then(|()| show.finish()) {
        from = show.fail(&error)?.ok_or_else(|| file.at(error))?;
    }
    Ok(())
}

/// The block that is being shown.
struct AtHand {
    kind: BlockKind,
    content_offset: u64,
    end: u64,
    /// The columns of its rows, in a Parquet block.
    columns: Option<SchemaRef>,
    /// What the cells hold, in an HFile block.
    values: Option<Values>,
    records: u64,
}

struct Show<'a, 's> {
    storage: &'a Arc<dyn Storage>,
    path: &'a str,
    limit: u64,
    at_hand: Option<AtHand>,
    sink: &'a mut Sink<'s>,
}

impl Show<'_, '_> {
    /// Ends the block at hand with an error that is its own; gives the offset of the next one. `None` if the error is of
    /// the framing.
    fn fail(&mut self, error: &Error) -> Result<Option<u64>> {
        let Some(block) = self.at_hand.take_if(|block| error.offset().is_none_or(|offset| offset < block.end)) else {
            self.finish()?;
            return Ok(None);
        };
        (self.sink)(Piece::End { records: block.records, error: Some(error) })?;
        Ok(Some(block.end))
    }

    /// Ends the block at hand, with its own error if it has one.
    fn finish(&mut self) -> Result<()> {
        let read = self.parquet();
        let Some(block) = self.at_hand.take() else { return Ok(()) };
        (self.sink)(Piece::End { records: block.records, error: read.as_ref().err() })
    }

    /// The rows of a Parquet block, which are fetched in ranges and so come when the reader is through with the block.
    fn parquet(&mut self) -> Result<()> {
        let Some(block) = &mut self.at_hand else { return Ok(()) };
        let Some(schema) = block.columns.take() else { return Ok(()) };
        let content = block.content_offset..block.end - BEHIND_CONTENT;
        let batches = base_file::read_part(self.storage, self.path, content, &schema, &Mapping::default(), BATCH_ROWS)?;
        for batch in batches {
            self.rows(&batch?)?;
        }
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let left = self.count(batch.num_rows() as u64);
        self.records(json::rows(batch, left)?)
    }

    /// Counts records of the block at hand; says how many of them are to be shown.
    fn count(&mut self, records: u64) -> usize {
        let Some(block) = &mut self.at_hand else { return 0 };
        let left = self.limit.saturating_sub(block.records).min(records);
        block.records += records;
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    fn records(&mut self, records: Vec<Value>) -> Result<()> {
        if records.is_empty() { Ok(()) } else { (self.sink)(Piece::Records(&records)) }
    }

    fn hfile(&mut self, content: &[u8]) -> Result<()> {
        let Some(block) = &mut self.at_hand else { return Ok(()) };
        let offset = block.content_offset;
        let Some(mut values) = block.values.take() else { return Ok(()) };
        let file = hfile::Reader::open(content).map_err(|e| e.from_offset(offset))?;
        for block in file.blocks(Span::All) {
            let block = block.map_err(|e| e.from_offset(offset))?;
            for cell in block.cells() {
                let cell = cell.map_err(|e| e.from_offset(offset))?;
                if self.count(1) > 0 {
                    self.records(vec![values.show_row(&cell)?])?;
                }
            }
        }
        Ok(())
    }

    fn deletes(&mut self, content: &[u8]) -> Result<()> {
        let offset = self.at_hand.as_ref().map_or(0, |block| block.content_offset);
        for record in delete::records(content, offset)? {
            let record = record?;
            if self.count(1) > 0 {
                let ordering = json::ordering(&record.ordering)?;
                let shown = json!({"key": record.key, "partition": record.partition, "ordering": ordering});
                self.records(vec![shown])?;
            }
        }
        Ok(())
    }
}

impl Visitor for Show<'_, '_> {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        self.finish()?;
        let end = block.content_offset + block.content_length + BEHIND_CONTENT;
        (self.sink)(Piece::Block(&head(block)))?;
        let at_hand = AtHand {
            kind: block.kind,
            content_offset: block.content_offset,
            end,
            columns: None,
            values: None,
            records: 0,
        };
        let at_hand = self.at_hand.insert(at_hand);
        match block.kind {
            BlockKind::Delete => return Ok(Choice::Content),
            BlockKind::Command => return Ok(Choice::Nothing),
            BlockKind::AvroData | BlockKind::CdcData | BlockKind::HfileData | BlockKind::ParquetData => {}
            other => return Err(Error::unsupported(format!("the records of {} log blocks", other.name()))),
        }
        if block.kind == BlockKind::HfileData {
            at_hand.values = Some(Values::of(block.schema()?)?);
            return Ok(Choice::Content);
        }
        let schema: SchemaRef = Arc::new(Record::parse(block.schema()?)?.to_arrow()?);
        if block.kind == BlockKind::ParquetData {
            at_hand.columns = Some(schema);
            return Ok(Choice::Nothing);
        }
        Ok(Choice::Rows(block.decoder(schema)?))
    }

    fn take(&mut self, part: Part<'_>) -> Result<()> {
        match part {
            Part::Rows(batch) => self.rows(&batch),
            Part::Content(content) => match self.at_hand.as_ref().map(|block| block.kind) {
                Some(BlockKind::HfileData) => self.hfile(&content),
                _ => self.deletes(&content),
            },
            Part::Corrupt(range) => {
                self.finish()?;
                (self.sink)(Piece::Damaged(range))
            }
        }
    }
}

/// What stands in front of a block's content.
fn head(block: &Block<'_>) -> Value {
    let headers: Map<_, _> =
        block.headers.iter().map(|(key, value)| (key.name().to_owned(), Value::from(value))).collect();
    let positions = match block.positions() {
        Ok(positions) => {
            positions.map(|(positions, instant)| json!({"count": positions.len(), "base_instant": instant}))
        }
        Err(error) => Some(json!({"error": error.to_string()})),
    };
    json!({
        "offset": block.offset,
        "kind": block.kind.name().trim_start_matches(':'),
        "headers": headers,
        "content_offset": block.content_offset,
        "content_length": block.content_length,
        "positions": positions,
    })
}
