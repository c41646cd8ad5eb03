//! The column in which Flink says what became of a row.

use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use hudini_table::config::{self, NewTable};
use hudini_table::options::{Operation, TableType};
use hudini_table::write::{self, SchemaMode, WriteRequest};
use hudini_table::{Error, ErrorKind};
use rstest::rstest;

use crate::support::{Place, Spec, World, row};

const COLUMN: &str = "_hoodie_operation";

fn widened(schema: &Schema) -> Schema {
    let column = Arc::new(Field::new(COLUMN, DataType::Utf8, true));
    Schema::new(schema.fields().iter().cloned().chain([column]).collect::<Vec<_>>())
}

fn check(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{error}");
    assert!(error.message().contains(COLUMN), "{error}");
}

#[rstest]
fn no_table_is_made_whose_log_could_not_be_read(
    #[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType,
) {
    let (world, spec) = (World::new(Place::Memory), Spec::new(table_type));
    let new = NewTable { schema: widened(&spec.schema()), ..spec.new_table() };
    check(&config::create(world.store.as_ref(), &world.table().context, &new).unwrap_err());
    assert!(world.files().is_empty());
}

#[rstest]
fn nor_is_one_given_the_column(#[values(TableType::CopyOnWrite, TableType::MergeOnRead)] table_type: TableType) {
    let (world, spec) = (World::new(Place::Memory), Spec::new(table_type));
    let table = spec.create(&world);
    let old = [row("a", "A", 1, "")];
    spec.upsert(&table, &old).unwrap();
    let rows = spec.batch(&old);
    let operations = Arc::new(StringArray::from(vec!["D"]));
    let columns = rows.columns().iter().cloned().chain([operations as _]).collect();
    let rows = RecordBatch::try_new(Arc::new(widened(&rows.schema())), columns).unwrap();
    let before = world.files();
    let request = WriteRequest { schema_mode: SchemaMode::Evolve, ..WriteRequest::new(Operation::Upsert) };
    check(&write::write(&table, &rows.schema(), std::iter::once(Ok(rows.clone())), &request).unwrap_err());
    assert!(world.files() == before);
}
