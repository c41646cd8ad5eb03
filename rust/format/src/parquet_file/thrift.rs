//! Thrift's compact protocol, as far as it takes to look a structure over before another parser allocates for it.
//!
//! ```text
//! structure   fields | 00                 field      delta of the id, type (4 bits each) | id, if delta is 0 | value
//! list        size, type (4 bits each) | size, if 15 | items
//! binary      length | bytes              integers   zigzag, seven bits a byte, least first; lengths without zigzag
//! ```

use super::shapes::{Shape, Type};
use crate::Result;
use crate::wire::Reader;

/// What is not known of Parquet is skipped no deeper.
const DEEPEST: usize = 16;

/// The type of a field or an item, as the bytes have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The value is part of the type.
    Boolean,
    Byte,
    Integer,
    Double,
    Binary,
    List,
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
            12 => Self::Structure,
            13 => Self::Uuid,
            11 => return Err(reader.corrupt("a Thrift map, of which Parquet has none")),
            _ => return Err(reader.corrupt(format!("Thrift type {code} is unknown"))),
        })
    }

    fn of(expected: Type) -> Self {
        match expected {
            Type::Boolean => Self::Boolean,
            Type::Byte => Self::Byte,
            Type::Integer => Self::Integer,
            Type::Double => Self::Double,
            Type::Binary => Self::Binary,
            Type::Structure(_) => Self::Structure,
            Type::List(_) => Self::List,
        }
    }
}

/// Calls `field` with the ids of the fields of a structure, which ascend. What it leaves alone (`false`) is looked over
/// and passed.
pub(super) fn structure(
    reader: &mut Reader<'_>,
    shape: Shape,
    mut field: impl FnMut(i64, &mut Reader<'_>) -> Result<bool>,
) -> Result<()> {
    let mut last = 0;
    while let Some((id, kind)) = next_field(reader, last)? {
        if id <= last {
            return Err(reader.corrupt(format!("Thrift field {id} comes behind field {last}")));
        }
        last = id;
        let known = shape.iter().find(|(known, _)| *known == id).map(|(_, expected)| *expected);
        match known {
            Some(expected) if Kind::of(expected) != kind => {
                return Err(reader.corrupt(format!("Thrift field {id} is {kind:?}, where {expected:?} is expected")));
            }
            _ if kind == Kind::Boolean => {}
            Some(expected) => {
                if !field(id, reader)? {
                    pass(reader, expected)?;
                }
            }
            None => skip(reader, kind, DEEPEST)?,
        }
    }
    Ok(())
}

fn next_field(reader: &mut Reader<'_>, last: i64) -> Result<Option<(i64, Kind)>> {
    let head = reader.u8("a Thrift field")?;
    if head & 0x0f == 0 {
        return Ok(None);
    }
    let kind = Kind::parse(head & 0x0f, reader)?;
    let id = match head >> 4 {
        0 => reader.avro_long("id of a Thrift field")?,
        delta => last.saturating_add(i64::from(delta)),
    };
    Ok(Some((id, kind)))
}

/// Goes over a value that must be of this type.
fn pass(reader: &mut Reader<'_>, expected: Type) -> Result<()> {
    match expected {
        Type::Structure(shape) => structure(reader, shape, |_, _| Ok(false)),
        Type::List(item) => {
            let count = items(reader, *item)?;
            (0..count).try_for_each(|_| pass(reader, *item))
        }
        plain => skip(reader, Kind::of(plain), 1),
    }
}

/// The number of items of a list, which must be of this type.
pub(super) fn items(reader: &mut Reader<'_>, expected: Type) -> Result<usize> {
    let (count, kind) = list(reader)?;
    if count > 0 && kind != Kind::of(expected) {
        return Err(reader.corrupt(format!("a Thrift list of {kind:?}, where {expected:?} is expected")));
    }
    Ok(count)
}

/// Number and type of the items of a list, each of which takes at least a byte.
fn list(reader: &mut Reader<'_>) -> Result<(usize, Kind)> {
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
        Kind::Byte => reader.u8("a Thrift byte").map(drop),
        // Parsers disagree whether such an item takes a byte.
        Kind::Boolean => Err(reader.corrupt("a Thrift list of booleans")),
        Kind::Integer => integer(reader).map(drop),
        Kind::Double => reader.take(8, "a Thrift double").map(drop),
        Kind::Uuid => reader.take(16, "a Thrift UUID").map(drop),
        Kind::Binary => binary(reader).map(drop),
        Kind::List => {
            let (count, kind) = list(reader)?;
            (0..count).try_for_each(|_| skip(reader, kind, depth))
        }
        Kind::Structure => {
            while let Some((_, kind)) = next_field(reader, 0)? {
                if kind != Kind::Boolean {
                    skip(reader, kind, depth)?;
                }
            }
            Ok(())
        }
    }
}
