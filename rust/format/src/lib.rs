//! What the bytes of an Apache Hudi table mean.
//!
//! One module per noun of the specification. Bytes in, values out, and back: no I/O, no clock, no threads, no options.

pub mod action;
pub mod avro;
pub mod bloom;
pub mod counted;
pub mod empty;
pub mod error;
pub mod extremes;
mod gzip;
pub mod hash;
pub mod hfile;
pub mod history;
pub mod instant;
mod json;
pub mod key;
pub mod log;
pub mod metadata_record;
pub mod name;
pub mod parquet_chunk;
pub mod parquet_file;
pub mod positions;
pub mod properties;
pub mod schema;
pub mod short;
mod wire;

pub use error::{Error, ErrorKind, Result};
