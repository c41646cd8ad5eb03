//! Columns of the writer's type as columns of the wanted type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;

use crate::{Error, Result};

/// Float widens by its decimal text, as Apache Hudi does: 0.1f becomes 0.1.
pub fn widen_float(value: f32) -> f64 {
    if value.is_finite() { value.to_string().parse().unwrap_or(f64::from(value)) } else { f64::from(value) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promotion {
    Same,
    /// The column has only nulls.
    Nulls,
    FloatByText,
    /// The same number by another name.
    Relabel,
    Cast,
}

impl Promotion {
    pub(super) fn between(from: &DataType, to: &DataType) -> Result<Self> {
        use DataType::{
            Binary, Date32, Decimal128, Float32, Float64, Int32, Int64, Null, Time32, Time64, Timestamp, Utf8,
        };
        Ok(match (from, to) {
            (from, to) if from == to => Self::Same,
            (Null, _) => Self::Nulls,
            (Float32, Float64) => Self::FloatByText,
            (Int32, Int64 | Float32 | Float64) | (Int64, Float32 | Float64) | (Utf8, Binary) | (Binary, Utf8) => {
                Self::Cast
            }
            (Decimal128(precision, scale), Decimal128(to_precision, to_scale))
                if to_scale >= scale && to_precision >= precision =>
            {
                Self::Cast
            }
            // A plain number read as a time keeps its number, as in Apache Hudi.
            (Int32, Date32 | Time32(_)) | (Date32 | Time32(_), Int32) => Self::Relabel,
            (Int64, Timestamp(..) | Time64(_)) | (Timestamp(..) | Time64(_), Int64) => Self::Relabel,
            (Timestamp(unit, _), Timestamp(to_unit, _)) if unit == to_unit => Self::Relabel,
            (from, to) => return Err(Error::unsupported(format!("reading {from} as {to}"))),
        })
    }

    pub(super) fn apply(self, column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        Ok(match self {
            Self::Same => Arc::clone(column),
            Self::Nulls => new_null_array(to, column.len()),
            Self::FloatByText => Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float64Type>(widen_float)),
            Self::Relabel => arrow_array::make_array(column.to_data().into_builder().data_type(to.clone()).build()?),
            Self::Cast => cast_with_options(column, to, &strict).map_err(|e| {
                Error::corrupt(format!("a value of type {} cannot become {to}", column.data_type())).caused_by(e)
            })?,
        })
    }
}
