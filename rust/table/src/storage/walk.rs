//! Folders within folders.

use super::{Entry, Storage};
use crate::Result;

/// The path of a direct child of a folder.
pub(crate) fn joined(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

/// Goes through a folder and those within it. `visit` is told of each entry and of the folder that it lies in, by its path
/// below the first one; of a folder it says whether to go through that too.
pub(crate) fn walk(
    storage: &dyn Storage,
    root: &str,
    mut visit: impl FnMut(&str, &Entry) -> Result<bool>,
) -> Result<()> {
    let mut open = vec![String::new()];
    while let Some(dir) = open.pop() {
        let path = if dir.is_empty() { root.to_owned() } else { joined(root, &dir) };
        for entry in storage.list(&path)? {
            if visit(&dir, &entry)? && matches!(entry, Entry::Dir { .. }) {
                open.push(joined(&dir, entry.name()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::memory::Memory;
    use super::*;
    use crate::context::ManualClock;

    #[test]
    fn folders_are_gone_through_if_wanted() {
        let storage = Memory::new("t", Arc::new(ManualClock::new(0)));
        for path in ["r/a", "r/b/c", "r/b/d/e", "r/f/g", "other"] {
            let _ = storage.create(path, b"").unwrap();
        }
        let seen = |root: &str, passed_over: &str| {
            let mut seen = Vec::new();
            let visit = |dir: &str, entry: &Entry| {
                seen.push(joined(dir, entry.name()));
                Ok(entry.name() != passed_over)
            };
            walk(&storage, root, visit).unwrap();
            seen.sort();
            seen
        };
        assert_eq!(seen("r", "f"), ["a", "b", "b/c", "b/d", "b/d/e", "f"]);
        assert_eq!(seen("", "r"), ["other", "r"]);
        assert!(seen("nowhere", "").is_empty());
    }
}
