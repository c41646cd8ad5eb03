//! The content of delete blocks.

use hudini_format::Result;
use hudini_format::log::{DeleteRecord, delete};

use super::{Target, decode, survives};

pub(super) const TARGET: Target = Target {
    name: "delete",
    run,
    words: &[
        b"\0\0\0\x03",
        b"\x02\x06abc\x02\x02p\x04\0",
        b"\x12\x02\x01",
        b"\x18\x02\x04\x04\x0a\x0e\x02x\0",
        b"\x02\0\0\0",
    ],
    mend,
};

/// The length of the records, which stands at 4.
fn mend(bytes: &mut [u8]) {
    let length = (bytes.len() as u32).saturating_sub(8);
    if let Some(slot) = bytes.get_mut(4..8) {
        slot.copy_from_slice(&length.to_be_bytes());
    }
}

fn run(bytes: &[u8]) {
    // One by one they take little; all at once they may take more than the limit.
    if decode(bytes, |bytes| delete::records(bytes, 0)?.try_for_each(|record| record.map(drop))).is_some() {
        let read = |bytes: &[u8]| delete::records(bytes, 0)?.collect::<Result<Vec<DeleteRecord>>>();
        let records = read(bytes).unwrap_or_else(|error| panic!("{error}"));
        survives(&records, |records| delete::encode(records), read);
    }
}
