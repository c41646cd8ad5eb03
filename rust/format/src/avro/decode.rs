//! Datums of a writer's schema to record batches of a wanted schema.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::allowance::{Allowance, Balance};
use super::plan::Plan;
use super::shape::Bounds;
use crate::schema::Record;
use crate::{Error, Result};

/// Reads rows one by one, hands out batches.
///
/// A row is read up to the last wanted field: what lies behind it is not looked at, so a projection may read rows that are
/// damaged there. If the last field of the writer is wanted, the row must end where its datum does.
#[derive(Debug)]
pub struct RowDecoder {
    plan: Plan,
    schema: SchemaRef,
    /// Whether fields behind the last wanted one are left unread.
    stops_early: bool,
    rows: usize,
    balance: Balance,
}

impl RowDecoder {
    /// `schema` is what is wanted: fields are found by name, others of the writer skipped; a wanted field that the
    /// writer lacks is null.
    pub fn new(writer: &Record, schema: SchemaRef) -> Result<Self> {
        let mut plan = Plan::new(writer, schema.fields(), &mut Bounds::default())?;
        let stops_early = plan.stop_early();
        Ok(Self { plan, schema, stops_early, rows: 0, balance: Balance::new() })
    }

    /// Reads one datum. Refused if the decoder [is full](Self::is_full).
    #[inline]
    pub fn decode(&mut self, datum: &[u8]) -> Result<()> {
        self.balance.check()?;
        let mut allowance = Allowance::new(datum.len());
        allowance.spend(self.plan.width())?;
        let rest = self.plan.read(datum, &mut allowance)?;
        if !(rest.is_empty() || self.stops_early) {
            return Err(Error::corrupt(format!("{} bytes after the end of an Avro row", rest.len())));
        }
        self.rows += 1;
        self.balance.add(datum.len(), &allowance, self.plan.missing_width());
        Ok(())
    }

    /// Rows read since the last batch.
    pub fn buffered(&self) -> usize {
        self.rows
    }

    /// Whether the rows so far take so much more memory than they have bytes that they must become a batch now: many
    /// nulls in wide columns, or many wanted columns that the writer lacks.
    pub fn is_full(&self) -> bool {
        self.balance.is_exceeded()
    }

    /// Hands out the rows read since the last call. After an error of `decode` the decoder is spent.
    pub fn flush(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        self.balance = Balance::new();
        let columns = self.plan.finish()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::schema("log records do not fit the table's schema").caused_by(e))
    }
}
