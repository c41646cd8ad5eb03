//! Passing over values that nobody asked for: what is not kept is not built either.

use super::alike::{self, MANY_FIELDS};
use super::de::{Datum, Decoder, branch};
use crate::Result;
use crate::schema::{Field, Node};
use crate::wire::Reader;

/// What an item that is passed over takes from the budget: nothing is kept, but items of no bytes must come to an end.
const PASSED: usize = 1;

impl Datum<'_, '_> {
    /// Leaves the decoder behind the value.
    pub(super) fn skip(self) -> Result<()> {
        skip(self.decoder, self.name, self.node)
    }
}

fn skip(decoder: &mut Decoder<'_>, name: &str, node: &Node) -> Result<()> {
    let reader = &mut decoder.reader;
    match node {
        Node::Null => Ok(()),
        Node::Boolean => reader.take(1, name).map(drop),
        Node::Int | Node::Date | Node::Long | Node::Time(_) | Node::Timestamp { .. } | Node::Enum(_) => {
            reader.skip_avro_long(name)
        }
        Node::Float => reader.take(size_of::<f32>(), name).map(drop),
        Node::Double => reader.take(size_of::<f64>(), name).map(drop),
        Node::String | Node::Bytes | Node::Decimal { size: None, .. } => reader.avro_bytes(name).map(drop),
        Node::Fixed(size) | Node::Decimal { size: Some(size), .. } => reader.take(*size, name).map(drop),
        Node::Vector(vector) => reader.take(vector.size(), name).map(drop),
        Node::Array(item) => skip_blocks(decoder, name, |decoder| skip(decoder, name, item)),
        Node::Map(value) => skip_blocks(decoder, name, |decoder| {
            decoder.reader.avro_bytes(name)?;
            skip(decoder, name, value)
        }),
        Node::Record(record) if record.fields.len() >= MANY_FIELDS => alike::skip(decoder, record),
        Node::Record(record) => record.fields.iter().try_for_each(|field| skip_field(decoder, field)),
        Node::Union(branches) => {
            let (_, branch) = branch(reader, name, branches)?;
            skip(decoder, name, branch)
        }
    }
}

pub(super) fn skip_field(decoder: &mut Decoder<'_>, field: &Field) -> Result<()> {
    match skip_usual(&mut decoder.reader, &field.node) {
        true => Ok(()),
        false => skip(decoder, &field.name, &field.node),
    }
}

/// Passes over what most values are, a number or a text or nothing in its place, in one step. `false` if it is something else,
/// or broken.
#[inline]
fn skip_usual(reader: &mut Reader<'_>, node: &Node) -> bool {
    let Node::Union(branches) = node else { return false };
    let length = match (branches.as_slice(), reader.rest()) {
        ([Node::Null, ..], [0, ..]) => Some(1),
        ([_, Node::Int | Node::Long, ..], [2, number @ ..]) => {
            number.iter().take(9).position(|b| *b < 0x80).map(|n| n + 2)
        }
        ([_, Node::String, ..], [2, text @ ..]) => length_of_short(text).map(|length| 1 + length),
        _ => None,
    };
    reader.advance(length.unwrap_or(0));
    length.is_some()
}

/// What a text takes that says its length in one or two bytes.
#[inline]
fn length_of_short(text: &[u8]) -> Option<usize> {
    let (zigzag, width) = match *text {
        [low, ..] if low < 0x80 => (usize::from(low), 1),
        [low, high, ..] if high < 0x80 => (usize::from(low & 0x7f) | usize::from(high) << 7, 2),
        _ => return None,
    };
    let length = width + zigzag / 2;
    let is_negative = zigzag % 2 == 1;
    (!is_negative && length <= text.len()).then_some(length)
}

/// The items of all blocks; some say their length in bytes too.
fn skip_blocks<'de>(
    decoder: &mut Decoder<'de>,
    name: &str,
    mut item: impl FnMut(&mut Decoder<'de>) -> Result<()>,
) -> Result<()> {
    loop {
        let count = decoder.reader.avro_long(name)?;
        if count == 0 {
            return Ok(());
        }
        if count < 0 {
            decoder.reader.avro_long(name)?;
        }
        for _ in 0..count.unsigned_abs() {
            decoder.budget.spend(PASSED)?;
            item(decoder)?;
        }
    }
}
