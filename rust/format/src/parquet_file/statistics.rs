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
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::{ColumnOrder, Type};
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;

use super::{ParquetFile, guarded};

/// What is known of a column's values in a row group. Least and greatest are arrays of one value.
#[derive(Debug, Clone)]
pub struct GroupStatistics {
    pub least: Option<ArrayRef>,
    pub greatest: Option<ArrayRef>,
    pub nulls: Option<u64>,
    pub rows: Option<u64>,
}

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// Of each row group, by the column's position in the schema; `None` if there is nothing, as of lists and structs.
    pub fn statistics(&self, column: usize) -> Option<Vec<GroupStatistics>> {
        let footer = self.metadata.file_metadata();
        let schema = footer.schema_descr();
        let leaf = (0..schema.num_columns()).find(|leaf| schema.get_column_root_idx(*leaf) == column)?;
        let field = self.schema.fields().get(column)?;
        let descriptor = schema.columns().get(leaf)?;
        if field.data_type().is_nested() || descriptor.path().parts().len() > 1 {
            return None;
        }
        let groups = self.metadata.row_groups();
        let (least, greatest) = guarded(|| {
            let converter = StatisticsConverter::from_column_index(leaf, field, schema)?;
            Ok((converter.row_group_mins(groups)?, converter.row_group_maxes(groups)?))
        })
        .ok()?;
        let order = footer.column_orders().and_then(|orders| orders.get(leaf));
        let of_group = |(at, group): (usize, &parquet::file::metadata::RowGroupMetaData)| {
            let written = group.columns().get(leaf)?.statistics();
            let ordered = written.is_some_and(|written| is_ordered(written, descriptor.physical_type(), order));
            let bound =
                |values: &ArrayRef| (ordered && at < values.len() && values.is_valid(at)).then(|| values.slice(at, 1));
            Some(GroupStatistics {
                least: bound(&least),
                greatest: bound(&greatest),
                nulls: written.and_then(Statistics::null_count_opt),
                rows: u64::try_from(group.num_rows()).ok(),
            })
        };
        groups.iter().enumerate().map(of_group).collect()
    }
}

pub(super) fn is_ordered(written: &Statistics, physical: Type, order: Option<&ColumnOrder>) -> bool {
    match physical {
        Type::INT96 => false,
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => {
            !written.is_min_max_deprecated() && matches!(order, Some(ColumnOrder::TYPE_DEFINED_ORDER(_)))
        }
        Type::BOOLEAN | Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => true,
    }
}
