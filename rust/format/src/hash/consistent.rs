//! Consistent hashing: the ring of a partition, where every node is a bucket, and the file that keeps it.
//!
//! ```text
//! .hoodie/.bucket_index/consistent_hashing_metadata/<partition>/<instant>.hashing_meta      JSON, as below
//!                                                               <instant>.commit            empty: that ring counts
//! position of a key    xxHash32(values of its hash fields, one behind the other) & 0x7fffffff
//! its bucket           the first node from there on; behind the last one, the first
//! file id              <prefix of the node>-0
//! ```
//!
//! The first ring has the instant `00000000000000` and needs no `.commit`. Its prefixes are made of the partition and the
//! node's range, so that writers agree on them. A clustering that splits or merges buckets carries *child nodes* in its plan:
//! `REPLACE` puts a node at a value, `DELETE` takes one away; with its completion they become part of the next ring.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::{name_uuid, xx32};
use super::hashed_values;
use crate::{Error, Result};

/// Where a table keeps its rings, below `.hoodie`.
pub const RING_FOLDER: &str = ".bucket_index/consistent_hashing_metadata";
/// Behind the instant of a ring's file.
pub const RING_SUFFIX: &str = ".hashing_meta";
/// Behind the instant of the empty file that says that a ring counts.
pub const RING_COMMIT_SUFFIX: &str = ".commit";
/// The instant of the first ring of a partition.
pub const FIRST_RING_INSTANT: &str = "00000000000000";

/// The last position of a ring.
const LAST_POSITION: u32 = i32::MAX.unsigned_abs();

/// What a node means in a list of child nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum NodeTag {
    Normal,
    Replace,
    Delete,
}

/// A bucket: all positions behind the node before it, up to its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Node {
    pub value: u32,
    /// Nothing for a node that goes away.
    pub file_id_prefix: Option<String>,
    pub tag: NodeTag,
}

impl Node {
    /// The id of the bucket's file group.
    pub fn file_id(&self) -> Option<String> {
        self.file_id_prefix.as_ref().map(|prefix| format!("{prefix}-0"))
    }

    /// Reads the child nodes in the plan of a clustering.
    pub fn decode_list(bytes: &[u8]) -> Result<Vec<Self>> {
        let nodes: Vec<Self> = serde_json::from_slice(bytes)
            .map_err(|e| Error::corrupt("child nodes of a bucket ring cannot be decoded").caused_by(e))?;
        nodes.iter().try_for_each(check_value)?;
        Ok(nodes)
    }

    /// Child nodes as a plan holds them.
    pub fn encode_list(nodes: &[Self]) -> Result<Vec<u8>> {
        crate::json::to_pretty(&nodes)
    }
}

/// The file of a ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RingFile {
    pub version: i16,
    pub partition_path: String,
    pub instant: String,
    pub num_buckets: u32,
    pub seq_no: u32,
    pub nodes: Vec<Node>,
}

impl RingFile {
    /// The first ring of a partition, which every writer makes alike. No buckets count as one.
    pub fn first(partition: &str, buckets: u32) -> Self {
        let buckets = buckets.max(1);
        let step = u64::from(LAST_POSITION).div_ceil(u64::from(buckets));
        let end = |node: u32| (step * u64::from(node)).min(LAST_POSITION.into());
        let nodes = (0..buckets).map(|node| {
            let (start, end) = (end(node), end(node + 1));
            let name = [&start.to_be_bytes()[..], &end.to_be_bytes(), partition.as_bytes()].concat();
            Node { value: end as u32, file_id_prefix: Some(name_uuid(&name)), tag: NodeTag::Normal }
        });
        Self {
            version: 0,
            partition_path: partition.to_owned(),
            instant: FIRST_RING_INSTANT.to_owned(),
            num_buckets: buckets,
            seq_no: 0,
            nodes: nodes.collect(),
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let file: Self = serde_json::from_slice(bytes)
            .map_err(|e| Error::corrupt("a bucket ring (.hashing_meta) cannot be decoded").caused_by(e))?;
        if file.version != 0 {
            return Err(Error::unsupported(format!("version {} of a bucket ring (.hashing_meta)", file.version)));
        }
        file.nodes.iter().try_for_each(check_value)?;
        Ok(file)
    }

    pub fn encode(&self) -> Result<Vec<u8>> {
        crate::json::to_pretty(self)
    }

    pub fn file_name(&self) -> String {
        format!("{}{RING_SUFFIX}", self.instant)
    }

    /// The ring that follows when a clustering with these child nodes completes.
    pub fn resized(&self, instant: &str, children: &[Node]) -> Result<Self> {
        let ring = Ring::new(self, children)?;
        let normal = |node: &Node| Node { tag: NodeTag::Normal, ..node.clone() };
        Ok(Self {
            instant: instant.to_owned(),
            num_buckets: ring.nodes.len() as u32,
            seq_no: self.seq_no.saturating_add(1),
            nodes: ring.nodes.values().map(normal).collect(),
            ..self.clone()
        })
    }
}

fn check_value(node: &Node) -> Result<()> {
    if node.value <= LAST_POSITION {
        return Ok(());
    }
    Err(Error::corrupt(format!("{} is no position of a bucket ring", node.value)))
}

/// A ring for looking up keys: that of a file, with the child nodes of a clustering that is under way.
#[derive(Debug, Clone)]
pub struct Ring {
    nodes: BTreeMap<u32, Node>,
}

impl Ring {
    pub fn new(file: &RingFile, children: &[Node]) -> Result<Self> {
        let mut nodes: BTreeMap<_, _> = file.nodes.iter().map(|node| (node.value, node.clone())).collect();
        for child in children {
            match child.tag {
                NodeTag::Replace => {
                    nodes.insert(child.value, child.clone());
                }
                NodeTag::Delete => {
                    let gone = nodes.remove(&child.value);
                    gone.ok_or_else(|| Error::corrupt(format!("a bucket ring has no node {} to delete", child.value)))?;
                }
                NodeTag::Normal => {
                    return Err(Error::corrupt(format!("child node {} neither replaces nor deletes", child.value)));
                }
            }
        }
        if nodes.is_empty() {
            return Err(Error::corrupt("a bucket ring without nodes"));
        }
        Ok(Self { nodes })
    }

    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// The bucket of a record key.
    pub fn bucket_of_key(&self, record_key: &str, hash_fields: &[impl AsRef<str>]) -> Option<&Node> {
        let joined = match hashed_values(record_key, hash_fields) {
            // Java joins a null as its name.
            Some(values) => values.map(|value| value.unwrap_or("null")).collect(),
            None => record_key.to_owned(),
        };
        self.bucket_at(xx32(joined.as_bytes()) & LAST_POSITION)
    }

    /// The bucket of a position.
    pub fn bucket_at(&self, position: u32) -> Option<&Node> {
        self.nodes.range(position..).next().or_else(|| self.nodes.first_key_value()).map(|(_, node)| node)
    }

    /// The child nodes that cut a bucket in two halves, given the prefixes of their file ids. `None` if it is too small.
    pub fn split(&self, value: u32, prefixes: [String; 2]) -> Result<Option<[Node; 2]>> {
        if !self.nodes.contains_key(&value) {
            return Err(no_node(value));
        }
        let before = self.value_before(value);
        let ring = if before < value { 0 } else { u64::from(LAST_POSITION) + 1 };
        let middle = ((u64::from(before) + u64::from(value) + ring) / 2) & u64::from(LAST_POSITION);
        let middle = middle as u32;
        let [first, second] = prefixes;
        Ok((middle != before && middle != value).then(|| [replacing(middle, first), replacing(value, second)]))
    }

    /// The child nodes that make one bucket, with this prefix of its file id, of several that follow each other.
    pub fn merge(&self, values: &[u32], prefix: String) -> Result<Vec<Node>> {
        let Some((last, others)) = values.split_last().filter(|(_, others)| !others.is_empty()) else {
            return Err(Error::option("a merge of buckets takes at least two"));
        };
        if let Some(missing) = values.iter().find(|value| !self.nodes.contains_key(value)) {
            return Err(no_node(*missing));
        }
        for pair in values.windows(2) {
            if let [one, next] = pair
                && self.value_before(*next) != *one
            {
                return Err(Error::option(format!("the buckets {one} and {next} do not follow each other")));
            }
        }
        let gone = |value: &u32| Node { value: *value, file_id_prefix: None, tag: NodeTag::Delete };
        Ok(others.iter().map(gone).chain([replacing(*last, prefix)]).collect())
    }

    fn value_before(&self, value: u32) -> u32 {
        let before = self.nodes.range(..value).next_back().or_else(|| self.nodes.last_key_value());
        before.map_or(value, |(value, _)| *value)
    }
}

fn replacing(value: u32, prefix: String) -> Node {
    Node { value, file_id_prefix: Some(prefix), tag: NodeTag::Replace }
}

fn no_node(value: u32) -> Error {
    Error::option(format!("a bucket ring has no node {value}"))
}

#[cfg(test)]
mod tests;
