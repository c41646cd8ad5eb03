//! CDC blocks: which change a row went through, for tables that log it beside the data (`….cdc` files).
//!
//! | `hoodie.table.cdc.supplemental.logging.mode` | columns |
//! |---|---|
//! | `OP_KEY_ONLY` | `op`, `record_key` |
//! | `DATA_BEFORE` | `op`, `record_key`, `before` |
//! | `DATA_BEFORE_AFTER` | `op`, `ts_ms`, `before`, `after` |
//!
//! `before` and `after` are rows of the table without meta columns; an insert has no `before`, a delete no `after`.
//! `ts_ms` is the time of the commit's instant, as text. The content is framed like that of an Avro block.

use serde_json::{Map, Value, json};

use crate::schema::meta;
use crate::{Error, Result};

pub const OPERATION: &str = "op";
pub const INSTANT: &str = "ts_ms";
pub const KEY: &str = "record_key";
pub const BEFORE: &str = "before";
pub const AFTER: &str = "after";

/// Values of [`OPERATION`].
pub const INSERT: &str = "i";
pub const UPDATE: &str = "u";
pub const DELETE: &str = "d";

/// How much of a change is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CdcMode {
    OpKeyOnly,
    DataBefore,
    DataBeforeAfter,
}

impl CdcMode {
    pub const ALL: [Self; 3] = [Self::OpKeyOnly, Self::DataBefore, Self::DataBeforeAfter];

    /// As the table's properties have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpKeyOnly => "OP_KEY_ONLY",
            Self::DataBefore => "DATA_BEFORE",
            Self::DataBeforeAfter => "DATA_BEFORE_AFTER",
        }
    }

    /// Case means nothing: releases differ in it.
    pub fn parse(text: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(text));
        known.ok_or_else(|| Error::unsupported(format!("the CDC logging mode '{text}'")))
    }

    /// The Avro schema of the block's rows, for a table whose rows have the Avro schema `table`, with or without meta
    /// columns.
    pub fn schema(self, table: &str) -> Result<String> {
        if self == Self::OpKeyOnly {
            let field = |name: &str| json!({"name": name, "type": ["string", "null"]});
            let schema = json!({"type": "record", "name": "Record", "fields": [field(OPERATION), field(KEY)]});
            return Ok(schema.to_string());
        }
        let (row, name, namespace) = row_type(table)?;
        let optional = |name: &str, of: Value| json!({"name": name, "type": ["null", of], "doc": "", "default": null});
        let text = || json!("string");
        let fields = match self {
            Self::DataBeforeAfter => vec![
                optional(OPERATION, text()),
                optional(INSTANT, text()),
                optional(BEFORE, row),
                optional(AFTER, Value::String(name)),
            ],
            _ => vec![optional(OPERATION, text()), optional(KEY, text()), optional(BEFORE, row)],
        };
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("record"));
        schema.insert("name".to_owned(), json!("CDC"));
        schema.extend(namespace.map(|namespace| ("namespace".to_owned(), namespace)));
        schema.insert("doc".to_owned(), json!(""));
        schema.insert("fields".to_owned(), Value::Array(fields));
        Ok(Value::Object(schema).to_string())
    }
}

/// The type of a row without meta columns, its name, and its namespace, which the type that holds it passes on.
fn row_type(table: &str) -> Result<(Value, String, Option<Value>)> {
    let no_record = || Error::corrupt("the schema of a table is no Avro record");
    let json: Value = serde_json::from_str(table).map_err(|e| no_record().caused_by(e))?;
    let Value::Object(mut row) = json else { return Err(no_record()) };
    let name = row.get("name").and_then(Value::as_str).ok_or_else(no_record)?.to_owned();
    let fields = row.get_mut("fields").and_then(Value::as_array_mut).ok_or_else(no_record)?;
    fields.retain(|field| field.get("name").and_then(Value::as_str).is_none_or(|name| !meta::is_meta(name)));
    let namespace = row.shift_remove("namespace");
    Ok((Value::Object(row), name, namespace))
}
