//! The JSON form, to the letter as Apache Hudi writes it. An attribute that is not known is refused: what it means for
//! the columns cannot be guessed.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{Column, History, Kind, TableSchema};
use crate::schema::json::{Piece, Shape, items, number, object, piece, push_text, shape, text};
use crate::schema::parse::MOST_DEEP;
use crate::{Error, Result};

impl History {
    /// What the file of a completed schema commit holds.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Text<'a> {
            #[serde(borrow)]
            schemas: Piece<'a>,
        }
        let bytes =
            std::str::from_utf8(bytes).map_err(|e| Error::corrupt("a schema commit is not UTF-8").caused_by(e))?;
        let json: Text<'_> = object(piece(bytes)?)?;
        let mut schemas = Vec::new();
        items(json.schemas, "'schemas'", |schema| {
            schemas.push(table_schema(schema)?);
            Ok(())
        })?;
        Ok(Self { schemas })
    }

    pub fn encode(&self) -> String {
        let mut out = r#"{"schemas":["#.to_owned();
        separated(&mut out, &self.schemas, push_schema);
        out.push_str("]}");
        out
    }
}

impl TableSchema {
    /// One version, as `latest_schema` of a commit has it.
    pub fn decode(text: &str) -> Result<Self> {
        table_schema(piece(text)?)
    }

    pub fn encode(&self) -> String {
        let mut out = String::new();
        push_schema(&mut out, self);
        out
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordText<'a> {
    #[serde(borrow)]
    max_column_id: Option<Piece<'a>>,
    #[serde(borrow)]
    version_id: Option<Piece<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Piece<'a>,
    #[serde(borrow)]
    fields: Piece<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnText<'a> {
    id: i32,
    name: String,
    optional: bool,
    #[serde(borrow, rename = "type")]
    kind: Piece<'a>,
    doc: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrayText<'a> {
    #[serde(rename = "type")]
    _kind: String,
    element_id: i32,
    #[serde(borrow)]
    element: Piece<'a>,
    element_optional: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapText<'a> {
    #[serde(rename = "type")]
    _kind: String,
    key_id: i32,
    #[serde(borrow)]
    key: Piece<'a>,
    value_id: i32,
    #[serde(borrow)]
    value: Piece<'a>,
    value_optional: bool,
}

#[derive(Deserialize)]
struct KindText<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Piece<'a>>,
}

fn table_schema(json: Piece<'_>) -> Result<TableSchema> {
    let record: RecordText<'_> = object(json)?;
    let version = record.version_id.map(|v| number(v).ok_or_else(|| no_number("version_id", v))).transpose()?;
    let max_column_id = record.max_column_id.map(|max| {
        let id = number(max).and_then(|id| i32::try_from(id).ok());
        id.ok_or_else(|| no_number("max_column_id", max))
    });
    match text(record.kind).as_deref() {
        Some("record") => {}
        _ => return Err(Error::corrupt(format!("the schema of a table is a record, not {}", record.kind.get()))),
    }
    Ok(TableSchema { version, max_column_id: max_column_id.transpose()?, columns: columns(record.fields, 1)? })
}

fn no_number(key: &str, json: Piece<'_>) -> Error {
    Error::corrupt(format!("the {key} {json} of a schema is no number of its kind"))
}

fn columns(json: Piece<'_>, deep: usize) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    items(json, "'fields'", |column| {
        let column: ColumnText<'_> = object(column)?;
        let kind = kind(column.kind, deep)
            .map_err(|e| Error::new(e.kind(), format!("column '{}': {}", column.name, e.message())))?;
        let ColumnText { id, name, optional, doc, .. } = column;
        columns.push(Column { id, name, optional, kind, doc });
        Ok(())
    })?;
    Ok(columns)
}

fn kind(json: Piece<'_>, deep: usize) -> Result<Kind> {
    if deep == MOST_DEEP {
        return Err(Error::unsupported(format!("more than {MOST_DEEP} types inside each other")));
    }
    let deep = deep + 1;
    let word = match shape(json) {
        Shape::Text(name) => return Kind::parse(&name),
        Shape::Object => object::<KindText<'_>>(json)?.kind.and_then(text),
        _ => None,
    };
    Ok(match word.as_deref() {
        Some("record") => Kind::Record(columns(object::<RecordText<'_>>(json)?.fields, deep)?),
        Some("array") => {
            let array: ArrayText<'_> = object(json)?;
            let element = Box::new(kind(array.element, deep)?);
            Kind::Array { element_id: array.element_id, element, optional: array.element_optional }
        }
        Some("map") => {
            let map: MapText<'_> = object(json)?;
            Kind::Map {
                key_id: map.key_id,
                key: Box::new(kind(map.key, deep)?),
                value_id: map.value_id,
                value: Box::new(kind(map.value, deep)?),
                optional: map.value_optional,
            }
        }
        Some(other) => return Err(Error::unsupported(format!("the column type '{other}' of schema-on-read"))),
        None => return Err(Error::corrupt("a column type is neither a name nor an object with 'type'")),
    })
}

fn push_schema(out: &mut String, schema: &TableSchema) {
    out.push('{');
    if let Some(max) = schema.max_column_id {
        put(out, format_args!(r#""max_column_id":{max},"#));
    }
    if let Some(version) = schema.version {
        put(out, format_args!(r#""version_id":{version},"#));
    }
    push_columns(out, &schema.columns);
}

/// All of a record but its opening brace.
fn push_columns(out: &mut String, columns: &[Column]) {
    out.push_str(r#""type":"record","fields":["#);
    separated(out, columns, |out, column| {
        put(out, format_args!(r#"{{"id":{},"name":"#, column.id));
        push_text(out, &column.name);
        put(out, format_args!(r#","optional":{},"type":"#, column.optional));
        push_kind(out, &column.kind);
        if let Some(doc) = &column.doc {
            out.push_str(r#","doc":"#);
            push_text(out, doc);
        }
        out.push('}');
    });
    out.push_str("]}");
}

fn push_kind(out: &mut String, kind: &Kind) {
    match kind {
        Kind::Record(columns) => {
            out.push('{');
            push_columns(out, columns);
        }
        Kind::Array { element_id, element, optional } => {
            put(out, format_args!(r#"{{"type":"array","element_id":{element_id},"element":"#));
            push_kind(out, element);
            put(out, format_args!(r#","element_optional":{optional}}}"#));
        }
        Kind::Map { key_id, key, value_id, value, optional } => {
            put(out, format_args!(r#"{{"type":"map","key_id":{key_id},"key":"#));
            push_kind(out, key);
            put(out, format_args!(r#","value_id":{value_id},"value":"#));
            push_kind(out, value);
            put(out, format_args!(r#","value_optional":{optional}}}"#));
        }
        leaf => put(out, format_args!(r#""{leaf}""#)),
    }
}

fn separated<T>(out: &mut String, items: &[T], push: impl Fn(&mut String, &T)) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push(out, item);
    }
}

fn put(out: &mut String, value: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(value);
}
