//! The writer: one block as bytes, built in place. A log file is nothing but blocks one after the other.

use arrow_array::RecordBatch;

use super::avro_block::Content;
use super::block::{
    BlockKind, FORMAT_VERSION, HeaderKey, LENGTH_FIELD, MAGIC, MAX_BLOCK_LENGTH, ROLLBACK_COMMAND, overwrite,
};
use super::delete::{self, DeleteRecord};
use crate::avro::RowEncoder;
use crate::schema::Record;
use crate::{Error, Result};

/// Bytes behind the content: footers and trailer.
const TAIL: usize = 4 + LENGTH_FIELD;

/// A block whose content is being written.
#[derive(Debug)]
pub struct BlockWriter {
    out: Vec<u8>,
    content_at: usize,
}

impl BlockWriter {
    /// Headers are stored in the order given.
    ///
    /// Apache Hudi refuses a file with a header that its release does not know: keys from [`HeaderKey::IsPartial`] on
    /// belong in tables of version 8 and later only.
    pub fn new<'h>(kind: BlockKind, headers: impl IntoIterator<Item = (HeaderKey, &'h str)>) -> Self {
        let mut out = Vec::new();
        out.extend_from_slice(MAGIC);
        put_i64(&mut out, 0);
        out.extend_from_slice(&FORMAT_VERSION.to_be_bytes());
        out.extend_from_slice(&kind.ordinal().to_be_bytes());
        let count_at = out.len();
        put_i32(&mut out, 0);
        let mut count = 0;
        for (key, value) in headers {
            out.extend_from_slice(&key.ordinal().to_be_bytes());
            put_i32(&mut out, value.len());
            out.extend_from_slice(value.as_bytes());
            count += 1;
        }
        overwrite(&mut out, count_at, &(count as u32).to_be_bytes());
        put_i64(&mut out, 0);
        Self { content_at: out.len(), out }
    }

    /// Where the content goes: append to it. What it holds in front belongs to the writer.
    pub fn content(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    pub fn content_length(&self) -> usize {
        self.out.len().saturating_sub(self.content_at)
    }

    /// The whole block. Fails if it would reach 2 GiB.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let tail = self.close(self.content_length())?;
        self.out.extend_from_slice(&tail);
        Ok(self.out)
    }

    /// Writes the lengths in front of a content that ends the block. What stands behind it.
    fn close(&mut self, content_length: usize) -> Result<[u8; TAIL]> {
        let total = self.content_at + content_length + TAIL;
        if total > MAX_BLOCK_LENGTH {
            return Err(Error::unsupported(format!("a log block of {total} bytes: Apache Hudi reads less than 2 GiB"))
                .with_hint("split the rows over several blocks"));
        }
        let length = total - MAGIC.len() - LENGTH_FIELD;
        overwrite(&mut self.out, MAGIC.len(), &(length as u64).to_be_bytes());
        overwrite(&mut self.out, self.content_at - LENGTH_FIELD, &(content_length as u64).to_be_bytes());
        // No footers.
        let mut tail = [0; TAIL];
        overwrite(&mut tail, TAIL - LENGTH_FIELD, &((total - LENGTH_FIELD) as u64).to_be_bytes());
        Ok(tail)
    }
}

/// An Avro or CDC block that takes rows. See [`super::avro_block`].
#[derive(Debug)]
pub struct RowBlockWriter {
    block: BlockWriter,
    content: Content,
}

impl RowBlockWriter {
    /// The headers must have the schema of the rows.
    pub fn new<'h>(kind: BlockKind, headers: impl IntoIterator<Item = (HeaderKey, &'h str)>) -> Self {
        let mut block = BlockWriter::new(kind, headers);
        let content = Content::begin(block.content());
        Self { block, content }
    }

    /// Appends all rows of a batch, which has the columns of `schema`, that of the header.
    pub fn write_rows(&mut self, schema: &Record, rows: &RecordBatch) -> Result<()> {
        let encoder = RowEncoder::new(schema, rows)?;
        let mut rows = 0..rows.num_rows();
        rows.try_for_each(|row| self.content.put(self.block.content(), |out| encoder.encode(row, out)))
    }

    /// Appends a row that is an Avro datum already.
    pub fn write_datum(&mut self, datum: &[u8]) -> Result<()> {
        self.content.put(self.block.content(), |out| {
            out.extend_from_slice(datum);
            Ok(())
        })
    }

    pub fn rows(&self) -> usize {
        self.content.rows()
    }

    pub fn content_length(&self) -> usize {
        self.block.content_length()
    }

    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.content.end(self.block.content());
        self.block.finish()
    }
}

/// A block whose content is there already.
pub fn encode_block(kind: BlockKind, headers: &[(HeaderKey, &str)], content: &[u8]) -> Result<Vec<u8>> {
    let mut block = BlockWriter::new(kind, headers.iter().copied());
    block.content().extend_from_slice(content);
    block.finish()
}

/// What stands before and behind a content of a block, so that the content is not copied.
pub fn frame_block(
    kind: BlockKind,
    headers: &[(HeaderKey, &str)],
    content_length: usize,
) -> Result<(Vec<u8>, impl AsRef<[u8]>)> {
    let mut block = BlockWriter::new(kind, headers.iter().copied());
    let tail = block.close(content_length)?;
    Ok((block.out, tail))
}

/// A block of deletes.
pub fn encode_deletes(headers: &[(HeaderKey, &str)], deletes: &[DeleteRecord]) -> Result<Vec<u8>> {
    let mut block = BlockWriter::new(BlockKind::Delete, headers.iter().copied());
    delete::encode_into(deletes, block.content())?;
    block.finish()
}

/// The block by which the rollback at `instant` undoes what `target` wrote into the same slice (table version 6).
pub fn rollback_command(instant: &str, target: &str) -> Result<Vec<u8>> {
    let headers = [
        (HeaderKey::InstantTime, instant),
        (HeaderKey::TargetInstantTime, target),
        (HeaderKey::CommandBlockType, ROLLBACK_COMMAND),
    ];
    encode_block(BlockKind::Command, &headers, &[])
}

/// Lengths here are checked when the block is finished: it is shorter than 2 GiB.
fn put_i32(out: &mut Vec<u8>, value: usize) {
    out.extend_from_slice(&(value as u32).to_be_bytes());
}

fn put_i64(out: &mut Vec<u8>, value: usize) {
    out.extend_from_slice(&(value as u64).to_be_bytes());
}
