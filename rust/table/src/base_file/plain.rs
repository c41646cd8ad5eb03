//! Whether other readers of Parquet find in a base file what hudini finds there.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use hudini_format::parquet_file::ParquetFile;
use parquet::file::reader::ChunkReader;

use super::calendar;
use super::read::whole;
use crate::Result;
use crate::storage::Storage;

/// Whether all readers agree on how Parquet holds the values of a type. Lists and what is made of them have several forms.
pub(crate) fn is_plain_type(data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::Binary
        | DataType::Date32
        | DataType::Decimal128(..) => true,
        DataType::Timestamp(TimeUnit::Microsecond, zone) => zone.as_deref().is_none_or(|zone| zone == "UTC"),
        _ => false,
    }
}

/// Whether a base file holds these columns in these very types, or lacks such as may be null, and in each column of
/// `constants` nothing but that value. Only the footer is read.
pub(crate) fn is_plain(
    storage: &Arc<dyn Storage>,
    path: &str,
    wanted: &Schema,
    constants: &[(String, ArrayRef)],
) -> Result<bool> {
    let file = ParquetFile::open(whole(storage, path)?).map_err(|e| e.at_path(path))?;
    // Spark reads old dates and times of such a file otherwise.
    let is_legacy = calendar::is_legacy(file.metadata());
    let fits = |field: &Field| has_column(file.schema(), field);
    let is_constant = |(name, value): &(String, ArrayRef)| holds_only(&file, name, value);
    Ok(!is_legacy && wanted.fields().iter().all(|field| fits(field)) && constants.iter().all(is_constant))
}

/// Readers that do not tell capitals from small letters must find the same column.
fn has_column(file: &Schema, field: &Field) -> bool {
    let mut alike = file.fields().iter().filter(|found| found.name().eq_ignore_ascii_case(field.name()));
    match (alike.next(), alike.next()) {
        (None, _) => field.is_nullable(),
        (Some(found), None) => found.name() == field.name() && found.data_type() == field.data_type(),
        (Some(_), Some(_)) => false,
    }
}

/// Statistics that were cut off have a least value that is less than the greatest.
fn holds_only<R: ChunkReader + 'static>(file: &ParquetFile<R>, name: &str, value: &ArrayRef) -> bool {
    let groups = file.schema().index_of(name).ok().and_then(|column| file.statistics(column));
    groups.is_some_and(|groups| {
        let is = |bound: &Option<ArrayRef>| bound.as_ref().is_some_and(|bound| bound == value);
        groups.iter().all(|group| is(&group.least) && is(&group.greatest) && group.nulls == Some(0))
    })
}
