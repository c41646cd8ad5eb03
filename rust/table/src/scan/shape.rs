//! What the rows of a scan look like where that is not what files hold: partition columns, and the meta columns of a table
//! that keeps none.
//!
//! As in Apache Hudi on Spark, a partition column has the value that its folder says, in the table's type. The columns of
//! time-based key generators are the exception, whose folders are named after a part of the value: they come from the
//! files, those of the TIMESTAMP generator as text. A folder that says nothing in the column's type leaves it to the files.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow_select::take::take;
use hudini_format::key::{Generator, PathStyle};
use hudini_format::schema::evolve::{Mapping, Projection};
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use crate::config::{TableConfig, keys};
use crate::merge::MergeRule;
use crate::timeline::{Snapshot, arrow_schema};
use crate::{Error, Result};

/// What is particular about the rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowShape {
    /// The meta columns are not shown: what stands there in the files means nothing.
    virtual_keys: bool,
    folders: Option<Folders>,
}

/// How folders say the values of partition columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Folders {
    /// By level, with whether the folder is named after a time.
    columns: Vec<(String, bool)>,
    /// The source of a time-based folder is shown as text.
    as_text: bool,
    /// But not one of type timestamp.
    times_stay: bool,
    /// The columns are in no file.
    dropped: bool,
    slashed_dates: bool,
}

impl RowShape {
    pub(super) fn of(config: &TableConfig) -> Result<Self> {
        Ok(Self { virtual_keys: config.has_virtual_keys(), folders: Folders::of(config)? })
    }

    /// With timestamps as files have them, though the table shows them as text: for images in JSON, which have the number.
    pub(super) fn with_times(mut self) -> Self {
        self.folders.iter_mut().for_each(|folders| folders.times_stay = true);
        self
    }

    /// All columns as files and merging have them: the meta columns in front.
    pub(super) fn stored(snapshot: &Snapshot) -> Result<Schema> {
        let user = snapshot.schema.as_deref().map(arrow_schema).transpose()?;
        Ok(meta::with_meta(&user.unwrap_or_else(Schema::empty)))
    }

    /// The same, as files are asked for them: of a column that is shown as text some have the text, because an UPDATE in SQL
    /// writes what is shown, and base files say a time in another way than logs.
    pub(super) fn asked(&self, stored: &Schema, is_compared: impl Fn(&str) -> bool) -> Schema {
        let asked = |field: &FieldRef| match field.data_type() {
            DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
            | DataType::Timestamp(TimeUnit::Microsecond, _)
                if !is_compared(field.name()) =>
            {
                self.shown_field(field)
            }
            _ => Arc::clone(field),
        };
        Schema::new(stored.fields().iter().map(asked).collect::<Vec<_>>())
    }

    /// All columns as they are shown.
    pub(super) fn shown(&self, snapshot: &Snapshot, with_meta: bool) -> Result<Schema> {
        let stored = Self::stored(snapshot)?;
        let with_meta = with_meta && !self.virtual_keys;
        let is_meta = |name: &str| meta::is_meta(name) || name == meta::OPERATION;
        let fields = stored.fields().iter().filter(|f| with_meta || !is_meta(f.name()));
        Ok(Schema::new(fields.map(|f| self.shown_field(f)).collect::<Vec<_>>()))
    }

    /// What a merged time came from must be known to show it: one that rows are merged by comes without it.
    pub(super) fn check_merged(&self, asked: &Schema, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let lost = self.times_as_texts(asked).find(|field| wanted(field.name()));
        lost.map_or(Ok(()), |field| Err(no_text(field.name(), field.data_type())))
    }

    /// A compaction gives times other texts, and no change tells of that.
    pub(super) fn check_changes(&self, config: &TableConfig, snapshot: &Snapshot) -> Result<()> {
        let stored = Self::stored(snapshot)?;
        let time = self.times_as_texts(&stored).find(|_| config.is_mor());
        time.map_or(Ok(()), |field| {
            let message = format!("changes of a merge-on-read table with times as text in column '{}'", field.name());
            Err(Error::unsupported(message).with_hint("images in JSON have the number"))
        })
    }

    /// Changes are found by the keys of rows as they are shown.
    pub(super) fn check_keys(&self, rule: &MergeRule, snapshot: &Snapshot) -> Result<()> {
        let stored = Self::stored(snapshot)?;
        let changed = |field: &&FieldRef| self.shown_field(field).data_type() != field.data_type();
        let other = stored.fields().iter().filter(|field| rule.makes_keys(field.name())).find(changed);
        other.map_or(Ok(()), |field| {
            let message =
                format!("changes of a table without meta fields whose key '{}' is shown as text", field.name());
            Err(Error::unsupported(message))
        })
    }

    /// Columns of times that are shown as text.
    fn times_as_texts<'s>(&self, schema: &'s Schema) -> impl Iterator<Item = &'s FieldRef> {
        let shows_text = |field: &FieldRef| self.folders.as_ref().is_some_and(|folders| folders.shows_text(field));
        schema.fields().iter().filter(move |field| is_time(field) && shows_text(field))
    }

    fn shown_field(&self, field: &FieldRef) -> FieldRef {
        match &self.folders {
            Some(folders) if folders.shows_text(field) => {
                Arc::new(Field::new(field.name(), DataType::Utf8, field.is_nullable()))
            }
            _ => Arc::clone(field),
        }
    }

    /// Whether the folders say the values of a column.
    pub(super) fn folders_say(&self, column: &str) -> bool {
        self.folders.as_ref().is_some_and(|folders| folders.says(column))
    }

    /// The values that the folder of a partition says, among the wanted columns.
    pub(super) fn folder_values(&self, partition: &str, wanted: &Schema) -> Result<FolderValues> {
        let values = self.folders.as_ref().map(|folders| folders.values(partition, wanted)).transpose()?;
        Ok(FolderValues(values.unwrap_or_default()))
    }
}

fn is_time(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Timestamp(..))
}

impl Folders {
    fn of(config: &TableConfig) -> Result<Option<Self>> {
        let fields = config.get(keys::PARTITION).unwrap_or_default();
        let fields: Vec<_> = fields.split(',').map(str::trim).filter(|f| !f.is_empty()).collect();
        let dropped = config.drops_partition_columns();
        if fields.is_empty() {
            return Ok(None);
        }
        let named = config.get(keys::KEY_GENERATOR_TYPE).or_else(|| config.get(keys::KEY_GENERATOR_CLASS));
        // A generator of the user's own names folders after values, as far as anybody knows.
        let generator = named.and_then(|name| Generator::parse(name).ok());
        let by_time = |kind: Option<&str>| match (generator, kind) {
            (Some(Generator::Timestamp), _) => true,
            // Up to version 6 tables do not say the types of their CUSTOM generator's fields.
            (Some(Generator::Custom), None) => true,
            (_, kind) => kind.is_some_and(|kind| kind.eq_ignore_ascii_case("TIMESTAMP")),
        };
        let column = |field: &&str| match field.split_once(':') {
            Some((name, kind)) => (name.to_owned(), by_time(Some(kind))),
            None => ((*field).to_owned(), by_time(None)),
        };
        let columns: Vec<_> = fields.iter().map(column).collect();
        if dropped && let Some((nested, _)) = columns.iter().find(|(name, _)| name.contains('.')) {
            return Err(Error::unsupported(format!("the partition column '{nested}' of a struct, which files lack")));
        }
        Ok(Some(Self {
            columns,
            as_text: generator == Some(Generator::Timestamp),
            times_stay: false,
            dropped,
            slashed_dates: config.is_true(keys::SLASHED_DATES),
        }))
    }

    fn shows_text(&self, field: &Field) -> bool {
        let is_named = self.columns.iter().any(|(column, _)| column == field.name());
        self.as_text && is_named && !(self.times_stay && is_time(field))
    }

    /// Whether the column comes from the folders.
    fn says(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, by_time)| column == name && (self.dropped || !by_time))
    }

    fn values(&self, partition: &str, wanted: &Schema) -> Result<Vec<(String, ArrayRef)>> {
        let style = PathStyle { slashed_dates: self.slashed_dates, ..PathStyle::default() };
        let names: Vec<_> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let texts = match style.values(partition, &names) {
            Ok(texts) => texts,
            Err(e) if self.dropped => return Err(e),
            Err(_) => return Ok(Vec::new()),
        };
        let mut values = Vec::new();
        for (name, text) in names.into_iter().zip(texts).filter(|(name, _)| self.says(name)) {
            let Ok(field) = wanted.field_with_name(name) else { continue };
            match value_of(text.as_deref(), field) {
                Some(value) => values.push((name.to_owned(), value)),
                None if self.dropped => {
                    let message = format!(
                        "the folder '{partition}' does not say the value of column '{name}' of type {}",
                        field.data_type()
                    );
                    return Err(Error::unsupported(message));
                }
                None => {}
            }
        }
        Ok(values)
    }
}

/// The value that a folder's name says, if it is one of the type.
fn value_of(text: Option<&str>, field: &Field) -> Option<ArrayRef> {
    let data_type = field.data_type();
    let Some(text) = text else { return field.is_nullable().then(|| new_null_array(data_type, 1)) };
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
    match data_type {
        DataType::Utf8 => Some(texts),
        DataType::Boolean | DataType::Int32 | DataType::Int64 | DataType::Float32 | DataType::Float64 => {
            arrow_cast::cast(&texts, data_type).ok().filter(|value| !value.is_null(0))
        }
        DataType::Date32 | DataType::Decimal128(..) => converted(&texts, data_type).ok().filter(|v| !v.is_null(0)),
        // Micros, millis, or a text in the zone of whoever wrote it.
        _ => None,
    }
}

/// The values in another type, by the rules of schema evolution.
fn converted(values: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let column = |data_type: &DataType| Arc::new(Schema::new(vec![Field::new("value", data_type.clone(), true)]));
    let from = column(values.data_type());
    let projection = Projection::new(&from, &column(data_type), &Mapping::default())?;
    let rows = projection.apply(&RecordBatch::try_new(from, vec![Arc::clone(values)])?)?;
    rows.columns().first().cloned().ok_or_else(|| Error::internal("a converted column went missing"))
}

/// Columns of the one value that a folder says.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderValues(Vec<(String, ArrayRef)>);

impl FolderValues {
    #[cfg(test)]
    pub(super) fn of(values: Vec<(String, ArrayRef)>) -> Self {
        Self(values)
    }

    /// Each with its column.
    pub(super) fn values(&self) -> &[(String, ArrayRef)] {
        &self.0
    }

    /// Whether the files need not be asked.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(column, _)| column == name)
    }

    /// The rows as they are shown: merged ones, in the columns of `output`.
    pub(super) fn show(&self, rows: &RecordBatch, output: &SchemaRef) -> Result<RecordBatch> {
        if self.0.is_empty() && rows.schema().fields() == output.fields() {
            return Ok(rows.clone());
        }
        let columns = output.fields().iter().map(|field| self.column(rows, field)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(output), columns, &options)?)
    }

    fn column(&self, rows: &RecordBatch, field: &Field) -> Result<ArrayRef> {
        if let Some((_, value)) = self.0.iter().find(|(name, _)| name == field.name()) {
            return Ok(take(value, &UInt32Array::from_value(0, rows.num_rows()), None)?);
        }
        let column = rows.column_by_name(field.name());
        let column = column.ok_or_else(|| Error::internal(format!("column '{}' was not read", field.name())))?;
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        converted(column, field.data_type()).map_err(|e| no_text(field.name(), column.data_type()).caused_by(e))
    }
}

fn no_text(column: &str, data_type: &DataType) -> Error {
    Error::unsupported(format!("the partition column '{column}' of type {data_type} as text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::context::ManualClock;
    use crate::storage::Storage;
    use crate::storage::memory::Memory;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Date32Type, Int32Type, Int64Type};
    use rstest::rstest;

    fn shape(properties: &[(&str, &str)]) -> RowShape {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        let mut text = "hoodie.table.name=t\nhoodie.table.version=9\n".to_owned();
        properties.iter().for_each(|(key, value)| text += &format!("{key}={value}\n"));
        memory.replace(".hoodie/hoodie.properties", text.as_bytes()).unwrap();
        RowShape::of(&TableConfig::load(&memory).unwrap()).unwrap()
    }

    fn columns() -> Schema {
        Schema::new(vec![
            Field::new("id", DataType::Int32, false),
            Field::new("p", DataType::Utf8, true),
            Field::new("n", DataType::Int64, true),
            Field::new("d", DataType::Date32, true),
            Field::new("t", DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, None), true),
            Field::new("must", DataType::Utf8, false),
        ])
    }

    const HIVE: (&str, &str) = ("hoodie.datasource.write.hive_style_partitioning", "true");
    const DROPPED: (&str, &str) = ("hoodie.datasource.write.drop.partition.columns", "true");

    fn values(properties: &[(&str, &str)], folder: &str) -> Result<Vec<(String, ArrayRef)>> {
        Ok(shape(properties).folder_values(folder, &columns())?.0)
    }

    #[test]
    fn folders_say_values_in_the_types_of_the_columns() {
        let found = values(&[("hoodie.table.partition.fields", "p,n,d"), HIVE], "p=x/n=-3/d=2024-02-29").unwrap();
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["p", "n", "d"]);
        assert_eq!(found[0].1.as_string::<i32>().value(0), "x");
        assert_eq!(found[1].1.as_primitive::<Int64Type>().value(0), -3);
        assert_eq!(found[2].1.as_primitive::<Date32Type>().value(0), 19782);
        let found = values(&[("hoodie.table.partition.fields", "p")], "__HIVE_DEFAULT_PARTITION__").unwrap();
        assert!(found[0].1.is_null(0));
        let found = values(&[("hoodie.table.partition.fields", "p")], "a/b").unwrap();
        assert_eq!(found[0].1.as_string::<i32>().value(0), "a/b", "of one field, all of the path");
    }

    #[rstest]
    #[case::not_of_the_type("n", "x")]
    #[case::a_number_or_a_text("t", "1577934245678901")]
    #[case::too_many_levels("p,n", "a/b/3")]
    #[case::null_where_there_must_be_none("must", "__HIVE_DEFAULT_PARTITION__")]
    #[case::a_field_of_a_struct("s.p", "x")]
    fn what_a_folder_does_not_say_the_files_do(#[case] fields: &str, #[case] folder: &str) {
        assert!(values(&[("hoodie.table.partition.fields", fields)], folder).unwrap().is_empty());
    }

    #[rstest]
    #[case("n", "x")]
    #[case("t", "1577934245678901")]
    #[case("p,n", "a/b/3")]
    fn unless_files_lack_the_columns(#[case] fields: &str, #[case] folder: &str) {
        assert!(values(&[("hoodie.table.partition.fields", fields), DROPPED], folder).is_err());
    }

    #[test]
    fn time_based_generators_leave_the_values_to_the_files() {
        let kind = |name| ("hoodie.table.keygenerator.type", name);
        let timed = [("hoodie.table.partition.fields", "n"), kind("TIMESTAMP")];
        assert!(values(&timed, "2024").unwrap().is_empty());
        let field = Arc::new(Field::new("n", DataType::Int64, true));
        assert_eq!(*shape(&timed).shown_field(&field).data_type(), DataType::Utf8);
        let custom = [("hoodie.table.partition.fields", "p:SIMPLE,n:timestamp"), kind("CUSTOM")];
        let found = values(&custom, "x/2024").unwrap();
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["p"]);
        assert_eq!(*shape(&custom).shown_field(&field).data_type(), DataType::Int64);
        let older = [("hoodie.table.partition.fields", "p,n"), kind("CUSTOM")];
        assert!(values(&older, "x/2024").unwrap().is_empty(), "tables of version 6 do not say which is which");
    }

    #[test]
    fn times_are_asked_for_as_texts_unless_rows_are_merged_by_them() {
        let shape = shape(&[("hoodie.table.partition.fields", "t"), ("hoodie.table.keygenerator.type", "TIMESTAMP")]);
        let asked = |is_compared: bool| shape.asked(&columns(), |name| is_compared && name == "t");
        assert_eq!(*asked(false).field_with_name("t").unwrap().data_type(), DataType::Utf8);
        let time = asked(true);
        assert_eq!(time, columns());
        let error = shape.check_merged(&time, |name| name == "t").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature);
        assert!(error.message().contains("partition column 't' of type Timestamp"), "{error}");
        assert!(shape.check_merged(&time, |name| name == "id").is_ok());
        assert!(shape.check_merged(&asked(false), |_| true).is_ok());
        let shape = shape.clone().with_times();
        assert_eq!(shape.asked(&columns(), |_| false), columns());
    }

    #[rstest]
    #[case::of_micros(TimeUnit::Microsecond, Ok("1970-01-01 00:00:01.5"))]
    #[case::of_millis(TimeUnit::Millisecond, Err(ErrorKind::UnsupportedFeature))]
    fn times_by_which_rows_are_merged_are_shown_as_texts(
        #[case] unit: TimeUnit,
        #[case] expected: std::result::Result<&str, ErrorKind>,
    ) {
        let times = arrow_cast::cast(&arrow_array::Int64Array::from(vec![1_500_000]), &DataType::Timestamp(unit, None));
        let rows = RecordBatch::try_from_iter([("t", times.unwrap())]).unwrap();
        let output = Arc::new(Schema::new(vec![Field::new("t", DataType::Utf8, true)]));
        let shown = FolderValues::default().show(&rows, &output);
        let shown = shown.map(|rows| rows.column(0).as_string::<i32>().value(0).to_owned()).map_err(|e| e.kind());
        assert_eq!(shown, expected.map(str::to_owned));
    }

    #[test]
    fn rows_are_shown_with_what_folders_say() {
        let shape = shape(&[("hoodie.table.partition.fields", "n"), ("hoodie.table.keygenerator.type", "SIMPLE")]);
        let folder = shape.folder_values("7", &columns()).unwrap();
        assert!(folder.has("n") && !folder.has("id"));
        let ids: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![1, 2]));
        let schema = Arc::new(Schema::new(vec![columns().field(0).clone()]));
        let rows = RecordBatch::try_new(schema, vec![ids]).unwrap();
        let output = Arc::new(Schema::new(vec![columns().field(2).clone(), columns().field(0).clone()]));
        let shown = folder.show(&rows, &output).unwrap();
        assert_eq!(shown.column(0).as_primitive::<Int64Type>().values(), &[7, 7]);
        assert_eq!(shown.column(1).as_primitive::<Int32Type>().values(), &[1, 2]);
    }
}
