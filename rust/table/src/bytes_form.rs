//! The byte form of values that travel between processes: plans, tasks, splits, statuses.
//!
//! ```text
//! "hudini" | kind, one letter | version, two digits | JSON
//! ```
//!
//! Driver and workers may run different releases for a while. A version that this release does not know is refused
//! rather than guessed at.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

const MAGIC: &[u8] = b"hudini";

/// Version of all byte forms of this release. Raise it with every change of a travelling type.
const VERSION: u8 = 16;

/// A type that travels.
pub trait BytesForm: Serialize + DeserializeOwned {
    /// What it is, one letter that no other type has, and the word for messages.
    const KIND: (u8, &'static str);

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = MAGIC.to_vec();
        out.push(Self::KIND.0);
        out.extend_from_slice(format!("{VERSION:02}").as_bytes());
        serde_json::to_writer(&mut out, self)
            .map_err(|e| Error::internal(format!("a {} cannot be encoded", Self::KIND.1)).caused_by(e))?;
        Ok(out)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let what = Self::KIND.1;
        let foreign = || Error::option(format!("these bytes are not a {what} of hudini"));
        let rest = bytes.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(&[Self::KIND.0]));
        let (version, json) = rest.and_then(|rest| rest.split_at_checked(2)).ok_or_else(foreign)?;
        let version: u8 = std::str::from_utf8(version).ok().and_then(|v| v.parse().ok()).ok_or_else(foreign)?;
        if version != VERSION {
            return Err(Error::unsupported(format!("a {what} of version {version}; this process knows {VERSION}"))
                .with_hint("install the same release of hudini on the driver and on all workers"));
        }
        serde_json::from_slice(json).map_err(|e| foreign().caused_by(e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sample {
        name: String,
    }

    impl BytesForm for Sample {
        const KIND: (u8, &'static str) = (b'X', "sample");
    }

    #[test]
    fn the_form_is_fixed() {
        let bytes = Sample { name: "a".into() }.to_bytes().unwrap();
        assert_eq!(bytes, br#"hudiniX16{"name":"a"}"#);
        assert_eq!(Sample::from_bytes(&bytes).unwrap(), Sample { name: "a".into() });
    }

    #[test]
    fn other_versions_and_kinds_are_refused() {
        let newer = VERSION + 1;
        let e = Sample::from_bytes(format!(r#"hudiniX{newer}{{"name":"a"}}"#).as_bytes()).unwrap_err();
        assert!(e.to_string().contains(&format!("version {newer}")), "{e}");
        for junk in [&b""[..], b"hudiniT07{}", b"hudiniX16{}", b"hudiniX", b"hudiniXab{}"] {
            assert!(Sample::from_bytes(junk).is_err());
        }
    }
}
