//! Base files: Parquet with the meta columns first and, in the footer, what Apache Hudi's indexes ask for.

mod extremes;
mod footer;
pub(crate) mod groups;
mod parquet_schema;
mod plain;
mod read;
mod repeated;
mod row_groups;
mod write;

pub(crate) use extremes::extremes;
pub(crate) use footer::column_bytes;
pub use footer::{Footer, footer};
pub use groups::LeftOut;
pub(crate) use plain::{is_plain, is_plain_type};
pub use read::{Matching, left_out, read, read_matching, read_part};
pub use write::{BaseFileWriter, WriteOptions, WrittenFile};
pub(crate) use write::{file_of, java_less};
