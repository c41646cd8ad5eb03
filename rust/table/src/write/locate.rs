//! What rows are called and where they belong: partition and key of each, computed from the row alone, and the bucket.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use hudini_format::key::{Generator, KeyConfig, PathStyle};
use serde::{Deserialize, Serialize};

use super::place::NEW_KEYS;
use super::{rows, widths};
use crate::Result;
use crate::bytes_form::BytesForm;
use crate::index::Index;
use crate::timeline::arrow_schema;

/// Columns that `locate` appends.
pub const PARTITION_COLUMN: &str = "_hudini_partition";
pub const SLOT_COLUMN: &str = "_hudini_slot";
/// ... where the key has to be looked for or shared out: in tables without buckets.
pub const KEY_COLUMN: &str = "_hudini_key";
/// What the row takes, there too.
pub const WIDTH_COLUMN: &str = "_hudini_width";

/// How rows find their file group; the same on every worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locator {
    generator: String,
    key_fields: Vec<String>,
    partition_fields: Vec<String>,
    hive_style: bool,
    url_encode: bool,
    index: Index,
    /// The table's schema: keys are made of values as the table holds them, not as they came.
    schema: String,
}

impl BytesForm for Locator {
    const KIND: (u8, &'static str) = (b'L', "locator");
}

impl Locator {
    pub(super) fn new(keys: &KeyConfig, index: Index, schema: String) -> Self {
        Self {
            generator: keys.generator.type_name().to_owned(),
            key_fields: keys.key_fields.clone(),
            partition_fields: keys.partition_fields.iter().map(|field| field.name.clone()).collect(),
            hive_style: keys.path_style.hive,
            url_encode: keys.path_style.url_encoded,
            index,
            schema,
        }
    }

    pub(super) fn key_config(&self) -> Result<KeyConfig> {
        let style = PathStyle { hive: self.hive_style, url_encoded: self.url_encode, slashed_dates: false };
        let generator = Generator::parse(&self.generator)?;
        Ok(KeyConfig::new(generator, self.key_fields.clone(), self.partition_fields.clone(), style))
    }

    /// The columns that say which row it is and where it belongs.
    pub(super) fn naming_columns(&self) -> Vec<&str> {
        self.key_fields.iter().chain(&self.partition_fields).map(String::as_str).collect()
    }

    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The schema of located rows.
    pub fn output_schema(&self, input: &Schema) -> SchemaRef {
        let mut fields: Vec<FieldRef> = input.fields().iter().cloned().collect();
        let text = |name| Arc::new(Field::new(name, DataType::Utf8, false));
        fields.extend([text(PARTITION_COLUMN), Arc::new(Field::new(SLOT_COLUMN, DataType::Int32, false))]);
        if self.adds_keys() {
            fields.extend([text(KEY_COLUMN), Arc::new(Field::new(WIDTH_COLUMN, DataType::Int64, false))]);
        }
        Arc::new(Schema::new(fields))
    }

    /// Whether located rows carry their keys, and what they take.
    pub fn adds_keys(&self) -> bool {
        self.index.buckets().is_none()
    }

    /// The rows as they came, each with its partition and its slot. Only of tables with buckets is that known from the
    /// rows alone; in others each row is new until its key was looked up.
    pub fn locate(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let Names { partitions, keys, widths } = self.names(batch)?;
        let slots = self.buckets(&keys)?.unwrap_or_else(|| vec![NEW_KEYS; keys.len()]);
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        columns.extend([Arc::new(partitions) as ArrayRef, Arc::new(Int32Array::from(slots))]);
        if let Some(widths) = widths {
            columns.extend([Arc::new(keys) as ArrayRef, Arc::new(Int64Array::from(widths))]);
        }
        Ok(RecordBatch::try_new(self.output_schema(&batch.schema()), columns)?)
    }

    pub(super) fn names(&self, batch: &RecordBatch) -> Result<Names> {
        self.namer()?.names(batch)
    }

    /// For many batches.
    pub(super) fn namer(&self) -> Result<Namer<'_>> {
        Ok(Namer { locator: self, config: self.key_config()?, schema: arrow_schema(&self.schema)? })
    }

    /// The slots of keys, where those are their buckets.
    pub(super) fn buckets(&self, keys: &StringArray) -> Result<Option<Vec<i32>>> {
        let Some(buckets) = self.index.buckets() else { return Ok(None) };
        Ok(Some(buckets.of_all(keys)?.into_iter().map(u32::cast_signed).collect()))
    }
}

/// Computes what rows are called.
pub(super) struct Namer<'l> {
    locator: &'l Locator,
    config: KeyConfig,
    /// The table's.
    schema: Schema,
}

impl Namer<'_> {
    pub(super) fn names(&self, batch: &RecordBatch) -> Result<Names> {
        let naming = rows::in_table_types(batch, &self.schema, Some(&self.locator.naming_columns()))?;
        Ok(Names {
            partitions: self.config.partition_paths(&naming)?,
            keys: self.config.record_keys(&naming)?,
            widths: self.locator.adds_keys().then(|| widths::of_rows(batch, &self.schema)),
        })
    }
}

/// Of each row.
pub(super) struct Names {
    pub(super) partitions: StringArray,
    pub(super) keys: StringArray,
    /// Where new rows are shared out by them.
    pub(super) widths: Option<Vec<i64>>,
}

impl Names {
    /// Moves rows to the partitions that are told of their keys.
    pub(super) fn move_keys<'p>(&mut self, to: impl Fn(&str) -> Option<&'p str>) {
        let rows = self.partitions.iter().zip(&self.keys);
        let moved = rows.map(|(partition, key)| key.and_then(&to).or(partition)).collect();
        self.partitions = moved;
    }
}
