//! Filters: which rows are wanted, as a condition in SQL.
//!
//! ```text
//! text ──token──▶ words ──parse──▶ tree ──bind, by a schema──▶ Predicate ──▶ the rows of a batch that match
//!                                                                  └──────▶ whether anything can match, by statistics
//! ```
//!
//! The logic is Spark's, of three values: a comparison with null is unknown, and rows for which the condition is unknown are
//! not wanted. Statistics are asked with the same comparisons as rows, so that both cannot disagree.

mod bind;
mod calendar;
mod call;
mod derived;
mod expr;
mod function;
mod like;
mod parse;
mod prune;
#[cfg(test)]
mod tests;
mod token;
mod types;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Date32Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use arrow_select::filter::filter_record_batch;

use self::expr::Expr;
use crate::{Error, ErrorKind, Result};

pub(crate) use derived::{Derived, STAND_IN};
pub use prune::{ColumnStats, Stats};

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Equal,
    /// Null is the same as null, and nothing else.
    Same,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// A filter over the columns of a table.
#[derive(Debug, Clone)]
pub struct Predicate {
    condition: Expr,
    columns: BTreeSet<String>,
}

impl Predicate {
    /// Reads a filter; its columns are those of the schema.
    pub fn new(text: &str, schema: &Schema) -> Result<Self> {
        let condition = bind::condition(&parse::parse(text)?, schema)?;
        let mut columns = BTreeSet::new();
        condition.roots(&mut columns);
        Ok(Self { condition, columns })
    }

    /// The columns without which rows cannot be judged.
    pub fn columns(&self) -> &BTreeSet<String> {
        &self.columns
    }

    /// The rows that match.
    pub fn select(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let matching = self.condition.truth(rows)?;
        if matching.null_count() == 0 && !matching.has_false() {
            return Ok(rows.clone());
        }
        Ok(filter_record_batch(rows, &matching)?)
    }

    /// Whether there can be rows that match among those that the statistics are about.
    pub fn may_match(&self, stats: &dyn ColumnStats) -> bool {
        prune::may_match(&self.condition, stats)
    }

    /// The only values of a column that rows which match can have, if the filter says so. None of them is null.
    pub fn values_of(&self, column: &str) -> Option<ArrayRef> {
        prune::values_of(&self.condition, column)
    }
}

/// The date that prints as that very text.
pub(crate) fn exact_date(text: &str) -> Option<ArrayRef> {
    let dashes = |at: usize| text.as_bytes().get(at) == Some(&b'-');
    let whole = text.len() == "2024-01-02".len() && dashes(4) && dashes(7);
    let days = calendar::date(text).filter(|_| whole)?;
    Some(Arc::new(Date32Array::from(vec![days])))
}

/// A number as a value of a type of decimals; `None` if the type does not have it.
pub(crate) fn exact_decimal(unscaled: i128, scale: i8, kind: &DataType) -> Option<ArrayRef> {
    matches!(kind, DataType::Decimal128(..)).then(|| types::fit_number(unscaled, scale, kind))?
}

/// What is wrong with a filter, and at which byte of its text.
fn invalid(at: usize, message: impl Into<String>) -> Error {
    invalid_text(message).at_offset(at as u64)
}

fn invalid_text(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidFilter, message)
}
