//! Timestamps of twelve bytes, as Spark wrote them for long. The `parquet` crate makes nanoseconds of them unless it is told
//! otherwise, which hold the years 1677 to 2262 alone and overflow without a word.

use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields, Schema, TimeUnit};
use parquet::basic::Type;
use parquet::schema::types::SchemaDescriptor;

/// The schema, with microseconds for such columns, however deep they lie.
pub(super) fn in_microseconds(schema: Schema, descriptor: &SchemaDescriptor) -> Schema {
    let mut leaves = descriptor.columns().iter().map(|leaf| leaf.physical_type());
    if leaves.clone().all(|kind| kind != Type::INT96) {
        return schema;
    }
    let fields: Fields = schema.fields().iter().map(|field| of_field(field, &mut leaves)).collect();
    Schema::new_with_metadata(fields, schema.metadata)
}

/// Leaves come in the order of the fields, depth first.
fn of_field(field: &FieldRef, leaves: &mut impl Iterator<Item = Type>) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| of_field(field, leaves)).collect()),
        DataType::List(item) => DataType::List(of_field(item, leaves)),
        DataType::Map(entries, is_sorted) => DataType::Map(of_field(entries, leaves), *is_sorted),
        other => match leaves.next() {
            Some(Type::INT96) => DataType::Timestamp(TimeUnit::Microsecond, None),
            _ => other.clone(),
        },
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
