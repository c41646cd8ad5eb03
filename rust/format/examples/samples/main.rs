//! Writes one file of each kind that this crate can write, and what is in them, for somebody else's reader to read.
//!
//! ```text
//! cargo run -p hudini-format --example samples -- FOLDER
//!
//! FOLDER/<kind>/<sample>/…     the files
//! FOLDER/samples.json          { "<kind>": { "<sample>": what its files hold } }
//! ```
//!
//! What a sample holds is told from the values that were handed to the encoder, never by this crate's decoders. The
//! interop tests (`tests/interop/test_formats.py`) have Apache Hudi read the files, and compare.

#![allow(clippy::disallowed_methods, reason = "an example writes its files itself")]
#![allow(clippy::indexing_slicing, reason = "fixed input")]

mod action;
mod folder;
mod hfile;
mod history;
mod log;
mod metadata;
mod rows;
mod small;
mod table;

use folder::{Done, Folder};

fn main() -> Done {
    let path = std::env::args().nth(1).ok_or("name the folder that the samples go to")?;
    let mut folder = Folder::new(path);
    log::write(&mut folder)?;
    hfile::write(&mut folder)?;
    metadata::write(&mut folder)?;
    history::write(&mut folder)?;
    action::write(&mut folder)?;
    small::write(&mut folder)?;
    table::write(&mut folder)?;
    log::write_refused(&mut folder)?;
    action::write_refused(&mut folder)?;
    folder.finish()
}
