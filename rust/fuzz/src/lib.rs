//! Hostile bytes for the decoders of `hudini-format`.
//!
//! A [`Target`] is a function that takes any bytes, decodes them the way a table's files are decoded, and panics if a
//! promise of the format floor is broken: no panic, no memory beyond a multiple of the input ([`memory`]), and values
//! that survive being written and read again. Two engines feed the same targets:
//!
//! | engine | where | when |
//! |---|---|---|
//! | generator: mutates the [`corpus`] from a seed ([`mutate`]) | ordinary build, `hudini-fuzz generate` | every `make test` |
//! | libFuzzer: follows the coverage | `src/bin/coverage.rs` | `make fuzz` |
//!
//! [`golden`] turns the files of the golden tables into inputs: seeds of the corpus, and what `tests/sweep.rs` cuts and
//! flips.

pub mod corpus;
pub mod engine;
pub mod golden;
pub mod input;
pub mod memory;
pub mod mutate;
pub mod panics;
pub mod targets;

pub use targets::{TARGETS, Target, target};
