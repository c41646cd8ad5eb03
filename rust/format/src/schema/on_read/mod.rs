//! Schema-on-read: tables whose columns have ids, so that they can be renamed, dropped, moved and added again without
//! any file being written anew.
//!
//! ```text
//! .hoodie/.schema/<T>[_<T_C>].schemacommit   {"schemas":[newest, …, oldest]}     -> History
//! commit metadata, extra key latest_schema   newest                              -> TableSchema
//!
//! {"max_column_id":11,"version_id":<T>,"type":"record","fields":[
//!    {"id":5,"name":"id","optional":true,"type":"int","doc":"…"}, …]}
//!
//! type: "int" · "decimal_fixed(10, 2)[5]" · …
//!     | {"type":"record","fields":[…]}
//!     | {"type":"array","element_id":7,"element":<type>,"element_optional":true}
//!     | {"type":"map","key_id":8,"key":<type>,"value_id":9,"value":<type>,"value_optional":true}
//! ```
//!
//! `version_id` is the requested time of the commit that changed the schema, and 0 for the one before the first change.
//! Ids never come back: a name that is dropped and added again has another, and old values stay away.

mod avro;
mod json;
mod kind;
mod resolve;
#[cfg(test)]
mod tests;

pub use kind::{Backing, Kind};

/// The key of a commit's extra metadata that holds the newest schema.
pub const LATEST_SCHEMA: &str = "latest_schema";

/// One version of a table's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSchema {
    /// The requested time of the commit that made it.
    pub version: Option<i64>,
    /// The highest id ever given, to columns that are gone too.
    pub max_column_id: Option<i32>,
    pub columns: Vec<Column>,
}

/// A column of the table, or a field of a record inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub id: i32,
    pub name: String,
    pub optional: bool,
    pub kind: Kind,
    pub doc: Option<String>,
}

/// All versions of a table's columns, as a schema commit has them: newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub schemas: Vec<TableSchema>,
}

impl History {
    /// The version by which a commit of that time wrote its files: the newest that is not younger.
    pub fn at(&self, time: i64) -> Option<&TableSchema> {
        let versions = self.schemas.iter().filter_map(|schema| Some((schema.version?, schema)));
        versions.filter(|(version, _)| *version <= time).max_by_key(|(version, _)| *version).map(|(_, schema)| schema)
    }

    pub fn newest(&self) -> Option<&TableSchema> {
        self.at(i64::MAX)
    }
}
