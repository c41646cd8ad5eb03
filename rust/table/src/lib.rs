//! What an Apache Hudi table does. One module per activity; all decisions live here.

pub use hudini_format::{Error, ErrorKind, Result};
