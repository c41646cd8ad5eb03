//! What a footer says about the values of a column in each row group, as far as it can be believed.
//!
//! | written | believed |
//! |---|---|
//! | least and greatest of numbers, dates, timestamps, booleans | yes; older files order them alike |
//! | of texts, bytes and fixed | only where the footer says by which order (since Parquet 2.4): older writers took bytes for signed |
//! | of INT96 | no |
//! | number of nulls | if it is there |
//!
//! Texts may be cut off: then the least one is shorter, the greatest one rounded up, and both still bound the values. NaN is
//! left out of least and greatest.

use arrow_array::{Array, ArrayRef};
use arrow_schema::Field;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{ColumnOrder, Type};
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;

use super::{ParquetFile, guarded};

/// What is known of a column's values in a row group, or in a page of it. Least and greatest are arrays of one value.
#[derive(Debug, Clone)]
pub struct ValueStatistics {
    pub least: Option<ArrayRef>,
    pub greatest: Option<ArrayRef>,
    pub nulls: Option<u64>,
    pub rows: Option<u64>,
}

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// Of each row group, by the column's position in the schema; `None` if there is nothing, as of lists and structs.
    pub fn statistics(&self, column: usize) -> Option<Vec<ValueStatistics>> {
        let (leaf, field) = self.plain_leaf(column)?;
        let groups = self.metadata.row_groups();
        let (least, greatest) = guarded(|| {
            let schema = self.metadata.file_metadata().schema_descr();
            let converter = StatisticsConverter::from_column_index(leaf, field, schema)?;
            Ok((converter.row_group_mins(groups)?, converter.row_group_maxes(groups)?))
        })
        .ok()?;
        let of_group = |(at, group): (usize, &parquet::file::metadata::RowGroupMetaData)| {
            let written = group.columns().get(leaf)?.statistics();
            let ordered = written.is_some_and(|written| self.is_ordered(leaf, written.is_min_max_deprecated()));
            let bound =
                |values: &ArrayRef| (ordered && at < values.len() && values.is_valid(at)).then(|| values.slice(at, 1));
            Some(ValueStatistics {
                least: bound(&least),
                greatest: bound(&greatest),
                nulls: written.and_then(Statistics::null_count_opt),
                rows: u64::try_from(group.num_rows()).ok(),
            })
        };
        groups.iter().enumerate().map(of_group).collect()
    }

    /// The leaf that a column is, by its position in the schema, unless it is made of others.
    pub(super) fn plain_leaf(&self, column: usize) -> Option<(usize, &Field)> {
        let schema = self.metadata.file_metadata().schema_descr();
        let leaf = (0..schema.num_columns()).find(|leaf| schema.get_column_root_idx(*leaf) == column)?;
        let field = self.schema.fields().get(column)?;
        let is_plain = !field.data_type().is_nested() && schema.columns().get(leaf)?.path().parts().len() == 1;
        is_plain.then_some((leaf, field.as_ref()))
    }

    /// Whether the bounds of a leaf that the file states are in the order of its values.
    pub(super) fn is_ordered(&self, leaf: usize, is_deprecated: bool) -> bool {
        let footer = self.metadata.file_metadata();
        let order = footer.column_orders().and_then(|orders| orders.get(leaf));
        is_ordered(is_deprecated, footer.schema_descr().column(leaf).physical_type(), order)
    }
}

pub(super) fn is_ordered(is_deprecated: bool, physical: Type, order: Option<&ColumnOrder>) -> bool {
    match physical {
        Type::INT96 => false,
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => {
            !is_deprecated && matches!(order, Some(ColumnOrder::TYPE_DEFINED_ORDER(_)))
        }
        Type::BOOLEAN | Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => true,
    }
}
