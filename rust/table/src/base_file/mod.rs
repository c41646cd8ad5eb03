//! Base files: Parquet with the meta columns first and, in the footer, what Apache Hudi's indexes ask for.

pub(crate) mod calendar;
mod footer;
pub(crate) mod groups;
mod keys;
mod parquet_schema;
mod plain;
mod read;
mod row_groups;
mod twins;
mod write;

pub(crate) use footer::column_bytes;
pub use footer::{Footer, footer};
pub use groups::LeftOut;
pub use keys::KeySummary;
pub(crate) use keys::java_less;
pub(crate) use plain::{is_plain, is_plain_type};
pub(crate) use read::read_packed;
pub use read::{Matching, left_out, read, read_matching, read_part};
pub(crate) use write::file_of;
pub use write::{BaseFileWriter, Numbered, WriteOptions, WrittenFile};
