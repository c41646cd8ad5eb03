//! Avro schema text as Apache Hudi on Spark names and orders it.
//!
//! ```text
//! {"type":"record","name":"<table>_record","namespace":"hoodie.<table>","fields":[
//!    {"name":…,"type":["null",…],"doc":…,"default":null}, …]}
//! ```
//!
//! A record in column `a` is called `a` in the namespace of its parent's full name, a fixed is called `fixed` in the
//! namespace of its column's; those in items and values of `a` have the same names as if they stood in `a` itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::json::push_text;
use super::meta;
use super::node::{Field, Node, Record, TimeUnit};
use super::vector::BACKING;
use crate::{Error, Result};

/// What a node does not hold, of columns by their full names.
pub(super) type Notes<'a> = BTreeMap<String, Note<'a>>;

#[derive(Default)]
pub(super) struct Note<'a> {
    pub(super) doc: Option<&'a str>,
    /// A text that is a UUID.
    pub(super) uuid: bool,
}

/// The text of a record that has the names above. Meta columns carry the empty doc that Apache Hudi gives them.
pub(super) fn record(record: &Record, notes: &Notes<'_>) -> Result<String> {
    let mut printer = Printer { out: String::new(), notes };
    printer.record(record)?;
    Ok(printer.out)
}

struct Printer<'a> {
    out: String,
    notes: &'a Notes<'a>,
}

impl Printer<'_> {
    fn record(&mut self, record: &Record) -> Result<()> {
        self.out.push_str(r#"{"type":"record","#);
        self.named(&record.name);
        self.out.push_str(r#","fields":["#);
        for (at, field) in record.fields.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.field(field, &format!("{}.{}", record.name, field.name))?;
        }
        self.out.push_str("]}");
        Ok(())
    }

    /// No type stands in the namespace of the one around it, so each says its own.
    fn named(&mut self, full: &str) {
        let (namespace, name) = full.rsplit_once('.').unwrap_or(("", full));
        self.out.push_str(r#""name":"#);
        push_text(&mut self.out, name);
        if !namespace.is_empty() {
            self.out.push_str(r#","namespace":"#);
            push_text(&mut self.out, namespace);
        }
    }

    fn field(&mut self, field: &Field, full: &str) -> Result<()> {
        self.out.push_str(r#"{"name":"#);
        push_text(&mut self.out, &field.name);
        self.out.push_str(r#","type":"#);
        self.node(&field.node, full)?;
        let doc = self.notes.get(full).and_then(|note| note.doc);
        if let Some(doc) = doc.or(meta::is_meta(&field.name).then_some("")) {
            self.out.push_str(r#","doc":"#);
            push_text(&mut self.out, doc);
        }
        if field.node.optional().is_ok_and(|(_, null)| null == Some(0)) {
            self.out.push_str(r#","default":null"#);
        }
        self.out.push('}');
        Ok(())
    }

    fn node(&mut self, node: &Node, full: &str) -> Result<()> {
        match node {
            Node::Union(branches) => {
                self.out.push('[');
                for (at, branch) in branches.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.node(branch, full)?;
                }
                self.out.push(']');
            }
            Node::Array(item) => {
                self.out.push_str(r#"{"type":"array","items":"#);
                self.node(item, full)?;
                self.out.push('}');
            }
            Node::Map(value) => {
                self.out.push_str(r#"{"type":"map","values":"#);
                self.node(value, full)?;
                self.out.push('}');
            }
            Node::Record(record) => self.record(record)?,
            Node::Fixed(size) => self.fixed(*size, full, ""),
            Node::Vector(vector) => {
                let (dimension, element) = (vector.dimension, vector.element.name());
                let kind = format!(r#""dimension":{dimension},"elementType":"{element}","storageBacking":"{BACKING}""#);
                self.fixed(vector.size(), full, &format!(r#","logicalType":"vector",{kind}"#));
            }
            Node::Decimal { precision, scale, size } => {
                let logical = format!(r#","logicalType":"decimal","precision":{precision},"scale":{scale}"#);
                match size {
                    Some(size) => self.fixed(*size, full, &logical),
                    None => self.put(format_args!(r#"{{"type":"bytes"{logical}}}"#)),
                }
            }
            Node::String if self.notes.get(full).is_some_and(|note| note.uuid) => self.logical("string", "uuid"),
            Node::Date => self.logical("int", "date"),
            Node::Time(TimeUnit::Millis) => self.logical("int", "time-millis"),
            Node::Time(TimeUnit::Micros) => self.logical("long", "time-micros"),
            Node::Timestamp { unit, utc } => self.logical("long", timestamp(*unit, *utc)),
            Node::Time(TimeUnit::Nanos) | Node::Enum(_) => {
                return Err(Error::internal(format!("the Avro type {} has no text of its own", node.kind())));
            }
            Node::Null
            | Node::Boolean
            | Node::Int
            | Node::Long
            | Node::Float
            | Node::Double
            | Node::Bytes
            | Node::String => push_text(&mut self.out, node.kind()),
        }
        Ok(())
    }

    fn fixed(&mut self, size: usize, full: &str, logical: &str) {
        self.out.push_str(r#"{"type":"fixed","#);
        self.named(&format!("{full}.fixed"));
        self.put(format_args!(r#","size":{size}{logical}}}"#));
    }

    fn logical(&mut self, base: &str, logical: &str) {
        self.put(format_args!(r#"{{"type":"{base}","logicalType":"{logical}"}}"#));
    }

    fn put(&mut self, value: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(value);
    }
}

fn timestamp(unit: TimeUnit, utc: bool) -> &'static str {
    match (unit, utc) {
        (TimeUnit::Millis, true) => "timestamp-millis",
        (TimeUnit::Micros, true) => "timestamp-micros",
        (TimeUnit::Nanos, true) => "timestamp-nanos",
        (TimeUnit::Millis, false) => "local-timestamp-millis",
        (TimeUnit::Micros, false) => "local-timestamp-micros",
        (TimeUnit::Nanos, false) => "local-timestamp-nanos",
    }
}
