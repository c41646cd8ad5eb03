//! What the bytes of an Apache Hudi table mean.
//!
//! One module per noun of the specification. Bytes in, values out, and back: no I/O, no clock, no threads, no options.

pub mod error;

pub use error::{Error, ErrorKind, Result};
