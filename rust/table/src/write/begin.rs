//! What has to hold, and to be known, before a write takes its instant.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use hudini_format::action::RequestedReplaceMetadata;
use hudini_format::instant::Action;
use hudini_format::key::outermost;
use hudini_format::schema::{self, meta};

use super::locate::Locator;
use super::replace;
use super::request::{SchemaMode, WriteRequest};
use super::rows::{self, Lack};
use crate::config::{TableConfig, keys};
use crate::merge;
use crate::options::{self, Operation, Opt, Options};
use crate::scan;
use crate::storage::Storage;
use crate::timeline::{Snapshot, Timeline, arrow_schema};
use crate::{Error, Result};

pub(super) fn kind_of(operation: Operation, config: &TableConfig) -> Action {
    match (operation.replaces(), config.is_mor()) {
        (true, _) => Action::ReplaceCommit,
        (false, true) => Action::DeltaCommit,
        (false, false) => Action::Commit,
    }
}

/// What the requested file says; of a plain write nothing.
pub(super) fn plan_of(operation: Operation) -> Result<Vec<u8>> {
    match operation {
        Operation::Upsert | Operation::Insert | Operation::BulkInsert | Operation::Delete => Ok(Vec::new()),
        Operation::InsertOverwrite | Operation::OverwriteTable => RequestedReplaceMetadata::default().encode(),
        Operation::DeletePartitions => RequestedReplaceMetadata {
            operation_type: Some("DELETE_PARTITION".to_owned()),
            extra_metadata: Some(BTreeMap::new()),
            version: Some(1),
            ..RequestedReplaceMetadata::default()
        }
        .encode(),
    }
}

/// Refuses options that say another thing of the table than the table does: whoever gives them expects them to hold.
pub(super) fn check_same_table(config: &TableConfig, options: &Options) -> Result<()> {
    same(options, &options::TABLE_NAME, &config.name, String::clone)?;
    same(options, &options::TABLE_VERSION, &config.version, u32::to_string)?;
    same(options, &options::TABLE_TYPE, &config.table_type, |told| told.word().to_owned())?;
    same(options, &options::KEY_GENERATOR, &config.key_config()?.generator, |told| told.type_name().to_owned())?;
    same(options, &options::HIVE_STYLE, &config.is_true(keys::HIVE_STYLE), bool::to_string)?;
    same(options, &options::URL_ENCODE, &config.is_true(keys::URL_ENCODE), bool::to_string)?;
    // Of a table that orders nothing, Apache Hudi takes the option for a wish that counts for nothing.
    let orders = !config.ordering.is_empty();
    if orders {
        let mode = options::MERGE_MODE.read(config.merge_mode()?)?;
        same(options, &options::MERGE_MODE, &mode, |told| told.word().to_owned())?;
    }
    for (option, told, stored, counts) in [
        (&options::RECORD_KEY, options.get(&options::RECORD_KEY)?, &config.record_key, !config.record_key.is_empty()),
        (&options::PARTITION_FIELDS, options.partition_fields()?, &config.partition_by, true),
        (&options::ORDERING_FIELDS, options.get(&options::ORDERING_FIELDS)?, &config.ordering, orders),
    ] {
        // Fields of custom key generators come as `field:TYPE`.
        let plain = |field: String| field.split(':').next().unwrap_or_default().to_owned();
        let told = told.map(|told| told.into_iter().map(plain).collect::<Vec<_>>());
        if let Some(told) = told.filter(|told| counts && told != stored) {
            return Err(another(options.name_of(option), &told.join(","), &stored.join(",")));
        }
    }
    Ok(())
}

fn same<T: PartialEq>(options: &Options, option: &Opt<T>, stored: &T, text: impl Fn(&T) -> String) -> Result<()> {
    match options.get(option)? {
        Some(told) if told != *stored => Err(another(options.name_of(option), &text(&told), &text(stored))),
        _ => Ok(()),
    }
}

fn another(key: &str, told: &str, stored: &str) -> Error {
    Error::option(format!("{key} is '{told}', and '{stored}' in the table"))
        .with_hint("leave the option out, or write to another path: a table keeps what it was created with")
}

/// Refuses rows that do not fit, and partitions that cannot be.
pub(super) fn check_input(
    request: &WriteRequest,
    config: &TableConfig,
    input: &Schema,
    columns: &Schema,
    locator: &Locator,
) -> Result<()> {
    if request.operation != Operation::DeletePartitions {
        merge::refuse_changelog(columns)?;
    }
    if request.operation.brings_rows() {
        merge::check_markers(columns, config.merge_rule()?.delete_marker.as_ref())?;
    }
    let naming = locator.naming_columns();
    match request.operation {
        Operation::DeletePartitions => replace::check_partitions(&request.partitions, !config.partition_by.is_empty()),
        Operation::Delete => rows::check_columns(input, columns, Lack::AllBut(&naming)),
        _ if request.schema_mode == SchemaMode::Strict => rows::check_columns(input, columns, Lack::Nothing),
        _ => {
            let needed: Vec<&str> =
                naming.into_iter().chain(config.ordering.iter().map(|field| outermost(field))).collect();
            rows::check_columns(input, columns, Lack::NullableBut(&needed))
        }
    }
}

/// A commit that does not carry the ids along would make readers look for the columns by name again. And vectors are
/// written by nobody here: their files say in the footer which columns they are.
pub(crate) fn refuse_columns(snapshot: &Snapshot) -> Result<()> {
    if snapshot.evolution.is_some() {
        return Err(Error::unsupported("writing to a table whose columns have ids (schema-on-read)"));
    }
    let columns = snapshot.schema.as_deref().map(arrow_schema).transpose()?;
    match columns.iter().flat_map(|columns| columns.fields()).find(|column| holds_vectors(column)) {
        Some(column) => Err(Error::unsupported("writing to a table with a column of type VECTOR")
            .with_hint(format!("'{}' holds vectors; Apache Hudi 1.2 writes them", column.name()))),
        None => Ok(()),
    }
}

/// What became of rows before is for readers to know; rows that do not say it would make them overlook that.
pub(crate) fn refuse_operations(
    storage: &Arc<dyn Storage>,
    config: &TableConfig,
    timeline: &Timeline,
    snapshot: &Snapshot,
) -> Result<()> {
    if scan::tells_operations(storage, config, timeline, snapshot)? {
        let message = format!("writing to a table whose rows have the column {}", meta::OPERATION);
        return Err(Error::unsupported(message).with_hint("Flink writes such tables, for one; they are read only"));
    }
    Ok(())
}

fn holds_vectors(column: &Field) -> bool {
    match column.data_type() {
        DataType::FixedSizeList(..) => true,
        DataType::List(within) | DataType::Map(within, _) => holds_vectors(within),
        DataType::Struct(fields) => fields.iter().any(|field| holds_vectors(field)),
        _ => false,
    }
}

/// The columns of the table.
pub(super) fn write_schema(snapshot: &Snapshot) -> Result<Schema> {
    match &snapshot.schema {
        Some(text) => arrow_schema(text),
        None => Err(Error::unsupported("a table without any schema yet")),
    }
}

/// The same as text, with the names that Apache Hudi gives to nested types.
pub(crate) fn schema_text(config: &TableConfig, snapshot: &Snapshot) -> Result<String> {
    schema::avro_text(&write_schema(snapshot)?, &config.name)
}
