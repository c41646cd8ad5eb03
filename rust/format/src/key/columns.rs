//! The columns that keys and paths are made of, by name; a dot leads into a struct.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use arrow_select::nullif::nullif;

use crate::{Error, Result};

/// The values of a field, maybe inside of structs.
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    pub(super) values: &'a dyn Array,
    /// Rows in which all structs around the value are there.
    parents: Option<NullBuffer>,
}

impl Column<'_> {
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.has_no_parent(row) || *self.values.data_type() == DataType::Null || self.values.is_null(row)
    }

    /// The column itself where it is text already, and every row has some: a key of one field is nothing else.
    pub(super) fn texts_of_all_rows(&self) -> Option<&StringArray> {
        let texts = self.values.as_string_opt::<i32>().filter(|_| self.parents.is_none())?;
        let all_have_some =
            texts.null_count() == 0 && texts.value_offsets().windows(2).all(|ends| ends.first() < ends.last());
        all_have_some.then_some(texts)
    }

    /// Whether a struct around the value is null.
    pub(super) fn has_no_parent(&self, row: usize) -> bool {
        self.parents.as_ref().is_some_and(|there| there.is_null(row))
    }
}

/// A column may stand in one key this often: a list that names a long text over and over makes keys without bounds.
const MOST_TIMES: usize = 4;

pub(super) fn find<'a>(batch: &'a RecordBatch, names: impl Iterator<Item = &'a str>) -> Result<Vec<Column<'a>>> {
    let mut times = HashMap::<&str, usize>::new();
    names
        .map(|name| {
            let count = times.entry(name).and_modify(|count| *count += 1).or_insert(1);
            if *count > MOST_TIMES {
                let message = format!("the fields of keys or partitions name '{name}' more than {MOST_TIMES} times");
                return Err(Error::unsupported(message));
            }
            column(batch, name).ok_or_else(|| Error::schema(format!("the key column '{name}' is missing")))
        })
        .collect()
}

/// The column of the table that a field is or lies in.
pub fn outermost(field: &str) -> &str {
    field.split_once('.').map_or(field, |(outer, _)| outer)
}

/// The values of a field, null too where a struct around them is; `None` if the batch has no such field.
pub fn field_values(batch: &RecordBatch, field: &str) -> Result<Option<ArrayRef>> {
    let Some(Column { values, parents, .. }) = column(batch, field) else { return Ok(None) };
    Ok(Some(match parents {
        None => values.slice(0, values.len()),
        Some(there) => nullif(values, &BooleanArray::new(!there.inner(), None))?,
    }))
}

fn column<'a>(batch: &'a RecordBatch, name: &'a str) -> Option<Column<'a>> {
    if let Some(whole) = batch.column_by_name(name) {
        return Some(Column { name, values: whole.as_ref(), parents: None });
    }
    let mut steps = name.split('.');
    let mut values = batch.column_by_name(steps.next()?)?;
    let mut parents = None;
    for step in steps {
        let parent = values.as_struct_opt()?;
        parents = NullBuffer::union(parents.as_ref(), parent.nulls());
        values = parent.column_by_name(step)?;
    }
    Some(Column { name, values: values.as_ref(), parents })
}
