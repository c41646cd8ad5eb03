//! Files that were cleaned away between planning a scan and reading it.

use std::sync::Arc;

use crate::merge::Batches;
use crate::storage::Storage;
use crate::view::{FileSlice, Missing, kind_of, missing};
use crate::{Error, ErrorKind};

/// The same rows; an error that comes of a file that is gone says so, and who took it.
pub(super) fn explained(storage: &Arc<dyn Storage>, slices: Vec<FileSlice>, rows: Batches) -> Batches {
    let storage = Arc::clone(storage);
    Box::new(rows.map(move |batch| batch.map_err(|e| explanation(storage.as_ref(), &slices, e))))
}

fn explanation(storage: &dyn Storage, slices: &[FileSlice], e: Error) -> Error {
    if !matches!(e.kind(), ErrorKind::StorageFailure | ErrorKind::CorruptFile) {
        return e;
    }
    for slice in slices {
        for file in slice.base.iter().chain(&slice.logs) {
            // A storage that does not answer has not lost the file.
            if matches!(storage.head(&slice.path(file)), Ok(None)) {
                let what = format!("a {} file of the snapshot", kind_of(&file.name));
                return missing(storage, Missing::File(&slice.partition, &file.name), &what).unwrap_or(e);
            }
        }
    }
    e
}
