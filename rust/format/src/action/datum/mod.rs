//! One Avro datum ↔ any serde type, by the schema it was written with.
//!
//! A timeline file carries its writer's schema, which may lack fields that we know and have fields that we do not. So the
//! schema walks, and the type is asked by field name. Read into a `serde_json::Value`, a datum shows everything it holds:
//!
//! | Avro | JSON |
//! |---|---|
//! | null, boolean, int, long, string, array, map, record | the same |
//! | float, double | number; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | bytes, fixed | text, one character (U+0000 to U+00FF) a byte |
//! | enum | its symbol |
//! | union of null and one type | null or the value |
//! | other unions | null, or an object of one member: the branch's name and the value |
//!
//! [`to_bytes`] takes the same forms back, so a value kept as JSON becomes the very bytes that it was.

mod alike;
mod de;
mod ser;
mod skip;

pub(crate) use de::{Budget, Decoder, GROWTH, MAP_SLACK, TREE_NODE};
pub(crate) use ser::to_bytes;

use crate::schema::Node;

/// Whether a value of such a union must say which type it has: it could be of several.
fn needs_name(branches: &[Node]) -> bool {
    branches.iter().filter(|b| **b != Node::Null).count() > 1
}

/// What a branch of a union of several types is called: its record's name or its kind; a later one of the same name
/// adds its position.
fn branch_name(branches: &[Node], at: usize) -> String {
    let base = |node: &Node| match node {
        Node::Record(record) => record.name.clone(),
        other => other.kind().to_owned(),
    };
    let Some(name) = branches.get(at).map(base) else { return String::new() };
    let taken = branches.iter().take(at).any(|b| base(b) == name);
    if taken { format!("{name}:{at}") } else { name }
}
