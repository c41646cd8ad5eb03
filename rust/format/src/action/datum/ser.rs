//! A type → bytes of a datum.

use serde::Serialize;
use serde::ser::{Impossible, SerializeMap, SerializeSeq, SerializeStruct, Serializer};

use super::{branch_name, needs_name};
use crate::schema::{Node, Record};
use crate::wire::{put_avro_bytes, put_avro_long};
use crate::{Error, Result};

/// Encodes `value`, a struct or map, as a record. Fields are found by name; values that the schema has no field for are
/// left out.
pub(crate) fn to_bytes<T: Serialize>(value: &T, schema: &Record) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let datum = Datum { name: &schema.name, target: Target::Record(schema), out: &mut out };
    value.serialize(datum)?;
    Ok(out)
}

impl serde::ser::Error for Error {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::schema(message.to_string())
    }
}

#[derive(Clone, Copy)]
enum Target<'a> {
    Node(&'a Node),
    Record(&'a Record),
}

/// Where the next value goes.
struct Datum<'a, 'o> {
    name: &'a str,
    target: Target<'a>,
    out: &'o mut Vec<u8>,
}

impl<'a, 'o> Datum<'a, 'o> {
    fn misfit(&self, what: &str) -> Error {
        let kind = match self.target {
            Target::Node(node) => node.kind(),
            Target::Record(_) => "record",
        };
        Error::schema(format!("the field '{}' is of type {kind} and cannot hold {what}", self.name))
    }

    /// Steps into the first branch of a union that takes the value, if the target still is one.
    fn branch(&mut self, takes: fn(&Node) -> bool) {
        if let Target::Node(Node::Union(branches)) = self.target
            && let Some((at, node)) = branches.iter().enumerate().find(|(_, b)| takes(b))
        {
            put_avro_long(self.out, at as i64);
            self.target = Target::Node(node);
        }
    }

    fn null(mut self) -> Result<()> {
        self.branch(|n| *n == Node::Null);
        match self.target {
            Target::Node(Node::Null) => Ok(()),
            _ => Err(self.misfit("null")),
        }
    }

    fn integer(mut self, value: i64) -> Result<()> {
        self.branch(|n| is_int(n) || is_long(n) || is_float(n));
        match self.target {
            Target::Node(node) if is_long(node) || (is_int(node) && i32::try_from(value).is_ok()) => {
                put_avro_long(self.out, value);
                Ok(())
            }
            Target::Node(node) if is_float(node) => self.float(value as f64),
            _ => Err(self.misfit(&value.to_string())),
        }
    }

    fn float(mut self, value: f64) -> Result<()> {
        self.branch(|n| *n == Node::Double);
        self.branch(is_float);
        match self.target {
            Target::Node(Node::Double) => self.out.extend_from_slice(&value.to_le_bytes()),
            Target::Node(Node::Float) => self.out.extend_from_slice(&(value as f32).to_le_bytes()),
            _ => return Err(self.misfit("a floating-point number")),
        }
        Ok(())
    }

    fn text(mut self, text: &str) -> Result<()> {
        self.branch(|n| *n == Node::String);
        self.branch(|n| is_text(n) || is_float(n));
        let Target::Node(node) = self.target else { return Err(self.misfit("text")) };
        match node {
            Node::String => put_avro_bytes(self.out, text.as_bytes()),
            Node::Bytes | Node::Decimal { size: None, .. } => put_avro_bytes(self.out, &self.bytes(text)?),
            Node::Fixed(size) | Node::Decimal { size: Some(size), .. } => {
                let bytes = self.bytes(text)?;
                if bytes.len() != *size {
                    return Err(self.misfit(&format!("{} bytes instead of {size}", bytes.len())));
                }
                self.out.extend_from_slice(&bytes);
            }
            Node::Enum(symbols) => {
                let at = symbols.iter().position(|s| s == text);
                put_avro_long(self.out, at.ok_or_else(|| self.misfit(&format!("the symbol {text}")))? as i64);
            }
            Node::Float | Node::Double => match text {
                "NaN" => return self.float(f64::NAN),
                "Infinity" => return self.float(f64::INFINITY),
                "-Infinity" => return self.float(f64::NEG_INFINITY),
                _ => return Err(self.misfit("text")),
            },
            _ => return Err(self.misfit("text")),
        }
        Ok(())
    }

    fn bytes(&self, text: &str) -> Result<Vec<u8>> {
        let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        bytes.map_err(|_| self.misfit("characters above U+00FF"))
    }

    fn fields(self, record: &'a Record) -> Entries<'a, 'o> {
        Entries::Fields(Fields { record, next: 0, early: Vec::new(), out: self.out })
    }
}

fn is_int(node: &Node) -> bool {
    matches!(node, Node::Int | Node::Date)
}

fn is_long(node: &Node) -> bool {
    matches!(node, Node::Long | Node::Time(_) | Node::Timestamp { .. })
}

fn is_float(node: &Node) -> bool {
    matches!(node, Node::Float | Node::Double)
}

fn is_text(node: &Node) -> bool {
    matches!(node, Node::String | Node::Bytes | Node::Fixed(_) | Node::Decimal { .. } | Node::Enum(_))
}

impl<'a, 'o> Serializer for Datum<'a, 'o> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'a, 'o>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Entries<'a, 'o>;
    type SerializeStruct = Entries<'a, 'o>;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_bool(mut self, value: bool) -> Result<()> {
        self.branch(|n| *n == Node::Boolean);
        match self.target {
            Target::Node(Node::Boolean) => self.out.push(u8::from(value)),
            _ => return Err(self.misfit("a boolean")),
        }
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<()> {
        self.integer(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<()> {
        self.integer(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<()> {
        self.integer(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<()> {
        self.integer(value)
    }

    fn serialize_u8(self, value: u8) -> Result<()> {
        self.integer(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<()> {
        self.integer(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<()> {
        self.integer(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<()> {
        match i64::try_from(value) {
            Ok(value) => self.integer(value),
            Err(_) => Err(self.misfit(&value.to_string())),
        }
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        self.float(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        self.text(value)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<()> {
        Err(self.misfit("bare bytes"))
    }

    fn serialize_none(self) -> Result<()> {
        self.null()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.null()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.null()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: &T,
    ) -> Result<()> {
        Err(self.misfit(variant))
    }

    fn serialize_seq(mut self, length: Option<usize>) -> Result<Items<'a, 'o>> {
        self.branch(|n| matches!(n, Node::Array(_)));
        match (self.target, length) {
            (Target::Node(Node::Array(item)), Some(length)) => Ok(Items::new(self, item, length)),
            _ => Err(self.misfit("a list")),
        }
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple> {
        Err(self.misfit("a tuple"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct> {
        Err(self.misfit("a tuple"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant> {
        Err(self.misfit(variant))
    }

    fn serialize_map(mut self, length: Option<usize>) -> Result<Entries<'a, 'o>> {
        if let Target::Node(Node::Union(branches)) = self.target
            && needs_name(branches)
        {
            let Self { name, out, .. } = self;
            return Ok(Entries::Tagged { name, branches, out, values: 0 });
        }
        self.branch(|n| matches!(n, Node::Map(_) | Node::Record(_)));
        match (self.target, length) {
            (Target::Node(Node::Map(value)), Some(length)) => Ok(Entries::Items(Items::new(self, value, length))),
            (Target::Node(Node::Record(record)) | Target::Record(record), _) => Ok(self.fields(record)),
            _ => Err(self.misfit("an object")),
        }
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Entries<'a, 'o>> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant> {
        Err(self.misfit(variant))
    }
}

/// Items of an array or values of a map: one block, as Java writes it, and the block of none at the end.
pub(super) struct Items<'a, 'o> {
    name: &'a str,
    node: &'a Node,
    out: &'o mut Vec<u8>,
}

impl<'a, 'o> Items<'a, 'o> {
    fn new(datum: Datum<'a, 'o>, node: &'a Node, length: usize) -> Self {
        if length > 0 {
            put_avro_long(datum.out, length as i64);
        }
        Self { name: datum.name, node, out: datum.out }
    }

    fn item(&mut self) -> Datum<'a, '_> {
        Datum { name: self.name, target: Target::Node(self.node), out: self.out }
    }

    fn close(self) {
        put_avro_long(self.out, 0);
    }
}

impl SerializeSeq for Items<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(self.item())
    }

    fn end(self) -> Result<()> {
        self.close();
        Ok(())
    }
}

/// Fields of a record. They mostly come in the order of the schema; those that come early wait.
pub(super) struct Fields<'a, 'o> {
    record: &'a Record,
    /// The field whose turn it is.
    next: usize,
    early: Vec<(usize, Vec<u8>)>,
    out: &'o mut Vec<u8>,
}

impl<'a> Fields<'a, '_> {
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        let fields = &self.record.fields;
        let here = fields.get(self.next).filter(|f| f.name == name).map(|f| (self.next, f));
        let Some((at, field)) = here.or_else(|| fields.iter().enumerate().find(|(_, f)| f.name == name)) else {
            return Ok(());
        };
        let datum = |out| Datum { name: &field.name, target: Target::Node(&field.node), out };
        if at == self.next {
            value.serialize(datum(self.out))?;
            self.next += 1;
            self.catch_up();
        } else {
            let mut bytes = Vec::new();
            value.serialize(datum(&mut bytes))?;
            self.early.push((at, bytes));
        }
        Ok(())
    }

    fn catch_up(&mut self) {
        while let Some(at) = self.early.iter().position(|(at, _)| *at == self.next) {
            self.out.extend_from_slice(&self.early.swap_remove(at).1);
            self.next += 1;
        }
    }

    fn close(self) -> Result<()> {
        match self.record.fields.get(self.next) {
            None => Ok(()),
            Some(field) => {
                Err(Error::schema(format!("the field '{}' of {} has no value", field.name, self.record.name)))
            }
        }
    }
}

/// A struct, a map, or an object that names a branch of a union.
pub(super) enum Entries<'a, 'o> {
    Fields(Fields<'a, 'o>),
    Items(Items<'a, 'o>),
    Tagged { name: &'a str, branches: &'a [Node], out: &'o mut Vec<u8>, values: usize },
}

impl Entries<'_, '_> {
    fn entry<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<()> {
        match self {
            Self::Fields(fields) => fields.field(key, value),
            Self::Items(items) => {
                put_avro_bytes(items.out, key.as_bytes());
                value.serialize(items.item())
            }
            Self::Tagged { name, branches, out, values } => {
                *values += 1;
                let at = (0..branches.len()).find(|at| branch_name(branches, *at) == key);
                let Some((at, node)) = at.and_then(|at| Some((at, branches.get(at)?))) else {
                    return Err(Error::schema(format!("the field '{name}' is of no type '{key}'")));
                };
                put_avro_long(out, at as i64);
                value.serialize(Datum { name, target: Target::Node(node), out })
            }
        }
    }

    fn close(self) -> Result<()> {
        match self {
            Self::Fields(fields) => fields.close(),
            Self::Items(items) => {
                items.close();
                Ok(())
            }
            Self::Tagged { values: 1, .. } => Ok(()),
            Self::Tagged { name, .. } => {
                Err(Error::schema(format!("the field '{name}' needs one value with its type")))
            }
        }
    }
}

impl SerializeMap for Entries<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_entry<K: Serialize + ?Sized, V: Serialize + ?Sized>(&mut self, key: &K, value: &V) -> Result<()> {
        let key = key.serialize(serde_json::value::Serializer).map_err(<Error as serde::ser::Error>::custom)?;
        let key = key.as_str().ok_or_else(|| Error::schema("the keys of an Avro map are text"))?;
        self.entry(key, value)
    }

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<()> {
        Err(Error::internal("keys and values are serialized together"))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<()> {
        Err(Error::internal("keys and values are serialized together"))
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

impl SerializeStruct for Entries<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<()> {
        self.entry(name, value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}
