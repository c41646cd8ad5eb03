//! Table schemas: Avro text in commits, log headers and footers; Arrow in memory; how they change over time.

mod arrow;
pub mod evolve;
pub mod fit;
mod json;
pub mod meta;
mod name;
mod node;
pub mod on_read;
mod parse;
mod print;
pub mod text;
mod vector;

pub(crate) use arrow::arrow_type;
pub use arrow::{UTC, avro_text, decimal_bytes, table_schema};
pub use name::record_name;
pub use node::{Field, Node, Record, TimeUnit};
pub(crate) use vector::of_bytes as vectors_of_bytes;
