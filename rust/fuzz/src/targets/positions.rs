//! Record positions: the bytes behind the header's text.

use hudini_format::positions::Positions;

use super::{Target, check_error, decode, nothing_to_mend, survives};

pub(super) const TARGET: Target = Target {
    name: "positions",
    run,
    words: &[
        b"\x01\0\0\0\0\0\0\0",
        b"\x3a\x30\0\0\x01\0\0\0",
        b"\x3b\x30\0\0",
        b"\x3b\x30\x01\0\x03",
        b"\0\0\xff\xff",
        b"\0\0\0\x01\0\0\0\0",
    ],
    mend: nothing_to_mend,
};

/// More are not walked through: a run of a few bytes stands for 65536.
const WALKED: u64 = 1 << 18;

fn run(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes)
        && let Err(error) = Positions::from_header(text)
    {
        check_error(&error);
    }
    let Some(positions) = decode(bytes, Positions::decode) else { return };
    survives(&positions, |positions| Ok(positions.encode()), Positions::decode);
    assert_eq!(Positions::from_header(&positions.to_header()).ok().as_ref(), Some(&positions));
    assert!(!format!("{positions:?}").is_empty());
    if positions.len() <= WALKED {
        assert_eq!(positions.iter().count() as u64, positions.len());
        assert!(positions.iter().is_sorted());
        assert!(positions.iter().all(|position| positions.contains(position)));
    }
}
