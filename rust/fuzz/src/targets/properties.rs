//! Properties files and the files of partitions.

use hudini_format::properties::{PartitionMetadata, Properties};

use super::{Target, check_error, decode, nothing_to_mend};

pub(super) const TARGET: Target = Target {
    name: "properties",
    run,
    words: &[
        b"hoodie.table.name=",
        b"hoodie.table.checksum=",
        b"hoodie.database.name=",
        b"commitTime=",
        b"partitionDepth=",
        b"\\\n",
        b"\r\n",
        b"\\u00e9",
        b"\\uD83D\\uDE00",
        b"#",
        b"!",
        b"\\=",
        b" : ",
    ],
    mend: nothing_to_mend,
};

fn run(bytes: &[u8]) {
    let Some(properties) = decode(bytes, Properties::parse) else { return };
    if let Err(error) = properties.verify_checksum() {
        check_error(&error);
    }
    let written = properties.to_bytes("", "");
    let again = Properties::parse(&written).unwrap_or_else(|error| panic!("{error}\n{written:?}"));
    assert!(again.iter().eq(properties.iter()), "{properties:?} became {again:?}");
    if let Some(partition) = decode(bytes, PartitionMetadata::parse) {
        assert_eq!(PartitionMetadata::parse(&partition.to_bytes("date")).ok(), Some(partition));
    }
}
