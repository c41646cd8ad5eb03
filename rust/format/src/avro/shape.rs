//! What the walk over a datum needs to know of a type beside its name.

use crate::schema::Node;
use crate::{Error, Result};

/// Types within types; each level costs the walk some stack.
const DEEPEST: usize = 100;

/// Types whose values take no bytes: each costs time in every row.
const MOST_EMPTY: usize = 100;

/// How a datum says that it is null. Numbers are those on the wire: the branch, doubled by zigzag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nullable {
    /// No union: never null, unless the type is.
    Never,
    /// A union of null and one type.
    Branch { null: u8, value: u8 },
    /// A union of one type.
    Alone,
}

const FIRST: u8 = 0;
const SECOND: u8 = 2;

/// The one type a column has, and where nulls come from.
pub(super) fn nullable(node: &Node) -> Result<(&Node, Nullable)> {
    if let Node::Union(branches) = node
        && let [only] = branches.as_slice()
    {
        return Ok((only, Nullable::Alone));
    }
    let (inner, null) = node.optional()?;
    Ok((
        inner,
        match null {
            None => Nullable::Never,
            Some(0) => Nullable::Branch { null: FIRST, value: SECOND },
            Some(_) => Nullable::Branch { null: SECOND, value: FIRST },
        },
    ))
}

/// The fewest bytes a datum of the type can take. Zero means that it always takes none.
pub(super) fn fewest_bytes(node: &Node) -> usize {
    match node {
        Node::Null => 0,
        Node::Float => 4,
        Node::Double => 8,
        Node::Fixed(size) | Node::Decimal { size: Some(size), .. } => *size,
        Node::Vector(vector) => vector.size(),
        Node::Record(record) => record.fields.iter().map(|f| fewest_bytes(&f.node)).fold(0, usize::saturating_add),
        Node::Union(branches) => branches.iter().map(fewest_bytes).min().unwrap_or(0).saturating_add(1),
        Node::Boolean
        | Node::Int
        | Node::Long
        | Node::Date
        | Node::Time(_)
        | Node::Timestamp { .. }
        | Node::Bytes
        | Node::String
        | Node::Enum(_)
        | Node::Array(_)
        | Node::Map(_)
        | Node::Decimal { size: None, .. } => 1,
    }
}

/// How far a schema may go, so that its walk is bounded by the bytes it reads.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    depth: usize,
    empty: usize,
}

impl Bounds {
    /// One level further down, for as long as `inside` runs.
    pub(super) fn within<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(Error::unsupported(format!("an Avro schema of more than {DEEPEST} types within types")));
        }
        self.depth += 1;
        let made = inside(self);
        self.depth -= 1;
        made
    }

    /// Counts the types that are read without a byte.
    pub(super) fn count(&mut self, node: &Node) -> Result<()> {
        if fewest_bytes(node) == 0 {
            self.empty += 1;
        }
        if self.empty > MOST_EMPTY {
            return Err(Error::unsupported(format!("an Avro schema of more than {MOST_EMPTY} types without a byte")));
        }
        Ok(())
    }
}
