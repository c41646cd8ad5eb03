//! Record keys and partition paths: the texts that Apache Hudi's key generators make of a row.
//!
//! | generator | record key | partition path |
//! |---|---|---|
//! | SIMPLE | the value of the one key field | the value of the one partition field |
//! | COMPLEX | `f1:v1,f2:v2`, also for one key field (table version 9) | values joined by `/` |
//! | NON_PARTITION | one field: its value; several: as COMPLEX | empty |

use std::fmt::Write as _;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType,
};
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{DataType, TimeUnit};

use crate::hash::{EMPTY_KEY_PART, NULL_KEY_PART};
use crate::instant::civil_from_days;
use crate::{Error, ErrorKind, Result};

/// The directory of rows whose partition value is null or empty.
pub const DEFAULT_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// The folder of a table that holds no rows.
const METADATA_FOLDER: &str = ".hoodie";

/// The generators that hudini writes with, as `hoodie.table.keygenerator.type` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    Simple,
    Complex,
    NonPartition,
}

impl Generator {
    /// The one that fits the fields, by the rule of Apache Hudi.
    pub fn infer(key_fields: usize, partition_fields: usize) -> Self {
        match (key_fields, partition_fields) {
            (_, 0) => Self::NonPartition,
            (1, 1) => Self::Simple,
            _ => Self::Complex,
        }
    }

    pub fn type_name(self) -> &'static str {
        match self {
            Self::Simple => "SIMPLE",
            Self::Complex => "COMPLEX",
            Self::NonPartition => "NON_PARTITION",
        }
    }

    /// By type name (with or without the `_AVRO` of its twin) or by class name.
    pub fn parse(name: &str) -> Result<Self> {
        let short = name.rsplit('.').next().unwrap_or(name);
        let upper = short.to_ascii_uppercase();
        match upper.trim_end_matches("_AVRO") {
            "SIMPLE" | "SIMPLEKEYGENERATOR" | "SIMPLEAVROKEYGENERATOR" => Ok(Self::Simple),
            "COMPLEX" | "COMPLEXKEYGENERATOR" | "COMPLEXAVROKEYGENERATOR" => Ok(Self::Complex),
            "NON_PARTITION" | "NONPARTITIONEDKEYGENERATOR" | "NONPARTITIONEDAVROKEYGENERATOR" => Ok(Self::NonPartition),
            _ => Err(Error::unsupported(format!("the key generator '{name}'"))
                .with_hint("hudini writes with SIMPLE, COMPLEX and NON_PARTITION")),
        }
    }
}

/// How a table names its rows and their directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyConfig {
    pub generator: Generator,
    pub key_fields: Vec<String>,
    pub partition_fields: Vec<String>,
    pub hive_style: bool,
    pub url_encode: bool,
}

impl KeyConfig {
    /// The record key of every row.
    pub fn record_keys(&self, batch: &RecordBatch) -> Result<StringArray> {
        let columns = columns(batch, &self.key_fields)?;
        let composite = columns.len() > 1 || self.generator == Generator::Complex;
        let mut keys = StringBuilder::new();
        let mut key = String::new();
        for row in 0..batch.num_rows() {
            key.clear();
            if composite {
                self.composite_key(&columns, row, &mut key)?;
            } else if let [(name, column)] = columns.as_slice()
                && (column.is_null(row) || !push_value(*column, row, &mut key)? || key.is_empty())
            {
                return Err(no_key(name, row));
            }
            keys.append_value(&key);
        }
        Ok(keys.finish())
    }

    fn composite_key(&self, columns: &[(&str, &dyn Array)], row: usize, key: &mut String) -> Result<()> {
        let mut some = false;
        for (at, (name, column)) in columns.iter().enumerate() {
            if at > 0 {
                key.push(',');
            }
            key.push_str(name);
            key.push(':');
            let start = key.len();
            if column.is_null(row) || !push_value(*column, row, key)? {
                key.push_str(NULL_KEY_PART);
            } else if key.len() == start {
                key.push_str(EMPTY_KEY_PART);
            } else {
                some = true;
            }
        }
        if some { Ok(()) } else { Err(no_key(&self.key_fields.join(","), row)) }
    }

    /// The partition path of every row.
    pub fn partition_paths(&self, batch: &RecordBatch) -> Result<StringArray> {
        let columns = match self.generator {
            Generator::NonPartition => Vec::new(),
            _ => columns(batch, &self.partition_fields)?,
        };
        let mut paths = StringBuilder::new();
        let (mut path, mut value) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            path.clear();
            for (at, (name, column)) in columns.iter().enumerate() {
                value.clear();
                if !column.is_null(row) {
                    push_value(*column, row, &mut value)?;
                }
                if at > 0 {
                    path.push('/');
                }
                self.push_partition(name, &value, columns.len(), &mut path)?;
            }
            if path.split('/').next() == Some(METADATA_FOLDER) {
                return Err(Error::schema(format!("the partition path '{path}' lies in the table's own folder")));
            }
            paths.append_value(&path);
        }
        Ok(paths.finish())
    }

    fn push_partition(&self, field: &str, value: &str, fields: usize, path: &mut String) -> Result<()> {
        if self.hive_style {
            path.push_str(field);
            path.push('=');
        }
        if value.is_empty() {
            path.push_str(DEFAULT_PARTITION);
        } else if self.url_encode {
            push_escaped(value, path);
        } else {
            check_directory(field, value, fields)?;
            path.push_str(value);
        }
        Ok(())
    }
}

/// What cannot be a directory name, or would be read back as another value.
fn check_directory(field: &str, value: &str, fields: usize) -> Result<()> {
    let odd_part = value.split('/').any(|part| part.is_empty() || part == "." || part == "..");
    // Apache Hudi takes a colon for the end of a URL's scheme and cannot list the table any more.
    if odd_part || value.contains(':') || (fields > 1 && value.contains('/')) {
        return Err(Error::schema(format!("the value '{value}' of partition column '{field}' is no directory name"))
            .with_hint("create the table with hoodie.datasource.write.partitionpath.urlencode=true"));
    }
    Ok(())
}

fn no_key(fields: &str, row: usize) -> Error {
    Error::new(ErrorKind::SchemaMismatch, format!("row {row} has no record key: '{fields}' is null or empty"))
        .with_hint("every row needs a key; drop or fill such rows before writing")
}

fn columns<'a>(batch: &'a RecordBatch, fields: &'a [String]) -> Result<Vec<(&'a str, &'a dyn Array)>> {
    fields
        .iter()
        .map(|name| {
            let column = batch.column_by_name(name);
            let column = column.ok_or_else(|| Error::schema(format!("the key column '{name}' is missing")))?;
            Ok((name.as_str(), column.as_ref()))
        })
        .collect()
}

/// Appends the text of a value; `false` where the type itself is null.
fn push_value(column: &dyn Array, row: usize, out: &mut String) -> Result<bool> {
    match column.data_type() {
        DataType::Null => return Ok(false),
        DataType::Utf8 => out.push_str(column.as_string::<i32>().value(row)),
        DataType::Boolean => put(out, column.as_boolean().value(row)),
        DataType::Int32 => put(out, column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => put(out, column.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => push_java_float(column.as_primitive::<Float32Type>().value(row), out),
        DataType::Float64 => push_java_float(column.as_primitive::<Float64Type>().value(row), out),
        DataType::Date32 => {
            let (year, month, day) = civil_from_days(i64::from(column.as_primitive::<Date32Type>().value(row)));
            put(out, format_args!("{year:04}-{month:02}-{day:02}"));
        }
        // Apache Hudi takes the raw number, unless told to be consistent with its row writer.
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            put(out, column.as_primitive::<TimestampMicrosecondType>().value(row));
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            put(out, column.as_primitive::<TimestampMillisecondType>().value(row));
        }
        DataType::Decimal128(_, scale) => {
            push_java_decimal(column.as_primitive::<Decimal128Type>().value(row), *scale, out);
        }
        other => return Err(Error::unsupported(format!("a key or partition column of type {other}"))),
    }
    Ok(true)
}

fn put(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

/// `toString` of Java's BigDecimal: plain unless the first digit stands more than six places behind the point.
fn push_java_decimal(unscaled: i128, scale: i8, out: &mut String) {
    const FARTHEST: i32 = -6;
    let digits = unscaled.unsigned_abs().to_string();
    let scale = i32::from(scale);
    let exponent = digits.len() as i32 - 1 - scale;
    if unscaled < 0 {
        out.push('-');
    }
    if scale >= 0 && exponent >= FARTHEST {
        let places = scale.unsigned_abs() as usize;
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = padded.split_at_checked(padded.len() - places).unwrap_or((&padded, ""));
        out.push_str(whole);
        if places > 0 {
            put(out, format_args!(".{fraction}"));
        }
        return;
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    put(out, format_args!("{first}{point}{rest}E{exponent:+}"));
}

/// `toString` of Java's Float and Double: plain from 1e-3 to 1e7, else `d.dddEn`, always with a decimal point.
fn push_java_float<F: std::fmt::LowerExp + Into<f64> + Copy>(value: F, out: &mut String) {
    let wide: f64 = value.into();
    if wide.is_nan() {
        return out.push_str("NaN");
    }
    if wide.is_infinite() {
        return out.push_str(if wide > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest.replace('.', "")),
        None => ("", mantissa.replace('.', "")),
    };
    out.push_str(sign);
    if wide == 0.0 {
        return out.push_str("0.0");
    }
    let or_zero = |text: &str| if text.is_empty() { "0".to_owned() } else { text.to_owned() };
    if (-3..7).contains(&exponent) {
        if exponent < 0 {
            let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
            return put(out, format_args!("0.{zeros}{digits}"));
        }
        let point = exponent as usize + 1;
        let padded = format!("{digits:0<point$}");
        let (whole, fraction) = padded.split_at_checked(point).unwrap_or((&padded, ""));
        return put(out, format_args!("{whole}.{}", or_zero(fraction)));
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    put(out, format_args!("{first}.{}E{exponent}", or_zero(rest)));
}

/// Percent-encodes what Apache Hudi encodes in partition values, and nothing else.
pub(crate) fn push_escaped(value: &str, out: &mut String) {
    for c in value.chars() {
        let special = matches!(
            c,
            '\0'..='\x1f'
                | '\x7f'
                | '"'
                | '#'
                | '%'
                | '\''
                | '*'
                | '/'
                | ':'
                | '='
                | '?'
                | '\\'
                | '{'
                | '['
                | ']'
                | '^'
        );
        if special { put(out, format_args!("%{:02X}", u32::from(c))) } else { out.push(c) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array,
        TimestampMicrosecondArray,
    };
    use rstest::rstest;

    use super::*;

    fn config(generator: Generator, keys: &[&str], partitions: &[&str]) -> KeyConfig {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        KeyConfig {
            generator,
            key_fields: owned(keys),
            partition_fields: owned(partitions),
            hive_style: false,
            url_encode: false,
        }
    }

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
    }

    fn strings(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn the_composite_key_of_every_type() {
        let decimal = |v: i128, p, s| Arc::new(Decimal128Array::from(vec![v]).with_precision_and_scale(p, s).unwrap());
        let rows = batch(vec![
            ("b", Arc::new(BooleanArray::from(vec![true]))),
            ("i", Arc::new(Int32Array::from(vec![3]))),
            ("l", Arc::new(Int64Array::from(vec![1_234_567_890_123]))),
            ("f", Arc::new(Float32Array::from(vec![1.5]))),
            ("d", Arc::new(Float64Array::from(vec![100.0]))),
            ("dc", decimal(12_340, 10, 3)),
            ("dc0", decimal(5, 20, 0)),
            ("dt", Arc::new(Date32Array::from(vec![18_321]))),
            ("ts", Arc::new(TimestampMicrosecondArray::from(vec![1_577_934_245_678_901]).with_timezone("UTC"))),
            ("tn", Arc::new(TimestampMicrosecondArray::from(vec![1_577_934_245_678_901]))),
            ("st", strings(&[Some("s,t:u")])),
        ]);
        let fields = ["b", "i", "l", "f", "d", "dc", "dc0", "dt", "ts", "tn", "st"];
        let keys = config(Generator::Complex, &fields, &[]).record_keys(&rows).unwrap();
        assert_eq!(
            keys.value(0),
            "b:true,i:3,l:1234567890123,f:1.5,d:100.0,dc:12.340,dc0:5,dt:2020-02-29,\
             ts:1577934245678901,tn:1577934245678901,st:s,t:u"
        );
    }

    #[test]
    fn nulls_and_empties() {
        let rows = batch(vec![
            ("i", Arc::new(Int32Array::from(vec![None, Some(1)]))),
            ("st", strings(&[Some("x"), Some("")])),
        ]);
        let keys = config(Generator::Complex, &["i", "st"], &[]).record_keys(&rows).unwrap();
        assert_eq!((keys.value(0), keys.value(1)), ("i:__null__,st:x", "i:1,st:__empty__"));
        assert!(config(Generator::Simple, &["i"], &[]).record_keys(&rows).is_err());
        assert!(config(Generator::Simple, &["st"], &[]).record_keys(&rows).is_err());
        let nothing = batch(vec![("i", Arc::new(Int32Array::from(vec![None]))), ("st", strings(&[Some("")]))]);
        assert!(config(Generator::Complex, &["i", "st"], &[]).record_keys(&nothing).is_err());
    }

    #[test]
    fn one_complex_field_still_names_itself() {
        let rows = batch(vec![("i", Arc::new(Int32Array::from(vec![3])))]);
        assert_eq!(config(Generator::Complex, &["i"], &[]).record_keys(&rows).unwrap().value(0), "i:3");
        assert_eq!(config(Generator::NonPartition, &["i"], &[]).record_keys(&rows).unwrap().value(0), "3");
    }

    #[test]
    fn partition_paths() {
        let rows = batch(vec![
            ("p", strings(&[Some("sf"), None, Some(""), Some("s,t%u"), Some("a}b c&ä"), Some("2024/01")])),
            ("q", strings(&[Some("x"); 6])),
        ]);
        let paths = |c: &KeyConfig| {
            let made = c.partition_paths(&rows).unwrap();
            made.iter().map(|p| p.unwrap().to_owned()).collect::<Vec<_>>()
        };
        let mut simple = config(Generator::Simple, &["p"], &["p"]);
        let default = "__HIVE_DEFAULT_PARTITION__";
        assert_eq!(paths(&simple), ["sf", default, default, "s,t%u", "a}b c&ä", "2024/01"]);
        simple.hive_style = true;
        simple.url_encode = true;
        assert_eq!(paths(&simple)[3..], ["p=s,t%25u", "p=a}b c&ä", "p=2024%2F01"]);
        assert_eq!(paths(&config(Generator::NonPartition, &["p"], &[])), [""; 6]);
        let two = config(Generator::Complex, &["p"], &["q", "p"]);
        assert!(two.partition_paths(&rows).is_err(), "a slash inside one of two values");
        for bad in ["..", "a//b", "/a", ".", "10:30", ".hoodie", ".hoodie/timeline"] {
            let rows = batch(vec![("p", strings(&[Some(bad)]))]);
            assert!(config(Generator::Simple, &["p"], &["p"]).partition_paths(&rows).is_err(), "{bad}");
        }
    }

    #[rstest]
    #[case(1.0e10, "1.0E10")]
    #[case(0.001, "0.001")]
    #[case(0.000_123, "1.23E-4")]
    #[case(9_999_999.0, "9999999.0")]
    #[case(12_345_678.5, "1.23456785E7")]
    #[case(-2.25, "-2.25")]
    #[case(0.0, "0.0")]
    #[case(-0.0, "-0.0")]
    #[case(f64::NAN, "NaN")]
    #[case(f64::NEG_INFINITY, "-Infinity")]
    fn doubles_print_as_java_prints_them(#[case] value: f64, #[case] text: &str) {
        let mut out = String::new();
        push_java_float(value, &mut out);
        assert_eq!(out, text);
    }

    #[rstest]
    #[case(12_340, 3, "12.340")]
    #[case(5, 0, "5")]
    #[case(-7, 2, "-0.07")]
    #[case(0, 6, "0.000000")]
    #[case(0, 8, "0E-8")]
    #[case(12, 8, "1.2E-7")]
    #[case(100, 8, "0.00000100")]
    #[case(-12_345_678, 20, "-1.2345678E-13")]
    fn decimals_print_as_java_prints_them(#[case] unscaled: i128, #[case] scale: i8, #[case] text: &str) {
        let mut out = String::new();
        push_java_decimal(unscaled, scale, &mut out);
        assert_eq!(out, text);
    }

    #[test]
    fn generators_by_any_name() {
        assert_eq!(Generator::parse("org.apache.hudi.keygen.SimpleKeyGenerator").unwrap(), Generator::Simple);
        assert_eq!(Generator::parse("NON_PARTITION_AVRO").unwrap(), Generator::NonPartition);
        assert!(Generator::parse("TIMESTAMP").unwrap_err().to_string().contains("TIMESTAMP"));
    }
}
