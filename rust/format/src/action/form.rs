//! Reading and writing a payload by the schema of its file.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::container::{self, Container};
use super::datum::{Budget, Decoder, to_bytes};
use super::extra::WriterSchema;
use crate::schema::{Node, Record};
use crate::{Error, Result};

/// One kind of record as the newest Apache Hudi declares it: the text that stands in headers, and what it means.
pub(super) struct Form {
    text: &'static str,
    record: Result<Record>,
}

impl Form {
    pub(super) fn new(text: &'static str) -> Self {
        Self { text, record: Record::parse(text) }
    }

    fn record(&self) -> Result<&Record> {
        self.record.as_ref().map_err(|e| Error::internal(format!("a built-in Avro schema does not parse: {e}")))
    }

    /// Whether a file with this schema holds such a record. Apache Hudi does not care for the namespace either.
    pub(super) fn is_of(&self, other: &Record) -> bool {
        let simple = |name: &str| name.rsplit('.').next().map(str::to_owned);
        self.record.as_ref().is_ok_and(|own| simple(&own.name) == simple(&other.name))
    }

    /// Decodes the record of a container file, whatever its writer's release: fields that the file lacks take the
    /// defaults of their type, unknown ones are kept beside the known.
    pub(super) fn decode<T: DeserializeOwned>(forms: &[&Self], bytes: &[u8], what: &str) -> Result<(T, WriterSchema)> {
        if bytes.is_empty() {
            return Err(Error::corrupt(format!("an empty file where there should be {what}")).at_offset(0));
        }
        let broken = |e: Error| match e.offset() {
            Some(offset) => Error::new(e.kind(), format!("{what} cannot be decoded")).at_offset(offset).caused_by(e),
            None => Error::new(e.kind(), format!("{what} cannot be decoded")).caused_by(e),
        };
        Self::decode_container(forms, bytes).map_err(broken)
    }

    fn decode_container<T: DeserializeOwned>(forms: &[&Self], bytes: &[u8]) -> Result<(T, WriterSchema)> {
        let container = Container::parse(bytes)?;
        if let Some(form) = forms.iter().find(|form| form.text == container.schema) {
            return Ok((container.decode(form.record()?, bytes.len())?, WriterSchema::default()));
        }
        let writer = Record::parse(container.schema)?;
        let Some(form) = forms.iter().find(|form| form.is_of(&writer)) else {
            return Err(Error::corrupt(format!("the file holds a record of type {}", writer.name)));
        };
        let wider = is_wider_record(&writer, form.record()?);
        let schema = WriterSchema(wider.then(|| Arc::from(container.schema)));
        Ok((container.decode(&writer, bytes.len())?, schema))
    }

    /// Encodes a container file.
    pub(super) fn encode<T: Serialize>(&self, value: &T) -> Result<Vec<u8>> {
        Ok(container::write(self.text, &to_bytes(value, self.record()?)?))
    }
}

/// Encodes a container file by the schema of the file that the value was read from. What is read back must be the same:
/// that schema need not have all the fields of ours.
pub(super) fn encode_as_read<T: Serialize + PartialEq>(
    value: &T,
    schema: &str,
    decode: impl Fn(&[u8]) -> Result<T>,
) -> Result<Vec<u8>> {
    let bytes = container::write(schema, &to_bytes(value, &Record::parse(schema)?)?);
    if decode(&bytes)? != *value {
        let message = "a value was set that the schema of the file this payload was read from has no field for";
        return Err(Error::schema(message).with_hint("reset writer_schema to write it by this release's schema"));
    }
    Ok(bytes)
}

impl Container<'_> {
    pub(super) fn decode<T: DeserializeOwned>(&self, schema: &Record, file_length: usize) -> Result<T> {
        let mut decoder = Decoder::new(&self.record, self.offset, Budget::of(file_length.max(self.record.len())));
        let value = decoder.read(schema)?;
        decoder.finish()?;
        Ok(value)
    }
}

/// Whether a writer's record has fields, at any depth, that ours lacks.
fn is_wider_record(writer: &Record, ours: &Record) -> bool {
    writer.fields.iter().any(|field| ours.field(&field.name).is_none_or(|own| is_wider(&field.node, &own.node)))
}

fn is_wider(writer: &Node, ours: &Node) -> bool {
    match (strip(writer), strip(ours)) {
        (Node::Record(writer), Node::Record(ours)) => is_wider_record(writer, ours),
        (Node::Array(writer), Node::Array(ours)) | (Node::Map(writer), Node::Map(ours)) => is_wider(writer, ours),
        _ => false,
    }
}

/// The one type beside null.
fn strip(node: &Node) -> &Node {
    match node.optional() {
        Ok((inner, _)) => inner,
        Err(_) => node,
    }
}

/// Gives a payload its `decode` and `encode`.
macro_rules! payload {
    ($type:ident, $what:literal, $record:literal) => {
        const _: () = {
            use crate::action::form::{Form, encode_as_read};

            static FORM: std::sync::LazyLock<Form> =
                std::sync::LazyLock::new(|| Form::new(include_str!(concat!("schemas/", $record, ".avsc"))));

            impl $type {
                /// Decodes the file of any release.
                pub fn decode(bytes: &[u8]) -> crate::Result<Self> {
                    let (mut value, schema): (Self, _) = Form::decode(&[&FORM], bytes, $what)?;
                    value.writer_schema = schema;
                    Ok(value)
                }

                /// Encodes for layout 2: the bytes of Apache Hudi but for the order of maps and the sync marker.
                pub fn encode(&self) -> crate::Result<Vec<u8>> {
                    match self.writer_schema.text() {
                        Some(schema) => encode_as_read(self, schema, Self::decode),
                        None => FORM.encode(self),
                    }
                }
            }
        };
    };
}
pub(super) use payload;

/// Defaults of `version` where a file lacks it, as the schemas declare them.
pub(super) fn version_1() -> Option<i32> {
    Some(1)
}
