//! Columns of type VECTOR, new in Apache Hudi 1.2: so many numbers in each row, as a fixed of their bytes, little-endian.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int8Type};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, FixedSizeListArray, PrimitiveArray};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef};

use crate::{Error, Result};

/// The one way in which they are stored.
pub(super) const BACKING: &str = "FIXED_BYTES";

/// What the numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    Float,
    Double,
    Int8,
}

/// How many numbers of which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vector {
    pub dimension: usize,
    pub element: Element,
}

impl Element {
    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Float, Self::Double, Self::Int8].into_iter().find(|element| element.name() == name)
    }

    /// As schemas spell it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Int8 => "INT8",
        }
    }

    pub(super) fn arrow(self) -> DataType {
        match self {
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Int8 => DataType::Int8,
        }
    }

    pub(super) fn of_arrow(data_type: &DataType) -> Option<Self> {
        [Self::Float, Self::Double, Self::Int8].into_iter().find(|element| element.arrow() == *data_type)
    }

    fn bytes(self) -> usize {
        match self {
            Self::Float => 4,
            Self::Double => 8,
            Self::Int8 => 1,
        }
    }
}

impl Vector {
    /// The type of a column of so many values in each row, if that is one of vectors.
    pub(super) fn of_list(item: &FieldRef, length: i32) -> Option<Self> {
        let dimension = usize::try_from(length).ok().filter(|dimension| *dimension > 0)?;
        let element = Element::of_arrow(item.data_type()).filter(|_| !item.is_nullable())?;
        Some(Self { dimension, element })
    }

    /// Bytes of a value.
    pub fn size(self) -> usize {
        self.dimension.saturating_mul(self.element.bytes())
    }
}

/// Whether values of so many bytes are vectors of that type.
pub(super) fn fits(bytes: i32, item: &FieldRef, length: i32) -> bool {
    Vector::of_list(item, length).is_some_and(|vector| usize::try_from(bytes) == Ok(vector.size()))
}

/// The vectors whose bytes those are.
pub(crate) fn of_bytes(values: &FixedSizeBinaryArray, to: &DataType) -> Result<ArrayRef> {
    let DataType::FixedSizeList(item, length) = to else { return Err(Error::internal(format!("vectors as {to}"))) };
    let vector = Vector::of_list(item, *length).filter(|_| fits(values.value_length(), item, *length));
    let vector = vector.ok_or_else(|| Error::internal(format!("{} as {to}", values.data_type())))?;
    let bytes = values.value_data().get(..values.len() * vector.size()).unwrap_or_default();
    let numbers: ArrayRef = match vector.element {
        Element::Float => numbers::<Float32Type, 4>(bytes, f32::from_le_bytes),
        Element::Double => numbers::<Float64Type, 8>(bytes, f64::from_le_bytes),
        Element::Int8 => numbers::<Int8Type, 1>(bytes, i8::from_le_bytes),
    };
    Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(item), *length, numbers, values.nulls().cloned())?))
}

fn numbers<T: ArrowPrimitiveType, const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> T::Native) -> ArrayRef {
    let (chunks, _) = bytes.as_chunks::<N>();
    let numbers: Vec<T::Native> = chunks.iter().map(|chunk| number(*chunk)).collect();
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(Buffer::from_vec(numbers)), None))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_schema::Field;
    use rstest::rstest;

    use super::*;

    fn list(item: DataType, length: i32) -> DataType {
        DataType::FixedSizeList(Arc::new(Field::new("element", item, false)), length)
    }

    #[test]
    fn numbers_stand_little_endian_one_after_the_other() {
        let bytes = [[0.5_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat(), vec![0; 8]];
        let values = [Some(bytes[0].as_slice()), None, Some(bytes[1].as_slice())];
        let values = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), 8).unwrap();
        let vectors = of_bytes(&values.slice(0, 2), &list(DataType::Float32, 2)).unwrap();
        let vectors = vectors.as_fixed_size_list();
        assert_eq!(vectors.value(0).as_primitive::<Float32Type>().values(), &[0.5, -2.0]);
        assert!(vectors.is_null(1));
        let tail = of_bytes(&values.slice(2, 1), &list(DataType::Int8, 8)).unwrap();
        assert_eq!(tail.as_fixed_size_list().value(0).as_primitive::<Int8Type>().values(), &[0; 8]);
    }

    #[rstest]
    #[case(12, DataType::Float32, 3, true)]
    #[case(16, DataType::Float64, 2, true)]
    #[case(16, DataType::Float32, 2, false)]
    #[case(0, DataType::Int8, 0, false)]
    #[case(8, DataType::Int64, 1, false)]
    fn bytes_and_numbers_agree(#[case] bytes: i32, #[case] item: DataType, #[case] length: i32, #[case] fit: bool) {
        assert_eq!(fits(bytes, &Arc::new(Field::new("element", item, false)), length), fit);
    }
}
