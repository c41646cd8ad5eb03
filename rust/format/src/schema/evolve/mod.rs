//! How a table's columns change over time, and what older rows mean under a newer schema: the one set of rules for base
//! files, log records and writers.
//!
//! | from | to |
//! |---|---|
//! | int | long, float, double, string, decimal |
//! | long | float, double, string, decimal |
//! | float | double (by its decimal text), string, decimal |
//! | double | string, decimal |
//! | decimal | string; decimal with as many whole digits and no fewer behind the point |
//! | string | bytes, date, decimal |
//! | bytes | string |
//! | fixed | bytes; vector of as many bytes |
//! | date | string |
//! | timestamp | timestamp of another unit; of microseconds, string |
//! | date, time, timestamp | the int or long that it is, and back |
//! | record | record, field by field and by name, or by column id under schema-on-read |
//! | array, map | array, map of what the items can become |
//!
//! A field that a file lacks is null, and so must be nullable. Everything else is refused: no value is ever narrowed.

mod apply;
mod decimal;
mod leaf;
mod projection;
mod promotion;
#[cfg(test)]
mod tests;

pub use leaf::Leaf;
pub use projection::Projection;
pub use promotion::{Mapping, Promotion, Slot, Source, check_evolution};
