//! The records of the metadata table, and the keys under which they stand.
