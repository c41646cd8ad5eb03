//! Record keys and partition paths of one row of text, number, float and decimal.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int64Array};
use arrow_array::{RecordBatch, StringArray, TimestampMicrosecondArray};
use hudini_format::key::{Generator, KeyConfig, PathStyle};

use super::{Input, Target, check_error, decode, nothing_to_mend};

pub(super) const TARGET: Target = Target {
    name: "key",
    run,
    words: &[b"SIMPLE", b"COMPLEX", b"NON_PARTITION", b"a", b"b", b"/", b"..", b":", b"%2F", b"\0", b".hoodie"],
    mend: nothing_to_mend,
};

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (flags, scale) = (input.choice(), input.choice());
    if let Err(error) = Generator::parse(input.text()) {
        check_error(&error);
    }
    let fields = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let (key_fields, partition_fields) = (fields(input.text()), fields(input.text()));
    let generators = [
        Generator::Simple,
        Generator::Complex,
        Generator::NonPartition,
        Generator::GlobalDelete,
        Generator::Timestamp,
        Generator::Custom,
    ];
    let generator = generators[usize::from(flags >> 3) % generators.len()];
    let path_style = PathStyle { hive: flags & 1 > 0, url_encoded: flags & 2 > 0, slashed_dates: flags & 4 > 0 };
    let _ = path_style.values(input.text(), &partition_fields);
    let config = KeyConfig::new(generator, key_fields, partition_fields, path_style);
    let text = input.text();
    let batch = batch(text, input.rest(), scale);
    let keys = decode(bytes, |_| config.record_keys(&batch));
    assert!(keys.iter().flatten().flatten().all(|key| !key.is_empty()), "an empty record key");
    for path in decode(bytes, |_| config.partition_paths(&batch)).iter().flatten().flatten() {
        let inside = path.split('/').all(|part| part != "..") && !path.starts_with('/');
        assert!(inside, "the partition path {path:?} leads out of the table");
        assert!(!path.starts_with(".hoodie/"), "the partition path {path:?} leads into the table's own folder");
    }
}

/// One row; columns are called `a` to `g`.
fn batch(text: &str, number: &[u8], scale: u8) -> RecordBatch {
    let mut wide = [0; 16];
    wide.iter_mut().zip(number).for_each(|(to, from)| *to = *from);
    let wide = i128::from_be_bytes(wide);
    let long = (wide >> 64) as i64;
    let decimal = Decimal128Array::from(vec![wide]).with_precision_and_scale(38, (scale % 39) as i8).ok();
    let columns: [(&str, Option<ArrayRef>); 7] = [
        ("a", Some(Arc::new(StringArray::from(vec![text])))),
        ("b", Some(Arc::new(Int64Array::from(vec![long])))),
        ("c", Some(Arc::new(Float64Array::from(vec![f64::from_bits(long as u64)])))),
        ("d", Some(Arc::new(Float32Array::from(vec![f32::from_bits(long as u32)])))),
        ("e", decimal.map(|array| Arc::new(array) as ArrayRef)),
        ("f", Some(Arc::new(Date32Array::from(vec![long as i32])))),
        ("g", Some(Arc::new(TimestampMicrosecondArray::from(vec![(number.len() > 1).then_some(long)])))),
    ];
    let columns = columns.into_iter().filter_map(|(name, array)| Some((name, array?)));
    RecordBatch::try_from_iter(columns).expect("columns of one row")
}
