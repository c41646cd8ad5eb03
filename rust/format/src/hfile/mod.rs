//! HFiles: sorted key-value files, in which the metadata table keeps its base files and log blocks.
