//! The footer of a Parquet file: looked over in its bytes, then parsed, then held against the file.
//!
//! ```text
//! … | FileMetaData (Thrift) | u32 its length, least byte first | PAR1
//! ```
//!
//! The parser reserves memory for what a footer claims to hold, goes down into a schema as deep as it leads, and panics
//! over places that cannot be. So all that is settled before: every list is as long as it says, the schema is a tree of
//! bounded depth, and the chunks of the columns lie in the file.

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;

use super::shapes::{COLUMN_CHUNK, COLUMN_METADATA, FILE_METADATA, ROW_GROUP, SCHEMA_ELEMENT, Type};
use super::thrift::{binary, integer, items, structure};
use super::{failed, guarded};
use crate::wire::Reader;
use crate::{Error, Result};

/// Length of the footer, and the magic.
pub(super) const TAIL: usize = 8;
const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED: &[u8] = b"PARE";

/// A schema is read by functions that call themselves.
const DEEPEST: usize = 100;
/// The parser gives each leaf the names on the way to it; so many times the footer may they take…
const PATH_FACTOR: usize = 6;
/// …and so many bytes beside.
const PATH_BASE: usize = 128 << 10;
/// What one such name takes without its text.
const NAME: usize = 32;
/// An entry of a list in the footer is a structure with a field at least.
const ENTRY: usize = 3;

/// The metadata of a Parquet file.
pub(super) fn read(file: &impl ChunkReader) -> Result<ParquetMetaData> {
    let length = file.len();
    let corrupt = |message: String| Error::corrupt(message).at_offset(length.saturating_sub(TAIL as u64));
    let Some(tail_at) = length.checked_sub(TAIL as u64) else {
        return Err(Error::corrupt(format!("{length} bytes are too few for a Parquet file")).at_offset(0));
    };
    let tail = file.get_bytes(tail_at, TAIL).map_err(failed)?;
    let mut tail = Reader::new(&tail, tail_at);
    let footer = u64::from(tail.u32_le("length of a Parquet footer")?);
    match tail.take(MAGIC.len(), "magic of a Parquet file")? {
        MAGIC => {}
        ENCRYPTED => return Err(Error::unsupported("an encrypted Parquet file").at_offset(tail_at)),
        other => {
            return Err(corrupt(format!("a Parquet file ends in PAR1, this one in '{}'", other.escape_ascii())));
        }
    }
    let Some(start) = tail_at.checked_sub(footer) else {
        return Err(corrupt(format!("a Parquet footer of {footer} bytes in a file of {length}")));
    };
    let bytes = file.get_bytes(start, footer as usize).map_err(failed)?;
    look_over(&bytes, start)?;
    let metadata = guarded(|| ParquetMetaDataReader::decode_metadata(&bytes)).map_err(|e| e.at_offset(start))?;
    check(&metadata, length).map_err(|e| e.at_offset(start))?;
    Ok(metadata)
}

/// What is needed of the bytes before they are parsed.
fn look_over(bytes: &[u8], offset: u64) -> Result<()> {
    let mut reader = Reader::new(bytes, offset);
    let mut leaves = None;
    structure(&mut reader, FILE_METADATA, |id, reader| match id {
        2 => {
            leaves = Some(look_over_schema(reader, bytes.len())?);
            Ok(true)
        }
        4 => {
            let leaves = leaves.ok_or_else(|| reader.corrupt("a Parquet footer without a schema"))?;
            let count = items(reader, Type::Structure(ROW_GROUP))?;
            (0..count).try_for_each(|_| look_over_row_group(reader, leaves))?;
            Ok(true)
        }
        5 | 7 => check_room(reader).map(|()| false),
        _ => Ok(false),
    })
}

/// Small entries become large in memory.
fn check_room(reader: &Reader<'_>) -> Result<()> {
    let mut ahead = reader.clone();
    let count = items(&mut ahead, Type::Structure(&[]))?;
    if count.saturating_mul(ENTRY) > ahead.left() {
        return Err(reader.corrupt(format!("{count} entries in {} bytes of a Parquet footer", ahead.left())));
    }
    Ok(())
}

/// The schema is a tree in one list, parents first. Gives the number of its leaves.
fn look_over_schema(reader: &mut Reader<'_>, footer: usize) -> Result<usize> {
    let count = items(reader, Type::Structure(SCHEMA_ELEMENT))?;
    let limit = footer.saturating_mul(PATH_FACTOR).saturating_add(PATH_BASE);
    // Of the groups around: children to come, and bytes of the names on the way.
    let mut groups: Vec<(usize, usize)> = Vec::new();
    let (mut leaves, mut paths) = (0_usize, 0_usize);
    for at in 0..count {
        let (children, name) = schema_element(reader)?;
        let around = match groups.last_mut() {
            Some((left, around)) => {
                *left -= 1;
                *around
            }
            None if at == 0 => 0,
            None => return Err(reader.corrupt(format!("element {at} of a Parquet schema belongs to no group"))),
        };
        let path = around + name + NAME;
        match children {
            // The root is no column, even without any.
            0 if at == 0 => {}
            0 => {
                leaves += 1;
                paths = paths.saturating_add(path);
            }
            _ => groups.push((children, path)),
        }
        while groups.last().is_some_and(|(left, _)| *left == 0) {
            groups.pop();
        }
        if children > count - at || groups.len() > DEEPEST || paths > limit {
            return Err(reader
                .corrupt(format!(
                    "element {at} of a Parquet schema has {children} children and lies {} deep",
                    groups.len()
                ))
                .with_hint(format!("{DEEPEST} are the most levels, and names must not outgrow the footer")));
        }
        if groups.is_empty() && at + 1 < count {
            return Err(reader.corrupt(format!("element {} of a Parquet schema belongs to no group", at + 1)));
        }
    }
    if let Some((missing, _)) = groups.last() {
        return Err(reader.corrupt(format!("a Parquet schema ends {missing} children too early")));
    }
    Ok(leaves)
}

/// Number of children, and bytes of the name.
fn schema_element(reader: &mut Reader<'_>) -> Result<(usize, usize)> {
    let (mut children, mut name) = (0, 0);
    structure(reader, SCHEMA_ELEMENT, |id, reader| {
        match id {
            4 => name = binary(reader)?.len(),
            5 => children = integer(reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let children = usize::try_from(children)
        .map_err(|_| reader.corrupt(format!("a group of a Parquet schema with {children} children")))?;
    Ok((children, name))
}

/// A row group has a chunk for every leaf, with all that a chunk must have.
fn look_over_row_group(reader: &mut Reader<'_>, leaves: usize) -> Result<()> {
    let mut chunks = None;
    structure(reader, ROW_GROUP, |id, reader| {
        if id == 1 {
            let count = items(reader, Type::Structure(COLUMN_CHUNK))?;
            (0..count).try_for_each(|_| look_over_chunk(reader))?;
            chunks = Some(count);
        }
        Ok(id == 1)
    })?;
    if chunks != Some(leaves) {
        let chunks = chunks.unwrap_or_default();
        return Err(reader.corrupt(format!("a Parquet row group of {chunks} columns, the schema has {leaves}")));
    }
    Ok(())
}

fn look_over_chunk(reader: &mut Reader<'_>) -> Result<()> {
    let mut has_metadata = false;
    structure(reader, COLUMN_CHUNK, |id, reader| {
        if id == 3 {
            has_metadata = required_fields(reader)? == REQUIRED;
        }
        Ok(id == 3)
    })?;
    if has_metadata { Ok(()) } else { Err(reader.corrupt("a Parquet column chunk without all its metadata")) }
}

/// Type, encodings, path, codec, values, two sizes, place.
const REQUIRED: usize = 8;

fn required_fields(reader: &mut Reader<'_>) -> Result<usize> {
    let mut count = 0;
    structure(reader, COLUMN_METADATA, |id, _| {
        count += usize::from(matches!(id, 1..=7 | 9));
        Ok(false)
    })?;
    Ok(count)
}

/// What the parser takes as it comes.
fn check(metadata: &ParquetMetaData, file: u64) -> Result<()> {
    let mut rows = 0_i64;
    for group in metadata.row_groups() {
        rows = rows
            .checked_add(group.num_rows())
            .filter(|_| group.num_rows() >= 0)
            .ok_or_else(|| Error::corrupt(format!("a Parquet row group of {} rows", group.num_rows())))?;
        group.columns().iter().try_for_each(|column| check_chunk(column, group.num_rows(), file))?;
    }
    Ok(())
}

fn check_chunk(column: &ColumnChunkMetaData, rows: i64, file: u64) -> Result<()> {
    let path = || column.column_path().string();
    if column.file_path().is_some() {
        return Err(Error::unsupported(format!("column {} of a Parquet file lies in another file", path())));
    }
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let length = column.compressed_size();
    let end =
        u64::try_from(start).ok().zip(u64::try_from(length).ok()).and_then(|(start, length)| start.checked_add(length));
    if end.is_none_or(|end| end > file) {
        let message = format!("column {} of a Parquet file: {length} bytes from {start} on, of {file}", path());
        return Err(Error::corrupt(message));
    }
    let values = column.num_values();
    if values < rows || (values > rows && column.column_descr().max_rep_level() == 0) {
        return Err(Error::corrupt(format!("column {} of a Parquet file: {values} values in {rows} rows", path())));
    }
    Ok(())
}
