//! Base files: Parquet with the meta columns first and, in the footer, what Apache Hudi's indexes ask for.

mod extremes;
mod footer;
pub(crate) mod groups;
mod parquet_schema;
mod read;
mod write;

pub(crate) use extremes::extremes;
pub(crate) use footer::column_bytes;
pub use footer::{Footer, footer};
pub use groups::LeftOut;
pub use read::{Matching, left_out, read, read_matching, read_part};
pub(crate) use write::java_less;
pub use write::{BaseFileWriter, WriteOptions, WrittenFile};
