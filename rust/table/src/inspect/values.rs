//! The values of HFiles, Avro datums of one schema.

use std::sync::Arc;

use hudini_format::action::datum_to_json;
use hudini_format::avro::RowDecoder;
use hudini_format::hfile::Cell;
use hudini_format::log::hfile_block::KEY_COLUMN;
use hudini_format::schema::Record;
use serde_json::Value;

use super::json;
use crate::{Error, Result};

/// How the values of a file are shown.
pub(super) struct Values {
    record: Record,
    /// Unless the schema has no columns, as that of metadata records.
    rows: Option<RowDecoder>,
}

impl Values {
    pub(super) fn of(schema: &str) -> Result<Self> {
        let record = Record::parse(schema)?;
        let columns = record.to_arrow().ok();
        let rows = columns.map(|columns| RowDecoder::new(&record, Arc::new(columns))).transpose()?;
        Ok(Self { record, rows })
    }

    pub(super) fn show(&mut self, cell: &Cell<'_>) -> Result<Value> {
        let shown = match &mut self.rows {
            // Nothing is how deletions are written.
            _ if cell.value.is_empty() => Ok(Value::Null),
            Some(decoder) => row(decoder, cell.value),
            None => datum_to_json(cell.value, 0, &self.record),
        };
        shown.map_err(|e| {
            let message = format!("the value of the key '{}' cannot be decoded", String::from_utf8_lossy(cell.key));
            Error::new(e.kind(), message).caused_by(e)
        })
    }

    /// A row of a log block, whose column `key` is left empty in favour of the cell's.
    pub(super) fn show_row(&mut self, cell: &Cell<'_>) -> Result<Value> {
        let mut row = self.show(cell)?;
        if let Some(key) = row.get_mut(KEY_COLUMN).filter(|key| *key == "") {
            *key = json::bytes(cell.key);
        }
        Ok(row)
    }
}

fn row(decoder: &mut RowDecoder, datum: &[u8]) -> Result<Value> {
    decoder.decode(datum)?;
    Ok(json::rows(&decoder.flush()?, 1)?.pop().unwrap_or_default())
}
