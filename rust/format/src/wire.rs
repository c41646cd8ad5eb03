//! Primitives on the wire: a reading position that never leaves its slice, big-endian integers, Avro's zigzag numbers.

use crate::{Error, Result};

/// A position in a slice of a file. Every read checks what is left first; errors name the field and the file offset.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Reader<'a> {
    /// `offset` is where `bytes` start in their file.
    pub(crate) fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// What is left, from here on.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn corrupt(&self, message: impl Into<String>) -> Error {
        Error::corrupt(message).at_offset(self.offset)
    }

    pub(crate) fn take(&mut self, length: usize, field: &str) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.corrupt(format!("{field} needs {length} bytes, {} are left", self.left())));
        };
        self.rest = rest;
        self.offset += length as u64;
        Ok(taken)
    }

    /// Passes over `length` bytes that were seen to be there.
    #[inline]
    pub(crate) fn advance(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
        self.offset += length as u64;
    }

    /// A reader over the next `length` bytes; this one goes on behind them.
    pub(crate) fn slice(&mut self, length: usize, field: &str) -> Result<Self> {
        let offset = self.offset;
        Ok(Self::new(self.take(length, field)?, offset))
    }

    fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.corrupt(format!("{field} needs {N} bytes, {} are left", self.left())));
        };
        self.rest = rest;
        self.offset += N as u64;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self, field: &str) -> Result<u8> {
        self.array(field).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, field: &str) -> Result<u16> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self, field: &str) -> Result<i32> {
        self.array(field).map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self, field: &str) -> Result<i64> {
        self.array(field).map(i64::from_be_bytes)
    }

    pub(crate) fn u32_le(&mut self, field: &str) -> Result<u32> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64_le(&mut self, field: &str) -> Result<u64> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(crate) fn f32_le(&mut self, field: &str) -> Result<f32> {
        self.array(field).map(f32::from_le_bytes)
    }

    pub(crate) fn f64_le(&mut self, field: &str) -> Result<f64> {
        self.array(field).map(f64::from_le_bytes)
    }

    /// A big-endian `i32` that counts something.
    pub(crate) fn count(&mut self, field: &str) -> Result<usize> {
        let offset = self.offset;
        let value = self.i32(field)?;
        usize::try_from(value).map_err(|_| Error::corrupt(format!("{field} is {value}")).at_offset(offset))
    }

    /// An Avro `long`: zigzag, seven bits a byte, least first.
    #[inline]
    pub(crate) fn avro_long(&mut self, field: &str) -> Result<i64> {
        // Most are small.
        if let Some((&byte, rest)) = self.rest.split_first()
            && byte < 0x80
        {
            self.rest = rest;
            self.offset += 1;
            return Ok(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        self.long_of_many_bytes(field)
    }

    /// Passes over one, whatever it is; the most has ten bytes.
    #[inline]
    pub(crate) fn skip_avro_long(&mut self, field: &str) -> Result<()> {
        match self.rest.iter().take(10).position(|byte| *byte < 0x80) {
            Some(last) => {
                self.advance(last + 1);
                Ok(())
            }
            None => self.avro_long(field).map(drop),
        }
    }

    fn long_of_many_bytes(&mut self, field: &str) -> Result<i64> {
        let offset = self.offset;
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(field)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(Error::corrupt(format!("{field} is no 64-bit number")).at_offset(offset))
    }

    pub(crate) fn avro_int(&mut self, field: &str) -> Result<i32> {
        let offset = self.offset;
        let value = self.avro_long(field)?;
        i32::try_from(value).map_err(|_| Error::corrupt(format!("{field} is {value}")).at_offset(offset))
    }

    pub(crate) fn avro_bytes(&mut self, field: &str) -> Result<&'a [u8]> {
        let offset = self.offset;
        let length = self.avro_long(field)?;
        let length = usize::try_from(length)
            .map_err(|_| Error::corrupt(format!("{field} has length {length}")).at_offset(offset))?;
        self.take(length, field)
    }

    pub(crate) fn avro_string(&mut self, field: &str) -> Result<&'a str> {
        let offset = self.offset;
        utf8(self.avro_bytes(field)?, field, offset)
    }
}

pub(crate) fn utf8<'a>(bytes: &'a [u8], field: &str, offset: u64) -> Result<&'a str> {
    str::from_utf8(bytes).map_err(|e| Error::corrupt(format!("{field} is no UTF-8")).at_offset(offset).caused_by(e))
}

/// Zigzag, seven bits a byte, least first.
#[inline]
pub(crate) fn put_avro_long(out: &mut Vec<u8>, value: i64) {
    let raw = ((value << 1) ^ (value >> 63)).cast_unsigned();
    if raw < 0x80 {
        out.push(raw as u8);
    } else if raw >> 56 == 0 {
        put_varint_word(out, raw);
    } else {
        put_varint_by_byte(out, raw);
    }
}

/// Numbers of up to 56 bits become one word: gaps opened between fours, then pairs, then single bytes.
fn put_varint_word(out: &mut Vec<u8>, raw: u64) {
    let word = (raw & 0x0fff_ffff) | ((raw & 0x00ff_ffff_f000_0000) << 4);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x0fff_c000_0fff_c000) << 2);
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x3f80_3f80_3f80_3f80) << 1);
    let bytes = (u64::BITS - raw.leading_zeros()).div_ceil(7) as usize;
    let more = 0x8080_8080_8080_8080 & !(u64::MAX << (8 * (bytes - 1)));
    let end = out.len() + bytes;
    out.extend_from_slice(&(word | more).to_le_bytes());
    out.truncate(end);
}

fn put_varint_by_byte(out: &mut Vec<u8>, mut rest: u64) {
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

pub(crate) fn put_avro_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_avro_long(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case(0, &[0])]
    #[case(-1, &[1])]
    #[case(50, &[0x64])]
    #[case(64, &[0x80, 1])]
    #[case(i64::MAX, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])]
    #[case(i64::MIN, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])]
    fn avro_longs(#[case] value: i64, #[case] bytes: &[u8]) {
        let mut out = Vec::new();
        put_avro_long(&mut out, value);
        assert_eq!(out, bytes);
        assert_eq!(Reader::new(bytes, 0).avro_long("x").unwrap(), value);
    }

    #[rstest]
    #[case(&[0x80; 11])]
    #[case(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2])]
    #[case(&[0x80])]
    fn longs_that_are_none(#[case] bytes: &[u8]) {
        assert!(Reader::new(bytes, 0).avro_long("x").is_err());
    }

    #[test]
    fn a_short_read_names_field_and_offset_and_moves_nothing() {
        let mut reader = Reader::new(&[0, 0, 0, 1, 9], 100);
        assert_eq!(reader.count("entries").unwrap(), 1);
        let error = reader.i64("length").unwrap_err();
        assert_eq!((error.message(), error.offset()), ("length needs 8 bytes, 1 are left", Some(104)));
        assert_eq!(reader.u8("tail").unwrap(), 9);
        assert!(reader.is_empty());
    }

    proptest! {
        #[test]
        fn every_long_reads_back(value in any::<i64>()) {
            let mut out = Vec::new();
            put_avro_long(&mut out, value);
            let mut reader = Reader::new(&out, 0);
            prop_assert_eq!(reader.avro_long("x").unwrap(), value);
            prop_assert!(reader.is_empty());
        }
    }
}
