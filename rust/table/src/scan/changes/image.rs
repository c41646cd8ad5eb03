//! The row before or after a change, as a struct or as JSON text.
//!
//! | | struct | JSON, as Apache Hudi has it |
//! |---|---|---|
//! | from the table's files | the table's columns | with the meta columns, without those that are null |
//! | from a change log | the same | the table's columns, with nulls; the text `null` for a side that is not there |
//!
//! In JSON dates and times are the numbers that the files hold.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StructArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, FieldRef, Fields, Schema};
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

/// Images of rows of the table's files, which have all columns.
pub(super) fn of_rows(rows: &RecordBatch, wanted: &DataType) -> Result<ArrayRef> {
    match wanted {
        DataType::Struct(fields) => {
            let column = |field: &FieldRef| {
                let column = rows.column_by_name(field.name()).cloned();
                column.ok_or_else(|| Error::internal(format!("the column '{}' was not read", field.name())))
            };
            let columns = fields.iter().map(column).collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, None, rows.num_rows())?))
        }
        _ => texts(&StructArray::from(rows.clone()), |mut row| {
            row.retain(|_, value| !value.is_null());
            Some(row)
        }),
    }
}

/// Images that a change log has, under the column names of its writer; structs with what the folder of its file group says.
/// `stored` are the table's columns as files have them.
pub(super) fn of_logged(
    logged: &StructArray,
    wanted: &DataType,
    stored: &Schema,
    names: &Mapping,
    folder: &FolderValues,
) -> Result<ArrayRef> {
    match wanted {
        DataType::Struct(fields) => Ok(Arc::new(in_columns(logged, fields.clone(), names, folder)?)),
        _ => {
            let fields = stored.fields().iter().map(nullable).collect();
            texts(&in_columns(logged, fields, names, &FolderValues::default())?, Some)
        }
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

/// Each row as JSON, but for what `shown` makes of it; rows that are null as the text `null`.
fn texts(rows: &StructArray, shown: impl Fn(Map<String, Value>) -> Option<Map<String, Value>>) -> Result<ArrayRef> {
    let rows = cast(rows, &as_numbers(rows.data_type()))?;
    let mut texts = StringBuilder::new();
    for row in 0..rows.len() {
        let value = match json::value(&rows, row)? {
            Value::Object(row) => shown(row).map_or(Value::Null, Value::Object),
            other => other,
        };
        texts.append_value(value.to_string());
    }
    Ok(Arc::new(texts.finish()))
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
    use arrow_schema::Field;

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
        let images = of_rows(&rows(), &DataType::Utf8).unwrap();
        let expected =
            [r#"{"_hoodie_record_key":"a","id":1,"day":3,"at":7}"#, r#"{"_hoodie_record_key":"b","id":2,"at":8}"#];
        assert_eq!(strings(&images), expected.map(|text| Some(text.to_owned())));
    }

    #[test]
    fn of_logs_in_the_columns_of_the_table() {
        let stored =
            Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("new", DataType::Utf8, true)]);
        let none = FolderValues::default();
        let images = of_logged(&logged(), &DataType::Utf8, &stored, &Mapping::default(), &none).unwrap();
        assert_eq!(strings(&images), [r#"{"id":1,"new":null}"#, "null"].map(|text| Some(text.to_owned())));
    }

    #[test]
    fn structs_have_the_columns_of_the_table() {
        let user = Schema::new(vec![
            Field::new("id", DataType::Int64, false),
            Field::new("day", DataType::Date32, true),
            Field::new("more", DataType::Int32, true),
        ]);
        let wanted = Images::Struct.data_type(&user);
        let images = of_logged(&logged(), &wanted, &user, &Mapping::default(), &FolderValues::default()).unwrap();
        let images = images.as_struct();
        assert_eq!((images.is_valid(0), images.is_valid(1)), (true, false));
        assert!(images.column(2).is_null(0));
        // A column that was dropped since.
        let wanted = Images::Struct.data_type(&Schema::new(user.fields()[..1].to_vec()));
        let images = of_logged(&logged(), &wanted, &user, &Mapping::default(), &FolderValues::default()).unwrap();
        assert_eq!(images.as_struct().num_columns(), 1);
        let of_file = of_rows(&rows(), &Images::Struct.data_type(&Schema::new(user.fields()[..2].to_vec()))).unwrap();
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
        let wanted = Images::Struct.data_type(&user);
        let images = of_logged(&logged(), &wanted, &user, &Mapping::default(), &FolderValues::of(said)).unwrap();
        let images = images.as_struct();
        assert_eq!((images.is_valid(0), images.is_valid(1)), (true, false));
        assert_eq!(images.column(1).as_primitive::<Date32Type>().value(0), 9);
        assert_eq!(images.column(2).as_string::<i32>().value(0), "XK");
    }
}
