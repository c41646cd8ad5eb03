//! Log files: what was written onto a base file since, as a chain of blocks.
//!
//! ```text
//! .<file id>_<instant>.log.<version>_<token>
//! ┌────────┬───┬─────────┬──────┬─────────┬───┬─────────┬─────────┬───┐┌────────┬───
//! │ #HUDI# │ L │ version │ kind │ headers │ C │ content │ footers │ T ││ #HUDI# │ …
//! └────────┴───┴─────────┴──────┴─────────┴───┴─────────┴─────────┴───┘└────────┴───
//!           ╰───────────────────────── L bytes after L ──────────────╯
//!  ╰──────────────────── T = L + 6 bytes before T ──────────────╯
//! ```
//!
//! [`Reader`] finds the blocks and what damage there is, [`scan`] does so in memory. What a content holds is told by its
//! kind: [`avro_block`] for Avro and CDC blocks, [`delete`] for deletes, [`hfile_block`] for HFile blocks; a Parquet block
//! holds a whole Parquet file. [`BlockWriter`] and [`RowBlockWriter`] write blocks. Which blocks count, and in which order
//! they merge, is not known here: a block knows its instant, the timeline knows what became of it.

pub mod avro_block;
pub mod block;
pub mod cdc;
pub mod delete;
mod found;
pub mod hfile_block;
mod kryo;
mod ordering;
mod reader;
mod rows;
mod scan;
mod window;
mod write;

#[cfg(test)]
mod tests;

pub use block::{BlockKind, HeaderKey, Headers};
pub use cdc::CdcMode;
pub use delete::DeleteRecord;
pub use found::{Block, BlockRef};
pub use ordering::{DECIMAL_SCALE, OrderingValue};
pub use reader::{Event, Need, Reader};
pub use scan::{Scan, Scanned, scan};
pub use write::{BlockWriter, RowBlockWriter, encode_block, encode_deletes, frame_block, rollback_command};
