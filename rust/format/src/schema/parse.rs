//! Avro schema text to nodes, with the refusals of Apache Avro for Java, and bounds for what a short text may mean.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::json::{Piece, Shape, items, number, object, piece, shape, text};
use super::name;
use super::node::{Field, Node, Record, TimeUnit};
use super::vector::{self, Element, Vector};
use crate::{Error, Result};

/// Types inside types: what follows a schema to its leaves calls itself that often.
pub(super) const MOST_DEEP: usize = 128;

/// Types in one schema; tables have thousands of columns at most.
const MOST_NODES: usize = 100_000;

/// A name stands for all the types of its definition, so a text may mean more types than it has words: so many more
/// whatever its length, and one for so many bytes of it.
const SPARE_NODES: usize = 5_000;
const BYTES_PER_NODE: usize = 10;

/// Bytes of a fixed: each null of it takes as many.
const LONGEST_FIXED: usize = 65_536;

impl Record {
    /// Parses the JSON text of a record schema.
    pub fn parse(text: &str) -> Result<Self> {
        Parser::new(text).row(text)
    }
}

/// What the text says of a field and a node does not keep.
pub(super) struct Remark {
    /// The names of the fields around it, and its own.
    pub(super) path: Vec<String>,
    pub(super) doc: Option<String>,
    /// It, or what it holds, is a text that is a UUID.
    pub(super) uuid: bool,
}

/// Parses a record schema together with the remarks on its fields.
pub(super) fn with_remarks(text: &str) -> Result<(Record, Vec<Remark>)> {
    let mut parser = Parser::new(text);
    parser.remarks = Some(Vec::new());
    let record = parser.row(text)?;
    Ok((record, parser.remarks.unwrap_or_default()))
}

/// Remembers where named types are defined, and reads the definition again where one is mentioned.
struct Parser<'a> {
    named: BTreeMap<String, Definition<'a>>,
    /// How many mentions the parser is inside of.
    replays: usize,
    most: usize,
    nodes: usize,
    /// Full names of the records being read, to notice one that contains itself.
    open: Vec<String>,
    deep: usize,
    /// The names of the fields being read.
    path: Vec<String>,
    /// Whether a UUID was met since the last field began or ended.
    uuid: bool,
    remarks: Option<Vec<Remark>>,
}

#[derive(Clone)]
struct Definition<'a> {
    json: Piece<'a>,
    /// The one it stands in.
    namespace: String,
}

/// The attributes of a type that say what it is.
#[derive(Deserialize)]
struct TypeText<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Piece<'a>>,
    #[serde(borrow)]
    name: Option<Piece<'a>>,
    #[serde(borrow)]
    namespace: Option<Piece<'a>>,
    #[serde(borrow)]
    fields: Option<Piece<'a>>,
    #[serde(borrow)]
    items: Option<Piece<'a>>,
    #[serde(borrow)]
    values: Option<Piece<'a>>,
    #[serde(borrow)]
    symbols: Option<Piece<'a>>,
    #[serde(borrow)]
    size: Option<Piece<'a>>,
    #[serde(borrow, rename = "logicalType")]
    logical: Option<Piece<'a>>,
    #[serde(borrow)]
    precision: Option<Piece<'a>>,
    #[serde(borrow)]
    scale: Option<Piece<'a>>,
    #[serde(borrow)]
    dimension: Option<Piece<'a>>,
    #[serde(borrow, rename = "elementType")]
    element: Option<Piece<'a>>,
    #[serde(borrow, rename = "storageBacking")]
    backing: Option<Piece<'a>>,
}

#[derive(Deserialize)]
struct FieldText<'a> {
    #[serde(borrow)]
    name: Option<Piece<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Piece<'a>>,
    #[serde(borrow)]
    doc: Option<Piece<'a>>,
}

impl<'a> Parser<'a> {
    fn new(text: &str) -> Self {
        Self {
            named: BTreeMap::new(),
            replays: 0,
            most: MOST_NODES.min(SPARE_NODES + text.len() / BYTES_PER_NODE),
            nodes: 0,
            open: Vec::new(),
            deep: 0,
            path: Vec::new(),
            uuid: false,
            remarks: None,
        }
    }

    fn row(&mut self, text: &'a str) -> Result<Record> {
        match self.node(piece(text)?, "")? {
            Node::Record(record) => Ok(record),
            other => Err(Error::corrupt(format!("the schema of a row must be a record, found {}", other.kind()))),
        }
    }

    fn count(&mut self, nodes: usize) -> Result<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > self.most {
            return Err(Error::unsupported(format!("an Avro schema of more than {} types", self.most)));
        }
        Ok(())
    }

    fn node(&mut self, json: Piece<'a>, namespace: &str) -> Result<Node> {
        self.count(1)?;
        if self.deep == MOST_DEEP {
            return Err(Error::unsupported(format!("an Avro schema of more than {MOST_DEEP} types inside each other")));
        }
        self.deep += 1;
        let node = match shape(json) {
            Shape::Text(name) => self.by_name(&name, namespace),
            Shape::Array => self.union(json, namespace),
            Shape::Object => self.object(json, namespace),
            Shape::Other => Err(Error::corrupt(format!("'{}' is not an Avro type", json.get()))),
        };
        self.deep -= 1;
        node
    }

    fn by_name(&mut self, name: &str, namespace: &str) -> Result<Node> {
        if let Some(node) = primitive(name) {
            return Ok(node);
        }
        let full = name::full(name, namespace);
        if self.open.contains(&full) {
            return Err(Error::unsupported(format!("the recursive Avro type '{full}'")));
        }
        let found = self.named.get(&full).or_else(|| self.named.get(name)).cloned();
        let definition =
            found.ok_or_else(|| Error::corrupt(format!("the Avro type '{name}' is mentioned before it is defined")))?;
        // A definition may be long and mean little.
        self.count(definition.json.get().len() / BYTES_PER_NODE)?;
        self.replays += 1;
        let node = self.object(definition.json, &definition.namespace);
        self.replays -= 1;
        node
    }

    fn union(&mut self, json: Piece<'a>, namespace: &str) -> Result<Node> {
        let mut branches = Vec::new();
        let mut seen = BTreeSet::new();
        items(json, "a union", |branch| {
            let branch = self.node(branch, namespace)?;
            if let Node::Union(_) = branch {
                return Err(Error::corrupt("an Avro union right inside a union"));
            }
            // Java tells branches of a union apart by their kind, named ones by their name.
            if let Some(kind) = nameless_kind(&branch)
                && !seen.insert(kind)
            {
                return Err(Error::corrupt(format!("an Avro union with two branches of type {kind}")));
            }
            branches.push(branch);
            Ok(())
        })?;
        Ok(Node::Union(branches))
    }

    fn object(&mut self, json: Piece<'a>, namespace: &str) -> Result<Node> {
        let parts: TypeText<'a> = object(json)?;
        let kind = present(parts.kind, "type")?;
        let Shape::Text(kind) = shape(kind) else { return self.node(kind, namespace) };
        let plain = match kind.as_str() {
            "record" | "error" => return self.record(json, &parts, namespace),
            "array" => Node::Array(Box::new(self.node(present(parts.items, "items")?, namespace)?)),
            "map" => Node::Map(Box::new(self.node(present(parts.values, "values")?, namespace)?)),
            "enum" => {
                let symbols = symbols(present(parts.symbols, "symbols")?)?;
                self.count(symbols.len())?;
                self.define(json, declared_name(&parts, namespace)?, namespace)?;
                Node::Enum(symbols)
            }
            "fixed" => {
                let size = parts.size.and_then(number).and_then(|s| usize::try_from(s).ok());
                let size = size.filter(|size| *size <= LONGEST_FIXED);
                let size =
                    size.ok_or_else(|| Error::unsupported("an Avro fixed without a size, or of too great a one"))?;
                self.define(json, declared_name(&parts, namespace)?, namespace)?;
                Node::Fixed(size)
            }
            name => match primitive(name) {
                Some(node) => node,
                None => return self.by_name(name, namespace),
            },
        };
        self.uuid |= plain == Node::String && parts.logical.and_then(text).as_deref() == Some("uuid");
        logical(&parts, plain)
    }

    fn record(&mut self, json: Piece<'a>, parts: &TypeText<'a>, namespace: &str) -> Result<Node> {
        let full = declared_name(parts, namespace)?;
        let inner_namespace = full.rsplit_once('.').map_or("", |(ns, _)| ns).to_owned();
        if self.open.contains(&full) {
            return Err(defined_twice(&full));
        }
        self.open.push(full.clone());
        let (mut fields, mut seen) = (Vec::new(), BTreeSet::new());
        items(present(parts.fields, "fields")?, "'fields'", |field| {
            let field: FieldText<'a> = object(field)?;
            let name = field.name.and_then(text).ok_or_else(|| Error::corrupt("an Avro field without a name"))?;
            name::check(&name)?;
            if !seen.insert(name.clone()) {
                return Err(Error::corrupt(format!("the Avro record '{full}' has two fields '{name}'")));
            }
            self.path.push(name);
            self.uuid = false;
            let node = self.node(present(field.kind, "type")?, &inner_namespace)?;
            self.remark(field.doc);
            fields.push(Field { name: self.path.pop().unwrap_or_default(), node });
            Ok(())
        })?;
        self.open.pop();
        self.define(json, full.clone(), namespace)?;
        Ok(Node::Record(Record { name: full, fields }))
    }

    fn remark(&mut self, doc: Option<Piece<'_>>) {
        let uuid = std::mem::take(&mut self.uuid);
        if let Some(remarks) = &mut self.remarks {
            let doc = doc.and_then(text);
            if uuid || doc.is_some() {
                remarks.push(Remark { path: self.path.clone(), doc, uuid });
            }
        }
    }

    fn define(&mut self, json: Piece<'a>, full: String, namespace: &str) -> Result<()> {
        if self.replays > 0 {
            return Ok(());
        }
        // Names are kept, and may be long.
        self.count((full.len() + namespace.len()) / BYTES_PER_NODE / 8)?;
        let twice = defined_twice(&full);
        match self.named.insert(full, Definition { json, namespace: namespace.to_owned() }) {
            Some(_) => Err(twice),
            None => Ok(()),
        }
    }
}

fn defined_twice(full: &str) -> Error {
    Error::corrupt(format!("the Avro type '{full}' is defined twice"))
}

fn primitive(name: &str) -> Option<Node> {
    Some(match name {
        "null" => Node::Null,
        "boolean" => Node::Boolean,
        "int" => Node::Int,
        "long" => Node::Long,
        "float" => Node::Float,
        "double" => Node::Double,
        "bytes" => Node::Bytes,
        "string" => Node::String,
        _ => return None,
    })
}

/// The kind by which Java knows a branch of a union: logical types are what they are made of. Named types have none.
fn nameless_kind(node: &Node) -> Option<&'static str> {
    Some(match node {
        Node::Record(_) | Node::Enum(_) | Node::Fixed(_) | Node::Vector(_) | Node::Decimal { size: Some(_), .. } => {
            return None;
        }
        Node::Date | Node::Time(TimeUnit::Millis) => "int",
        Node::Time(_) | Node::Timestamp { .. } => "long",
        Node::Decimal { size: None, .. } => "bytes",
        other => other.kind(),
    })
}

fn present<'a>(json: Option<Piece<'a>>, key: &str) -> Result<Piece<'a>> {
    json.ok_or_else(|| Error::corrupt(format!("an Avro type without '{key}'")))
}

fn symbols(json: Piece<'_>) -> Result<Vec<String>> {
    let (mut symbols, mut seen) = (Vec::new(), BTreeSet::new());
    items(json, "'symbols'", |symbol| {
        let symbol = text(symbol).ok_or_else(|| Error::corrupt("an Avro enum symbol that is not text"))?;
        name::check(&symbol)?;
        if !seen.insert(symbol.clone()) {
            return Err(Error::corrupt(format!("the Avro enum symbol '{symbol}' stands twice")));
        }
        symbols.push(symbol);
        Ok(())
    })?;
    Ok(symbols)
}

fn declared_name(json: &TypeText<'_>, namespace: &str) -> Result<String> {
    let name = present(json.name, "name")?;
    let name = text(name).ok_or_else(|| Error::corrupt("an Avro name that is not text"))?;
    let namespace = json.namespace.and_then(text).unwrap_or_else(|| namespace.to_owned());
    let full = name::full(&name, &namespace);
    name::check(full.rsplit('.').next().unwrap_or_default())?;
    Ok(full)
}

/// Applies `logicalType`. One that does not fit its base type, or is unknown, leaves the base type, as Avro demands.
fn logical(json: &TypeText<'_>, base: Node) -> Result<Node> {
    let Some(name) = json.logical.and_then(text) else { return Ok(base) };
    let timestamp = |unit, utc| Node::Timestamp { unit, utc };
    Ok(match (name.as_str(), base) {
        ("date", Node::Int) => Node::Date,
        ("time-millis", Node::Int) => Node::Time(TimeUnit::Millis),
        ("time-micros", Node::Long) => Node::Time(TimeUnit::Micros),
        ("timestamp-millis", Node::Long) => timestamp(TimeUnit::Millis, true),
        ("timestamp-micros", Node::Long) => timestamp(TimeUnit::Micros, true),
        ("timestamp-nanos", Node::Long) => timestamp(TimeUnit::Nanos, true),
        ("local-timestamp-millis", Node::Long) => timestamp(TimeUnit::Millis, false),
        ("local-timestamp-micros", Node::Long) => timestamp(TimeUnit::Micros, false),
        ("local-timestamp-nanos", Node::Long) => timestamp(TimeUnit::Nanos, false),
        ("decimal", Node::Bytes) => decimal(json, Node::Bytes, None)?,
        ("decimal", Node::Fixed(size)) => decimal(json, Node::Fixed(size), Some(size))?,
        ("vector", Node::Fixed(size)) => vector(json, size)?,
        (_, base) => base,
    })
}

/// Java takes an impossible decimal for its plain base type: one without a precision, with more digits behind the point
/// than in all, or with more digits than its fixed holds. A possible one that is too wide for Arrow is refused.
fn decimal(json: &TypeText<'_>, base: Node, size: Option<usize>) -> Result<Node> {
    let precision = json.precision.and_then(number).unwrap_or(0);
    let scale = json.scale.and_then(number).unwrap_or(0);
    if precision <= 0 || !(0..=precision).contains(&scale) || size.is_some_and(|size| precision > most_digits(size)) {
        return Ok(base);
    }
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision), Ok(scale)) if precision <= 38 && size.is_none_or(|s| s <= 16) => {
            Ok(Node::Decimal { precision, scale, size })
        }
        _ => Err(Error::unsupported(format!(
            "a decimal of {precision} digits{} (38 digits in 16 bytes at most)",
            size.map(|size| format!(" in {size} bytes")).unwrap_or_default()
        ))),
    }
}

/// Bytes that are to be numbers, and nobody knows which, are nothing to guess at.
fn vector(json: &TypeText<'_>, size: usize) -> Result<Node> {
    let dimension = json.dimension.and_then(number).and_then(|dimension| usize::try_from(dimension).ok());
    let element = json.element.and_then(text);
    let vector = element
        .as_deref()
        .and_then(Element::parse)
        .zip(dimension.filter(|dimension| *dimension > 0))
        .map(|(element, dimension)| Vector { dimension, element })
        .filter(|vector| vector.size() == size)
        .filter(|_| json.backing.is_none_or(|backing| text(backing).as_deref() == Some(vector::BACKING)));
    vector.map(Node::Vector).ok_or_else(|| {
        let (dimension, element) = (dimension.unwrap_or(0), element.as_deref().unwrap_or("nothing"));
        Error::unsupported(format!("a column of type VECTOR of {dimension} {element} in {size} bytes"))
    })
}

/// Decimal digits that every two's complement number of so many bytes has room for.
fn most_digits(bytes: usize) -> i64 {
    let bits = (8 * bytes).saturating_sub(1);
    (bits as f64 * std::f64::consts::LOG10_2).floor() as i64
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
