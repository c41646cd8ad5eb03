//! Record keys of tables that store none (virtual keys).

use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use hudini_format::key::{Generator, KeyConfig, PathStyle, outermost};
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How to make the key of a row anew, as its writer made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualKeys {
    fields: Vec<String>,
    names_single_key: bool,
    dated_timestamps: bool,
}

impl VirtualKeys {
    pub(crate) fn of(keys: &KeyConfig, names_single_key: bool) -> Result<Self> {
        if keys.key_fields.is_empty() {
            return Err(Error::unsupported("a table without meta fields (virtual keys) and without record key fields"));
        }
        Ok(Self { fields: keys.key_fields.clone(), names_single_key, dated_timestamps: keys.dated_timestamps })
    }

    /// Whether a column of the table is asked for keys.
    pub(super) fn are_made_of(&self, column: &str) -> bool {
        let of_column = |field: &String| outermost(field) == column;
        self.fields.iter().any(of_column)
    }

    /// The keys of rows that have all columns of which they are made.
    pub(super) fn make(&self, rows: &RecordBatch) -> Result<StringArray> {
        let mut config = KeyConfig::new(Generator::Simple, self.fields.clone(), Vec::new(), PathStyle::default());
        config.names_single_key = self.names_single_key;
        config.dated_timestamps = self.dated_timestamps;
        config.record_keys(rows)
    }

    /// The rows with their keys in the meta column, whose stored values mean nothing.
    pub(super) fn fill(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let keys = self.make(rows)?;
        let at = rows.schema_ref().index_of(meta::RECORD_KEY)?;
        let mut columns = rows.columns().to_vec();
        if let Some(column) = columns.get_mut(at) {
            *column = Arc::new(keys);
        }
        Ok(RecordBatch::try_new(rows.schema(), columns)?)
    }
}
