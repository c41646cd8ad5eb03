//! Bytes of a datum → a type.

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, StrDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::alike::Layout;
use super::{branch_name, needs_name};
use crate::schema::{Field, Node, Record};
use crate::wire::{Reader, utf8};
use crate::{Error, Result};

/// Memory that the values of a file may take, by the bytes they come from. The leanest thing that Apache Hudi writes, the
/// statistics of a planned file with every counter at zero, takes twelve bytes of memory for one of the file.
const MEMORY_PER_BYTE: usize = 13;
const SPARE_MEMORY: usize = 512 * 1024;

/// Items are given room at once if they are at least this long, as most are: growing in steps would take thrice as much.
const LIKELY_ITEM: usize = 48;
/// What growing in steps costs: the last step holds the old half beside the doubled new room.
pub(crate) const GROWTH: usize = 3;

/// The nodes of a tree map are about half full.
pub(crate) const MAP_SLACK: usize = 2;

/// A node of a tree of JSON values at most: its name, itself, and what both were before they became a tree.
pub(crate) const TREE_NODE: usize = 512;
/// For trees that are only shown: a null is one byte in the file.
const TREE_PER_BYTE: usize = 384;

/// How much memory the values read so far have left. It falls by what each item takes in memory, so that items of no or
/// few bytes, which a hostile schema can ask for in any number, come to an end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget(usize);

impl Budget {
    /// For values that come from `bytes` of a file.
    pub(crate) fn of(bytes: usize) -> Self {
        Self(bytes.saturating_mul(MEMORY_PER_BYTE).saturating_add(SPARE_MEMORY))
    }

    /// For a tree of JSON values, in which even a null has its name.
    pub(crate) fn of_tree(bytes: usize) -> Self {
        Self(bytes.saturating_mul(TREE_PER_BYTE).saturating_add(SPARE_MEMORY))
    }

    pub(crate) fn spend(&mut self, bytes: usize) -> Result<()> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| {
            Error::corrupt("the values of this file would take far more memory than its bytes can stand for")
        })?;
        Ok(())
    }
}

/// Reads datums, one after the other.
#[derive(Debug)]
pub(crate) struct Decoder<'de> {
    pub(super) reader: Reader<'de>,
    pub(super) budget: Budget,
    pub(super) layout: Layout<'de>,
}

impl<'de> Decoder<'de> {
    /// `offset` is where `bytes` start in their file.
    pub(crate) fn new(bytes: &'de [u8], offset: u64, budget: Budget) -> Self {
        Self { reader: Reader::new(bytes, offset), budget, layout: Layout::default() }
    }

    pub(crate) fn read<T: DeserializeOwned>(&mut self, schema: &Record) -> Result<T> {
        // Another schema may lie where the last one lay.
        self.layout = Layout::default();
        let value = T::deserialize(MapAccessDeserializer::new(Fields::new(schema, self, false)));
        value.map_err(|e| e.at_offset(self.reader.offset()))
    }

    /// Nothing may be left of the bytes.
    pub(crate) fn finish(self) -> Result<()> {
        match self.reader.left() {
            0 => Ok(()),
            left => Err(self.reader.corrupt(format!("{left} bytes follow the last Avro value"))),
        }
    }
}

impl serde::de::Error for Error {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::corrupt(message.to_string())
    }
}

/// The value that stands at the decoder's position.
pub(super) struct Datum<'a, 'de> {
    pub(super) name: &'a str,
    pub(super) node: &'a Node,
    pub(super) decoder: &'a mut Decoder<'de>,
}

/// Which branch of a union was taken, and its position.
#[inline]
pub(super) fn branch<'a>(reader: &mut Reader<'_>, name: &str, branches: &'a [Node]) -> Result<(usize, &'a Node)> {
    let offset = reader.offset();
    let at = reader.avro_long(name)?;
    let found = usize::try_from(at).ok().and_then(|at| Some((at, branches.get(at)?)));
    found.ok_or_else(|| {
        let message = format!("{name} has branch {at} of a union of {}", branches.len());
        Error::corrupt(message).at_offset(offset)
    })
}

impl<'a, 'de> Datum<'a, 'de> {
    /// Goes into a union: the branch that was taken, and its position.
    fn branch(self, branches: &'a [Node]) -> Result<(usize, Self)> {
        let (at, node) = branch(&mut self.decoder.reader, self.name, branches)?;
        Ok((at, Self { node, ..self }))
    }

    /// The value, whichever branch it comes from, unless it is null.
    fn plain(self) -> Result<Option<Self>> {
        let datum = match self.node {
            Node::Union(branches) => self.branch(branches)?.1,
            _ => self,
        };
        Ok((*datum.node != Node::Null).then_some(datum))
    }

    fn boolean(self) -> Result<bool> {
        match self.decoder.reader.u8(self.name)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.decoder.reader.corrupt(format!("{} is the boolean {other}", self.name))),
        }
    }

    fn symbol(self, symbols: &'a [String]) -> Result<&'a str> {
        let at = self.decoder.reader.avro_long(self.name)?;
        let symbol = usize::try_from(at).ok().and_then(|at| symbols.get(at));
        let unknown = || self.decoder.reader.corrupt(format!("{} is symbol {at} of {}", self.name, symbols.len()));
        symbol.map(String::as_str).ok_or_else(unknown)
    }

    fn text(&mut self) -> Result<&'de str> {
        let text = self.decoder.reader.avro_string(self.name)?;
        self.decoder.budget.spend(text.len())?;
        Ok(text)
    }

    /// As text of one character a byte.
    fn latin(self, size: Option<usize>) -> Result<String> {
        let bytes = match size {
            Some(size) => self.decoder.reader.take(size, self.name)?,
            None => self.decoder.reader.avro_bytes(self.name)?,
        };
        self.decoder.budget.spend(bytes.len() * 2)?;
        Ok(bytes.iter().copied().map(char::from).collect())
    }

    /// `tree` if what comes is taken as it comes.
    fn visit<V: Visitor<'de>>(mut self, visitor: V, tree: bool) -> Result<V::Value> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            Node::Boolean => visitor.visit_bool(self.boolean()?),
            Node::Int | Node::Date => visitor.visit_i32(self.decoder.reader.avro_int(self.name)?),
            Node::Long | Node::Time(_) | Node::Timestamp { .. } => {
                visitor.visit_i64(self.decoder.reader.avro_long(self.name)?)
            }
            Node::Float => visitor.visit_f32(self.decoder.reader.f32_le(self.name)?),
            Node::Double => visitor.visit_f64(self.decoder.reader.f64_le(self.name)?),
            Node::String => visitor.visit_borrowed_str(self.text()?),
            Node::Bytes | Node::Decimal { size: None, .. } => visitor.visit_string(self.latin(None)?),
            Node::Fixed(size) | Node::Decimal { size: Some(size), .. } => {
                visitor.visit_string(self.latin(Some(*size))?)
            }
            Node::Vector(vector) => visitor.visit_string(self.latin(Some(vector.size()))?),
            Node::Enum(symbols) => visitor.visit_str(self.symbol(symbols)?),
            Node::Array(item) => visitor.visit_seq(Items::open(self.name, item, self.decoder, tree)?),
            Node::Map(value) => visitor.visit_map(Items::open(self.name, value, self.decoder, tree)?),
            Node::Record(record) => visitor.visit_map(Fields::new(record, self.decoder, tree)),
            Node::Union(_) => match self.plain()? {
                Some(datum) => datum.visit(visitor, tree),
                None => visitor.visit_unit(),
            },
        }
    }
}

impl<'de> Deserializer<'de> for Datum<'_, 'de> {
    type Error = Error;

    /// For types that take whatever comes: what cannot be told from the value alone is spelled out.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let datum = match self.node {
            Node::Union(branches) => {
                let (at, datum) = self.branch(branches)?;
                if *datum.node != Node::Null && needs_name(branches) {
                    return visitor.visit_map(Tagged { name: Some(branch_name(branches, at)), datum: Some(datum) });
                }
                datum
            }
            _ => self,
        };
        let number = match datum.node {
            Node::Float => f64::from(datum.decoder.reader.f32_le(datum.name)?),
            Node::Double => datum.decoder.reader.f64_le(datum.name)?,
            _ => return datum.visit(visitor, true),
        };
        match number {
            number if number.is_finite() => visitor.visit_f64(number),
            number if number.is_nan() => visitor.visit_str("NaN"),
            number => visitor.visit_str(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plain()? {
            Some(datum) => visitor.visit_some(datum),
            None => visitor.visit_none(),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Some(datum) = self.plain()? else { return visitor.visit_unit() };
        // Avro's own promotion.
        if *datum.node == Node::Bytes {
            let offset = datum.decoder.reader.offset();
            let bytes = datum.decoder.reader.avro_bytes(datum.name)?;
            datum.decoder.budget.spend(bytes.len())?;
            return visitor.visit_borrowed_str(utf8(bytes, datum.name, offset)?);
        }
        datum.visit(visitor, false)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_string(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.typed(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.typed(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.typed(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.typed(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct enum
        identifier
    }
}

impl<'de> Datum<'_, 'de> {
    /// For types that know what they want: the branch goes unsaid.
    fn typed<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plain()? {
            Some(datum) => datum.visit(visitor, false),
            None => visitor.visit_unit(),
        }
    }
}

/// The fields of a record as a map from name to value.
struct Fields<'a, 'de> {
    fields: std::slice::Iter<'a, Field>,
    field: Option<&'a Field>,
    decoder: &'a mut Decoder<'de>,
    tree: bool,
}

impl<'a, 'de> Fields<'a, 'de> {
    fn new(record: &'a Record, decoder: &'a mut Decoder<'de>, tree: bool) -> Self {
        Self { fields: record.fields.iter(), field: None, decoder, tree }
    }
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.field = self.fields.next();
        if let Some(field) = self.field.filter(|_| self.tree) {
            self.decoder.budget.spend(TREE_NODE + 2 * field.name.len())?;
        }
        self.field.map(|field| seed.deserialize(StrDeserializer::new(&field.name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let field = self.field.take().ok_or_else(|| Error::internal("a value was asked for before its name"))?;
        seed.deserialize(Datum { name: &field.name, node: &field.node, decoder: self.decoder })
    }
}

/// The items of an array, or the entries of a map.
struct Items<'a, 'de> {
    name: &'a str,
    node: &'a Node,
    decoder: &'a mut Decoder<'de>,
    /// Of the block that is being read; the end is a block of none.
    left: usize,
    /// Items yet to come for which a list has room.
    room: usize,
    tree: bool,
}

impl<'a, 'de> Items<'a, 'de> {
    fn open(name: &'a str, node: &'a Node, decoder: &'a mut Decoder<'de>, tree: bool) -> Result<Self> {
        let mut items = Self { name, node, decoder, left: 0, room: 0, tree };
        items.block()?;
        items.room = items.left.min(items.decoder.reader.left() / LIKELY_ITEM);
        Ok(items)
    }

    /// Blocks that say their length in bytes have a negative count.
    fn block(&mut self) -> Result<()> {
        let count = self.decoder.reader.avro_long(self.name)?;
        if count < 0 {
            self.decoder.reader.avro_long(self.name)?;
        }
        self.left = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        Ok(())
    }

    /// Called before each item, which takes so much memory beside what it points to.
    fn more(&mut self, size: usize) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.decoder.budget.spend(if self.tree { TREE_NODE } else { size })?;
        Ok(true)
    }

    /// Called behind each item.
    fn next(&mut self) -> Result<()> {
        self.left = self.left.saturating_sub(1);
        self.room = self.room.saturating_sub(1);
        if self.left == 0 { self.block() } else { Ok(()) }
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let growth = if self.room > 0 { 1 } else { GROWTH };
        if !self.more(growth * size_of::<T::Value>())? {
            return Ok(None);
        }
        let item = seed.deserialize(Datum { name: self.name, node: self.node, decoder: self.decoder })?;
        self.next()?;
        Ok(Some(item))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.room)
    }
}

impl<'de> MapAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.more(MAP_SLACK * size_of::<K::Value>())? {
            return Ok(None);
        }
        let key = self.decoder.reader.avro_string(self.name)?;
        self.decoder.budget.spend(key.len())?;
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.decoder.budget.spend(MAP_SLACK * size_of::<V::Value>())?;
        let value = seed.deserialize(Datum { name: self.name, node: self.node, decoder: self.decoder })?;
        self.next()?;
        Ok(value)
    }
}

/// A value of a union of several types, as an object with one member.
struct Tagged<'a, 'de> {
    name: Option<String>,
    datum: Option<Datum<'a, 'de>>,
}

impl<'de> MapAccess<'de> for Tagged<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.name.take().map(|name| seed.deserialize(StringDeserializer::new(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let datum = self.datum.take().ok_or_else(|| Error::internal("a union has one value"))?;
        seed.deserialize(datum)
    }
}
