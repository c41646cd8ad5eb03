//! Archived history: manifests and Parquet files of layout 2, log files of layout 1. The first byte says which.

use hudini_format::Result;
use hudini_format::history::{self, Columns, FileName, Manifest, Reader, archive};
use hudini_format::parquet_file::Limits;

use super::{Input, Target, decode, decode_declared, lines, nothing_to_mend, survives};

pub(super) const TARGET: Target = Target {
    name: "history",
    run,
    words: &[
        b"PAR1",
        b"\"files\"",
        b"\"fileName\"",
        b"\"fileLen\"",
        b"_0.parquet",
        b"instantTime",
        b"#HUDI#",
        b"COMPLETED",
        b"replacecommit",
    ],
    mend: nothing_to_mend,
};

/// Pages of more are refused: inputs are short.
const DECLARED: usize = 1 << 22;

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let choice = input.choice();
    let bytes = input.rest();
    match choice % 4 {
        0 => {
            if let Some(manifest) = decode(bytes, Manifest::decode) {
                survives(&manifest, |m| Ok(m.encode()), Manifest::decode);
            }
            decode(bytes, history::parse_version);
        }
        1 => drop(decode(bytes, |bytes| archive::Archives::default().decode(bytes).map(archive::entries))),
        2 => {
            for line in lines(bytes) {
                if let Some(name) = FileName::parse(line) {
                    assert_eq!(name.to_string(), line);
                }
            }
        }
        _ => {
            let whole = bytes::Bytes::copy_from_slice(bytes);
            let limits = Limits { page_bytes: DECLARED, ..Limits::default() };
            let read = |_| {
                Reader::open_with_limits(whole, Columns::All, &("2".to_owned()..), limits)?.collect::<Result<Vec<_>>>()
            };
            decode_declared(bytes, DECLARED, read);
        }
    }
}
