//! Record keys and partition paths: the texts that Apache Hudi's key generators make of a row, and the way back.
//!
//! | generator | record key | partition path |
//! |---|---|---|
//! | SIMPLE | the value of the one key field | the value of the one partition field |
//! | COMPLEX | `f1:v1,f2:v2`; of one field `f1:v1`, or bare if an older table is told so | values joined by `/` |
//! | NON_PARTITION | one field: its value; several: as COMPLEX | empty |
//! | GLOBAL_DELETE | always `f1:v1,f2:v2` | empty |
//! | TIMESTAMP | as SIMPLE | a date, see [`TimePartition`] |
//! | CUSTOM | as NON_PARTITION | `f1:SIMPLE,f2:TIMESTAMP`: each as its generator makes it, joined by `/` |
//!
//! Without key fields, keys are made of the write itself: see [`generated_key`]. What the texts of values look like says
//! [`text`]. A table without meta columns (virtual keys) makes its keys anew from the rows whenever they are needed.

mod bignum;
mod columns;
mod config;
mod float;
mod parts;
mod path;
mod text;
mod time;

#[cfg(test)]
mod tests;

use arrow_array::builder::StringBuilder;
use arrow_array::{RecordBatch, StringArray};

use crate::empty::with_buffer;
use crate::{Error, ErrorKind, Result};

use columns::Column;
use text::{push_value, time_value};

pub(crate) use float::{push_double, push_float};
pub(crate) use text::{push_date, push_decimal};

pub use columns::{field_values, outermost};
pub use config::{Generator, KeyConfig, PartitionField};
pub(crate) use parts::part_value;
pub use parts::{EMPTY_KEY_PART, NULL_KEY_PART, key_parts, key_values};
pub use path::{DEFAULT_PARTITION, PathStyle, push_escaped, unescape};
pub use time::TimePartition;

/// The folder of a table that holds no rows.
const METADATA_FOLDER: &str = ".hoodie";

/// The key of a row in a table without key fields: instant of the write, number of the task, number of the row in it.
pub fn generated_key(instant: &str, task: u32, row: u64) -> String {
    format!("{instant}_{task}_{row}")
}

impl KeyConfig {
    /// The record key of every row.
    pub fn record_keys(&self, batch: &RecordBatch) -> Result<StringArray> {
        let columns = columns::find(batch, self.key_fields.iter().map(String::as_str))?;
        if let [column] = columns.as_slice()
            && !self.names_single_key
            && let Some(keys) = column.texts_of_all_rows()
        {
            return Ok(keys.clone());
        }
        let mut keys = StringBuilder::new();
        let mut key = String::new();
        for row in 0..batch.num_rows() {
            key.clear();
            match columns.as_slice() {
                [] => return Err(no_key_fields()),
                [column] if !self.names_single_key => self.bare_key(column, row, &mut key)?,
                columns => self.composite_key(columns, row, &mut key)?,
            }
            keys.append_value(&key);
        }
        Ok(keys.finish())
    }

    fn bare_key(&self, column: &Column<'_>, row: usize, key: &mut String) -> Result<()> {
        self.push_text(column, row, key)?;
        if key.is_empty() { Err(no_key(column.name, row)) } else { Ok(()) }
    }

    fn composite_key(&self, columns: &[Column<'_>], row: usize, key: &mut String) -> Result<()> {
        let mut some = false;
        for (at, column) in columns.iter().enumerate() {
            if column.has_no_parent(row) {
                return Err(no_key(column.name, row));
            }
            if at > 0 {
                key.push(',');
            }
            key.push_str(column.name);
            key.push(':');
            let start = key.len();
            if column.is_null(row) {
                key.push_str(NULL_KEY_PART);
                continue;
            }
            self.push_text(column, row, key)?;
            if key.len() == start {
                key.push_str(EMPTY_KEY_PART);
            } else {
                some = true;
            }
        }
        if some { Ok(()) } else { Err(no_key(&self.key_fields.join(","), row)) }
    }

    /// Nothing for a null.
    fn push_text(&self, column: &Column<'_>, row: usize, out: &mut String) -> Result<()> {
        if column.is_null(row) { Ok(()) } else { push_value(column.values, row, self.dated_timestamps, out) }
    }

    /// The partition path of every row. Refuses what could not be read back, see [`check_value`].
    pub fn partition_paths(&self, batch: &RecordBatch) -> Result<StringArray> {
        if self.partition_fields.is_empty() {
            return with_buffer(&StringArray::new_repeated("", batch.num_rows()));
        }
        let mut paths = StringBuilder::new();
        let check = |field: &str, value: &str, fields| check_value(field, value, fields, self.path_style.hive);
        self.each_path(batch, check, |path| {
            paths.append_value(path);
            check_path(path)
        })?;
        Ok(paths.finish())
    }

    /// Hands over the path of every row, and before that every value with its field and, unless it is encoded, the number of
    /// fields.
    fn each_path(
        &self,
        batch: &RecordBatch,
        check_value: impl Fn(&str, &str, Option<usize>) -> Result<()>,
        mut take: impl FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let columns = columns::find(batch, self.partition_fields.iter().map(|field| field.name.as_str()))?;
        let (mut path, mut value) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            path.clear();
            for (at, (field, column)) in self.partition_fields.iter().zip(&columns).enumerate() {
                if at > 0 {
                    path.push('/');
                }
                value.clear();
                if let Some(time) = &field.time {
                    value = time.path(time_value_of(column, row, self.dated_timestamps)?)?;
                    self.push_level(&field.name, &value, false, &mut path);
                    continue;
                }
                self.push_text(column, row, &mut value)?;
                check_value(&field.name, &value, (!self.path_style.url_encoded).then_some(columns.len()))?;
                self.push_level(&field.name, &value, self.slashes_dates(), &mut path);
            }
            take(&path)?;
        }
        Ok(())
    }

    /// Of several fields only CUSTOM changes the dashes: it asks one generator a field.
    fn slashes_dates(&self) -> bool {
        self.path_style.slashed_dates && (self.partition_fields.len() == 1 || self.generator == Generator::Custom)
    }

    fn push_level(&self, field: &str, value: &str, slashed: bool, path: &mut String) {
        let start = path.len();
        if self.path_style.hive {
            path.push_str(field);
            path.push('=');
        }
        if value.is_empty() {
            path.push_str(DEFAULT_PARTITION);
        } else if self.path_style.url_encoded {
            push_escaped(value, path);
        } else {
            path.push_str(value);
        }
        if slashed {
            let level = path.split_off(start);
            path.push_str(&level.replace('-', "/"));
        }
    }
}

fn time_value_of<'a>(column: &Column<'a>, row: usize, dated: bool) -> Result<time::TimeValue<'a>> {
    if column.is_null(row) { Ok(time::TimeValue::Null) } else { time_value(column.values, row, dated) }
}

/// What would be read back as another value: a slash in one of several values makes another level, what looks like an
/// escape is undone, and what stands before an `=` is a name where none is given. Encoded, all but the name of null can be.
fn check_value(field: &str, value: &str, fields: Option<usize>, names_fields: bool) -> Result<()> {
    if value == DEFAULT_PARTITION {
        return Err(Error::schema(format!(
            "the value '{value}' of partition column '{field}' would be read back as null"
        ))
        .with_hint("write null instead"));
    }
    let Some(fields) = fields else { return Ok(()) };
    let escape = !value.contains('/') && unescape(value) != value;
    let looks_named = match value.contains('/') {
        true => value.strip_prefix(field).is_some_and(|rest| rest.starts_with('=')),
        false => value.contains('='),
    };
    if value.contains(':') || escape || (fields > 1 && value.contains('/')) || (looks_named && !names_fields) {
        return Err(Error::schema(format!("the value '{value}' of partition column '{field}' is no directory name"))
            .with_hint("create the table with hoodie.datasource.write.partitionpath.urlencode=true"));
    }
    Ok(())
}

/// What is no path below the table. Apache Hudi takes a colon for the end of a URL's scheme and cannot list the table.
fn check_path(path: &str) -> Result<()> {
    let odd = |level: &str| level.is_empty() || level == "." || level == "..";
    let outside = !path.is_empty() && path.split('/').any(odd);
    if outside || path.contains(':') || path.split('/').any(|level| level == METADATA_FOLDER) {
        return Err(Error::schema(format!("the partition path '{path}' is no folder of a table's data"))
            .with_hint("a table made with hoodie.datasource.write.partitionpath.urlencode=true takes all but '.', '..' and '.hoodie'"));
    }
    Ok(())
}

fn no_key(fields: &str, row: usize) -> Error {
    Error::new(ErrorKind::SchemaMismatch, format!("row {row} has no record key: '{fields}' is null or empty"))
        .with_hint("every row needs a key; drop or fill such rows before writing")
}

fn no_key_fields() -> Error {
    Error::unsupported("a record key of a table without key fields: Apache Hudi makes it of the write, not of the row")
}
