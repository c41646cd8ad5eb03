//! Hashes of rows, column by column.

use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_primitive_array};
use arrow_buffer::ToByteSlice;
use arrow_schema::DataType;
use foldhash::fast::FixedState;

use crate::{Result, json};

/// Takes the values of a column into the hashes of their rows.
pub(super) fn fold(hashes: &mut [u64], column: &ArrayRef) -> Result<()> {
    let column: &dyn Array = column.as_ref();
    let rows = hashes.iter_mut();
    downcast_primitive_array!(
        column => rows.zip(column.iter()).for_each(|(hash, value)| {
            mix(hash, value.as_ref().map(ToByteSlice::to_byte_slice));
        }),
        DataType::Utf8 => rows.zip(column.as_string::<i32>()).for_each(|(hash, text)| mix(hash, text.map(str::as_bytes))),
        DataType::Binary => rows.zip(column.as_binary::<i32>()).for_each(|(hash, bytes)| mix(hash, bytes)),
        _ => {
            // Of nested values the text is as good.
            for (row, hash) in rows.enumerate() {
                mix(hash, Some(json::value(column, row)?.to_string().as_bytes()));
            }
        }
    );
    Ok(())
}

fn mix(hash: &mut u64, value: Option<&[u8]>) {
    *hash = FixedState::default().hash_one((*hash, value));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{BinaryArray, BooleanArray, Float64Array, Int32Array, ListArray, StringArray};

    use super::*;

    fn hashes(columns: &[ArrayRef]) -> Vec<u64> {
        let mut hashes = vec![0; columns[0].len()];
        columns.iter().for_each(|column| fold(&mut hashes, column).unwrap());
        hashes
    }

    #[test]
    fn every_value_counts_and_nothing_else() {
        let lists = [Some(vec![Some(1)]), Some(vec![Some(1)]), Some(vec![]), None];
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(vec![Some(1), Some(1), Some(0), None])),
            Arc::new(Float64Array::from(vec![Some(0.5), Some(0.5), Some(-0.0), Some(0.0)])),
            Arc::new(StringArray::from(vec![Some("a"), Some("a"), Some(""), None])),
            Arc::new(BinaryArray::from_opt_vec(vec![Some(b"a"), Some(b"a"), Some(b""), None])),
            Arc::new(BooleanArray::from(vec![Some(true), Some(true), Some(false), None])),
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
        ];
        for column in columns.iter().map(std::slice::from_ref).chain([columns.as_slice()]) {
            let hashes = hashes(column);
            assert_eq!(hashes[0], hashes[1]);
            assert_ne!(hashes[1], hashes[2]);
            assert_ne!(hashes[2], hashes[3]);
        }
        assert_ne!(hashes(&columns[..2]), hashes(&[Arc::clone(&columns[1]), Arc::clone(&columns[0])]));
    }
}
