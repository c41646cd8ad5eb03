//! The Avro object container that holds one plan or one piece of metadata: one schema, one block, one record.
//!
//! ```text
//! "Obj" 01 | map { "avro.schema": text, "avro.codec": text } | sync (16) | { count, length, content | sync } …
//! ```
//!
//! Apache Hudi names no codec (which means none) and writes one block of one record. Other writers may compress and
//! split; a block of no record is passed over. The header carries the schema text literally as Apache Hudi writes it,
//! with the stray attributes of its Java classes.

use std::borrow::Cow;
use std::io::Read;

use crate::wire::{Reader, put_avro_bytes, put_avro_long, utf8};
use crate::{Error, Result};

pub(super) const MAGIC: &[u8; 4] = b"Obj\x01";
const SYNC_BYTES: usize = 16;

/// The longest schema of any release has 17 000 bytes.
const LONGEST_SCHEMA: usize = 128 * 1024;

/// A compressed block may unpack to this much.
pub(super) const LARGEST_BLOCK: usize = 256 << 20;

/// The header, and the content of the block that holds the one record.
#[derive(Debug)]
pub(super) struct Container<'a> {
    pub(super) schema: &'a str,
    pub(super) record: Cow<'a, [u8]>,
    /// Where the record starts in the file; within a compressed block, where that starts.
    pub(super) offset: u64,
}

impl<'a> Container<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes, 0);
        if !bytes.starts_with(MAGIC) {
            return Err(Error::corrupt("this is not an Avro container file").at_offset(0));
        }
        reader.take(MAGIC.len(), "magic")?;
        let (schema, codec) = header(&mut reader)?;
        let sync = reader.take(SYNC_BYTES, "sync marker")?;
        let mut found = None;
        while !reader.is_empty() {
            let (count, content, offset) = block(&mut reader, sync)?;
            match (count, &found) {
                (0, _) => {}
                (1, None) => found = Some((content, offset)),
                _ => return Err(Error::corrupt("a timeline file holds one record, this one more").at_offset(offset)),
            }
        }
        let (content, offset) = found.ok_or_else(|| reader.corrupt("this Avro container file holds no record"))?;
        Ok(Self { schema, record: codec.unpack(content).map_err(|e| e.at_offset(offset))?, offset })
    }
}

/// The schema and the codec.
fn header<'a>(reader: &mut Reader<'a>) -> Result<(&'a str, Codec)> {
    let (mut schema, mut codec) = (None, Codec::None);
    loop {
        let count = reader.avro_long("file metadata")?;
        if count < 0 {
            reader.avro_long("length of the file metadata")?;
        }
        if count == 0 {
            break;
        }
        for _ in 0..count.unsigned_abs() {
            let key = reader.avro_string("key of the file metadata")?;
            let offset = reader.offset();
            let value = reader.avro_bytes("value of the file metadata")?;
            match key {
                "avro.schema" if value.len() > LONGEST_SCHEMA => {
                    let message = format!("an Avro schema of {} bytes; {LONGEST_SCHEMA} are read", value.len());
                    return Err(Error::unsupported(message).at_offset(offset));
                }
                "avro.schema" => schema = Some(utf8(value, "avro.schema", offset)?),
                "avro.codec" => codec = Codec::parse(value).map_err(|e| e.at_offset(offset))?,
                _ => {}
            }
        }
    }
    Ok((schema.ok_or_else(|| reader.corrupt("this Avro container file names no schema"))?, codec))
}

/// Record count, content and its offset.
fn block<'a>(reader: &mut Reader<'a>, sync: &[u8]) -> Result<(i64, &'a [u8], u64)> {
    let count = reader.avro_long("records of a block")?;
    let length = reader.avro_long("length of a block")?;
    let length = usize::try_from(length).map_err(|_| reader.corrupt(format!("a block has length {length}")))?;
    let offset = reader.offset();
    let content = reader.take(length, "content of a block")?;
    let marker_at = reader.offset();
    if reader.take(SYNC_BYTES, "sync marker")? != sync {
        return Err(Error::corrupt("a block does not end with the sync marker of its file").at_offset(marker_at));
    }
    Ok((count, content, offset))
}

#[derive(Debug, Clone, Copy)]
enum Codec {
    None,
    Deflate,
}

impl Codec {
    fn parse(name: &[u8]) -> Result<Self> {
        match name {
            b"null" => Ok(Self::None),
            b"deflate" => Ok(Self::Deflate),
            other => Err(Error::unsupported(format!("the Avro codec '{}'", String::from_utf8_lossy(other)))),
        }
    }

    fn unpack(self, content: &[u8]) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::None => Ok(Cow::Borrowed(content)),
            Self::Deflate => inflate(content).map(Cow::Owned),
        }
    }
}

/// Deflate says no size beforehand: whoever unpacks must know where to stop.
fn inflate(content: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut packed = flate2::read::DeflateDecoder::new(content).take(LARGEST_BLOCK as u64 + 1);
    packed.read_to_end(&mut out).map_err(|e| Error::corrupt("a block does not inflate").caused_by(e))?;
    if out.len() > LARGEST_BLOCK {
        return Err(Error::unsupported(format!("an Avro block of more than {LARGEST_BLOCK} bytes")));
    }
    Ok(out)
}

/// A file that holds one record.
pub(super) fn write(schema_text: &str, record: &[u8]) -> Vec<u8> {
    let sync = sync_marker(record);
    let mut out = Vec::with_capacity(schema_text.len() + record.len() + 64);
    out.extend_from_slice(MAGIC);
    put_avro_long(&mut out, 1);
    put_avro_bytes(&mut out, b"avro.schema");
    put_avro_bytes(&mut out, schema_text.as_bytes());
    put_avro_long(&mut out, 0);
    out.extend_from_slice(&sync);
    put_avro_long(&mut out, 1);
    put_avro_bytes(&mut out, record);
    out.extend_from_slice(&sync);
    out
}

/// The marker only has to be unlikely inside the data. Taken from the data, it makes equal values equal files.
fn sync_marker(datum: &[u8]) -> [u8; SYNC_BYTES] {
    let mut marker = [0_u8; SYNC_BYTES];
    for (lane, part) in marker.chunks_exact_mut(4).zip(0_u8..) {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&[part]);
        crc.update(datum);
        lane.copy_from_slice(&crc.finalize().to_be_bytes());
    }
    marker
}
