//! What a row's values take, for tables whose commits do not tell yet what a row takes in a base file.
//!
//! The same whoever counts, so that the file groups of a write do not depend on the engine: a fixed amount by the table's
//! schema, and of texts and lists what they hold.

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Schema};

/// Of a number, a date, a truth value.
const PLAIN: i64 = 8;

/// The width of each row, in bytes.
pub(super) fn of_rows(rows: &RecordBatch, table: &Schema) -> Vec<i64> {
    let mut widths = vec![table.fields().iter().map(|field| fixed(field.data_type())).sum(); rows.num_rows()];
    let known = rows.schema();
    for (column, field) in rows.columns().iter().zip(known.fields()) {
        if table.field_with_name(field.name()).is_ok() {
            add_varying(column, &mut widths);
        }
    }
    widths
}

/// The widths of all rows together, by their own schema.
pub(super) fn of_all(rows: &RecordBatch) -> u64 {
    let of = |column: &dyn Array| {
        let fixed = fixed(column.data_type()).saturating_mul(column.len() as i64);
        fixed.saturating_add(varying(column))
    };
    rows.columns().iter().map(|column| of(column.as_ref()).unsigned_abs()).sum()
}

/// What values of the column take and others of its type may not, all together.
fn varying(column: &dyn Array) -> i64 {
    match column.data_type() {
        DataType::Utf8 => length(column.as_string::<i32>().offsets()),
        DataType::LargeUtf8 => length(column.as_string::<i64>().offsets()),
        DataType::Binary => length(column.as_binary::<i32>().offsets()),
        DataType::LargeBinary => length(column.as_binary::<i64>().offsets()),
        DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) | DataType::FixedSizeList(..) => {
            let mut widths = vec![0; column.len()];
            add_varying(column, &mut widths);
            widths.iter().sum()
        }
        DataType::Struct(_) => column.as_struct().columns().iter().map(|inner| varying(inner)).sum(),
        _ => 0,
    }
}

fn length<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> i64 {
    let ends = offsets.iter().next().zip(offsets.iter().next_back());
    ends.map_or(0, |(start, end)| (end.as_usize() - start.as_usize()) as i64)
}

/// What every value of the type takes.
fn fixed(data_type: &DataType) -> i64 {
    use DataType::{
        Binary, FixedSizeBinary, FixedSizeList, LargeBinary, LargeList, LargeUtf8, List, Map, Struct, Utf8,
    };

    match data_type {
        Utf8 | LargeUtf8 | Binary | LargeBinary | List(_) | LargeList(_) | Map(..) => 0,
        FixedSizeBinary(size) => i64::from(*size),
        FixedSizeList(item, size) => i64::from(*size).saturating_mul(fixed(item.data_type())),
        Struct(fields) => fields.iter().map(|field| fixed(field.data_type())).fold(0, i64::saturating_add),
        _ => PLAIN,
    }
}

/// Adds to each value's width what that value takes and others of its type may not.
fn add_varying(column: &dyn Array, widths: &mut [i64]) {
    match column.data_type() {
        DataType::Utf8 => add_lengths(column.as_string::<i32>().offsets(), widths),
        DataType::LargeUtf8 => add_lengths(column.as_string::<i64>().offsets(), widths),
        DataType::Binary => add_lengths(column.as_binary::<i32>().offsets(), widths),
        DataType::LargeBinary => add_lengths(column.as_binary::<i64>().offsets(), widths),
        DataType::List(_) => add_items(column.as_list::<i32>().offsets(), column.as_list::<i32>().values(), widths),
        DataType::LargeList(_) => {
            add_items(column.as_list::<i64>().offsets(), column.as_list::<i64>().values(), widths);
        }
        DataType::Map(..) => add_items(column.as_map().offsets(), column.as_map().entries(), widths),
        DataType::Struct(_) => column.as_struct().columns().iter().for_each(|inner| add_varying(inner, widths)),
        DataType::FixedSizeList(_, size) => {
            let values = column.as_fixed_size_list().values();
            let mut items = vec![0; values.len()];
            add_varying(values, &mut items);
            let size = usize::try_from(*size).unwrap_or(0).max(1);
            widths.iter_mut().zip(items.chunks(size)).for_each(|(width, items)| *width += items.iter().sum::<i64>());
        }
        _ => {}
    }
}

fn add_lengths<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, widths: &mut [i64]) {
    for (width, length) in widths.iter_mut().zip(offsets.lengths()) {
        *width += length as i64;
    }
}

fn add_items<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, values: &dyn Array, widths: &mut [i64]) {
    let mut items = vec![fixed(values.data_type()); values.len()];
    add_varying(values, &mut items);
    for (width, ends) in widths.iter_mut().zip(offsets.windows(2)) {
        let [start, end] = ends else { continue };
        *width += items.get(start.as_usize()..end.as_usize()).unwrap_or_default().iter().sum::<i64>();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{
        FixedSizeListBuilder, Float32Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder,
    };
    use arrow_array::{ArrayRef, Int32Array, LargeStringArray, StringArray, StructArray};
    use arrow_schema::Field;

    use super::*;

    fn widths(column: ArrayRef) -> Vec<i64> {
        let rows = RecordBatch::try_from_iter([("c", column)]).unwrap();
        let all = of_rows(&rows, &rows.schema());
        // A slice says of its rows the same.
        assert_eq!(of_rows(&rows.slice(1, 1), &rows.schema()), all[1..2]);
        for part in [rows.clone(), rows.slice(1, 1), rows.slice(0, 0)] {
            let together: i64 = of_rows(&part, &part.schema()).iter().sum();
            assert_eq!(of_all(&part) as i64, together);
        }
        all
    }

    #[test]
    fn values_of_each_kind() {
        assert_eq!(widths(Arc::new(Int32Array::from(vec![Some(1), None]))), [8, 8]);
        assert_eq!(widths(Arc::new(StringArray::from(vec![Some("abc"), None, Some("")]))), [3, 0, 0]);
        assert_eq!(widths(Arc::new(LargeStringArray::from(vec!["", "abcd"]))), [0, 4]);
        let mut lists = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
        lists.values().values().append_value("abc");
        lists.values().append(true);
        lists.values().append(true);
        lists.append(true);
        lists.values().values().append_value("de");
        lists.values().append(true);
        lists.append(true);
        assert_eq!(widths(Arc::new(lists.finish())), [3, 2]);
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
        maps.keys().append_value("ab");
        maps.values().append_value(1);
        maps.append(true).unwrap();
        maps.append(true).unwrap();
        assert_eq!(widths(Arc::new(maps.finish())), [10, 0]);
        let mut vectors = FixedSizeListBuilder::new(Float32Builder::new(), 3);
        vectors.values().append_slice(&[1.0; 6]);
        vectors.append(true);
        vectors.append(true);
        assert_eq!(widths(Arc::new(vectors.finish())), [24, 24]);
        let inner: ArrayRef = Arc::new(StringArray::from(vec!["a", "bcd"]));
        let number: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let both = StructArray::try_from(vec![("t", inner), ("n", number)]).unwrap();
        assert_eq!(widths(Arc::new(both)), [9, 11]);
    }

    #[test]
    fn columns_of_the_table_count_whether_they_came_or_not() {
        let table = ["a", "b"].map(|name| Field::new(name, DataType::Int64, true));
        let table = Schema::new(table.into_iter().chain([Field::new("c", DataType::Utf8, true)]).collect::<Vec<_>>());
        let text: ArrayRef = Arc::new(StringArray::from(vec!["abc"]));
        let rows = RecordBatch::try_from_iter([("c", Arc::clone(&text)), ("other", text)]).unwrap();
        assert_eq!(of_rows(&rows, &table), [19]);
    }
}
