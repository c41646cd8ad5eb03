//! The tests of whole tables, as one program: what they share is compiled once, and both cores have work to the end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../format/tests/support/mod.rs"]
mod golden;

mod base_file_golden;
mod byte_forms;
mod change_logs;
mod changelog_rows;
mod changes;
mod compaction;
mod expression_indexes;
mod faults;
mod filtering;
mod incremental;
mod late_attempts;
mod log_forms;
mod lost_lock;
mod merge_columns;
mod merging;
mod metadata;
mod metadata_kept;
mod missing_files;
mod missing_files_written;
mod nested_ordering;
mod others_rollbacks;
mod plain;
mod racing_reads;
mod read_faults;
mod record_index;
mod refused_rows;
mod services;
mod shared_lock;
mod skipping;
mod spilled_writes;
mod spilling;
mod splits;
mod staged;
mod storage_conformance;
mod storage_faults;
mod storage_local;
mod support;
mod taken_over;
mod time_travel;
mod unbucketed;
mod unsettled;
mod workers;
mod write_options;
mod writers;
