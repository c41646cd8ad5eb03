//! Delete blocks of Hudi before 0.13: Java arrays, serialised by Kryo 4 with references.
//!
//! ```text
//! object    class  (reference  fields)          a class of plain values has no reference: the value follows
//! class     00 null │ 01 name number [name, where the number is new] │ n ≥ 02 registered class n - 2
//! reference 00 null │ 01 a new object follows │ n ≥ 02 object n - 2, counted in order of appearance
//! array     length + 1, objects
//! HoodieKey      partitionPath, recordKey: each a reference and a text
//! DeleteRecord   hoodieKey, orderingVal: each an object
//! text      ASCII of two characters or more: last byte with its high bit set; else characters + 1, each in up to three
//!           bytes like UTF-8
//! ```
//!
//! Version 1, up to 0.11, is an array of `HoodieKey`; version 2, of 0.12, one of `DeleteRecord`.

use super::delete::DeleteRecord;
use super::ordering::{DECIMAL_SCALE, OrderingValue, twos_complement};
use crate::instant::days_from_civil;
use crate::wire::Reader;
use crate::{Error, Result};

const KEY: &str = "org.apache.hudi.common.model.HoodieKey";
const RECORD: &str = "org.apache.hudi.common.model.DeleteRecord";

/// How often the length of the payload may be read again by way of references: a partition path is shared by all its keys.
const MOST_REREAD: usize = 64;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Array,
    Key,
    Record,
    Text,
    Integer,
    Float,
    Boolean,
    Long,
    Double,
    Utf8,
    Decimal,
    Timestamp,
    LocalDate,
}

impl Class {
    fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            KEY => Self::Key,
            RECORD => Self::Record,
            "java.math.BigDecimal" => Self::Decimal,
            "java.sql.Timestamp" => Self::Timestamp,
            "java.time.LocalDate" => Self::LocalDate,
            name => {
                let element = name.strip_prefix("[L")?.strip_suffix(';')?;
                return (element == KEY || element == RECORD).then_some(Self::Array);
            }
        })
    }

    /// The numbers that Kryo gives out itself, and that of 0.12 for the text class of Avro.
    fn by_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Integer,
            1 => Self::Text,
            2 => Self::Float,
            3 => Self::Boolean,
            7 => Self::Long,
            8 => Self::Double,
            10 => Self::Utf8,
            _ => return None,
        })
    }

    /// Whether Kryo remembers objects of the class.
    fn is_referenced(self) -> bool {
        !matches!(self, Self::Integer | Self::Float | Self::Boolean | Self::Long | Self::Double)
    }
}

/// The records of a payload, one by one.
#[derive(Debug, Clone)]
pub(super) struct Records<'a> {
    graph: Graph<'a>,
    left: usize,
}

impl<'a> Records<'a> {
    pub(super) fn new(payload: Reader<'a>) -> Result<Self> {
        let mut graph = Graph::new(payload);
        let left = match graph.begin()? {
            Some(Class::Array) => graph.count("length of the array")?,
            _ => return Err(graph.reader.corrupt("the deletes are no array")),
        };
        let left = left.checked_sub(1).ok_or_else(|| graph.reader.corrupt("the array of deletes has no length"))?;
        if left > graph.reader.left() {
            return Err(graph.reader.corrupt(format!("{left} deletes cannot be in {} bytes", graph.reader.left())));
        }
        Ok(Self { graph, left })
    }
}

impl Iterator for Records<'_> {
    type Item = Result<DeleteRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let record = self.graph.record();
        if record.is_err() {
            self.left = 0;
        }
        Some(record)
    }
}

/// A reading position in the payload, and what later parts of it may refer to.
#[derive(Debug, Clone)]
struct Graph<'a> {
    payload: Reader<'a>,
    reader: Reader<'a>,
    /// Class names, and where each was given.
    names: Vec<(Option<Class>, u64)>,
    /// Where the fields of each object are.
    objects: Vec<(Class, u32)>,
    /// Bytes that may still be read again.
    rereads: usize,
    /// Inside an object that is read again nothing is new.
    again: bool,
}

impl<'a> Graph<'a> {
    fn new(payload: Reader<'a>) -> Self {
        let rereads = payload.left().saturating_mul(MOST_REREAD);
        let reader = payload.clone();
        Self { payload, reader, names: Vec::new(), objects: Vec::new(), rereads, again: false }
    }

    /// A Kryo `int`: seven bits a byte, least first, at most 32 bits.
    fn count(&mut self, what: &str) -> Result<usize> {
        let offset = self.reader.offset();
        let value = self.varint(what, 5)?;
        let value = u32::try_from(value).ok().and_then(|value| usize::try_from(value).ok());
        value.ok_or_else(|| Error::corrupt(format!("{what} is no 32-bit number")).at_offset(offset))
    }

    /// Seven bits a byte, least first; a ninth byte has eight.
    fn varint(&mut self, what: &str, most: u32) -> Result<u64> {
        let mut value = 0_u64;
        for place in 0..most {
            let byte = self.reader.u8(what)?;
            if place == 8 {
                return Ok(value | u64::from(byte) << 56);
            }
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.reader.corrupt(format!("{what} has no end")))
    }

    /// Reads the class of an object. `None` is null.
    fn class(&mut self) -> Result<Option<Class>> {
        let offset = self.reader.offset();
        let number = self.varint("class", 5)?;
        let class = match number {
            0 => return Ok(None),
            1 => return self.named_class().map(Some),
            number => Class::by_number(number - 2),
        };
        let unknown =
            || Error::unsupported(format!("the Java class number {number} in a delete block")).at_offset(offset);
        class.map(Some).ok_or_else(unknown)
    }

    fn named_class(&mut self) -> Result<Class> {
        let at = self.reader.offset();
        let number = self.count("class name number")?;
        // A name stands where its number is new, also when that place is read again.
        let known = self.names.get(number).filter(|(_, given)| *given != at).copied();
        let class = match known {
            Some((class, _)) => class,
            None => {
                let name = self.text()?;
                let class = Class::by_name(&name);
                if class.is_none() {
                    return Err(Error::unsupported(format!("the Java class {name} in a delete block")).at_offset(at));
                }
                if number == self.names.len() {
                    self.names.push((class, at));
                }
                class
            }
        };
        class.ok_or_else(|| Error::corrupt("a class that is not named").at_offset(at))
    }

    /// Reads class and reference of an object that must be new; the reader is left at its fields.
    fn begin(&mut self) -> Result<Option<Class>> {
        let Some(class) = self.class()? else { return Ok(None) };
        match self.varint("reference", 5)? {
            1 => self.remember(class).map(|()| Some(class)),
            other => Err(self.reader.corrupt(format!("reference {other} where an object has to begin"))),
        }
    }

    fn remember(&mut self, class: Class) -> Result<()> {
        if !self.again {
            let position = self.payload.left() - self.reader.left();
            let position = u32::try_from(position).map_err(|_| self.reader.corrupt("deletes of more than 4 GiB"))?;
            self.objects.push((class, position));
        }
        Ok(())
    }

    /// Reads the reference to an object of `class` and, by `fields`, the object, here or where it was first.
    fn referred<T>(&mut self, class: Class, fields: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        let offset = self.reader.offset();
        let number = self.count("reference")?;
        match number.checked_sub(2) {
            None if number == 0 => Ok(None),
            None => {
                self.remember(class)?;
                fields(self).map(Some)
            }
            Some(number) => {
                let (known, position) = self.objects.get(number).copied().unwrap_or((Class::Array, 0));
                if known != class {
                    return Err(Error::corrupt(format!("no {class:?} to refer to under {number}")).at_offset(offset));
                }
                self.read_again(position, fields).map(Some)
            }
        }
    }

    fn read_again<T>(&mut self, position: u32, fields: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let here = self.reader.clone();
        let outer = std::mem::replace(&mut self.again, true);
        self.reader = self.payload.clone();
        self.reader.take(position as usize, "object")?;
        let before = self.reader.left();
        let value = fields(self)?;
        let read = before - self.reader.left();
        let rereads = self.rereads.checked_sub(read);
        self.rereads = rereads.ok_or_else(|| here.corrupt("deletes that refer to the same objects over and over"))?;
        (self.reader, self.again) = (here, outer);
        Ok(value)
    }

    /// The next element of the array.
    fn record(&mut self) -> Result<DeleteRecord> {
        let nothing = || DeleteRecord { key: None, partition: None, ordering: OrderingValue::Null };
        let found = match self.class()? {
            None => None,
            Some(Class::Key) => self.referred(Class::Key, Self::key)?.map(|(key, partition)| DeleteRecord {
                key,
                partition,
                ordering: OrderingValue::NONE,
            }),
            Some(Class::Record) => self.referred(Class::Record, Self::record_fields)?,
            Some(other) => return Err(self.reader.corrupt(format!("{other:?} where a delete is expected"))),
        };
        Ok(found.unwrap_or_else(nothing))
    }

    fn record_fields(&mut self) -> Result<DeleteRecord> {
        let key = match self.class()? {
            None => None,
            Some(Class::Key) => self.referred(Class::Key, Self::key)?,
            Some(other) => return Err(self.reader.corrupt(format!("{other:?} where a key is expected"))),
        };
        let (key, partition) = key.unwrap_or_default();
        Ok(DeleteRecord { key, partition, ordering: self.ordering()? })
    }

    fn key(&mut self) -> Result<(Option<String>, Option<String>)> {
        let partition = self.referred(Class::Text, Self::text)?;
        let key = self.referred(Class::Text, Self::text)?;
        Ok((key, partition))
    }

    fn ordering(&mut self) -> Result<OrderingValue> {
        let Some(class) = self.class()? else { return Ok(OrderingValue::Null) };
        if !class.is_referenced() {
            return self.value(class);
        }
        Ok(self.referred(class, |graph| graph.value(class))?.unwrap_or(OrderingValue::Null))
    }

    fn value(&mut self, class: Class) -> Result<OrderingValue> {
        const WHAT: &str = "ordering value";
        Ok(match class {
            Class::Integer => {
                let raw = self.count(WHAT)? as u32;
                OrderingValue::Int((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
            }
            Class::Long => {
                let raw = self.varint(WHAT, 9)?;
                OrderingValue::Long((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
            }
            Class::Float => OrderingValue::Float(f32::from_bits(self.reader.i32(WHAT)?.cast_unsigned())),
            Class::Double => OrderingValue::Double(f64::from_bits(self.reader.i64(WHAT)?.cast_unsigned())),
            Class::Boolean => OrderingValue::Bool(self.reader.u8(WHAT)? != 0),
            Class::Text => OrderingValue::String(self.text()?),
            Class::Utf8 => {
                let bytes = self.counted(WHAT)?;
                OrderingValue::String(crate::wire::utf8(bytes, WHAT, self.reader.offset())?.to_owned())
            }
            Class::Decimal => self.decimal()?,
            Class::Timestamp => {
                let millis = self.varint(WHAT, 9)?.cast_signed();
                let micros = millis.checked_mul(1000);
                OrderingValue::TimestampMicros(micros.ok_or_else(|| self.reader.corrupt("a time beyond all years"))?)
            }
            Class::LocalDate => self.local_date()?,
            Class::Array | Class::Key | Class::Record => {
                return Err(self.reader.corrupt(format!("{class:?} where an ordering value is expected")));
            }
        })
    }

    /// Bytes behind their number + 1.
    fn counted(&mut self, what: &str) -> Result<&'a [u8]> {
        let length = self.count(what)?;
        let length = length.checked_sub(1).ok_or_else(|| self.reader.corrupt(format!("{what} has no bytes")))?;
        self.reader.take(length, what)
    }

    fn decimal(&mut self) -> Result<OrderingValue> {
        let offset = self.reader.offset();
        let unscaled = twos_complement(self.counted("decimal")?, offset)?;
        let raw = self.count("scale of a decimal")? as u32;
        let scale = i64::from((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed());
        // As the later form has it: at a fixed scale, where Apache Hudi allows no rounding.
        let by = i64::from(DECIMAL_SCALE) - scale;
        let factor = u32::try_from(by).ok().and_then(|by| 10_i128.checked_pow(by));
        let value = factor.and_then(|factor| unscaled.checked_mul(factor));
        value.map(OrderingValue::Decimal).ok_or_else(|| {
            let message = format!(
                "a decimal ordering value of scale {scale}, beyond 38 digits of which {DECIMAL_SCALE} behind the point"
            );
            Error::unsupported(message).at_offset(offset)
        })
    }

    fn local_date(&mut self) -> Result<OrderingValue> {
        let offset = self.reader.offset();
        let year = (self.count("year")? as u32).cast_signed();
        let (month, day) = (self.reader.u8("month")?, self.reader.u8("day")?);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let longest = match month {
            2 => 28 + u8::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let is_date = (1..=12).contains(&month) && (1..=longest).contains(&day);
        let days = is_date.then(|| days_from_civil(i64::from(year), i64::from(month), i64::from(day)));
        days.and_then(|days| i32::try_from(days).ok())
            .map(OrderingValue::Date)
            .ok_or_else(|| Error::corrupt(format!("the date {year}-{month}-{day}")).at_offset(offset))
    }

    fn text(&mut self) -> Result<String> {
        let offset = self.reader.offset();
        let first = self.reader.u8("text")?;
        if first & 0x80 == 0 {
            return self.ascii(first);
        }
        let mut characters = u64::from(first & 0x3f);
        if first & 0x40 != 0 {
            characters |= self.varint("length of a text", 4)? << 6;
        }
        // Null has a reference of its own, where texts stand.
        let characters = characters.checked_sub(1).and_then(|length| usize::try_from(length).ok());
        let characters = characters.filter(|length| *length <= self.reader.left());
        let characters = characters.ok_or_else(|| Error::corrupt("a text longer than the block").at_offset(offset))?;
        let units = (0..characters).map(|_| self.utf16_unit());
        let mut text = String::new();
        for c in char::decode_utf16(units.collect::<Result<Vec<_>>>()?) {
            text.push(c.map_err(|e| Error::corrupt("a text with half a character").at_offset(offset).caused_by(e))?);
        }
        Ok(text)
    }

    fn ascii(&mut self, first: u8) -> Result<String> {
        let mut text = String::from(char::from(first));
        loop {
            let byte = self.reader.u8("text")?;
            text.push(char::from(byte & 0x7f));
            if byte & 0x80 != 0 {
                return Ok(text);
            }
        }
    }

    fn utf16_unit(&mut self) -> Result<u16> {
        let first = self.reader.u8("text")?;
        let mut next = || self.reader.u8("text").map(|byte| u16::from(byte & 0x3f));
        Ok(match first >> 4 {
            0..8 => u16::from(first),
            12 | 13 => u16::from(first & 0x1f) << 6 | next()?,
            14 => u16::from(first & 0x0f) << 12 | next()? << 6 | next()?,
            _ => return Err(self.reader.corrupt(format!("a text with the byte {first}"))),
        })
    }
}
