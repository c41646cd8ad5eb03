//! The file info: what a file says of itself, as named bytes.
//!
//! ```text
//! "PBUF" | varint length | fields 1: { field 1: key, field 2: value }
//! ```

use super::proto::{put_bytes, put_varint, read_field, read_length};
use crate::wire::Reader as Wire;
use crate::{Error, Result};

const MAGIC: &[u8; 4] = b"PBUF";

/// Key of the last cell: the whole cell key in HBase's dialect, length and row in Hudi's.
pub const LAST_KEY: &str = "hfile.LASTKEY";
pub const AVERAGE_KEY_LENGTH: &str = "hfile.AVG_KEY_LEN";
pub const AVERAGE_VALUE_LENGTH: &str = "hfile.AVG_VALUE_LEN";
pub const CREATE_TIME: &str = "hfile.CREATE_TIME_TS";
pub const KEY_VALUE_VERSION: &str = "KEY_VALUE_VERSION";
pub const MAX_MEMSTORE_TS: &str = "MAX_MEMSTORE_TS_KEY";
/// There if cells carry tags.
pub const MAX_TAGS_LENGTH: &str = "hfile.MAX_TAGS_LEN";
/// Avro schema of the values, as JSON text. Base files need it.
pub const SCHEMA: &str = "schema";
pub const MIN_RECORD_KEY: &str = "minRecordKey";
pub const MAX_RECORD_KEY: &str = "maxRecordKey";
pub const BLOOM_FILTER_TYPE: &str = "bloomFilterTypeCode";

/// Named bytes, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileInfo(Vec<(Vec<u8>, Vec<u8>)>);

impl FileInfo {
    /// Decodes the payload of a file info block, which starts at `offset` of the file.
    pub(super) fn decode(payload: &[u8], offset: u64) -> Result<Self> {
        let mut wire = Wire::new(payload, 0);
        Self::read(&mut wire)
            .map_err(|e| Error::new(e.kind(), "HFile file info cannot be decoded").at_offset(offset).caused_by(e))
    }

    fn read(wire: &mut Wire<'_>) -> Result<Self> {
        if wire.take(MAGIC.len(), "magic of the file info")? != MAGIC {
            return Err(Error::unsupported("HFile file info that is no Protocol Buffers message"));
        }
        let length = read_length(wire, "length of the file info")?;
        let message = wire.slice(length, "file info")?;
        // Counted first: an entry takes little in the file, so a vector that grows could take much more than it.
        let mut entries = Vec::with_capacity(pairs(message.clone()).count());
        for pair in pairs(message) {
            entries.push(read_pair(pair?)?);
        }
        Ok(Self(entries))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut message = Vec::new();
        for (key, value) in &self.0 {
            let mut pair = Vec::new();
            put_bytes(&mut pair, 1, key);
            put_bytes(&mut pair, 2, value);
            put_bytes(&mut message, 1, &pair);
        }
        let mut out = MAGIC.to_vec();
        put_varint(&mut out, message.len() as u64);
        out.append(&mut message);
        out
    }

    /// The value of a key, the last one if it is repeated.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.0.iter().rev().find(|(k, _)| k == key.as_bytes()).map(|(_, value)| value.as_slice())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// Sets a value; keys stay in byte order, as HBase writes them.
    pub(super) fn set(&mut self, key: &str, value: Vec<u8>) {
        match self.0.binary_search_by(|(k, _)| k.as_slice().cmp(key.as_bytes())) {
            Ok(at) => {
                if let Some((_, slot)) = self.0.get_mut(at) {
                    *slot = value;
                }
            }
            Err(at) => self.0.insert(at, (key.as_bytes().to_vec(), value)),
        }
    }

    /// The Avro schema of the values; log blocks have it in their own header as well.
    pub fn schema(&self) -> Result<Option<&str>> {
        self.text(SCHEMA)
    }

    /// The key of the last cell; none in an empty file.
    pub fn last_key(&self) -> Option<&[u8]> {
        let (length, rest) = self.get(LAST_KEY)?.split_first_chunk()?;
        rest.get(..u16::from_be_bytes(*length).into())
    }

    /// Least record key, in base files that have a bloom filter.
    pub fn min_record_key(&self) -> Result<Option<&str>> {
        self.text(MIN_RECORD_KEY)
    }

    /// Greatest record key, in base files that have a bloom filter.
    pub fn max_record_key(&self) -> Result<Option<&str>> {
        self.text(MAX_RECORD_KEY)
    }

    /// The code of the bloom filter in the meta block `bloomFilter`.
    pub fn bloom_filter_type(&self) -> Result<Option<&str>> {
        self.text(BLOOM_FILTER_TYPE)
    }

    fn text(&self, key: &str) -> Result<Option<&str>> {
        self.get(key)
            .map(|bytes| str::from_utf8(bytes))
            .transpose()
            .map_err(|e| Error::corrupt(format!("'{key}' in the file info of an HFile is no UTF-8")).caused_by(e))
    }
}

/// The fields of the message, each a key with its value. Nothing follows an error.
fn pairs(mut message: Wire<'_>) -> impl Iterator<Item = Result<Wire<'_>>> {
    let mut failed = false;
    std::iter::from_fn(move || {
        if failed || message.is_empty() {
            return None;
        }
        let offset = message.offset();
        let pair = match read_field(&mut message, "file info") {
            Ok((1, pair)) => pair.bytes("entry of the file info").map(|bytes| Wire::new(bytes, offset)),
            Ok((tag, _)) => Err(Error::unsupported(format!("HFile file info field {tag} is unknown"))),
            Err(e) => Err(e),
        };
        failed = pair.is_err();
        Some(pair)
    })
}

fn read_pair(mut pair: Wire<'_>) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut key, mut value) = (None, None);
    while !pair.is_empty() {
        match read_field(&mut pair, "entry of the file info")? {
            (1, bytes) => key = Some(bytes.bytes("key of the file info")?),
            (2, bytes) => value = Some(bytes.bytes("value of the file info")?),
            (other, _) => return Err(Error::unsupported(format!("field {other} of an HFile file info entry"))),
        }
    }
    match (key, value) {
        (Some(key), Some(value)) => Ok((key.to_vec(), value.to_vec())),
        _ => Err(pair.corrupt("an entry of the file info without key or value")),
    }
}
