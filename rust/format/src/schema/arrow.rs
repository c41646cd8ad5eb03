//! Avro ↔ Arrow: the one table of types, used for reading and for naming what we write.
//!
//! | Avro | Arrow |
//! |---|---|
//! | boolean, int, long, float, double | Boolean, Int32, Int64, Float32, Float64 |
//! | string, enum · bytes · fixed | Utf8 · Binary · FixedSizeBinary |
//! | decimal | Decimal128 |
//! | date · time-millis, -micros | Date32 · Time32, Time64 |
//! | timestamp-* · local-timestamp-* | Timestamp with zone UTC · without |
//! | array · map · record | List(element) · Map(key_value) · Struct |
//! | vector | FixedSizeList(element) |

use std::collections::BTreeSet;
use std::sync::Arc;

use super::meta;
use super::name::{self, record_name};
use super::node::{self, Node, Record, TimeUnit};
use super::print;
use super::vector::Vector;
use crate::{Error, Result};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit as ArrowUnit};

pub const UTC: &str = "UTC";

/// Names of columns that travel with rows on their way into a table.
const OWN_PREFIX: &str = "_hudini_";

/// Child names as Parquet's own list and map types have them.
const LIST_ITEM: &str = "element";
const MAP_ENTRIES: &str = "key_value";

impl Record {
    /// The Arrow schema of the rows this schema describes.
    pub fn to_arrow(&self) -> Result<Schema> {
        Ok(Schema::new(arrow_fields(self)?))
    }
}

fn arrow_fields(record: &Record) -> Result<Fields> {
    record.fields.iter().map(|f| arrow_field(&f.name, &f.node)).collect()
}

fn arrow_field(name: &str, node: &Node) -> Result<Field> {
    let (inner, null) = node.optional().map_err(|e| named(e, name))?;
    let data_type = arrow_type(inner).map_err(|e| named(e, name))?;
    Ok(Field::new(name, data_type, null.is_some() || *inner == Node::Null))
}

fn named(e: Error, column: &str) -> Error {
    Error::new(e.kind(), format!("column '{column}': {}", e.message()))
}

pub(crate) fn arrow_type(node: &Node) -> Result<DataType> {
    Ok(match node {
        Node::Null => DataType::Null,
        Node::Boolean => DataType::Boolean,
        Node::Int => DataType::Int32,
        Node::Long => DataType::Int64,
        Node::Float => DataType::Float32,
        Node::Double => DataType::Float64,
        Node::String | Node::Enum(_) => DataType::Utf8,
        Node::Bytes => DataType::Binary,
        Node::Fixed(size) => DataType::FixedSizeBinary(
            i32::try_from(*size).map_err(|_| Error::unsupported(format!("a fixed of {size} bytes")))?,
        ),
        Node::Vector(Vector { dimension, element }) => DataType::FixedSizeList(
            Arc::new(Field::new(LIST_ITEM, element.arrow(), false)),
            i32::try_from(*dimension).map_err(|_| Error::unsupported(format!("a vector of {dimension} numbers")))?,
        ),
        Node::Date => DataType::Date32,
        Node::Time(TimeUnit::Millis) => DataType::Time32(ArrowUnit::Millisecond),
        Node::Time(unit) => DataType::Time64(arrow_unit(*unit)),
        Node::Timestamp { unit, utc } => DataType::Timestamp(arrow_unit(*unit), utc.then(|| Arc::from(UTC))),
        Node::Decimal { precision, scale, .. } => DataType::Decimal128(*precision, *scale),
        Node::Array(item) => DataType::List(Arc::new(arrow_field(LIST_ITEM, item)?)),
        Node::Map(value) => {
            let entries = Fields::from(vec![Field::new("key", DataType::Utf8, false), arrow_field("value", value)?]);
            DataType::Map(Arc::new(Field::new(MAP_ENTRIES, DataType::Struct(entries), false)), false)
        }
        Node::Record(record) => DataType::Struct(arrow_fields(record)?),
        Node::Union(_) => return Err(Error::unsupported("a union inside a union")),
    })
}

fn arrow_unit(unit: TimeUnit) -> ArrowUnit {
    match unit {
        TimeUnit::Millis => ArrowUnit::Millisecond,
        TimeUnit::Micros => ArrowUnit::Microsecond,
        TimeUnit::Nanos => ArrowUnit::Nanosecond,
    }
}

/// The table schema that holds rows of `schema` without loss: the types of the table above, small integers widened,
/// other encodings of the same values made plain, meta columns left out.
pub fn table_schema(schema: &Schema) -> Result<Schema> {
    let fields = meta::without_meta(schema);
    if let Some(name) = fields.fields().iter().map(|f| f.name()).find(|name| name.starts_with(OWN_PREFIX)) {
        return Err(Error::schema(format!("'{name}' cannot be a column name: hudini uses such names itself")));
    }
    Ok(Schema::new(table_fields(fields.fields())?))
}

/// No two names alike, not even but for case: Spark would take them for one.
fn table_fields(fields: &Fields) -> Result<Fields> {
    let mut seen = BTreeSet::new();
    if fields.is_empty() {
        return Err(Error::schema("a record without fields"));
    }
    if let Some(twice) = fields.iter().find(|f| !seen.insert(f.name().to_lowercase())) {
        return Err(Error::schema(format!("two columns are called '{}'", twice.name())));
    }
    fields.iter().map(|f| table_field(f)).collect()
}

fn table_field(field: &Field) -> Result<Field> {
    if !name::is_safe(field.name()) {
        return Err(Error::schema(format!(
            "'{}' cannot be a column name: Apache Hudi takes letters, digits and '_', not starting with a digit",
            field.name()
        )));
    }
    let data_type = table_type(field.data_type()).map_err(|e| named(e, field.name()))?;
    Ok(Field::new(field.name(), data_type, field.is_nullable()))
}

fn table_type(data_type: &DataType) -> Result<DataType> {
    Ok(match data_type {
        DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::Date64 => DataType::Date32,
        DataType::Timestamp(_, zone) => {
            DataType::Timestamp(ArrowUnit::Microsecond, zone.as_ref().map(|_| Arc::from(UTC)))
        }
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) => DataType::Decimal128(*p, *s),
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) if *scale < 0 => {
            return Err(Error::schema(format!("{data_type}: decimals of negative scale")));
        }
        DataType::Decimal256(p, s) if *p <= 38 => DataType::Decimal128(*p, *s),
        DataType::Dictionary(_, values) => table_type(values)?,
        DataType::RunEndEncoded(_, values) => table_type(values.data_type())?,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => {
            let inner = table_type(item.data_type())?;
            DataType::List(Arc::new(Field::new(LIST_ITEM, inner, item.is_nullable())))
        }
        DataType::Map(entries, _) => table_map(entries)?,
        DataType::Struct(fields) => DataType::Struct(table_fields(fields)?),
        DataType::Boolean
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::Binary
        | DataType::Date32
        | DataType::Decimal128(..) => data_type.clone(),
        DataType::Null => {
            return Err(Error::unsupported("a column of nulls alone, which has no type")
                .with_hint("give it the type that its values are to have, or leave it out"));
        }
        other => return Err(Error::unsupported(format!("the column type {other} has no Hudi type"))),
    })
}

fn table_map(entries: &Field) -> Result<DataType> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::schema("a map without key and value"));
    };
    let [key, value] = fields.as_ref() else { return Err(Error::schema("a map without key and value")) };
    if table_type(key.data_type())? != DataType::Utf8 {
        return Err(Error::unsupported(format!("map keys of type {}: Avro knows only text", key.data_type())));
    }
    let value = Field::new("value", table_type(value.data_type())?, value.is_nullable());
    let entries = Fields::from(vec![Field::new("key", DataType::Utf8, false), value]);
    Ok(DataType::Map(Arc::new(Field::new(MAP_ENTRIES, DataType::Struct(entries), false)), false))
}

/// The JSON text of the Avro schema of `schema`, with the names and the order of attributes of Apache Hudi.
pub fn avro_text(schema: &Schema, table: &str) -> Result<String> {
    print::record(&Record::from_arrow(schema, table)?, &print::Notes::new())
}

impl Record {
    /// The Avro schema of rows of `schema`, named as Apache Hudi on Spark names it for that table.
    pub fn from_arrow(schema: &Schema, table: &str) -> Result<Self> {
        let (name, namespace) = record_name(table);
        of_fields(schema.fields(), format!("{namespace}.{name}"))
    }
}

fn of_fields(fields: &Fields, full: String) -> Result<Record> {
    let field = |field: &Arc<Field>| {
        let node = of_field(field, &format!("{full}.{}", field.name())).map_err(|e| named(e, field.name()))?;
        Ok(node::Field { name: field.name().clone(), node })
    };
    Ok(Record { fields: fields.iter().map(field).collect::<Result<_>>()?, name: full })
}

/// `full` names the record inside, if there is one: those in items and values are named after their column.
fn of_field(field: &Field, full: &str) -> Result<Node> {
    let node = of_type(field.data_type(), full)?;
    let nullable = field.is_nullable() && node != Node::Null;
    Ok(if nullable { Node::Union(vec![Node::Null, node]) } else { node })
}

fn of_type(data_type: &DataType, full: &str) -> Result<Node> {
    let timestamp = |unit, zone: &Option<Arc<str>>| Node::Timestamp { unit, utc: zone.is_some() };
    Ok(match data_type {
        DataType::Null => Node::Null,
        DataType::Boolean => Node::Boolean,
        DataType::Int32 => Node::Int,
        DataType::Int64 => Node::Long,
        DataType::Float32 => Node::Float,
        DataType::Float64 => Node::Double,
        DataType::Utf8 => Node::String,
        DataType::Binary => Node::Bytes,
        DataType::Date32 => Node::Date,
        DataType::Time32(ArrowUnit::Millisecond) => Node::Time(TimeUnit::Millis),
        DataType::Time64(ArrowUnit::Microsecond) => Node::Time(TimeUnit::Micros),
        DataType::Timestamp(ArrowUnit::Millisecond, zone) => timestamp(TimeUnit::Millis, zone),
        DataType::Timestamp(ArrowUnit::Microsecond, zone) => timestamp(TimeUnit::Micros, zone),
        DataType::Timestamp(ArrowUnit::Nanosecond, zone) => timestamp(TimeUnit::Nanos, zone),
        DataType::Decimal128(precision, scale) => {
            Node::Decimal { precision: *precision, scale: *scale, size: Some(decimal_bytes(*precision)) }
        }
        DataType::FixedSizeBinary(size) => {
            Node::Fixed(usize::try_from(*size).map_err(|_| Error::schema(format!("{data_type} of negative size")))?)
        }
        DataType::List(item) => Node::Array(Box::new(of_field(item, full)?)),
        DataType::FixedSizeList(item, length) => {
            let vector = Vector::of_list(item, *length);
            Node::Vector(vector.ok_or_else(|| Error::unsupported(format!("the column type {data_type}")))?)
        }
        DataType::Map(entries, _) => {
            let value = match entries.data_type() {
                DataType::Struct(fields) => fields.get(1),
                _ => None,
            };
            Node::Map(Box::new(of_field(value.ok_or_else(|| Error::schema("a map without a value"))?, full)?))
        }
        DataType::Struct(fields) => Node::Record(of_fields(fields, full.to_owned())?),
        other => return Err(Error::unsupported(format!("the column type {other} has no Avro type"))),
    })
}

/// The fewest bytes whose two's complement holds every unscaled value of that precision, as Spark sizes them.
pub fn decimal_bytes(precision: u8) -> usize {
    let limit = 10_i128.checked_pow(u32::from(precision)).unwrap_or(i128::MAX);
    (1..16).find(|bytes| limit <= 1_i128 << (8 * bytes - 1)).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested() -> Schema {
        let item = Field::new("element", DataType::Int64, true);
        let decimal = Field::new("dd", DataType::Decimal128(10, 2), true);
        Schema::new(vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("price", DataType::Decimal128(20, 0), true),
            Field::new("ts", DataType::Timestamp(ArrowUnit::Microsecond, Some("UTC".into())), true),
            Field::new("ar", DataType::List(Arc::new(item)), true),
            Field::new("st", DataType::Struct(Fields::from(vec![decimal])), true),
        ])
    }

    #[test]
    fn text_has_the_names_apache_hudi_gives() {
        let text = avro_text(&nested(), "my-tbl").unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"type":"record","name":"my__tbl_record","namespace":"hoodie.my__tbl","fields":["#,
                r#"{"name":"id","type":"string"},"#,
                r#"{"name":"price","type":["null",{"type":"fixed","name":"fixed","#,
                r#""namespace":"hoodie.my__tbl.my__tbl_record.price","size":9,"#,
                r#""logicalType":"decimal","precision":20,"scale":0}],"default":null},"#,
                r#"{"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},"#,
                r#"{"name":"ar","type":["null",{"type":"array","items":["null","long"]}],"default":null},"#,
                r#"{"name":"st","type":["null",{"type":"record","name":"st","#,
                r#""namespace":"hoodie.my__tbl.my__tbl_record","fields":[{"name":"dd","type":["null","#,
                r#"{"type":"fixed","name":"fixed","namespace":"hoodie.my__tbl.my__tbl_record.st.dd","size":5,"#,
                r#""logicalType":"decimal","precision":10,"scale":2}],"default":null}]}],"default":null}]}"#,
            )
        );
    }

    #[test]
    fn text_reads_back_as_the_same_schema() {
        let text = avro_text(&nested(), "t").unwrap();
        assert_eq!(Record::parse(&text).unwrap().to_arrow().unwrap(), nested());
    }

    #[test]
    fn vectors_are_lists_of_a_fixed_size_and_back() {
        let numbers = Arc::new(Field::new(LIST_ITEM, DataType::Float32, false));
        let schema = Schema::new(vec![Field::new("e", DataType::FixedSizeList(numbers, 3), true)]);
        let text = avro_text(&schema, "t").unwrap();
        let stated = concat!(
            r#""size":12,"logicalType":"vector","dimension":3,"elementType":"FLOAT","#,
            r#""storageBacking":"FIXED_BYTES"}"#
        );
        assert!(text.contains(stated), "{text}");
        assert_eq!(Record::parse(&text).unwrap().to_arrow().unwrap(), schema);
    }

    #[test]
    fn meta_columns_come_first_with_their_doc() {
        let text = avro_text(&meta::with_meta(&nested()), "t").unwrap();
        assert!(
            text.contains(
                r#""fields":[{"name":"_hoodie_commit_time","type":["null","string"],"doc":"","default":null},"#
            )
        );
    }

    #[test]
    fn incoming_types_are_widened_or_refused() {
        let from = |t: DataType| table_schema(&Schema::new(vec![Field::new("c", t, true)]));
        let to = |t: DataType| from(t).unwrap().field(0).data_type().clone();
        assert_eq!(to(DataType::Int8), DataType::Int32);
        assert_eq!(to(DataType::UInt32), DataType::Int64);
        assert_eq!(to(DataType::Utf8View), DataType::Utf8);
        let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8));
        assert_eq!(to(dictionary), DataType::Utf8);
        let nanos = DataType::Timestamp(ArrowUnit::Nanosecond, Some("+02:00".into()));
        assert_eq!(to(nanos), DataType::Timestamp(ArrowUnit::Microsecond, Some("UTC".into())));
        assert!(from(DataType::UInt64).unwrap_err().to_string().contains("column 'c'"));
        assert!(from(DataType::Duration(ArrowUnit::Second)).is_err());
        let named = |names: &[&str]| {
            table_schema(&Schema::new(names.iter().map(|n| Field::new(*n, DataType::Int32, true)).collect::<Vec<_>>()))
        };
        assert!(named(&["a", "b"]).is_ok());
        for bad in [&["a b"][..], &["2a"], &["a", "a"], &["p", "P"], &["_hudini_slot"], &[]] {
            assert!(named(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn decimal_sizes() {
        let sizes: Vec<_> = [1, 2, 4, 9, 10, 18, 19, 20, 38].into_iter().map(decimal_bytes).collect();
        assert_eq!(sizes, [1, 1, 2, 4, 5, 8, 9, 9, 16]);
    }
}
