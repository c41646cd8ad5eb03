//! Datums of a writer's schema to record batches of a wanted schema.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::allowance::{Allowance, Balance};
use super::bunch::{self, BadDatum, Bunch, Rests};
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
    /// Whether rows can be read in bunches, and that is faster.
    in_bunches: bool,
    rows: usize,
    balance: Balance,
}

impl RowDecoder {
    /// `schema` is what is wanted: fields are found by name, others of the writer skipped; a wanted field that the
    /// writer lacks is null.
    pub fn new(writer: &Record, schema: SchemaRef) -> Result<Self> {
        let mut plan = Plan::new(writer, schema.fields(), &mut Bounds::default())?;
        let stops_early = plan.stop_early();
        let in_bunches = plan.is_even() && plan.skips();
        Ok(Self { plan, schema, stops_early, in_bunches, rows: 0, balance: Balance::new() })
    }

    /// Reads one datum. Refused if the decoder [is full](Self::is_full).
    #[inline]
    pub fn decode(&mut self, datum: &[u8]) -> Result<()> {
        self.balance.check()?;
        let mut allowance = Allowance::new(datum.len());
        allowance.spend(self.plan.width())?;
        let rest = self.plan.read(datum, &mut allowance)?;
        self.end(rest)?;
        self.rows += 1;
        self.balance.add(datum.len(), allowance.spent().saturating_add(self.plan.missing_width()));
        Ok(())
    }

    /// Reads datums until there are no more or the decoder [is full](Self::is_full); says how many. Takes none that it does
    /// not read. Faster than one by one.
    #[inline]
    pub fn decode_many<'a>(&mut self, mut datums: impl Iterator<Item = &'a [u8]>) -> Result<usize, BadDatum> {
        let mut read = 0;
        while !self.is_full() {
            let rows = if self.in_bunches && self.balance.bears(bunch::MOST, self.width()) {
                self.decode_bunch(Bunch::new(&mut datums))
            } else {
                datums.next().map_or(Ok(0), |datum| Ok(self.decode(datum).map(|()| 1)?))
            };
            match rows.map_err(|bad| BadDatum { index: read + bad.index, ..bad })? {
                0 => break,
                rows => read += rows,
            }
        }
        Ok(read)
    }

    /// Reads rows whose memory is known beforehand.
    fn decode_bunch(&mut self, mut bunch: Bunch<'_>) -> Result<usize, BadDatum> {
        self.balance.add(bunch.bytes(), bunch.rows() * self.width());
        self.plan.read_bunch(&mut bunch)?;
        bunch.each(|rest| self.end(rest).map(|()| rest))?;
        self.rows += bunch.rows();
        Ok(bunch.rows())
    }

    /// What a row takes in memory, but for what its values have in bytes.
    fn width(&self) -> usize {
        self.plan.width().saturating_add(self.plan.missing_width())
    }

    #[inline(always)]
    fn end(&self, rest: &[u8]) -> Result<()> {
        if rest.is_empty() || self.stops_early {
            return Ok(());
        }
        Err(Error::corrupt(format!("{} bytes after the end of an Avro row", rest.len())))
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
