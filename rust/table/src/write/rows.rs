//! Incoming rows, brought to the table's types and given their meta columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use hudini_format::counted::{Counted, Counting};
use hudini_format::key::{KeyConfig, field_values};
use hudini_format::schema::fit::repeated;
use hudini_format::schema::{self, fit, meta};
use hudini_format::short::{self, are_same};

use super::locate::{KEY_COLUMN, PARTITION_COLUMN, SLOT_COLUMN, WIDTH_COLUMN};
use super::output::unnamed;
use crate::config::refuse_look_alikes;
use crate::merge::MergeRule;
use crate::{Error, Result};

/// Columns of located rows that are no data.
fn is_ours(name: &str) -> bool {
    [PARTITION_COLUMN, SLOT_COLUMN, KEY_COLUMN, WIDTH_COLUMN].contains(&name) || meta::is_meta(name)
}

/// The table's columns and behind them those of the input that it lacks, which old rows do not have; `None` if it lacks none.
pub(super) fn widened(input: &Schema, table: &Schema) -> Result<Option<Schema>> {
    let is_new = |f: &&FieldRef| !is_ours(f.name()) && table.field_with_name(f.name()).is_err();
    let new: Vec<FieldRef> = input.fields().iter().filter(is_new).cloned().collect();
    if new.is_empty() {
        return Ok(None);
    }
    refuse_look_alikes(&new)?;
    for (at, field) in new.iter().enumerate() {
        let others = table.fields().iter().chain(new.iter().skip(at + 1));
        if let Some(alike) = others.map(|f| f.name()).find(|name| name.eq_ignore_ascii_case(field.name())) {
            return Err(Error::schema(format!("a column '{}' beside the column '{alike}'", field.name()))
                .with_hint(format!("Spark does not tell them apart; name it '{alike}' in the rows, or another name")));
        }
    }
    let new = schema::table_schema(&Schema::new(new))?;
    let new = new.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
    Ok(Some(Schema::new(table.fields().iter().cloned().chain(new).collect::<Vec<_>>())))
}

/// What rows may lack.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lack<'a> {
    Nothing,
    /// All but the columns that are named; others may be there too.
    AllBut(&'a [&'a str]),
    /// Columns that may be null, unless they are named.
    NullableBut(&'a [&'a str]),
}

/// Refuses input whose columns are not those of the table, or not of its types.
pub(super) fn check_columns(input: &Schema, table: &Schema, may_lack: Lack<'_>) -> Result<()> {
    if let Some(name) = repeated(input.fields().iter().map(|field| field.name().as_str())) {
        return Err(Error::schema(format!("the rows have more than one column '{name}'")));
    }
    let must = |field: &&FieldRef| match may_lack {
        Lack::Nothing => true,
        Lack::AllBut(named) => named.contains(&field.name().as_str()),
        Lack::NullableBut(named) => !field.is_nullable() || named.contains(&field.name().as_str()),
    };
    let wanted = table.fields().iter().filter(must);
    let missing: Vec<_> = wanted.map(|f| f.name()).filter(|n| input.field_with_name(n).is_err()).collect();
    let takes_all = matches!(may_lack, Lack::AllBut(_));
    let is_extra = |n: &&String| !takes_all && !is_ours(n) && table.field_with_name(n).is_err();
    let extra: Vec<_> = input.fields().iter().map(|f| f.name()).filter(is_extra).collect();
    if missing.is_empty() && extra.is_empty() {
        let read = table.fields().iter().filter(|field| !takes_all || must(field));
        let given = read.filter_map(|field| Some((input.field_with_name(field.name()).ok()?, field)));
        return given.into_iter().try_for_each(|(given, field)| fit::check_type(given.data_type(), field));
    }
    let list = |names: &[&String]| names.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
    let mut wrong = Vec::new();
    if !missing.is_empty() {
        wrong.push(format!("the rows lack {}", list(&missing)));
    }
    if !extra.is_empty() {
        wrong.push(format!("the table has no {}", list(&extra)));
    }
    let error = Error::schema(format!("the rows do not fit the table: {}", wrong.join("; ")));
    Err(match may_lack {
        Lack::Nothing => {
            error.with_hint("schema_mode=\"evolve\" adds columns, and fills those that the rows lack with null")
        }
        Lack::AllBut(_) | Lack::NullableBut(_) => error,
    })
}

/// The columns of the table (or those named), in its order and its types; others are left behind.
pub(super) fn in_table_types(batch: &RecordBatch, table: &Schema, named: Option<&[&str]>) -> Result<RecordBatch> {
    let wanted: Vec<_> = wanted(table, named).cloned().collect();
    let columns = wanted.iter().map(|field| {
        match batch.column_by_name(field.name()) {
            Some(column) => convert(column, field),
            // That they may was decided when the write began.
            None if field.is_nullable() && named.is_none() => Ok(new_null_array(field.data_type(), batch.num_rows())),
            None => Err(Error::schema(format!("the rows lack column '{}'", field.name()))),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(wanted)), columns, &options)
        .map_err(|e| Error::schema("the rows do not fit the table").caused_by(e))
}

fn wanted<'a>(table: &'a Schema, named: Option<&'a [&'a str]>) -> impl Iterator<Item = &'a FieldRef> {
    table.fields().iter().filter(move |f| named.is_none_or(|named| named.contains(&f.name().as_str())))
}

fn convert(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    fit::check_nulls(column, field)?;
    if column.data_type() == field.data_type() {
        return Ok(Arc::clone(column));
    }
    fit::convert(column, field)
}

/// Apache Hudi compares a null with the int 0, and cannot read the file group if the column is anything but int.
fn check_ordering(rows: &RecordBatch, rule: &MergeRule) -> Result<()> {
    for field in &rule.ordering {
        if let Some(column) =
            field_values(rows, field)?.filter(|c| c.null_count() > 0 && *c.data_type() != DataType::Int32)
        {
            return Err(Error::schema(format!(
                "the ordering column '{field}' is null in {} rows",
                column.null_count()
            ))
            .with_hint("Apache Hudi cannot merge rows without an ordering value; fill them before writing"));
        }
    }
    Ok(())
}

/// The way in: rows as the table holds them, or an error.
#[derive(Debug)]
pub(super) struct Intake<'a> {
    pub table: &'a Schema,
    /// The columns that matter; all of the table's, if none are named.
    pub named: Option<Vec<&'a str>>,
    pub rule: MergeRule,
}

impl Intake<'_> {
    pub(super) fn accept(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let accepted = in_table_types(batch, self.table, self.named.as_deref())?;
        if self.named.is_none() {
            check_ordering(&accepted, &self.rule)?;
        }
        Ok(accepted)
    }
}

/// A text that many rows have. The column is made once, and batches get parts of it.
#[derive(Debug)]
struct SameText {
    text: String,
    made: StringArray,
}

impl SameText {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), made: StringArray::new_null(0) }
    }

    fn rows(&mut self, count: usize) -> ArrayRef {
        if self.made.len() < count {
            self.made = StringArray::new_repeated(&self.text, count);
        }
        Arc::new(self.made.slice(0, count))
    }
}

/// What every row of one task is given.
#[derive(Debug)]
pub(super) struct Stamp<'a> {
    pub keys: &'a KeyConfig,
    pub schema: &'a Schema,
    pub partition: &'a str,
    pub same: SameTexts,
    pub rule: &'a MergeRule,
    /// Whether rows go where their keys are, whatever partition they name.
    pub follows_keys: bool,
}

/// The meta columns that have one text in all rows.
#[derive(Debug)]
pub(super) struct SameTexts {
    instant: SameText,
    /// Sequence numbers come when rows are written.
    number: SameText,
    partition: SameText,
    /// Base files give rows their names as they are written.
    file_name: Option<SameText>,
}

impl SameTexts {
    pub(super) fn new(instant: &str, partition: &str, file_name: Option<&str>) -> Self {
        Self {
            instant: SameText::new(instant),
            number: SameText::new(""),
            partition: SameText::new(partition),
            file_name: file_name.map(SameText::new),
        }
    }
}

impl Stamp<'_> {
    /// The rows in the table's types behind their meta columns.
    pub(super) fn rows(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let user = in_table_types(batch, self.schema, None)?;
        check_ordering(&user, self.rule)?;
        let keys = self.keys.record_keys(&user)?;
        if !self.follows_keys {
            self.check_partition(&user)?;
        }
        let count = user.num_rows();
        let same = &mut self.same;
        let meta_columns: [ArrayRef; 4] =
            [same.instant.rows(count), same.number.rows(count), Arc::new(keys), same.partition.rows(count)];
        let file_name = same.file_name.as_mut().map(|name| name.rows(count));
        let schema = meta::with_meta(&user.schema());
        let schema = if file_name.is_some() { Arc::new(schema) } else { unnamed(&schema) };
        let columns = meta_columns.into_iter().chain(file_name).chain(user.columns().iter().cloned()).collect();
        Ok(RecordBatch::try_new(schema, columns)?)
    }

    /// Rows that were sent to the wrong task would be lost to every later look-up.
    fn check_partition(&self, rows: &RecordBatch) -> Result<()> {
        // Where there are no partitions there is no other to come from.
        if self.keys.partition_fields.is_empty() && self.partition.is_empty() {
            return Ok(());
        }
        let partitions = self.keys.partition_paths(rows)?;
        match partitions.iter().flatten().find(|p| !are_same(p.as_bytes(), self.partition.as_bytes())) {
            Some(other) => Err(Error::internal(format!(
                "a row of partition '{other}' came to the task of partition '{}'",
                self.partition
            ))),
            None => Ok(()),
        }
    }
}

/// `<instant>_<task>_<n>` for each of some rows, n counting the file's rows from `first`.
pub(super) fn sequence_numbers(instant: &str, task: u32, first: u64, rows: usize) -> Counted {
    Counted::new(beginning(instant, task), first, rows)
}

fn beginning(instant: &str, task: u32) -> String {
    format!("{instant}_{task}_")
}

/// Digits that a row's number seldom has more of.
const DIGITS: usize = 8;

/// The sequence numbers of rows some of which were changed: the others keep theirs.
pub(super) fn some_sequence_numbers(
    rows: &RecordBatch,
    changed: impl Fn(usize) -> bool,
    instant: &str,
    task: u32,
    first: u64,
) -> Result<ArrayRef> {
    let column = rows.column_by_name(meta::COMMIT_SEQNO).and_then(|c| c.as_string_opt::<i32>());
    let old = column.ok_or_else(|| Error::internal("rows without sequence numbers"))?;
    let beginning = beginning(instant, task);
    let mut number = Counting::new(&beginning, first);
    let mut texts: Vec<u8> = Vec::with_capacity(old.len() * (beginning.len() + DIGITS));
    let mut ends = Vec::with_capacity(old.len() + 1);
    ends.push(0);
    for row in 0..old.len() {
        short::append(if changed(row) { number.text() } else { old.value(row).as_bytes() }, &mut texts);
        ends.push(i32::try_from(texts.len()).map_err(|_| Error::unsupported("so many rows in one batch"))?);
        number.count_on();
    }
    let nulls = old.nulls().map(|nulls| (0..old.len()).map(|row| changed(row) || nulls.is_valid(row)).collect());
    Ok(Arc::new(StringArray::try_new(OffsetBuffer::new(ends.into()), texts.into(), nulls)?))
}

/// The rows with one column exchanged.
pub(super) fn with_column(rows: &RecordBatch, name: &str, column: ArrayRef) -> Result<RecordBatch> {
    let schema = rows.schema();
    let at = schema.index_of(name).map_err(|e| Error::internal("a meta column is missing").caused_by(e))?;
    let columns = rows.columns().iter().enumerate();
    let columns = columns.map(|(i, old)| if i == at { Arc::clone(&column) } else { Arc::clone(old) }).collect();
    Ok(RecordBatch::try_new(schema, columns)?)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::from_the_first(0)]
    #[case::where_digits_grow(95)]
    #[case::by_several(1_999_998)]
    #[case::nines(99_999_999_998)]
    fn sequence_numbers_count_the_rows_and_unchanged_ones_keep_theirs(#[case] first: u64) {
        let old = StringArray::from(vec![Some("old"), None, Some("older"), None, Some(""), Some("x")]);
        let old =
            RecordBatch::try_from_iter_with_nullable([(meta::COMMIT_SEQNO, Arc::new(old) as ArrayRef, true)]).unwrap();
        let numbers = some_sequence_numbers(&old, |row| row != 2 && row != 3, "i", 7, first).unwrap();
        let number = |n: u64| Some(format!("i_7_{}", first + n));
        let expected = [number(0), number(1), Some("older".to_owned()), None, number(4), number(5)];
        assert_eq!(numbers.as_string::<i32>(), &StringArray::from_iter(expected));
    }
}
