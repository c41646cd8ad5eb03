//! Avro datums straight to Arrow columns and back, without a value tree in between.
//!
//! Log blocks hold bare datums (no container, no fingerprint), so the library's readers do not fit; and projection has
//! to skip unwanted columns inside the datum, which is where most of the time of a log read goes.

mod allowance;
mod column;
mod cursor;
mod decode;
mod encode;
mod finish;
mod plan;
mod promote;
mod shape;
mod skip;
mod vectors;

pub use decode::RowDecoder;
pub use encode::RowEncoder;
pub use promote::widen_float;

#[cfg(test)]
mod tests;
