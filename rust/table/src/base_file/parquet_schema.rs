//! The Parquet types of a base file. Arrow's own choice differs from Apache Hudi's where its Avro readers are strict:
//! decimals are fixed-length byte arrays whatever their precision, and the message is named after the record.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit as ArrowUnit};
use hudini_format::schema::decimal_bytes;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::Result as ParquetResult;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::{Error, Result};

pub(super) fn descriptor(schema: &Schema, record_name: &str) -> Result<SchemaDescriptor> {
    let fields = schema.fields().iter().map(|f| field_type(f)).collect::<Result<Vec<_>>>()?;
    let message = built(Type::group_type_builder(record_name).with_fields(fields).build())?;
    Ok(SchemaDescriptor::new(message))
}

fn built(result: ParquetResult<Type>) -> Result<TypePtr> {
    result.map(Arc::new).map_err(|e| Error::internal("a Parquet type could not be built").caused_by(e))
}

fn repetition(nullable: bool) -> Repetition {
    if nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED }
}

fn field_type(field: &Field) -> Result<TypePtr> {
    let repetition = repetition(field.is_nullable());
    let leaf = |physical: Physical, logical: Option<LogicalType>| {
        let builder = Type::primitive_type_builder(field.name(), physical);
        built(builder.with_repetition(repetition).with_logical_type(logical).build())
    };
    match field.data_type() {
        DataType::Boolean => leaf(Physical::BOOLEAN, None),
        DataType::Int32 => leaf(Physical::INT32, None),
        DataType::Int64 => leaf(Physical::INT64, None),
        DataType::Float32 => leaf(Physical::FLOAT, None),
        DataType::Float64 => leaf(Physical::DOUBLE, None),
        DataType::Utf8 => leaf(Physical::BYTE_ARRAY, Some(LogicalType::String)),
        DataType::Binary => leaf(Physical::BYTE_ARRAY, None),
        DataType::Date32 => leaf(Physical::INT32, Some(LogicalType::Date)),
        DataType::Timestamp(unit, zone) => {
            let unit = match unit {
                ArrowUnit::Millisecond => TimeUnit::MILLIS,
                _ => TimeUnit::MICROS,
            };
            leaf(Physical::INT64, Some(LogicalType::timestamp(zone.is_some(), unit)))
        }
        DataType::Decimal128(precision, scale) => {
            let (precision, scale, width) = (*precision, *scale, decimal_bytes(*precision));
            let builder = Type::primitive_type_builder(field.name(), Physical::FIXED_LEN_BYTE_ARRAY)
                .with_repetition(repetition)
                .with_length(i32::try_from(width).unwrap_or(16))
                .with_precision(i32::from(precision))
                .with_scale(i32::from(scale))
                .with_logical_type(Some(LogicalType::decimal(i32::from(scale), i32::from(precision))));
            built(builder.build())
        }
        DataType::List(item) => {
            let element = field_type(&Field::new("element", item.data_type().clone(), item.is_nullable()))?;
            let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
            let list = built(list.with_fields(vec![element]).build())?;
            group(field, vec![list], Some(LogicalType::List))
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(Error::schema("a map without key and value"));
            };
            let children = fields.iter().map(|f| field_type(f)).collect::<Result<Vec<_>>>()?;
            let entries = Type::group_type_builder("key_value").with_repetition(Repetition::REPEATED);
            let entries = built(entries.with_fields(children).build())?;
            group(field, vec![entries], Some(LogicalType::Map))
        }
        DataType::Struct(fields) => {
            let children = fields.iter().map(|f| field_type(f)).collect::<Result<Vec<_>>>()?;
            group(field, children, None)
        }
        other => Err(Error::unsupported(format!("column '{}' of type {other} in a base file", field.name()))),
    }
}

fn group(field: &Field, children: Vec<TypePtr>, logical: Option<LogicalType>) -> Result<TypePtr> {
    let builder = Type::group_type_builder(field.name()).with_repetition(repetition(field.is_nullable()));
    built(builder.with_fields(children).with_logical_type(logical).build())
}
