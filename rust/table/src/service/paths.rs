//! How plans name files.

use crate::storage::without_scheme;

/// The path below the table of a file that a plan names; `None` of a file of another table.
pub(super) fn below_root<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let path = path.strip_prefix("file:").unwrap_or(path).trim_start_matches('/');
    let root = without_scheme(root).trim_matches('/');
    path.strip_prefix(root)?.strip_prefix('/').filter(|below| !below.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_inside_the_table_are_deleted() {
        assert_eq!(below_root("/lake/t", "/lake/t/p/f"), Some("p/f"));
        assert_eq!(below_root("/lake/t", "file:/lake/t/f"), Some("f"));
        assert_eq!(below_root("file:///lake/t", "file:///lake/t/f"), Some("f"));
        for outside in ["/lake/t2/f", "/lake/t", "/lake/t/", "/other/f", "f"] {
            assert_eq!(below_root("/lake/t", outside), None, "{outside}");
        }
    }
}
