//! Columns in which every text is empty, like the partition paths of a table without partitions.

use arrow_array::types::ByteArrayType;
use arrow_array::{Array, GenericByteArray};
use arrow_buffer::Buffer;

use crate::Result;

const SOME_BYTES: [u8; 64] = [0; 64];

/// The same texts, never in an empty buffer. The address of such a buffer lies in no page, and where
/// `memcmp` loads under a mask, a processor takes 40 ns a side to find that there was nothing to compare, instead of 2.
pub fn with_buffer<T: ByteArrayType>(texts: &GenericByteArray<T>) -> Result<GenericByteArray<T>> {
    if !texts.value_data().is_empty() {
        return Ok(texts.clone());
    }
    Ok(GenericByteArray::try_new(texts.offsets().clone(), Buffer::from(SOME_BYTES), texts.nulls().cloned())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;

    #[test]
    fn texts_stay_what_they_are() {
        for texts in [vec![], vec![Some("")], vec![Some(""), None], vec![Some("a"), Some("")]] {
            let texts = StringArray::from(texts);
            let with = with_buffer(&texts).unwrap();
            assert_eq!(with, texts);
            assert!(!with.value_data().is_empty());
        }
    }
}
