//! How two versions of a row are merged.

use std::borrow::Cow;

use arrow_array::{RecordBatch, StringArray};
use arrow_schema::Schema;
use hudini_format::key::outermost;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::deleted::record_keys;
use super::keys::VirtualKeys;
use crate::options::MergeMode;
use crate::{Error, Result};

/// The rule of a table. It travels with tasks and splits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeRule {
    /// By ordering value; otherwise the later of two versions wins.
    pub by_event_time: bool,
    /// Ordering fields, used in event-time mode. A dot leads into a struct.
    pub ordering: Vec<String>,
    /// Values of the winner that the loser's stand in for.
    pub placeholder: Option<Placeholder>,
    /// The ordering values are texts, `file.position` in MySQL's log: two numbers.
    pub by_binlog: bool,
    pub deletes: DeleteOrder,
    /// As the payload class for partial updates does it in tables whose merge mode it is: where the earlier of two rows wins,
    /// the meta columns are the later one's.
    pub as_partial_payload: bool,
    /// What makes a row a delete, beside the column of that name.
    pub delete_marker: Option<DeleteMarker>,
    /// Keys are made of the rows: files hold none.
    pub virtual_keys: Option<VirtualKeys>,
    /// The strategy id of the merger of somebody's own that decides about two rows. Deletes follow the rest of the rule.
    pub merger: Option<String>,
    /// Log blocks that name positions in the base file are merged by those.
    pub by_position: bool,
}

/// What a value looks like that its writer did not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placeholder {
    /// The default of every column, which is null.
    Default,
    /// A text in columns of text or bytes.
    Text(String),
}

/// What the ordering value of a delete decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeleteOrder {
    /// What that of a row does.
    AsRows,
    /// Nothing: a delete counts, and a row after one counts.
    Nothing,
    /// Whether it counts against rows before it. A row after it counts, and of two deletes the earlier.
    AgainstRows,
}

/// Rows whose column has that text are deletes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteMarker {
    pub field: String,
    pub text: String,
}

impl MergeRule {
    pub fn new(mode: MergeMode, ordering: &[String]) -> Self {
        // Without a field to order by, event time is commit time.
        let by_event_time = mode == MergeMode::EventTime && !ordering.is_empty();
        Self {
            by_event_time,
            ordering: if by_event_time { ordering.to_vec() } else { Vec::new() },
            placeholder: None,
            by_binlog: false,
            deletes: DeleteOrder::AsRows,
            as_partial_payload: false,
            delete_marker: None,
            virtual_keys: None,
            merger: None,
            by_position: false,
        }
    }

    /// What it goes by, in words.
    pub fn words(&self) -> &'static str {
        match (self.by_position, self.merger.is_some(), self.by_event_time) {
            (true, true, _) => "record position where all logs of a slice tell it, else record key; a custom merger",
            (true, false, true) => "record position where all logs of a slice tell it, else record key; event time",
            (true, false, false) => "record position where all logs of a slice tell it, else record key; commit time",
            (false, true, _) => "record key, a custom merger",
            (false, false, true) => "record key, event time",
            (false, false, false) => "record key, commit time",
        }
    }

    /// The columns that merging asks for, whether they are wanted or not.
    pub(super) fn needs(&self, column: &str, by_position: bool) -> bool {
        self.merger.is_some()
            || [meta::IS_DELETED, meta::OPERATION].contains(&column)
            || self.is_ordered_by(column)
            || self.delete_marker.as_ref().is_some_and(|marker| marker.field == column)
            || (!by_position && self.makes_keys(column))
    }

    /// Whether a column has ordering values, or structs that have them.
    pub(crate) fn is_ordered_by(&self, column: &str) -> bool {
        self.ordering_columns().any(|ordering| ordering == column)
    }

    /// The columns that have the ordering values, or structs that have them.
    pub(crate) fn ordering_columns(&self) -> impl Iterator<Item = &str> {
        self.ordering.iter().map(|field| outermost(field))
    }

    /// Whether keys are found with a column.
    pub(crate) fn makes_keys(&self, column: &str) -> bool {
        column == meta::RECORD_KEY || self.virtual_keys.as_ref().is_some_and(|keys| keys.are_made_of(column))
    }

    /// The record keys of rows with all columns.
    pub(crate) fn keys_of(&self, rows: &RecordBatch) -> Result<StringArray> {
        match &self.virtual_keys {
            Some(keys) => keys.make(rows),
            None => record_keys(rows).cloned(),
        }
    }

    /// A record key that a log tells, as those of rows are spelled.
    pub(crate) fn spelled<'k>(&self, key: &'k str) -> Cow<'k, str> {
        self.virtual_keys.as_ref().map_or(Cow::Borrowed(key), |keys| keys.spelled(key))
    }

    /// The rows with their record keys.
    pub(super) fn with_keys(&self, rows: RecordBatch) -> Result<RecordBatch> {
        match &self.virtual_keys {
            Some(keys) if rows.schema_ref().index_of(meta::RECORD_KEY).is_ok() => keys.fill(&rows),
            _ => Ok(rows),
        }
    }

    /// Where defaults stand for missing values, other defaults than null are refused: Apache Hudi tells some of them from
    /// equal values that were written, and some it does not.
    pub(crate) fn check_defaults(&self, schema: Option<&str>) -> Result<()> {
        let (Some(Placeholder::Default), Some(schema)) = (&self.placeholder, schema) else { return Ok(()) };
        let schema: AvroDefaults = serde_json::from_str(schema)
            .map_err(|e| Error::schema("the table's schema is no Avro record").caused_by(e))?;
        let other = schema.fields.into_iter().find(|field| !matches!(field.default, None | Some(Value::Null)));
        match other {
            Some(field) => Err(Error::unsupported(format!(
                "partial updates that ignore defaults, where column '{}' has a default",
                field.name
            ))),
            None => Ok(()),
        }
    }

    /// Whether the winner of two rows may take columns of the loser.
    pub(super) fn patches(&self) -> bool {
        self.placeholder.is_some()
    }
}

/// The defaults of a schema's columns.
#[derive(Deserialize)]
struct AvroDefaults {
    fields: Vec<AvroDefault>,
}

#[derive(Deserialize)]
struct AvroDefault {
    name: String,
    default: Option<Value>,
}

/// The columns of `stored` that pass.
pub(crate) fn columns_of(stored: &Schema, passes: impl Fn(&str) -> bool) -> Schema {
    Schema::new(stored.fields().iter().filter(|f| passes(f.name())).cloned().collect::<Vec<_>>())
}
