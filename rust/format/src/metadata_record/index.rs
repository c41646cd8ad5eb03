//! Rows of the record index: where the record of a key is.

use crate::{Error, Result};

use super::schema::Datum;

/// `fileIdEncoding` of two longs and a number.
const ENCODED_UUID: i32 = 0;
/// `fileIdEncoding` of a text.
const ENCODED_TEXT: i32 = 1;
/// `fileIndex` of a file id that ends with the UUID, and of none at all.
const NO_INDEX: i32 = -1;
const NO_BITS: i64 = -1;
/// Digits of the parts of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// A file id, in the form in which it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileId {
    /// `<uuid>-<number>`; without the number in files of old releases.
    Uuid { bits: u128, number: Option<i32> },
    /// Any text.
    Text(String),
}

impl FileId {
    /// A UUID with a number behind it if it is one, else a text.
    pub fn parse(text: &str) -> Self {
        let whole = text.len() == UUID_GROUPS.iter().sum::<usize>() + UUID_GROUPS.len() - 1;
        let (uuid, number) = match text.rsplit_once('-') {
            Some((uuid, number)) if !whole => (uuid, number.parse().ok().filter(|n: &i32| n.to_string() == number)),
            _ => (text, None),
        };
        match parse_uuid(uuid) {
            Some(bits) if whole || number.is_some_and(|number| number >= 0) => Self::Uuid { bits, number },
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl std::fmt::Display for FileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (bits, number) = match self {
            Self::Text(text) => return f.write_str(text),
            Self::Uuid { bits, number } => (bits, number),
        };
        let mut low = 128;
        for (at, digits) in UUID_GROUPS.into_iter().enumerate() {
            low -= 4 * digits;
            let group = bits >> low & ((1 << (4 * digits)) - 1);
            write!(f, "{}{group:0digits$x}", if at > 0 { "-" } else { "" })?;
        }
        number.map_or(Ok(()), |number| write!(f, "-{number}"))
    }
}

/// The bits of a UUID in the canonical form, which is the only one that comes out again as it went in.
fn parse_uuid(text: &str) -> Option<u128> {
    let mut groups = text.split('-');
    let mut bits = 0;
    for digits in UUID_GROUPS {
        let group = groups.next().filter(|group| group.len() == digits)?;
        let canonical = group.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        bits = bits << (4 * digits) | u128::from_str_radix(group, 16).ok().filter(|_| canonical)?;
    }
    groups.next().is_none().then_some(bits)
}

/// Where the record of a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordIndexEntry {
    /// A path; `""` for an unpartitioned table.
    pub partition: String,
    pub file_id: FileId,
    /// Of the base file, or of the write: milliseconds since 1970 of the instant's text, taken in the table's time zone.
    pub instant_millis: i64,
    /// Not written so far.
    pub position: Option<i64>,
}

impl RecordIndexEntry {
    pub(super) fn from_fields(fields: Vec<Datum<'_>>) -> Result<Self> {
        let lacks = |field: &str| Error::corrupt(format!("a record index entry without {field}"));
        let mut fields = fields.into_iter();
        let mut next = || fields.next().unwrap_or_default();
        let Datum::String(partition) = next() else { return Err(lacks("partitionName")) };
        let (high, low, number, text) = (next(), next(), next(), next());
        let Datum::Long(instant_millis) = next() else { return Err(lacks("instantTime")) };
        let file_id = match (next(), high, low, number, text) {
            (Datum::Int(ENCODED_UUID), Datum::Long(high), Datum::Long(low), Datum::Int(number), _) => FileId::Uuid {
                bits: u128::from(high.cast_unsigned()) << 64 | u128::from(low.cast_unsigned()),
                number: (number != NO_INDEX).then_some(number),
            },
            (Datum::Int(ENCODED_TEXT), .., Datum::String(text)) => FileId::Text(text.to_owned()),
            (Datum::Int(ENCODED_UUID | ENCODED_TEXT), ..) => return Err(lacks("a file id")),
            (Datum::Int(other), ..) => {
                return Err(Error::unsupported(format!("file id encoding {other} in the record index")));
            }
            _ => return Err(lacks("fileIdEncoding")),
        };
        let position = if let Datum::Long(position) = next() { Some(position) } else { None };
        Ok(Self { partition: partition.to_owned(), file_id, instant_millis, position })
    }

    pub(super) fn fields(&self) -> Vec<Datum<'_>> {
        let (high, low, number, text, encoding) = match &self.file_id {
            FileId::Uuid { bits, number } => {
                let (high, low) = ((bits >> 64) as u64, *bits as u64);
                (high.cast_signed(), low.cast_signed(), number.unwrap_or(NO_INDEX), "", ENCODED_UUID)
            }
            FileId::Text(text) => (NO_BITS, NO_BITS, NO_INDEX, text.as_str(), ENCODED_TEXT),
        };
        vec![
            Datum::String(&self.partition),
            Datum::Long(high),
            Datum::Long(low),
            Datum::Int(number),
            Datum::String(text),
            Datum::Long(self.instant_millis),
            Datum::Int(encoding),
            self.position.map_or(Datum::Null, Datum::Long),
        ]
    }
}
