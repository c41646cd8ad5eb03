//! `.hoodie/.index_defs/index.json`: what the indexes of a table are about; `hoodie.table.index.defs.path` leads to it.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::action::json;
use crate::metadata_record::IndexVersion;
use crate::{Error, Result};

/// Where Apache Hudi puts the file, relative to the table.
pub const INDEX_DEFINITIONS_FILE: &str = ".hoodie/.index_defs/index.json";

/// The definitions by the name of their partition in the metadata table, in file order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexDefinitions {
    definitions: Vec<(String, IndexDefinition)>,
}

/// What one index is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexDefinition {
    pub index_name: String,
    /// `column_stats`, `record_index`, `secondary_index`, `expr_index`, …
    pub index_type: String,
    /// `identity` for secondary indexes; the function of an expression index.
    pub index_function: String,
    pub source_fields: Vec<String>,
    pub index_options: Map<String, Value>,
    /// `V1` or `V2`: how keys are made. Absent before table version 9, where it is `V1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl IndexDefinition {
    /// How the keys of the index are made.
    pub fn key_version(&self) -> Result<IndexVersion> {
        match self.version.as_deref() {
            None | Some("V1") => Ok(IndexVersion::V1),
            Some("V2") => Ok(IndexVersion::V2),
            Some(other) => Err(Error::unsupported(format!("version '{other}' of the index {}", self.index_name))),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    index_definitions: IndexDefinitions,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    index_definitions: Map<String, Value>,
}

/// Of a repeated name the last definition counts, in the place of the first.
impl<'de> Deserialize<'de> for IndexDefinitions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct ByName;

        impl<'de> Visitor<'de> for ByName {
            type Value = IndexDefinitions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("definitions of indexes by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<IndexDefinitions, A::Error> {
                let mut places = HashMap::<String, usize>::new();
                let mut definitions: Vec<(String, IndexDefinition)> = Vec::new();
                while let Some((name, definition)) = map.next_entry::<String, IndexDefinition>()? {
                    match places.get(&name).and_then(|at| definitions.get_mut(*at)) {
                        Some((_, old)) => *old = definition,
                        None => {
                            places.insert(name.clone(), definitions.len());
                            definitions.push((name, definition));
                        }
                    }
                }
                Ok(IndexDefinitions { definitions })
            }
        }

        deserializer.deserialize_map(ByName)
    }
}

impl IndexDefinitions {
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        json::decode(bytes, "the definitions of indexes (index.json)").map(|file: File| file.index_definitions)
    }

    /// As Jackson prints it.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let refused = |e| Error::internal("a definition of an index that is no JSON").caused_by(e);
        let value = |(name, definition): &(String, IndexDefinition)| {
            Ok((name.clone(), serde_json::to_value(definition).map_err(refused)?))
        };
        let index_definitions = self.definitions.iter().map(value).collect::<Result<_>>()?;
        crate::json::to_pretty(&Printed { index_definitions })
    }

    pub fn get(&self, name: &str) -> Option<&IndexDefinition> {
        self.iter().find(|(known, _)| *known == name).map(|(_, definition)| definition)
    }

    /// Sets a definition; one that is there already keeps its place.
    pub fn set(&mut self, name: &str, definition: IndexDefinition) {
        match self.definitions.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = definition,
            None => self.definitions.push((name.to_owned(), definition)),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<IndexDefinition> {
        let at = self.definitions.iter().position(|(known, _)| known == name)?;
        Some(self.definitions.remove(at).1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &IndexDefinition)> {
        self.definitions.iter().map(|(name, definition)| (name.as_str(), definition))
    }
}
