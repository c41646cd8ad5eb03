//! Thrift's compact protocol, as far as it takes to look a structure over before another parser allocates for it.
//!
//! ```text
//! structure   fields | 00                 field      delta of the id, type (4 bits each) | id, if delta is 0 | value
//! list        size, type (4 bits each) | size, if 15 | items
//! binary      length | bytes              integers   zigzag, seven bits a byte, least first; lengths without zigzag
//! ```

use crate::Result;
use crate::wire::Reader;

/// What Parquet nests is less deep.
const DEEPEST: usize = 24;

/// The type of a field or an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In a field the value is part of the type; an item takes a byte.
    Boolean,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Structure,
    Uuid,
}

impl Kind {
    fn parse(code: u8, reader: &Reader<'_>) -> Result<Self> {
        Ok(match code {
            1 | 2 => Self::Boolean,
            3 => Self::Byte,
            4..=6 => Self::Integer,
            7 => Self::Double,
            8 => Self::Binary,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Structure,
            13 => Self::Uuid,
            _ => return Err(reader.corrupt(format!("Thrift type {code} is unknown"))),
        })
    }
}

/// A field whose value is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) id: i64,
    pub(super) kind: Kind,
}

/// Calls `field` for the fields of a structure, which come by ascending ids; what it leaves alone (`false`) is skipped.
pub(super) fn structure(
    reader: &mut Reader<'_>,
    mut field: impl FnMut(Field, &mut Reader<'_>) -> Result<bool>,
) -> Result<()> {
    let mut last = 0;
    while let Some(next) = next_field(reader, last)? {
        if next.id <= last {
            return Err(reader.corrupt(format!("Thrift field {} comes behind field {last}", next.id)));
        }
        last = next.id;
        if !field(next, reader)? && next.kind != Kind::Boolean {
            skip(reader, next.kind, DEEPEST)?;
        }
    }
    Ok(())
}

fn next_field(reader: &mut Reader<'_>, last: i64) -> Result<Option<Field>> {
    let head = reader.u8("a Thrift field")?;
    if head & 0x0f == 0 {
        return Ok(None);
    }
    let kind = Kind::parse(head & 0x0f, reader)?;
    let id = match head >> 4 {
        0 => reader.avro_long("id of a Thrift field")?,
        delta => last.saturating_add(i64::from(delta)),
    };
    Ok(Some(Field { id, kind }))
}

/// Number and type of the items of a list, each of which takes at least a byte.
pub(super) fn list(reader: &mut Reader<'_>) -> Result<(usize, Kind)> {
    let head = reader.u8("a Thrift list")?;
    if head == 0 {
        // Some writers leave the type of no items out.
        return Ok((0, Kind::Byte));
    }
    let kind = Kind::parse(head & 0x0f, reader)?;
    let count = match head >> 4 {
        15 => length(reader)?,
        few => usize::from(few),
    };
    if count > reader.left() {
        return Err(reader.corrupt(format!("a Thrift list of {count} items in {} bytes", reader.left())));
    }
    Ok((count, kind))
}

/// A number without sign.
pub(super) fn length(reader: &mut Reader<'_>) -> Result<usize> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = reader.u8("a Thrift length")?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(value).map_err(|_| reader.corrupt(format!("a Thrift length of {value}")));
        }
    }
    Err(reader.corrupt("a Thrift length of more than 64 bits"))
}

pub(super) fn binary<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8]> {
    let length = length(reader)?;
    reader.take(length, "a Thrift binary")
}

/// Integers of all sizes are spelled as Avro spells them.
pub(super) fn integer(reader: &mut Reader<'_>) -> Result<i64> {
    reader.avro_long("a Thrift integer")
}

fn skip(reader: &mut Reader<'_>, kind: Kind, depth: usize) -> Result<()> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(reader.corrupt(format!("Thrift structures more than {DEEPEST} deep")));
    };
    match kind {
        Kind::Boolean | Kind::Byte => reader.u8("a Thrift byte").map(drop),
        Kind::Integer => integer(reader).map(drop),
        Kind::Double => reader.take(8, "a Thrift double").map(drop),
        Kind::Uuid => reader.take(16, "a Thrift UUID").map(drop),
        Kind::Binary => binary(reader).map(drop),
        Kind::List => {
            let (count, kind) = list(reader)?;
            (0..count).try_for_each(|_| skip(reader, kind, depth))
        }
        Kind::Map => skip_map(reader, depth),
        Kind::Structure => {
            while let Some(field) = next_field(reader, 0)? {
                if field.kind != Kind::Boolean {
                    skip(reader, field.kind, depth)?;
                }
            }
            Ok(())
        }
    }
}

fn skip_map(reader: &mut Reader<'_>, depth: usize) -> Result<()> {
    let count = length(reader)?;
    if count == 0 {
        return Ok(());
    }
    let kinds = reader.u8("types of a Thrift map")?;
    let (key, value) = (Kind::parse(kinds >> 4, reader)?, Kind::parse(kinds & 0x0f, reader)?);
    for _ in 0..count {
        skip(reader, key, depth)?;
        skip(reader, value, depth)?;
    }
    Ok(())
}
