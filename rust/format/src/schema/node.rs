//! Avro schemas as hudini needs them: the shape of a datum, with logical types, read from JSON text.
//!
//! Names are resolved on the way in, so a node stands for itself. Attributes that no reader needs (docs, aliases, the
//! string classes of Java) are passed over; the text of a schema is kept by whoever has to write it again.

use super::vector::Vector;
use crate::{Error, Result};

/// A record: the top of every table schema, and every nested struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Full name, with namespace.
    pub name: String,
    pub fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub node: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Millis,
    Micros,
    Nanos,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum(Vec<String>),
    Array(Box<Node>),
    Map(Box<Node>),
    Record(Record),
    Union(Vec<Node>),
    Date,
    /// Time of day: millis are ints, micros are longs.
    Time(TimeUnit),
    /// `utc` marks an instant; otherwise it is a local date and time.
    Timestamp {
        unit: TimeUnit,
        utc: bool,
    },
    /// `size` is the width of a fixed; without one the unscaled value is of type bytes.
    Decimal {
        precision: u8,
        scale: i8,
        size: Option<usize>,
    },
    /// A fixed of the bytes of numbers.
    Vector(Vector),
}

impl Record {
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

impl Node {
    /// The word for it in messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Fixed(_) => "fixed",
            Self::Enum(_) => "enum",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Record(_) => "record",
            Self::Union(_) => "union",
            Self::Date => "date",
            Self::Time(_) => "time",
            Self::Timestamp { .. } => "timestamp",
            Self::Decimal { .. } => "decimal",
            Self::Vector(_) => "vector",
        }
    }

    /// Splits a union of null and one type into that type and the position of null; other types are never null.
    pub fn optional(&self) -> Result<(&Self, Option<usize>)> {
        let Self::Union(branches) = self else { return Ok((self, None)) };
        match branches.as_slice() {
            [Self::Null, inner] if *inner != Self::Null => Ok((inner, Some(0))),
            [inner, Self::Null] => Ok((inner, Some(1))),
            _ => Err(Error::unsupported(format!(
                "an Avro union of {} branches that is not 'null or one type'",
                branches.len()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_nodes() {
        let reversed = Node::Union(vec![Node::Int, Node::Null]);
        assert_eq!(reversed.optional().unwrap(), (&Node::Int, Some(1)));
        assert!(Node::Union(vec![Node::Int, Node::Long]).optional().is_err());
    }
}
