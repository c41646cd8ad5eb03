//! What filters mean: vectors of Spark's semantics, mistakes and where they are, and statistics that never hide a row.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Fields};
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// 2024-02-29T23:59:59.5Z.
const LEAP: i64 = 1_709_251_199_500_000;

fn rows() -> RecordBatch {
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("ann"), None, Some("Bob's"), Some("50%_x"), Some("")]));
    let inner = Fields::from(vec![Field::new("City", DataType::Utf8, true), Field::new("n", DataType::Int32, true)]);
    let address = StructArray::new(
        inner,
        vec![Arc::clone(&names), Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5]))],
        Some(vec![true, true, false, true, true].into()),
    );
    let mut list = ListBuilder::new(Int32Builder::new());
    [Some(1), None, Some(2), Some(3), Some(4)].into_iter().for_each(|n| match n {
        Some(n) => list.append_value([Some(n)]),
        None => list.append_null(),
    });
    let decimals = Decimal128Array::from(vec![Some(1050), None, Some(-1), Some(99_999), Some(0)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5]))),
        ("n", Arc::new(Int64Array::from(vec![Some(10), None, Some(i64::MAX), Some(-5), Some(i64::MIN)]))),
        (
            "d",
            Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(-0.0), Some(1e300), Some(f64::NEG_INFINITY)])),
        ),
        ("f", Arc::new(Float32Array::from(vec![Some(0.1), None, Some(2.5), Some(-f32::NAN), Some(16_777_216.0)]))),
        ("dec", Arc::new(decimals.with_precision_and_scale(10, 2).unwrap())),
        ("name", names),
        ("ok", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true), Some(false)]))),
        ("day", Arc::new(Date32Array::from(vec![Some(0), None, Some(19_782), Some(-1), Some(i32::MAX)]))),
        (
            "ts",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(0), None, Some(LEAP), Some(-1), Some(i64::MAX)])
                    .with_timezone("UTC"),
            ),
        ),
        ("ms", Arc::new(TimestampMillisecondArray::from(vec![Some(0), None, Some(1), Some(-1), Some(86_400_000)]))),
        ("b", Arc::new(BinaryArray::from(vec![Some(&b"ann"[..]), None, Some(b"\xff\x00"), Some(b""), Some(b"x")]))),
        ("address", Arc::new(address)),
        ("list", Arc::new(list.finish())),
        ("Mixed", Arc::new(Int32Array::from(vec![0; 5]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, values)| (name, values, true))).unwrap()
}

fn ids(filter: &str) -> Vec<i32> {
    let rows = rows();
    let predicate = Predicate::new(filter, rows.schema_ref()).unwrap_or_else(|e| panic!("{filter}: {e}"));
    let selected = predicate.select(&rows).unwrap_or_else(|e| panic!("{filter}: {e}"));
    selected.column_by_name("id").unwrap().as_primitive::<Int32Type>().values().to_vec()
}

#[rstest]
// Three values: null is neither equal nor unequal.
#[case("n = 10", &[1])]
#[case("n != 10", &[3, 4, 5])]
#[case("not (n = 10)", &[3, 4, 5])]
#[case("n = null", &[])]
#[case("null", &[])]
#[case("not null", &[])]
#[case("true", &[1, 2, 3, 4, 5])]
#[case("n is null", &[2])]
#[case("n is not null", &[1, 3, 4, 5])]
#[case("n <=> null", &[2])]
#[case("not n <=> null", &[1, 3, 4, 5])]
#[case("n is distinct from 10", &[2, 3, 4, 5])]
#[case("n = 10 or n is null", &[1, 2])]
#[case("n = 10 or null", &[1])]
#[case("not (n = 10 and null)", &[3, 4, 5])]
#[case("ok", &[1, 4])]
#[case("not ok", &[3, 5])]
#[case("ok is true", &[1, 4])]
#[case("ok is not true", &[2, 3, 5])]
#[case("(ok is unknown)", &[2])]
#[case("ok = 'TRUE'", &[1, 4])]
#[case("ok <> (id > 3)", &[1, 5])]
#[case("id = 1 or id = 2 and id = 3", &[1])]
#[case("(id = 1 or id = 3) and id = 3", &[3])]
#[case("NOT NOT id = 1", &[1])]
// Lists.
#[case("id in (1, 3, 9)", &[1, 3])]
#[case("id not in (1, 3)", &[2, 4, 5])]
#[case("id in (1, null)", &[1])]
#[case("id not in (1, null)", &[])]
#[case("n in (null)", &[])]
#[case("n not in (10)", &[3, 4, 5])]
#[case("id in ('1', 2.0, 3.5, 99999999999)", &[1, 2])]
#[case("name in ('ann', '')", &[1, 5])]
#[case("dec in (10.5, -0.010)", &[1, 3])]
#[case("d in (0, cast('nan' as double))", &[1, 3])]
#[case("id in (n, 2)", &[2])]
#[case("day in ('1970-01-01', date'2024-02-29')", &[1, 3])]
// Numbers: no literal wraps or rounds.
#[case("id = 1.0", &[1])]
#[case("id < 1.5", &[1])]
#[case("id = '2'", &[2])]
#[case("id = 4294967297", &[])]
#[case("id < 4294967297", &[1, 2, 3, 4, 5])]
#[case("n = 9223372036854775807", &[3])]
#[case("n < 9223372036854775808", &[1, 3, 4, 5])]
#[case("n > -9223372036854775809", &[1, 3, 4, 5])]
#[case("n = -9223372036854775808", &[5])]
#[case("n >= 99999999999999999999999999999999999999", &[])]
#[case("10L = n", &[1])]
#[case("dec = 10.5", &[1])]
#[case("dec = 10.500000000000000000001", &[])]
#[case("dec >= 999.99 and dec < 1000", &[4])]
#[case("dec < 1e-1", &[3, 5])]
#[case("dec = '10.50'", &[1])]
#[case("n > dec", &[3])]
#[case("id + 0 = 1", &[])]
#[case("-id = 1", &[])]
// Floating point: NaN is equal to itself and greatest, zeros are one.
#[case("d = 0", &[3])]
#[case("d = -0.0", &[3])]
#[case("d > 1e299", &[1, 4])]
#[case("d = cast('NaN' as double)", &[1])]
#[case("d < 0", &[5])]
#[case("d >= cast('-inf' as double)", &[1, 3, 4, 5])]
#[case("f > 1e38", &[4])]
#[case("f = 0.1", &[])]
#[case("f = cast(0.5 as float) or f = 2.5", &[3])]
#[case("f = 16777217", &[])]
#[case("d = f", &[])]
// Texts.
#[case("name = 'Bob''s'", &[3])]
#[case("name < 'a'", &[3, 4, 5])]
#[case("name = ''", &[5])]
#[case("name like 'a%'", &[1])]
#[case("name like '%n'", &[1])]
#[case("name like '_nn'", &[1])]
#[case("name like '%\\%\\_%'", &[4])]
#[case("name like '50!%!_x' escape '!'", &[4])]
#[case("name not like '%n%'", &[3, 4, 5])]
#[case("name like ''", &[5])]
#[case("name like '%'", &[1, 3, 4, 5])]
#[case("name like null", &[])]
#[case("startswith(name, '50%')", &[4])]
#[case("contains(name, 'nn') or endswith(name, '''s')", &[1, 3])]
#[case("b = x'FF00'", &[3])]
#[case("b = 'ann' or b < x'00'", &[1, 4])]
#[case("name between 'a' and 'b'", &[1])]
#[case("name not between 'a' and 'b'", &[3, 4, 5])]
// Names.
#[case("`id` = 1 or \"id\" = 2", &[1, 2])]
#[case("ID = 1 and MIXED = 0 and mixed < 1", &[1])]
#[case("address.city = 'ann'", &[1])]
#[case("address.n is null", &[3])]
#[case("address is null or list is null", &[2, 3])]
#[case("`address`.`City` is not null", &[1, 4, 5])]
// Days and moments.
#[case("day = '1970-01-01'", &[1])]
#[case("day = '1970-1-1 12:00:00'", &[1])]
#[case("day >= date'2024-02-29'", &[3, 5])]
#[case("day < '2024'", &[1, 4])]
#[case("ts = '1970-01-01'", &[1])]
#[case("ts = timestamp'1970-01-01 01:00:00+01:00'", &[1])]
#[case("ts < date'1970-01-01'", &[4])]
#[case("ts > '2024-02-29T23:59:59.499999Z' and ts < '2024-02-29 23:59:59.500001'", &[3])]
#[case("ms = '1970-01-01 00:00:00.001'", &[3])]
#[case("ms > '1970-01-01 00:00:00.0005'", &[3, 5])]
#[case("ms <= ts and id < 5", &[1, 3, 4])]
#[case("ms = day and id < 5", &[1])]
fn spark_semantics(#[case] filter: &str, #[case] expected: &[i32]) {
    match filter {
        "id + 0 = 1" | "-id = 1" => assert_eq!(mistake(filter).kind(), ErrorKind::InvalidFilter),
        _ => assert_eq!(ids(filter), expected, "{filter}"),
    }
}

#[rstest]
#[case("lower(name) = 'bob''s' and upper(name) = 'BOB''S'", &[3])]
#[case("length(name) = 3 and length(b) = 3", &[1])]
#[case("length('köln😀') = 5", &[1, 2, 3, 4, 5])]
#[case("trim(concat('  ', name, ' ')) = 'ann'", &[1])]
#[case("ltrim(' a ') = 'a ' and rtrim(' a ') = ' a' and id = 1", &[1])]
#[case("name || 'x' = 'annx'", &[1])]
#[case("concat(name, null) is null", &[1, 2, 3, 4, 5])]
#[case("substring(name, 2, 1) = 'n' and substr(name, -2) = 'nn' and substring(name, 0, 1) = 'a'", &[1])]
#[case("substring('abc', -5, 3) = 'a' and substring('abc', 2, -1) = '' and id = 1", &[1])]
#[case("abs(dec) = 0.01 or abs(id) = 5", &[3, 5])]
#[case("floor(dec) = -1 or ceil(dec) = 11", &[1, 3])]
#[case("ceil(-2.5D) = -2 and floor(-2.5) = -3 and ceil(7) = 7 and id = 1", &[1])]
#[case("floor(d) = 0 and id = 1", &[1])]
#[case("year(ts) = 2024 and month(ts) = 2 and day(ts) = 29 and hour(ts) = 23 and minute(ts) = 59 and second(ts) = 59", &[3])]
#[case("year(day) = 1969 and dayofyear(day) = 365 and quarter(day) = 4", &[4])]
#[case("dayofweek(day) = 5 and weekday(day) = 3 and weekofyear(day) = 1", &[1])]
#[case("weekofyear('2021-01-03') = 53 and weekofyear('2020-12-28') = 53 and id = 1", &[1])]
#[case("to_date(ts) = date'2024-02-29' or to_date(ts) = date_sub('1970-01-01', 1)", &[3, 4])]
#[case("date_add(day, 1) = '1970-01-01' and datediff('1970-01-01', day) = 1", &[4])]
#[case("date_add(day, 1) is null", &[2, 5])]
#[case("date_format(ts, 'yyyy-MM-dd''T''HH:mm:ss.SSS') = '2024-02-29T23:59:59.500'", &[3])]
#[case("date_format(ts, 'yyyyMMdd HH') = '20240229 23'", &[3])]
#[case("from_unixtime(id) = '1970-01-01 00:00:01' or from_unixtime(id, 's') = '2'", &[1, 2])]
#[case("unix_timestamp(ts) = 0 and unix_timestamp(ms) = 0", &[1, 4])]
#[case("unix_timestamp(ts) = -1 or unix_timestamp(day) = -86400", &[4])]
#[case("cast(ts as date) = '2024-02-29' and cast(id as string) = '3' and cast(id as bigint) = 3", &[3])]
#[case("to_date(name) is null", &[1, 2, 3, 4, 5])]
#[case("hour('2024-01-01 05:06') = 5 and id = 2", &[2])]
fn functions(#[case] filter: &str, #[case] expected: &[i32]) {
    assert_eq!(ids(filter), expected, "{filter}");
}

fn mistake(filter: &str) -> Error {
    Predicate::new(filter, rows().schema_ref()).map(|_| panic!("{filter} was taken")).unwrap_err()
}

#[rstest]
#[case("", 0, "the end")]
#[case("id =", 4, "the end")]
#[case("id = 1 id", 7, "AND, OR or the end")]
#[case("id = 1 and", 10, "the end")]
#[case("id = (1", 7, "')'")]
#[case("id = 'x", 5, "never closed")]
#[case("nope = 1", 0, "no column 'nope'")]
#[case("id = \"sf\"", 5, "no column 'sf'")]
#[case("address.x = 1", 0, "no field 'x'")]
#[case("id.x = 1", 0, "has no field")]
#[case("id = 'x'", 0, "'x' is no int")]
#[case("day = 'yesterday'", 0, "is no date")]
#[case("day = '2023-02-29'", 0, "is no date")]
#[case("ts = '2024-01-01 25:00:00'", 0, "is no timestamp")]
#[case("date'2024-13-01' = day", 0, "is no date")]
#[case("id = 12x", 5, "12x")]
#[case("id = 1e", 5, "1e")]
#[case("name = 1", 0, "string cannot be compared with a int")]
#[case("name = date'2024-01-01'", 0, "cannot be compared")]
#[case("list = 1", 0, "array cannot be compared")]
#[case("address = null", 0, "struct cannot be compared")]
#[case("id", 0, "a condition is expected")]
#[case("id and ok", 0, "a condition is expected")]
#[case("ok and name", 7, "a condition is expected")]
#[case("id in ()", 7, "a column or a value")]
#[case("name like 1", 10, "pattern of LIKE")]
#[case("name like name", 10, "pattern of LIKE")]
#[case("id like '1'", 0, "LIKE takes a string")]
#[case("name like 'a\\x'", 10, "stands behind")]
#[case("name like 'x' escape 'ab'", 21, "one character")]
#[case("name rlike 'a'", 5, "do not know RLIKE")]
#[case("id + 1 = 2", 3, "do not calculate")]
#[case("md5(name) = 'x'", 0, "md5()")]
#[case("lower(id) = 'x'", 0, "lower() takes a string")]
#[case("lower(name, name) = 'x'", 0, "so many arguments")]
#[case("substring(name) = 'x'", 0, "more arguments")]
#[case("substring(name, id) = 'x'", 0, "written out")]
#[case("date_format(ts, 'EEE') = 'x'", 0, "'EEE'")]
#[case("to_date('never') = day", 0, "no date or time")]
#[case("cast(name as int) = 1", 0, "do not cast")]
#[case("cast(id as blob) = 1", 0, "the type blob")]
#[case("id not 1", 7, "IN, BETWEEN or LIKE")]
#[case("id is 1", 6, "NULL, TRUE")]
#[case("id ; 1", 3, "';'")]
#[case("interval'1' = id", 0, "interval")]
fn mistakes_say_what_and_where(#[case] filter: &str, #[case] at: u64, #[case] says: &str) {
    let e = mistake(filter);
    assert_eq!(e.kind(), ErrorKind::InvalidFilter);
    assert!(e.message().contains(says), "{filter}: {e}");
    assert_eq!(e.offset(), Some(at), "{filter}: {e}");
}

#[test]
fn unknown_columns_and_functions_come_with_a_hint() {
    assert!(mistake("nope = 1").hint().unwrap().contains("address, list"));
    assert!(mistake("md5(name) = ''").hint().unwrap().contains("substring"));
}

#[test]
fn names_that_differ_in_case_alone_are_taken_as_written() {
    let schema = Schema::new(vec![Field::new("a", DataType::Int32, true), Field::new("A", DataType::Int32, true)]);
    assert_eq!(Predicate::new("A = 1", &schema).unwrap().columns(), &BTreeSet::from(["A".to_owned()]));
    let schema = Schema::new(vec![Field::new("aB", DataType::Int32, true), Field::new("Ab", DataType::Int32, true)]);
    assert!(Predicate::new("ab = 1", &schema).unwrap_err().message().contains("no column 'ab'"));
}

#[test]
fn long_chains_are_fine_and_deep_ones_are_refused() {
    let chain = vec!["id = 1"; 20_000].join(" or ");
    assert_eq!(ids(&chain), [1]);
    let deep = format!("{}id = 1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(mistake(&deep).message().contains("levels"));
    let negations = format!("{} id = 1", "not ".repeat(100_001));
    assert_eq!(ids(&negations), [2, 3, 4, 5]);
    let mut nested = "id = 1".to_owned();
    for _ in 0..40 {
        nested = format!("({nested}) between false and true");
    }
    assert!(mistake(&nested).message().contains("more than once"));
}

#[test]
fn equalities_tell_the_values_of_a_column() {
    let schema = rows().schema();
    let values = |filter: &str| {
        let found = Predicate::new(filter, &schema).unwrap().values_of("n")?;
        Some(found.as_primitive::<Int64Type>().values().to_vec())
    };
    assert_eq!(values("ok and n = 7 and id > 1"), Some(vec![7]));
    assert_eq!(values("(ok and (n in (1, 2, null)))"), Some(vec![1, 2]));
    for none in ["n = 7 or ok", "n > 7", "not n = 7", "n = 7.5", "n in (7, id)", "n = null", "id = 7"] {
        assert_eq!(values(none), None, "{none}");
    }
}

struct Known(Vec<(&'static str, Stats)>);

impl ColumnStats for Known {
    fn stats(&self, column: &str) -> Option<Stats> {
        self.0.iter().find(|(name, _)| *name == column).map(|(_, stats)| stats.clone())
    }
}

fn ints(min: i64, max: i64, nulls: u64) -> Stats {
    let one = |n| Some(Arc::new(Int64Array::from(vec![n])) as ArrayRef);
    Stats { min: one(min), max: one(max), nulls: Some(nulls), rows: Some(10) }
}

fn texts(min: &str, max: &str) -> Stats {
    let one = |text| Some(Arc::new(StringArray::from(vec![text])) as ArrayRef);
    Stats { min: one(min), max: one(max), nulls: Some(0), rows: Some(10) }
}

#[rstest]
#[case("n = 5", true)]
#[case("n = 9", false)]
#[case("n < 3", false)]
#[case("n <= 3", true)]
#[case("n > 8", false)]
#[case("n >= 8", true)]
#[case("n >= 8.5", false)]
#[case("n = '99'", false)]
#[case("not n < 9", false)]
#[case("not n >= 3", false)]
#[case("n <> 5", true)]
#[case("n is null", false)]
#[case("n is not null", true)]
#[case("n <=> null", false)]
#[case("n in (1, 2, 9)", false)]
#[case("n in (1, 4)", true)]
#[case("n not in (1, 4)", true)]
#[case("n between 9 and 20", false)]
#[case("n not between 0 and 20", false)]
#[case("n = 9 or name = 'm'", true)]
#[case("n = 9 or name = 'z'", false)]
#[case("n = 5 and name = 'z'", false)]
#[case("n = 5 and id = 77", true)]
#[case("name like 'm%'", true)]
#[case("name like 'k%'", false)]
#[case("name like 'q%x'", false)]
#[case("name like '%'", true)]
#[case("startswith(name, 'zz')", false)]
#[case("substring(name, 1, 1) = 'z'", false)]
#[case("lower(name) = 'z'", true)]
#[case("n < id", true)]
#[case("cast(n as double) > 8.5D", false)]
#[case("floor(n) > 8", false)]
#[case("null", false)]
#[case("false", false)]
#[case("true", true)]
#[case("d > 5", true)]
#[case("d < 5", false)]
#[case("f < 5", true)]
fn statistics_rule_out(#[case] filter: &str, #[case] may: bool) {
    let double = |d: f64| Some(Arc::new(Float64Array::from(vec![d])) as ArrayRef);
    let float: ArrayRef = Arc::new(Float32Array::from(vec![f32::NAN]));
    let known = Known(vec![
        ("n", ints(3, 8, 0)),
        ("name", texts("l", "p")),
        ("d", Stats { min: double(5.0), max: None, nulls: None, rows: None }),
        ("f", Stats { min: Some(float), ..Stats::default() }),
    ]);
    let predicate = Predicate::new(filter, rows().schema_ref()).unwrap();
    assert_eq!(predicate.may_match(&known), may, "{filter}");
}

#[test]
fn nulls_alone_match_nothing_but_null() {
    let known = Known(vec![("n", Stats { nulls: Some(10), rows: Some(10), ..Stats::default() })]);
    let may = |filter: &str| Predicate::new(filter, rows().schema_ref()).unwrap().may_match(&known);
    assert!(!may("n = 5") && !may("n <> 5") && !may("n in (5)") && !may("not n in (5)"));
    assert!(may("n is null") && may("n <=> null") && may("n is null or n = 5"));
}

/// As texts, moments are in order from the first year to 9999, and only where a pattern goes from the year down.
#[test]
fn printed_moments_are_ruled_out_by_bounds_of_four_digits() {
    const DAY: i64 = 86_400;
    let number = |value: i64| Some(Arc::new(Int64Array::from(vec![value])) as ArrayRef);
    let may = |filter: &str, min: Option<i64>, max: Option<i64>| {
        let stats = Stats { min: min.and_then(number), max: max.and_then(number), ..Stats::default() };
        Predicate::new(filter, rows().schema_ref()).unwrap().may_match(&Known(vec![("n", stats)]))
    };
    let day = |day: &str| format!("from_unixtime(n, 'yyyy-MM-dd') = '{day}'");
    let (first, last) = (Some(19_723 * DAY), Some(19_724 * DAY - 1));
    assert!(may(&day("2024-01-01"), first, last));
    assert!(!may(&day("2023-12-31"), first, last) && !may(&day("2024-01-02"), first, last));
    assert!(!may("from_unixtime(n) > '2024-01-02'", first, last), "the default pattern");
    assert!(may("from_unixtime(n, 'dd.MM.yyyy') = '02.01.2024'", first, last));
    let nothing = Stats { rows: Some(0), ..Stats::default() };
    let of_no_rows = Predicate::new(&day("2024-01-01"), rows().schema_ref()).unwrap();
    assert!(!of_no_rows.may_match(&Known(vec![("n", nothing)])));
    for (least, greatest) in
        [(first, None), (None, last), (Some(-63_000_000_000), last), (first, Some(300_000_000_000))]
    {
        assert!(may(&day("2023-01-01"), least, greatest) && may(&day("2025-01-01"), least, greatest));
    }
}

/// Statistics of another type, or of no value, say nothing.
#[test]
fn statistics_that_do_not_fit_are_not_believed() {
    let text = texts("a", "b");
    let empty = Stats { min: Some(Arc::new(Int64Array::from(vec![None::<i64>]))), ..Stats::default() };
    for stats in [text, empty, Stats::default()] {
        let predicate = Predicate::new("n = 5", rows().schema_ref()).unwrap();
        assert!(predicate.may_match(&Known(vec![("n", stats)])));
    }
}

/// A condition over the columns n, d and name.
fn condition() -> impl Strategy<Value = String> {
    let number = prop_oneof![(-3..4_i64).prop_map(|n| n.to_string()), Just("1.5".to_owned()), Just("null".to_owned())];
    let double = prop_oneof![
        (-3..4_i64).prop_map(|n| format!("{n}.5D")),
        Just("cast('nan' as double)".to_owned()),
        Just("-0.0".to_owned())
    ];
    let text = "[abc]{0,2}".prop_map(|text| format!("'{text}'"));
    let op = prop_oneof![Just("="), Just("<>"), Just("<"), Just("<="), Just(">"), Just(">="), Just("<=>")];
    let list = |item: BoxedStrategy<String>| prop::collection::vec(item, 1..4).prop_map(|items| items.join(", "));
    let leaf = prop_oneof![
        (op.clone(), number.clone()).prop_map(|(op, n)| format!("n {op} {n}")),
        (op.clone(), double.clone()).prop_map(|(op, d)| format!("d {op} {d}")),
        (op.clone(), text.clone()).prop_map(|(op, t)| format!("name {op} {t}")),
        op.prop_map(|op| format!("n {op} d")),
        (any::<bool>(), list(number.clone().boxed()))
            .prop_map(|(not, list)| format!("n {}in ({list})", if not { "not " } else { "" })),
        list(double.boxed()).prop_map(|list| format!("d in ({list})")),
        list(text.boxed()).prop_map(|list| format!("name not in ({list})")),
        (number.clone(), number).prop_map(|(a, b)| format!("n between {a} and {b}")),
        "[ab%_]{0,3}".prop_map(|pattern| format!("name like '{pattern}'")),
        prop_oneof![Just("n"), Just("d"), Just("name")].prop_map(|column| format!("{column} is null")),
        Just("substring(name, 1, 1) = 'b'".to_owned()),
        Just("floor(d) > 1".to_owned()),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!("not ({inner})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) and ({b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a}) or ({b})")),
        ]
    })
}

type Row = (Option<i64>, Option<f64>, Option<String>);

fn row() -> impl Strategy<Value = Row> {
    let double =
        prop_oneof![(-3..4).prop_map(|n| f64::from(n) + 0.5), Just(f64::NAN), Just(-f64::NAN), Just(0.0), Just(-0.0)];
    (prop::option::of(-3..4_i64), prop::option::of(double), prop::option::of("[abc]{0,2}"))
}

fn batch(rows: &[Row]) -> RecordBatch {
    let n: Int64Array = rows.iter().map(|row| row.0).collect();
    let d: Float64Array = rows.iter().map(|row| row.1).collect();
    let name: StringArray = rows.iter().map(|row| row.2.clone()).collect();
    let columns: [(&str, ArrayRef); 3] = [("n", Arc::new(n)), ("d", Arc::new(d)), ("name", Arc::new(name))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap()
}

/// What is true of the rows; a mask says which of it is known.
fn stats_of(rows: &RecordBatch, mask: u8) -> Known {
    let known = |bit: u8, value: Option<ArrayRef>| value.filter(|_| mask & (1 << bit) == 0);
    let of = |column: &'static str, (min, max): (Option<ArrayRef>, Option<ArrayRef>)| {
        let values = rows.column_by_name(column).unwrap();
        let nulls = (mask & 4 == 0).then_some(values.null_count() as u64);
        let stats = Stats { min: known(0, min), max: known(1, max), nulls, rows: Some(rows.num_rows() as u64) };
        (column, stats)
    };
    let n = rows.column(0).as_primitive::<Int64Type>();
    let one = |n: Option<i64>| n.map(|n| Arc::new(Int64Array::from(vec![n])) as ArrayRef);
    let numbers = (one(n.iter().flatten().min()), one(n.iter().flatten().max()));
    let d: Vec<f64> = rows.column(1).as_primitive::<Float64Type>().iter().flatten().collect();
    let least = d.iter().copied().filter(|d| !d.is_nan()).min_by(f64::total_cmp);
    // As of Parquet, where NaN is not counted.
    let double = least.filter(|_| mask & 8 == 0).map(|d| Arc::new(Float64Array::from(vec![d])) as ArrayRef);
    let name = rows.column(2).as_string::<i32>();
    let text = |text: Option<&str>| text.map(|text| Arc::new(StringArray::from(vec![text])) as ArrayRef);
    let texts = (text(name.iter().flatten().min()), text(name.iter().flatten().max()));
    Known(vec![of("n", numbers), of("d", (double, None)), of("name", texts)])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn statistics_never_hide_a_row(rows in prop::collection::vec(row(), 1..6), filter in condition(), mask in 0_u8..16) {
        let rows = batch(&rows);
        let predicate = Predicate::new(&filter, rows.schema_ref()).unwrap();
        if predicate.select(&rows).unwrap().num_rows() > 0 {
            prop_assert!(predicate.may_match(&stats_of(&rows, mask)), "{filter}");
        }
    }

    /// A row that is merged of two versions has each of its values from one of them.
    #[test]
    fn statistics_of_two_files_hide_no_row_that_is_merged_of_both(
        one in row(),
        others in prop::collection::vec(row(), 1..4),
        filter in condition(),
        masks in (0_u8..16, 0_u8..16),
    ) {
        let merged: Vec<Row> = others.iter().flat_map(|other| [
            (one.0, other.1, one.2.clone()), (other.0, one.1, one.2.clone()), (other.0, other.1, one.2.clone()), other.clone(),
        ]).collect();
        let (one, others, merged) = (batch(&[one]), batch(&others), batch(&merged));
        let both = stats_of(&one, masks.0).0.into_iter().zip(stats_of(&others, masks.1).0);
        let both = Known(both.map(|((name, one), (_, other))| (name, one.and(other))).collect());
        let predicate = Predicate::new(&filter, merged.schema_ref()).unwrap();
        if predicate.select(&merged).unwrap().num_rows() > 0 {
            prop_assert!(predicate.may_match(&both), "{filter}");
        }
    }

    /// A row matches, or does not, or neither: never both a condition and its opposite.
    #[test]
    fn opposites_share_no_row(rows in prop::collection::vec(row(), 1..6), filter in condition()) {
        let rows = batch(&rows);
        let count = |filter: &str| Predicate::new(filter, rows.schema_ref()).unwrap().select(&rows).unwrap().num_rows();
        let unknown = count(&format!("({filter}) is unknown"));
        prop_assert_eq!(count(&filter) + count(&format!("not ({filter})")) + unknown, rows.num_rows());
    }

    #[test]
    fn no_text_makes_the_parser_fall(text in "\\PC{0,40}") {
        let _ = Predicate::new(&text, rows().schema_ref());
    }

    #[test]
    fn no_words_make_the_binding_or_the_rows_fall(words in prop::collection::vec(prop_oneof![
        Just("id"), Just("n"), Just("d"), Just("name"), Just("day"), Just("ts"), Just("address.n"), Just("list"), Just("null"),
        Just("and"), Just("or"), Just("not"), Just("is"), Just("in"), Just("like"), Just("between"), Just("("), Just(")"), Just(","),
        Just("="), Just("<"), Just("<=>"), Just("-"), Just("'a%'"), Just("'1'"), Just("1"), Just("2.5"), Just("1e9"), Just("date'2024-01-01'"),
        Just("substring("), Just("lower("), Just("year("), Just("abs("), Just("floor("), Just("date_add("), Just("cast("), Just("as"), Just("int"), Just("||"),
    ], 0..14)) {
        let rows = rows();
        if let Ok(predicate) = Predicate::new(&words.join(" "), rows.schema_ref()) {
            let _ = predicate.select(&rows);
            let _ = predicate.may_match(&Known(vec![("n", ints(3, 8, 0))]));
        }
    }
}
