//! The tests of the format against bytes of others, as one program: what they share is compiled once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod avro_values;
mod hfile_golden;
mod hfile_vectors;
mod history_golden;
mod keys_golden;
mod log_golden;
mod metadata_record_golden;
mod schema_golden;
mod schema_properties;
mod support;
mod timeline_golden;
