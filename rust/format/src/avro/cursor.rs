//! A checked walk over one datum. Beside `wire::Reader` it knows no file offset: rows are read by the million, and the
//! block that holds them says where they lie.

use crate::{Error, Result};

#[derive(Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or_else(|| {
            Error::corrupt(format!("an Avro value of {count} bytes where {} are left", self.rest.len()))
        })?;
        self.rest = tail;
        Ok(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or_else(|| Error::corrupt(format!("an Avro value of {N} bytes where {} are left", self.rest.len())))?;
        self.rest = tail;
        Ok(*head)
    }

    /// A zigzag varint. One byte is by far the commonest.
    #[inline]
    pub(super) fn long(&mut self) -> Result<i64> {
        let mut raw: u64 = 0;
        let mut shift = 0;
        let mut bytes = self.rest.iter();
        for byte in bytes.by_ref().take(10) {
            raw |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                self.rest = bytes.as_slice();
                return Ok((raw >> 1) as i64 ^ -((raw & 1) as i64));
            }
            shift += 7;
        }
        Err(Error::corrupt("an Avro number that does not end"))
    }

    #[inline]
    pub(super) fn int(&mut self) -> Result<i32> {
        let long = self.long()?;
        i32::try_from(long).map_err(|_| Error::corrupt(format!("the Avro int {long} exceeds 32 bits")))
    }

    /// A length that the rest of the datum can hold.
    #[inline]
    pub(super) fn length(&mut self) -> Result<usize> {
        let long = self.long()?;
        usize::try_from(long)
            .ok()
            .filter(|length| *length <= self.rest.len())
            .ok_or_else(|| Error::corrupt(format!("an Avro length of {long} where {} bytes are left", self.rest.len())))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    pub(super) fn boolean(&mut self) -> Result<bool> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(Error::corrupt(format!("the Avro boolean {other}"))),
        }
    }

    /// The head of the next block of an array or map: how many items follow, or `None` at the end.
    pub(super) fn block(&mut self) -> Result<Option<usize>> {
        let count = self.long()?;
        if count < 0 {
            self.long()?; // the block's size in bytes, of use only to those who skip it
        }
        let count = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        Ok((count > 0).then_some(count))
    }
}
