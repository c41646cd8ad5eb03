//! Rows put together from several versions: each column from the one that has a value for it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, SchemaRef};

use super::rule::Placeholder;
use super::splice::{Runs, splice, splice_column};
use crate::{Error, Result};

/// A row by its batch and its place there. Batch 0 is of the base file, the others are of changes.
pub(super) type Place = (usize, usize);

/// Where a row's columns are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Composition {
    /// All of one stored row.
    Whole(Place),
    /// Column by column; `None` for one that no version has.
    Mixed(Arc<[Option<Place>]>),
}

impl Composition {
    pub(super) fn column(&self, at: usize, batches: &impl Batches) -> Option<Place> {
        match self {
            Self::Whole(place) => batches.has(place.0, at).then_some(*place),
            Self::Mixed(places) => places.get(at).copied().flatten(),
        }
    }
}

/// The stored rows that compositions point to.
pub(super) trait Batches {
    fn batch(&self, at: usize) -> Option<&RecordBatch>;
    /// Whether the rows of a batch have a column: partial updates lack some.
    fn has(&self, batch: usize, column: usize) -> bool;

    fn values(&self, place: Place, column: usize) -> Option<&ArrayRef> {
        self.batch(place.0).and_then(|batch| batch.columns().get(column))
    }
}

/// The winner, with the loser's values where it has none or only says so. In columns that are `turned` it is the other way
/// round.
pub(super) fn patched(
    winner: &Composition,
    loser: &Composition,
    turned: &[bool],
    batches: &impl Batches,
    placeholder: Option<&Placeholder>,
) -> Composition {
    let mut mixed = false;
    let places = turned.iter().enumerate().map(|(at, turned)| {
        let whole = winner.column(at, batches);
        let (winner, loser) = if *turned { (loser, winner) } else { (winner, loser) };
        let own = winner.column(at, batches);
        let stands = own.filter(|place| {
            let values = batches.values(*place, at);
            !values.is_some_and(|values| placeholder.is_some_and(|p| p.is(values.as_ref(), place.1)))
        });
        let chosen = stands.or_else(|| loser.column(at, batches)).or(own);
        mixed |= chosen != whole;
        chosen
    });
    let places: Arc<[_]> = places.collect();
    if mixed { Composition::Mixed(places) } else { winner.clone() }
}

impl Placeholder {
    fn is(&self, values: &dyn Array, row: usize) -> bool {
        match self {
            Self::Default => values.is_null(row),
            Self::Text(text) => match values.data_type() {
                _ if values.is_null(row) => false,
                DataType::Utf8 => values.as_string::<i32>().value(row) == text,
                DataType::Binary => values.as_binary::<i32>().value(row) == text.as_bytes(),
                _ => false,
            },
        }
    }
}

fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// The rows in one batch.
pub(super) fn gather(schema: &SchemaRef, sources: &[&RecordBatch], rows: &[Composition]) -> Result<RecordBatch> {
    if rows.is_empty() {
        return Ok(RecordBatch::new_empty(Arc::clone(schema)));
    }
    let whole = |row: &Composition| match row {
        Composition::Whole(place) => Some(*place),
        Composition::Mixed(_) => None,
    };
    if let Some(places) = rows.iter().map(whole).collect::<Option<Runs>>() {
        return splice(schema, sources, &places);
    }
    let column = |at: usize| gathered_column(at, sources, rows);
    let columns = (0..schema.fields().len()).map(column).collect::<Result<Vec<_>>>()?;
    batch(schema, columns, rows.len())
        .map_err(|e| Error::schema("partial updates make rows that lack columns which must not be null").caused_by(e))
}

fn gathered_column(at: usize, sources: &[&RecordBatch], rows: &[Composition]) -> Result<ArrayRef> {
    let mut arrays: Vec<&dyn Array> =
        sources.iter().filter_map(|batch| Some(batch.columns().get(at)?.as_ref())).collect();
    let none = arrays.first().map(|first| new_null_array(first.data_type(), 1));
    let none = none.ok_or_else(|| Error::internal("rows gathered from nothing"))?;
    let missing = (arrays.len(), 0);
    arrays.push(none.as_ref());
    let place = |row: &Composition| match row {
        Composition::Whole(place) => *place,
        Composition::Mixed(places) => places.get(at).copied().flatten().unwrap_or(missing),
    };
    splice_column(&arrays, &rows.iter().map(place).collect())
}
