//! The little of Protocol Buffers that HFiles use: varints, and fields of numbers and bytes.

use crate::wire::Reader as Wire;
use crate::{Error, Result};

/// One field of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn number(self, field: &str) -> Result<u64> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(Error::corrupt(format!("{field} is no number"))),
        }
    }

    pub(super) fn bytes(self, field: &str) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(Error::corrupt(format!("{field} is a number"))),
        }
    }
}

pub(super) fn read_varint(wire: &mut Wire<'_>, field: &str) -> Result<u64> {
    let offset = wire.offset();
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = wire.u8(field)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Error::corrupt(format!("{field} is no 64-bit number")).at_offset(offset))
}

/// A length that is left.
pub(super) fn read_length(wire: &mut Wire<'_>, field: &str) -> Result<usize> {
    let offset = wire.offset();
    let length = read_varint(wire, field)?;
    usize::try_from(length).map_err(|_| Error::corrupt(format!("{field} is {length}")).at_offset(offset))
}

/// The next field: its tag and value.
pub(super) fn read_field<'a>(wire: &mut Wire<'a>, message: &str) -> Result<(u64, Value<'a>)> {
    let offset = wire.offset();
    let key = read_varint(wire, message)?;
    let value = match key & 7 {
        0 => Value::Number(read_varint(wire, message)?),
        2 => {
            let length = read_length(wire, message)?;
            Value::Bytes(wire.take(length, message)?)
        }
        other => {
            return Err(Error::corrupt(format!("{message} has a field of wire type {other}")).at_offset(offset));
        }
    };
    Ok((key >> 3, value))
}

pub(super) fn put_varint(out: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

pub(super) fn put_number(out: &mut Vec<u8>, tag: u64, value: u64) {
    put_varint(out, tag << 3);
    put_varint(out, value);
}

pub(super) fn put_bytes(out: &mut Vec<u8>, tag: u64, value: &[u8]) {
    put_varint(out, tag << 3 | 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}
