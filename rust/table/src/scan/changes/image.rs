//! The row before or after a change, as a struct or as JSON text.
//!
//! | | struct | JSON, as Apache Hudi has it |
//! |---|---|---|
//! | from the table's files | the table's columns | with the meta columns, without those that are null |
//! | from a change log | the same | the table's columns, with nulls; the text `null` for a side that is not there |
//!
//! In JSON dates and times are the numbers that the files hold, and so are numbers that the table shows as text.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StructArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use arrow_select::filter::filter;
use arrow_select::take::take;
use hudini_format::schema::evolve::{Mapping, Projection};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::scan::shape::FolderValues;
use crate::{Error, Result, json};

/// How the rows of a change feed are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Images {
    /// Structs of the table's columns.
    Struct,
    /// JSON text, as Apache Hudi gives it.
    Json,
}

impl Images {
    /// By the word that callers use.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "struct" => Ok(Self::Struct),
            "json" => Ok(Self::Json),
            other => Err(Error::option(format!("images={other}")).with_hint("say \"struct\" or \"json\"")),
        }
    }

    /// The type of the images of a table with these columns.
    pub(super) fn data_type(self, user: &Schema) -> DataType {
        match self {
            // Of a side that is not there no column has a value.
            Self::Struct => DataType::Struct(user.fields().iter().map(nullable).collect()),
            Self::Json => DataType::Utf8,
        }
    }
}

fn nullable(field: &FieldRef) -> FieldRef {
    if field.is_nullable() { Arc::clone(field) } else { Arc::new(field.as_ref().clone().with_nullable(true)) }
}

/// How the images of one feed are made.
pub(super) struct Imaging {
    /// Their type.
    pub(super) kind: DataType,
    /// The table's columns, as files have them.
    stored: Schema,
    /// Those that files have as numbers and tables show as text, for which JSON has the number.
    numbers: BTreeSet<String>,
}

impl Imaging {
    /// `shown` are the columns of the table, `stored` the same as files have them.
    pub(super) fn new(kind: DataType, shown: &Schema, stored: Schema) -> Self {
        let is_text = |name: &str| shown.field_with_name(name).is_ok_and(|field| *field.data_type() == DataType::Utf8);
        let numbers = stored.fields().iter().filter(|f| f.data_type().is_numeric() && is_text(f.name()));
        Self { kind, numbers: numbers.map(|field| field.name().clone()).collect(), stored }
    }

    /// Images of rows of the table's files, which have all columns.
    pub(super) fn of_rows(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        match &self.kind {
            DataType::Struct(fields) => {
                let column = |field: &FieldRef| {
                    let column = rows.column_by_name(field.name()).cloned();
                    column.ok_or_else(|| Error::internal(format!("the column '{}' was not read", field.name())))
                };
                let columns = fields.iter().map(column).collect::<Result<Vec<_>>>()?;
                Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, None, rows.num_rows())?))
            }
            _ => self.texts(&StructArray::from(rows.clone()), |mut row| {
                row.retain(|_, value| !value.is_null());
                Some(row)
            }),
        }
    }

    /// Images that a change log has, under the column names of its writer; structs with what the folder of its file group
    /// says.
    pub(super) fn of_logged(&self, logged: &StructArray, names: &Mapping, folder: &FolderValues) -> Result<ArrayRef> {
        match &self.kind {
            DataType::Struct(fields) => Ok(Arc::new(in_columns(logged, fields.clone(), names, folder)?)),
            _ => {
                let fields = self.stored.fields().iter().map(|field| self.in_json(field)).collect();
                self.texts(&in_columns(logged, fields, names, &FolderValues::default())?, Some)
            }
        }
    }

    /// An UPDATE in SQL writes the text that is shown.
    fn in_json(&self, field: &FieldRef) -> FieldRef {
        let is_shown = self.numbers.contains(field.name());
        let kind = if is_shown { DataType::Utf8 } else { field.data_type().clone() };
        Arc::new(Field::new(field.name(), kind, true))
    }

    fn take_as_numbers(&self, row: &mut Map<String, Value>) {
        for name in &self.numbers {
            let number = row.get(name).and_then(Value::as_str).and_then(|text| text.parse().ok());
            if let (Some(number), Some(value)) = (number, row.get_mut(name)) {
                *value = Value::Number(number);
            }
        }
    }

    /// Each row as JSON, but for what `shown` makes of it; rows that are null as the text `null`.
    fn texts(
        &self,
        rows: &StructArray,
        shown: impl Fn(Map<String, Value>) -> Option<Map<String, Value>>,
    ) -> Result<ArrayRef> {
        let rows = cast(rows, &as_numbers(rows.data_type()))?;
        let mut texts = StringBuilder::new();
        for row in 0..rows.len() {
            let value = match json::value(&rows, row)? {
                Value::Object(mut row) => {
                    self.take_as_numbers(&mut row);
                    shown(row).map_or(Value::Null, Value::Object)
                }
                other => other,
            };
            texts.append_value(value.to_string());
        }
        Ok(Arc::new(texts.finish()))
    }
}

fn in_columns(logged: &StructArray, fields: Fields, names: &Mapping, folder: &FolderValues) -> Result<StructArray> {
    // Rows that are not there must not stand in the way of columns that are never null.
    let there = logged.nulls().map_or_else(|| BooleanBuffer::new_set(logged.len()), |nulls| nulls.inner().clone());
    let mut places = 0..;
    let places: UInt32Array = there.iter().map(|there| if there { places.next() } else { None }).collect();
    let rows = RecordBatch::from(filter(logged, &BooleanArray::new(there, None))?.as_struct());
    let schema = Arc::new(Schema::new(fields));
    let projection = Projection::new(&rows.schema(), &schema, names)?;
    let rows = projection.apply(&rows.project(projection.columns())?)?;
    let rows = folder.show(&rows, &schema)?;
    Ok(take(&StructArray::from(rows), &places, None)?.as_struct().clone())
}

/// A type with numbers in the place of dates and times.
fn as_numbers(kind: &DataType) -> DataType {
    let within = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(as_numbers(field.data_type())));
    match kind {
        DataType::Timestamp(..) | DataType::Time64(_) | DataType::Date64 => DataType::Int64,
        DataType::Date32 | DataType::Time32(_) => DataType::Int32,
        DataType::List(item) => DataType::List(within(item)),
        DataType::LargeList(item) => DataType::LargeList(within(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(within(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(within(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(within).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Date32Type, TimestampMicrosecondType};
    use arrow_array::{Date32Array, Int64Array, PrimitiveArray, StringArray};

    use super::*;

    fn rows() -> RecordBatch {
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            ("_hoodie_record_key", Arc::new(StringArray::from(vec!["a", "b"])), true),
            ("id", Arc::new(Int64Array::from(vec![1, 2])), false),
            ("day", Arc::new(Date32Array::from(vec![Some(3), None])), true),
            ("at", Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(vec![7, 8]).with_timezone("UTC")), true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn of_texts(stored: Schema) -> Imaging {
        Imaging::new(DataType::Utf8, &stored.clone(), stored)
    }

    fn structs(shown: Schema) -> Imaging {
        Imaging::new(Images::Struct.data_type(&shown), &shown.clone(), shown)
    }

    fn strings(array: &ArrayRef) -> Vec<Option<String>> {
        array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }

    fn logged() -> StructArray {
        let rows = StructArray::from(rows().project(&[1, 2]).unwrap());
        let (fields, columns, _) = rows.into_parts();
        StructArray::new(fields, columns, Some(vec![true, false].into()))
    }

    #[test]
    fn of_files_with_meta_columns_and_without_nulls() {
        let images = of_texts(Schema::empty()).of_rows(&rows()).unwrap();
        let expected =
            [r#"{"_hoodie_record_key":"a","id":1,"day":3,"at":7}"#, r#"{"_hoodie_record_key":"b","id":2,"at":8}"#];
        assert_eq!(strings(&images), expected.map(|text| Some(text.to_owned())));
    }

    #[test]
    fn of_logs_in_the_columns_of_the_table() {
        let stored =
            Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("new", DataType::Utf8, true)]);
        let none = FolderValues::default();
        let images = of_texts(stored).of_logged(&logged(), &Mapping::default(), &none).unwrap();
        assert_eq!(strings(&images), [r#"{"id":1,"new":null}"#, "null"].map(|text| Some(text.to_owned())));
    }

    #[test]
    fn numbers_that_are_shown_as_text() {
        let stored = Schema::new(vec![Field::new("id", DataType::Int64, true)]);
        let shown = Schema::new(vec![Field::new("id", DataType::Utf8, true)]);
        let json = Imaging::new(DataType::Utf8, &shown, stored);
        let ids: ArrayRef = Arc::new(StringArray::from(vec!["17", "2026-11-25"]));
        let rows = RecordBatch::try_from_iter([("id", ids)]).unwrap();
        let expected = [r#"{"id":17}"#, r#"{"id":"2026-11-25"}"#].map(|text| Some(text.to_owned()));
        let logged = [StructArray::from(rows.clone()), logged()]
            .map(|logged| strings(&json.of_logged(&logged, &Mapping::default(), &FolderValues::default()).unwrap()));
        assert_eq!([&strings(&json.of_rows(&rows).unwrap()), &logged[0]], [&expected, &expected]);
        assert_eq!(logged[1][0], Some(r#"{"id":1}"#.to_owned()));
    }

    #[test]
    fn structs_have_the_columns_of_the_table() {
        let user = Schema::new(vec![
            Field::new("id", DataType::Int64, false),
            Field::new("day", DataType::Date32, true),
            Field::new("more", DataType::Int32, true),
        ]);
        let wanted = structs(user.clone());
        let images = wanted.of_logged(&logged(), &Mapping::default(), &FolderValues::default()).unwrap();
        let images = images.as_struct();
        assert_eq!((images.is_valid(0), images.is_valid(1)), (true, false));
        assert!(images.column(2).is_null(0));
        // A column that was dropped since.
        let wanted = structs(Schema::new(user.fields()[..1].to_vec()));
        let images = wanted.of_logged(&logged(), &Mapping::default(), &FolderValues::default()).unwrap();
        assert_eq!(images.as_struct().num_columns(), 1);
        let of_file = structs(Schema::new(user.fields()[..2].to_vec())).of_rows(&rows()).unwrap();
        assert_eq!(of_file.as_struct().num_columns(), 2);
    }

    #[test]
    fn structs_have_what_folders_say() {
        let user = Schema::new(vec![
            Field::new("id", DataType::Int64, false),
            Field::new("day", DataType::Date32, true),
            Field::new("country", DataType::Utf8, true),
        ]);
        let said: Vec<(String, ArrayRef)> = vec![
            ("day".to_owned(), Arc::new(Date32Array::from(vec![9]))),
            ("country".to_owned(), Arc::new(StringArray::from(vec!["XK"]))),
        ];
        let wanted = structs(user);
        let images = wanted.of_logged(&logged(), &Mapping::default(), &FolderValues::of(said)).unwrap();
        let images = images.as_struct();
        assert_eq!((images.is_valid(0), images.is_valid(1)), (true, false));
        assert_eq!(images.column(1).as_primitive::<Date32Type>().value(0), 9);
        assert_eq!(images.column(2).as_string::<i32>().value(0), "XK");
    }
}
