//! HFiles: sorted key-value files of HBase, version 3. The metadata table keeps its base files and log blocks in them.
//!
//! ```text
//! DATABLK* … (IDXLEAF2 between them)     cells in key order
//! METABLKc … IDXINTE2 …                  bloom filter; middle levels of the index
//! IDXROOT2   root of the data index  ┐
//! IDXROOT2   index of meta blocks    ├   "load on open", in this order
//! FILEINF2   file info: schema, …    ┘
//! trailer    4096 bytes: TRABLK"$, varint length, protobuf fields, zeros, u8 minor version, u24 major version 3
//! ```
//!
//! All integers are big-endian. Every block has the header of [`block`]; its payload is compressed as the trailer says.
//! There are two dialects on disk. HBase (Hudi up to 1.0) puts whole cell keys into the index and CRC32C checksums
//! behind the blocks; Hudi's own writer (from 1.1 on) puts bare row keys there and writes no checksums. Both are read;
//! the first is written, because every release of Apache Hudi reads it.
//!
//! [`Reader`] and [`Writer`] hold a whole file in memory. The pieces below them do no I/O, for who reads only ranges:
//!
//! ```text
//! last 4096 bytes ─ Trailer::decode ─ trailer.load_on_open() ─ those bytes ─ Layout::decode
//! layout.index ─ select(spans) ─ those bytes ─ descend ─ … ─ is_leaf ─ select(spans) ─ those bytes ─ data_block
//! ```

pub mod block;
mod cell;
mod codec;
mod index;
pub mod info;
mod layout;
mod lookup;
mod proto;
mod reader;
mod span;
mod trailer;
mod writer;

#[cfg(test)]
mod tests;

pub use block::{Block, BlockKind, Decoder, MAX_BLOCK_BYTES};
pub use cell::{Cell, Cells};
pub use codec::Codec;
pub use index::{Index, IndexEntry};
pub use info::FileInfo;
pub use layout::Layout;
pub use lookup::{DataBlock, LookupBlock};
pub use reader::{Blocks, Entries, Entry, Reader};
pub use span::{Span, is_ambiguous, is_before};
pub use trailer::{TRAILER_BYTES, Trailer};
pub use writer::{DEFAULT_BLOCK_BYTES, Options, Writer};
