//! Avro schemas as hudini needs them: the shape of a datum, with logical types, read from JSON text.
//!
//! Names are resolved on the way in, so a node stands for itself. Attributes that no reader needs (docs, aliases, the
//! string classes of Java) are passed over; the text of a schema is kept by whoever has to write it again.

use serde_json::Value;

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
}

impl Record {
    /// Parses the JSON text of a record schema.
    pub fn parse(text: &str) -> Result<Self> {
        let json: Value =
            serde_json::from_str(text).map_err(|e| Error::corrupt("an Avro schema is not JSON").caused_by(e))?;
        match Parser::default().node(&json, "")? {
            Node::Record(record) => Ok(record),
            other => Err(Error::corrupt(format!("the schema of a row must be a record, found {}", other.kind()))),
        }
    }

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

/// Types in one schema; tables have thousands of columns at most.
const MOST_NODES: usize = 100_000;

/// Bytes of a fixed: each null of it takes as many.
const LONGEST_FIXED: usize = 65_536;

/// Remembers named types, so that a later mention by name finds them.
#[derive(Default)]
struct Parser {
    named: Vec<(String, Node, usize)>,
    /// Nodes so far. A name stands for all the nodes of its type, so a short text could mean more than memory holds.
    nodes: usize,
    /// Full names of the records being read, to notice one that contains itself.
    open: Vec<String>,
}

impl Parser {
    fn count(&mut self, nodes: usize) -> Result<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MOST_NODES {
            return Err(Error::unsupported(format!("an Avro schema of more than {MOST_NODES} types")));
        }
        Ok(())
    }

    fn node(&mut self, json: &Value, namespace: &str) -> Result<Node> {
        self.count(1)?;
        match json {
            Value::String(name) => self.by_name(name, namespace),
            Value::Array(branches) => {
                Ok(Node::Union(branches.iter().map(|b| self.node(b, namespace)).collect::<Result<_>>()?))
            }
            Value::Object(_) => self.object(json, namespace),
            _ => Err(Error::corrupt(format!("'{json}' is not an Avro type"))),
        }
    }

    fn by_name(&mut self, name: &str, namespace: &str) -> Result<Node> {
        Ok(match name {
            "null" => Node::Null,
            "boolean" => Node::Boolean,
            "int" => Node::Int,
            "long" => Node::Long,
            "float" => Node::Float,
            "double" => Node::Double,
            "bytes" => Node::Bytes,
            "string" => Node::String,
            _ => {
                let full = full_name(name, namespace);
                if self.open.contains(&full) {
                    return Err(Error::unsupported(format!("the recursive Avro type '{full}'")));
                }
                let at = self.named.iter().position(|(n, ..)| *n == full || n == name);
                let nodes = at.and_then(|at| self.named.get(at)).map(|(.., nodes)| *nodes);
                // Counted before it is copied.
                self.count(nodes.unwrap_or(0))?;
                let found = at.and_then(|at| self.named.get(at)).map(|(_, node, _)| node.clone());
                found.ok_or_else(|| {
                    Error::corrupt(format!("the Avro type '{name}' is mentioned before it is defined"))
                })?
            }
        })
    }

    fn object(&mut self, json: &Value, namespace: &str) -> Result<Node> {
        let kind = json.get("type").ok_or_else(|| Error::corrupt("an Avro type object without 'type'"))?;
        let Value::String(kind) = kind else { return self.node(kind, namespace) };
        let plain = match kind.as_str() {
            "record" | "error" => return self.record(json, namespace),
            "array" => Node::Array(Box::new(self.node(member(json, "items")?, namespace)?)),
            "map" => Node::Map(Box::new(self.node(member(json, "values")?, namespace)?)),
            "enum" => {
                let symbols = member(json, "symbols")?.as_array().into_iter().flatten();
                let node = Node::Enum(symbols.filter_map(|s| s.as_str().map(str::to_owned)).collect());
                self.name(json, namespace, &node)?;
                node
            }
            "fixed" => {
                let size = member(json, "size")?.as_u64().and_then(|s| usize::try_from(s).ok());
                let size = size.filter(|size| *size <= LONGEST_FIXED);
                let size =
                    size.ok_or_else(|| Error::unsupported("an Avro fixed without a size, or of too great a one"))?;
                let node = logical(json, Node::Fixed(size))?;
                self.name(json, namespace, &node)?;
                return Ok(node);
            }
            name => self.by_name(name, namespace)?,
        };
        logical(json, plain)
    }

    fn record(&mut self, json: &Value, namespace: &str) -> Result<Node> {
        let full = declared_name(json, namespace)?;
        let inner_namespace = full.rsplit_once('.').map_or("", |(ns, _)| ns).to_owned();
        self.open.push(full.clone());
        let before = self.nodes;
        let fields = member(json, "fields")?.as_array().ok_or_else(|| Error::corrupt("Avro 'fields' is not a list"))?;
        let fields = fields
            .iter()
            .map(|f| {
                let name = member(f, "name")?.as_str().ok_or_else(|| Error::corrupt("an Avro field without a name"))?;
                Ok(Field { name: name.to_owned(), node: self.node(member(f, "type")?, &inner_namespace)? })
            })
            .collect::<Result<_>>()?;
        self.open.pop();
        let node = Node::Record(Record { name: full.clone(), fields });
        self.named.push((full, node.clone(), self.nodes - before));
        Ok(node)
    }

    fn name(&mut self, json: &Value, namespace: &str, node: &Node) -> Result<()> {
        self.named.push((declared_name(json, namespace)?, node.clone(), 1));
        Ok(())
    }
}

fn member<'a>(json: &'a Value, key: &str) -> Result<&'a Value> {
    json.get(key).ok_or_else(|| Error::corrupt(format!("an Avro type without '{key}'")))
}

fn declared_name(json: &Value, namespace: &str) -> Result<String> {
    let name = member(json, "name")?.as_str().ok_or_else(|| Error::corrupt("an Avro name that is not text"))?;
    let namespace = json.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
    Ok(full_name(name, namespace))
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

/// Applies `logicalType`. One that does not fit its base type, or is unknown, leaves the base type, as Avro demands.
fn logical(json: &Value, base: Node) -> Result<Node> {
    let Some(name) = json.get("logicalType").and_then(Value::as_str) else { return Ok(base) };
    let timestamp = |unit, utc| Node::Timestamp { unit, utc };
    Ok(match (name, base) {
        ("date", Node::Int) => Node::Date,
        ("time-millis", Node::Int) => Node::Time(TimeUnit::Millis),
        ("time-micros", Node::Long) => Node::Time(TimeUnit::Micros),
        ("timestamp-millis", Node::Long) => timestamp(TimeUnit::Millis, true),
        ("timestamp-micros", Node::Long) => timestamp(TimeUnit::Micros, true),
        ("timestamp-nanos", Node::Long) => timestamp(TimeUnit::Nanos, true),
        ("local-timestamp-millis", Node::Long) => timestamp(TimeUnit::Millis, false),
        ("local-timestamp-micros", Node::Long) => timestamp(TimeUnit::Micros, false),
        ("local-timestamp-nanos", Node::Long) => timestamp(TimeUnit::Nanos, false),
        ("decimal", Node::Bytes) => decimal(json, None)?,
        ("decimal", Node::Fixed(size)) => decimal(json, Some(size))?,
        (_, base) => base,
    })
}

fn decimal(json: &Value, size: Option<usize>) -> Result<Node> {
    let number = |key: &str| json.get(key).and_then(Value::as_i64);
    let precision = number("precision").and_then(|p| u8::try_from(p).ok()).filter(|p| (1..=38).contains(p));
    let scale = i8::try_from(number("scale").unwrap_or(0)).ok();
    match (precision, scale) {
        (Some(precision), Some(scale)) if size.is_none_or(|s| (1..=16).contains(&s)) => {
            Ok(Node::Decimal { precision, scale, size })
        }
        _ => Err(Error::unsupported(format!("the decimal type {json} (precision 1 to 38 in at most 16 bytes)"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logical_types_and_names() {
        let text = r#"{"type":"record","name":"r","namespace":"n","fields":[
            {"name":"a","type":["null",{"type":"fixed","name":"fixed","namespace":"n.r.a","size":5,
                "logicalType":"decimal","precision":10,"scale":2}],"default":null},
            {"name":"b","type":{"type":"record","name":"b","fields":[{"name":"x","type":"int"}]}},
            {"name":"c","type":{"type":"array","items":"b"}},
            {"name":"d","type":{"type":"string","avro.java.string":"String"}},
            {"name":"e","type":{"type":"long","logicalType":"local-timestamp-micros"}},
            {"name":"f","type":{"type":"int","logicalType":"timestamp-micros"}}]}"#;
        let record = Record::parse(text).unwrap();
        assert_eq!(record.name, "n.r");
        let nodes: Vec<_> = record.fields.iter().map(|f| f.node.clone()).collect();
        let b = Node::Record(Record { name: "n.b".into(), fields: vec![Field { name: "x".into(), node: Node::Int }] });
        assert_eq!(
            nodes,
            vec![
                Node::Union(vec![Node::Null, Node::Decimal { precision: 10, scale: 2, size: Some(5) }]),
                b.clone(),
                Node::Array(Box::new(b)),
                Node::String,
                Node::Timestamp { unit: TimeUnit::Micros, utc: false },
                Node::Int,
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let recursive = r#"{"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]}]}"#;
        assert!(Record::parse(recursive).unwrap_err().to_string().contains("recursive Avro type 'r'"));
        for bad in ["", "{}", "\"int\"", "[1]", r#"{"type":"record","name":"r","fields":[{"name":"x","type":"y"}]}"#] {
            assert!(Record::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_short_text_cannot_mean_too_much() {
        let mut inner = r#""int""#.to_owned();
        for level in 0..40 {
            inner = format!(
                r#"{{"type":"record","name":"r{level}","fields":[{{"name":"a","type":{inner}}},{{"name":"b","type":{}}}]}}"#,
                if level == 0 { r#""int""#.to_owned() } else { format!(r#""r{}""#, level - 1) }
            );
        }
        assert_eq!(Record::parse(&inner).unwrap_err().kind(), crate::ErrorKind::UnsupportedFeature);
    }

    #[test]
    fn optional_nodes() {
        let reversed = Node::Union(vec![Node::Int, Node::Null]);
        assert_eq!(reversed.optional().unwrap(), (&Node::Int, Some(1)));
        assert!(Node::Union(vec![Node::Int, Node::Long]).optional().is_err());
    }
}
