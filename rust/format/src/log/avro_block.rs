//! The content of Avro data blocks, which CDC blocks share: rows in frames.
//!
//! ```text
//! i32 version     3 is written; any value is read the same way
//! i32 count
//! count × { i32 length, Avro binary datum of the SCHEMA header }
//! ```

use super::block::CONTENT_VERSION;
use crate::wire::Reader;
use crate::{Error, Result};

/// Width of the length in front of each datum.
const FRAME: usize = 4;

/// The datums of a block's content. `content_offset` is where the content starts in its file, for errors.
pub fn records(content: &[u8], content_offset: u64) -> Result<Records<'_>> {
    let mut reader = Reader::new(content, content_offset);
    reader.i32("version of an Avro block")?;
    let left = reader.count("number of records")?;
    if left > reader.left() / FRAME {
        return Err(reader.corrupt(format!("{left} records cannot be in {} bytes", reader.left())));
    }
    Ok(Records { reader, left })
}

/// See [`records`]. Nothing follows an error.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    reader: Reader<'a>,
    left: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let record = self.reader.count("length of a record").and_then(|length| self.reader.take(length, "record"));
        if record.is_err() {
            self.left = 0;
        }
        Some(record)
    }

    /// Never more than the bytes can hold.
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// Frames datums as the content of a block.
pub fn encode_records<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
    let mut out = CONTENT_VERSION.to_be_bytes().to_vec();
    out.extend_from_slice(&[0; FRAME]);
    let mut count = 0;
    for record in records {
        let length = i32::try_from(record.len()).map_err(|_| too_large())?;
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(record);
        count += 1_i32;
    }
    if out.len() > super::block::MAX_BLOCK_LENGTH {
        return Err(too_large());
    }
    if let Some(slot) = out.get_mut(FRAME..2 * FRAME) {
        slot.copy_from_slice(&count.to_be_bytes());
    }
    Ok(out)
}

fn too_large() -> Error {
    Error::unsupported("the rows of one log block exceed 2 GiB").with_hint("split the rows over several blocks")
}
