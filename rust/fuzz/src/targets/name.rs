//! Names of base files, log files and markers; one a line.

use hudini_format::name::{BaseFileName, LogFileName, MarkerName};

use super::{Target, decode, lines, nothing_to_mend};

pub(super) const TARGET: Target = Target {
    name: "name",
    run,
    words: &[b".log.", b".marker.", b"CREATE", b"MERGE", b"APPEND", b".cdc", b".parquet", b"_", b"-0_0-1-2_"],
    mend: nothing_to_mend,
};

fn run(bytes: &[u8]) {
    for name in lines(bytes) {
        let names = decode(name.as_bytes(), |_| {
            Ok((BaseFileName::parse(name), LogFileName::parse(name), MarkerName::parse(name)))
        });
        let Some((base, log, marker)) = names else { continue };
        assert!(base.is_none() || log.is_none(), "{name:?} is both a base file and a log file");
        if let Some(base) = base {
            assert_eq!(base.to_string(), name);
        }
        if let Some(log) = log {
            assert_eq!(LogFileName::parse(&log.to_string()).as_ref(), Some(&log), "{name:?}");
            assert!(log.to_string().len() <= name.len(), "{name:?}");
            assert!(log.slice_order(&log).is_eq());
        }
        if let Some(marker) = marker {
            assert_eq!(MarkerName::parse(&marker.to_string()).as_ref(), Some(&marker), "{name:?}");
        }
    }
}
