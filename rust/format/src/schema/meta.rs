//! The five columns that Apache Hudi puts in front of every row.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};

pub const COMMIT_TIME: &str = "_hoodie_commit_time";
pub const COMMIT_SEQNO: &str = "_hoodie_commit_seqno";
pub const RECORD_KEY: &str = "_hoodie_record_key";
pub const PARTITION_PATH: &str = "_hoodie_partition_path";
pub const FILE_NAME: &str = "_hoodie_file_name";

/// In the order in which they stand in files.
pub const META_COLUMNS: [&str; 5] = [COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME];

/// A row column with this name and the value true is a delete of its key.
pub const IS_DELETED: &str = "_hoodie_is_deleted";

/// In a log, it marks a delete too with the value `D` or `-U`. Rows of few tables have it: behind the others, as a sixth.
pub const OPERATION: &str = "_hoodie_operation";

/// The column of Hudi's own that Spark does not tell from one of that name.
pub fn looks_like(name: &str) -> Option<&'static str> {
    META_COLUMNS.into_iter().find(|own| *own != name && own.eq_ignore_ascii_case(name))
}

pub fn is_meta(name: &str) -> bool {
    META_COLUMNS.contains(&name)
}

/// The schema with the meta columns in front; any that it already has are moved there.
pub fn with_meta(schema: &Schema) -> Schema {
    let meta = META_COLUMNS.iter().map(|name| Arc::new(Field::new(*name, DataType::Utf8, true)));
    let user = schema.fields().iter().filter(|f| !is_meta(f.name())).cloned();
    Schema::new(meta.chain(user).collect::<Vec<_>>())
}

/// The schema without them.
pub fn without_meta(schema: &Schema) -> Schema {
    Schema::new(schema.fields().iter().filter(|f| !is_meta(f.name())).cloned().collect::<Vec<_>>())
}
