//! Avro datums straight to Arrow columns and back, without a value tree in between.
//!
//! Log blocks hold bare datums (no container, no fingerprint), so the library's readers do not fit; and projection has
//! to skip unwanted columns inside the datum, which is where most of the time of a log read goes.
//!
//! ```text
//! RowDecoder   whole rows in, batches out
//!   Bunch      some rows, read column by column
//!   Plan       a record: one step for each field of the writer
//!     Column   reads a value: null or not (shape), then by its type (cursor) into what grows (vectors)
//!     Skip     only finds the end of a value
//! finish       what has grown becomes Arrow arrays of the writer's types
//! evolve       and those become columns of the wanted types (schema::evolve), a batch at a time
//! allowance    what rows may take in memory without paying for it in bytes
//! RowEncoder   rows of a batch to datums
//! ```

mod allowance;
mod bunch;
mod column;
mod cursor;
mod decode;
mod encode;
mod finish;
mod items;
mod plan;
mod shape;
mod skip;
mod vectors;

pub use bunch::BadDatum;
pub use decode::RowDecoder;
pub use encode::RowEncoder;

#[cfg(test)]
mod tests;
