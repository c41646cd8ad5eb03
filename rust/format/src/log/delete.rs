//! The content of delete blocks: keys to delete, with the ordering value each delete competes with.
//!
//! ```text
//! i32 version     3; later ones are read the same way
//! i32 length      of what follows
//! Avro array of { recordKey: [null, string], partitionPath: [null, string], orderingVal: union }
//! ```
//!
//! The union is [`OrderingValue`]'s. Versions 1 and 2, of releases before 0.13, hold Java objects instead; they are read,
//! and nobody writes them any more.

use super::block::{CONTENT_VERSION, overwrite};
use super::kryo;
use super::ordering::{Items, OrderingValue, Place, read_ordering, unknown_branch, write_array, write_ordering};
use crate::wire::{Reader, put_avro_bytes, put_avro_long};
use crate::{Error, Result};

/// Least bytes of a record: three branch numbers.
const MIN_RECORD: usize = 3;

/// One key to delete.
#[derive(Debug, Clone, PartialEq)]
pub struct DeleteRecord {
    pub key: Option<String>,
    /// Not looked at when a slice is read.
    pub partition: Option<String>,
    pub ordering: OrderingValue,
}

/// The records of a block's content, one by one. `content_offset` is where the content starts in its file, for errors.
pub fn records(content: &[u8], content_offset: u64) -> Result<Records<'_>> {
    let mut reader = Reader::new(content, content_offset);
    let version = reader.i32("version of a delete block")?;
    let length = reader.count("length of a delete block")?;
    let payload = reader.slice(length, "records of a delete block")?;
    let form = match version {
        1 | 2 => Form::Java(kryo::Records::new(payload)?),
        CONTENT_VERSION.. => Form::Avro { reader: payload, items: Items::default() },
        _ => {
            let message = format!("delete block version {version} is unknown");
            return Err(Error::unsupported(message).at_offset(content_offset));
        }
    };
    Ok(Records { form, is_over: false })
}

/// See [`records`]. Nothing follows an error.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    form: Form<'a>,
    is_over: bool,
}

#[derive(Debug, Clone)]
enum Form<'a> {
    Java(kryo::Records<'a>),
    Avro { reader: Reader<'a>, items: Items },
}

impl Form<'_> {
    fn next(&mut self) -> Result<Option<DeleteRecord>> {
        match self {
            Self::Java(records) => records.next().transpose(),
            Self::Avro { reader, items } => match items.is_next(reader, MIN_RECORD)? {
                true => read_record(reader).map(Some),
                false => Ok(None),
            },
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Result<DeleteRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.form.next().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

fn read_record(reader: &mut Reader<'_>) -> Result<DeleteRecord> {
    let key = read_optional_string(reader, "recordKey")?;
    let partition = read_optional_string(reader, "partitionPath")?;
    Ok(DeleteRecord { key, partition, ordering: read_ordering(reader, Place::Alone)? })
}

/// Encodes records as the content of a block. Fails for a value that the union has no branch for.
pub fn encode(records: &[DeleteRecord]) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    encode_into(records, &mut content)?;
    Ok(content)
}

/// Appends it.
pub(super) fn encode_into(records: &[DeleteRecord], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&CONTENT_VERSION.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let payload_at = out.len();
    write_array(out, records, |out, record| {
        write_optional_string(out, record.key.as_deref());
        write_optional_string(out, record.partition.as_deref());
        write_ordering(out, &record.ordering, Place::Alone)
    })?;
    let length = i32::try_from(out.len().saturating_sub(payload_at))
        .map_err(|_| Error::unsupported("the deletes of one log block exceed 2 GiB").with_hint("split them"))?;
    overwrite(out, length_at, &length.to_be_bytes());
    Ok(())
}

fn read_optional_string(reader: &mut Reader<'_>, field: &str) -> Result<Option<String>> {
    let offset = reader.offset();
    match reader.avro_long(field)? {
        0 => Ok(None),
        1 => Ok(Some(reader.avro_string(field)?.to_owned())),
        other => Err(unknown_branch(offset, field, other)),
    }
}

fn write_optional_string(out: &mut Vec<u8>, value: Option<&str>) {
    put_avro_long(out, i64::from(value.is_some()));
    if let Some(value) = value {
        put_avro_bytes(out, value.as_bytes());
    }
}
