//! What an Apache Hudi table does. One module per activity; all decisions live here.

pub mod base_file;
pub mod bytes_form;
pub mod concurrency;
pub mod config;
pub mod context;
mod extent;
pub mod filter;
mod hfile_file;
pub mod index;
pub mod inspect;
mod json;
mod log_file;
pub mod merge;
pub mod metadata;
pub mod options;
pub mod scan;
pub mod service;
pub mod site;
pub mod storage;
pub mod table;
pub mod timeline;
pub mod verify;
pub mod view;
pub mod write;

pub use hudini_format::{Error, ErrorKind, Result};
pub use site::{Locked, Site};
pub use table::{HistoryEntry, Listed, Location, Table};
