use super::*;

/// What Java 17 printed; see `FloatVectors.java` beside the file.
#[test]
fn numbers_as_java_prints_them() {
    let mut count = 0;
    for line in include_str!("../../../tests/vectors/floats.tsv").lines() {
        let [kind, bits, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let mut out = String::new();
        match kind {
            "d" => push_double(f64::from_bits(u64::from_str_radix(bits, 16).unwrap()), &mut out),
            _ => push_float(f32::from_bits(u32::from_str_radix(bits, 16).unwrap()), &mut out),
        }
        assert_eq!(out, text, "{kind} {bits}");
        count += 1;
    }
    assert!(count > 2000);
}
