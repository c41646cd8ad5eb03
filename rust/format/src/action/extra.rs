//! What a payload holds beyond the fields that this release knows: kept, so that a payload that was read and written
//! again has lost nothing.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Fields of one record that the writer of the file knew and we do not, in the writer's order; mostly there are none.
/// Values that JSON lacks are spelled as in Avro's own JSON encoding: bytes as text of one character a byte, a value of a
/// union of several types as an object that names the type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extra(Option<Box<[(String, Value)]>>);

impl Extra {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().flat_map(|fields| fields.iter()).map(|(name, value)| (name.as_str(), value))
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.iter().count()))?;
        self.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Extra;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the fields of a record")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Extra, A::Error> {
                let Some(first) = map.next_entry()? else { return Ok(Extra::default()) };
                let mut fields = vec![first];
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Extra(Some(fields.into_boxed_slice())))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// The schema of the file that a payload was read from, if it declares fields beyond ours: what is written again is
/// written by it. Payloads made here have none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WriterSchema(pub(super) Option<Arc<str>>);

impl WriterSchema {
    /// The schema's text.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }
}
