//! Table schemas: Avro text in commits, log headers and footers; Arrow in memory.

mod arrow;
pub mod meta;
mod node;

pub(crate) use arrow::arrow_type;
pub use arrow::{UTC, avro_text, decimal_bytes, record_name, table_schema};
pub use node::{Field, Node, Record, TimeUnit};
