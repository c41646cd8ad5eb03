//! What benches share: numbers that are the same in every run, and rows as tables have them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a bench")]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use arrow_schema::DataType;

/// Pseudo-random numbers from a fixed seed (xorshift).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True in `percent` of the cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn text(&mut self, shortest: u64, longest: u64) -> String {
        let length = shortest + self.below(longest - shortest + 1);
        (0..length).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }
}

/// Columns of pseudo-random values, one in twenty of them null.
struct Columns {
    rows: usize,
    numbers: Numbers,
}

impl Columns {
    const NULL_PERCENT: u64 = 5;

    fn values<T>(&mut self, mut make: impl FnMut(&mut Numbers) -> T) -> Vec<Option<T>> {
        let numbers = &mut self.numbers;
        (0..self.rows).map(|_| (!numbers.chance(Self::NULL_PERCENT)).then(|| make(numbers))).collect()
    }

    fn texts(&mut self, shortest: u64, longest: u64) -> ArrayRef {
        Arc::new(StringArray::from(self.values(|n| n.text(shortest, longest))))
    }

    fn doubles(&mut self) -> ArrayRef {
        Arc::new(Float64Array::from(self.values(|n| n.below(1 << 40) as f64 / 64.0)))
    }

    fn timestamps(&mut self) -> ArrayRef {
        let micros = self.values(|n| 1_700_000_000_000_000 + n.below(100_000_000_000_000) as i64);
        Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"))
    }

    fn decimals(&mut self) -> ArrayRef {
        let unscaled = self.values(|n| i128::from(n.below(100_000_000_000)) - 50_000_000_000);
        Arc::new(Decimal128Array::from(unscaled).with_precision_and_scale(18, 2).expect("18 digits"))
    }
}

/// Rows of an order table: 12 nullable columns of 8 types, about 180 bytes a row as Avro.
pub(crate) fn orders(rows: usize) -> RecordBatch {
    let mut make = Columns { rows, numbers: Numbers::new(20_260_101) };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", make.texts(16, 16)),
        ("customer", make.texts(10, 30)),
        ("quantity", Arc::new(Int32Array::from(make.values(|n| n.below(1000) as i32)))),
        ("city", make.texts(5, 15)),
        ("price", make.doubles()),
        ("discount", make.doubles()),
        ("comment", make.texts(45, 105)),
        ("amount", Arc::new(Int64Array::from(make.values(|n| n.below(10_000_000) as i64)))),
        ("active", Arc::new(BooleanArray::from(make.values(|n| n.chance(50))))),
        ("day", Arc::new(Date32Array::from(make.values(|n| 18_000 + n.below(2000) as i32)))),
        ("at", make.timestamps()),
        ("total", make.decimals()),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("columns of one length")
}

/// The same rows with the five columns that Apache Hudi puts in front.
pub(crate) fn with_meta(rows: &RecordBatch) -> RecordBatch {
    let schema = hudini_format::schema::meta::with_meta(&rows.schema());
    let count = rows.num_rows();
    let texts = |make: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new((0..count).map(|row| Some(make(row))).collect::<StringArray>())
    };
    let mut columns = vec![
        texts(&|_| "20260102030405678".to_owned()),
        texts(&|row| format!("20260102030405678_3_{row}")),
        texts(&|row| format!("TXN-{row:010}")),
        texts(&|_| "region=emea".to_owned()),
        texts(&|_| "00000003-8c1f-4a52-9d1e-2f6b7a90c4d1-0".to_owned()),
    ];
    assert_eq!(schema.field(columns.len()).data_type(), &DataType::Utf8);
    columns.extend(rows.columns().iter().cloned());
    RecordBatch::try_new(Arc::new(schema), columns).expect("the meta columns come first")
}
