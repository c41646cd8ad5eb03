#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use arrow_array::{Date32Array, Int32Array, TimestampMicrosecondArray};
use arrow_schema::TimeUnit;
use rstest::rstest;

use super::super::{ColumnStats, types};
use super::*;

fn schema() -> Schema {
    let local = DataType::Timestamp(TimeUnit::Microsecond, None);
    Schema::new(vec![
        Field::new("city", DataType::Utf8, true),
        Field::new("n", DataType::Int32, true),
        Field::new("ts", DataType::Int64, true),
        Field::new("day", DataType::Date32, true),
        Field::new("at", types::timestamp(), true),
        Field::new("local", local, true),
    ])
}

fn derived(expression: &str) -> Derived {
    Derived::new(expression, &schema()).unwrap()
}

struct Indexed(BTreeMap<&'static str, Stats>);

impl ColumnStats for Indexed {
    fn stats(&self, column: &str) -> Option<Stats> {
        self.0.get(column).cloned()
    }
}

fn between(min: ArrayRef, max: ArrayRef) -> Stats {
    Stats { min: Some(min), max: Some(max), ..Stats::default() }
}

fn texts(min: &str, max: &str) -> Stats {
    between(Arc::new(StringArray::from(vec![min])), Arc::new(StringArray::from(vec![max])))
}

/// Whether rows of a file may match of which an index says that. `None` if the filter does not ask for it.
fn may_match(expression: &str, indexed: Stats, filter: &str) -> Option<bool> {
    let derived = derived(expression);
    let predicate = Predicate::new(filter, &schema()).unwrap().by(&derived)?;
    Some(predicate.may_match(&Indexed(BTreeMap::from([(STAND_IN, derived.of_filter(indexed))]))))
}

#[rstest]
#[case("lower(city) = 'oslo'", Some(false))]
#[case("lower(city) = 'rome'", Some(true))]
#[case("lcase(city) in ('oslo', 'rome')", Some(true))]
#[case("'oslo' = lower(city)", Some(false))]
#[case("lower(city) <=> 'oslo'", Some(false))]
#[case("n = 1 and lower(city) = 'oslo'", Some(false))]
#[case("n = 1 or lower(city) = 'oslo'", Some(true))]
#[case::any_of_them("lower(city) = 'oslo' or lower(city) = 'bergen'", Some(false))]
#[case::what_follows("city = 'OSLO'", Some(false))]
#[case::what_follows_of_several("city in ('OSLO', 'Rome')", Some(true))]
#[case::nothing_follows("not (city = 'Rome')", Some(true))]
#[case::nothing_follows_from_the_opposite("not (lower(city) = 'rome')", Some(true))]
#[case::another_order("lower(city) < 'oslo'", None)]
#[case::another_small_letter("lower(city) = 'ığdır'", None)]
#[case::of_such_a_text("city = 'IĞDIR'", None)]
#[case::pattern("lower(city) like 'osl%'", None)]
#[case::another_function("upper(city) = 'OSLO'", None)]
#[case::another_column("lower(cast(n as string)) = '1'", None)]
#[case("city > 'a'", None)]
#[case::null("lower(city) is null", None)]
#[case::null_of_the_column("city <=> null", None)]
fn lower_case_is_believed_of_ascii_alone(#[case] filter: &str, #[case] wanted: Option<bool>) {
    assert_eq!(may_match("lower(city)", texts("rome", "rome"), filter), wanted);
}

#[rstest]
#[case("substring(city, 1, 2) = 'Os'", Some(false))]
#[case("substr(city, 1, 2) > 'S'", Some(false))]
#[case("substr(city, 1, 2) between 'P' and 'Q'", Some(false))]
#[case("substring(city, 1, 2) like 'R%'", Some(true))]
#[case("substring(city, 1, 2) like 'O%'", Some(false))]
#[case("not (substring(city, 1, 2) = 'Ro')", Some(false))]
#[case("city = 'Oslo'", Some(false))]
#[case("city = 'Ro'", Some(true))]
#[case::nulls_are_not_counted("substring(city, 1, 2) is null", Some(true))]
#[case("substring(city, 1, 3) = 'Osl'", None)]
fn other_functions_of_texts_are_the_same_everywhere(#[case] filter: &str, #[case] wanted: Option<bool>) {
    assert_eq!(may_match("substring(city, 1, 2)", texts("Ro", "Ro"), filter), wanted);
}

#[rstest]
#[case("from_unixtime(ts, 'yyyy-MM-dd') = '2024-03-08'", true)]
#[case::a_day_before("from_unixtime(ts, 'yyyy-MM-dd') = '2024-03-04'", true)]
#[case::a_day_behind("from_unixtime(ts, 'yyyy-MM-dd') = '2024-03-10'", true)]
#[case("from_unixtime(ts, 'yyyy-MM-dd') = '2024-03-03'", false)]
#[case("from_unixtime(ts, 'yyyy-MM-dd') = '2024-03-11'", false)]
#[case("from_unixtime(ts, 'yyyy-MM-dd') > '2024-03-11'", false)]
#[case("from_unixtime(ts, 'yyyy-MM-dd') < '2024-03-04'", false)]
#[case("ts = 0", false)]
#[case::nine_o_clock("ts = 1709888400", true)]
fn days_are_those_of_any_zone(#[case] filter: &str, #[case] wanted: bool) {
    let found = may_match("from_unixtime(ts, 'yyyy-MM-dd')", texts("2024-03-05", "2024-03-09"), filter);
    assert_eq!(found, Some(wanted));
}

#[rstest]
#[case::before_our_era("2024-12-31", "2024-12-31", Some(("2023-01-01", "2026-12-31")))]
#[case("2024-12-30", "2024-12-30", Some(("2024-12-29", "2024-12-31")))]
#[case::old("1583-01-01", "1583-01-01", None)]
#[case::too_late("9999-01-01", "9999-02-01", None)]
#[case::five_digits("+10000-01-01", "2024-01-01", None)]
#[case::no_text_of_the_pattern("2024-03", "2024-04", None)]
fn years_that_are_out_of_order_are_minded(#[case] min: &str, #[case] max: &str, #[case] wanted: Option<(&str, &str)>) {
    let stats = derived("from_unixtime(ts, 'yyyy-MM-dd')").of_filter(texts(min, max));
    let text = |bound: Option<ArrayRef>| bound.map(|bound| bound.as_string::<i32>().value(0).to_owned());
    let found = text(stats.min).zip(text(stats.max));
    assert_eq!(found, wanted.map(|(min, max)| (min.to_owned(), max.to_owned())));
}

#[test]
fn texts_of_a_moment_lie_between_those_of_any_zone() {
    const MINUTES: i64 = 60;
    let formats = [
        "yyyy",
        "yyyy-MM",
        "yyyyMMdd",
        "yyyy/MM/dd HH",
        "yyyy-MM-dd'T'HH:mm",
        "yyyyMMddHHmmss",
        "yyyy-MM-dd HH:mm:ss.SSS",
    ];
    for format in formats {
        let expression = format!("date_format(at, '{}')", format.replace('\'', "''"));
        let derived = derived(&expression);
        let printed = |seconds: i64| {
            let moment = TimestampMicrosecondArray::from(vec![seconds * 1_000_000 + 999_999]);
            derived.values_of(&(Arc::new(moment.with_data_type(types::timestamp())) as ArrayRef)).unwrap()
        };
        for seconds in (-9_000_000_000..12_000_000_000_i64).step_by(38_765_431) {
            let ours = printed(seconds);
            for offset in [-18 * 60, -12 * 60, -1, 0, 1, 330, 14 * 60, 18 * 60] {
                let theirs = printed(seconds + offset * MINUTES);
                let stats = derived.of_filter(between(Arc::clone(&theirs), theirs));
                let holds = |op, left: &ArrayRef, right: &ArrayRef| {
                    let [left, right] = [left, right].map(|side| super::super::expr::Values::One(Arc::clone(side)));
                    super::super::expr::compare(op, left, right).unwrap().value(0)
                };
                assert!(holds(Op::LessEqual, &stats.min.unwrap(), &ours), "{format} {seconds} {offset}");
                assert!(holds(Op::LessEqual, &ours, &stats.max.unwrap()), "{format} {seconds} {offset}");
            }
        }
    }
}

#[rstest]
#[case("year(day)", "year(day) = 2023", false)]
#[case("year(day)", "day = date'2023-05-05'", false)]
#[case("year(at)", "year(at) = 2023", true)]
#[case("year(at)", "year(at) = 2022", false)]
#[case("year(local)", "year(local) > 2025", false)]
#[case("year(local)", "year(local) >= 2025", true)]
fn years_of_moments_are_within_one(#[case] expression: &str, #[case] filter: &str, #[case] wanted: bool) {
    let year: ArrayRef = Arc::new(Int32Array::from(vec![2024]));
    assert_eq!(may_match(expression, between(Arc::clone(&year), year), filter), Some(wanted));
    let old: ArrayRef = Arc::new(Int32Array::from(vec![1582]));
    assert_eq!(may_match(expression, between(Arc::clone(&old), old), filter), Some(true), "of another calendar");
}

#[rstest]
#[case("to_date(day)", "to_date(day) = date'2024-01-02'", false)]
#[case("to_date(at)", "cast(at as date) = date'2024-01-02'", true)]
#[case("to_date(at)", "to_date(at) = date'2024-01-03'", false)]
#[case("date_add(day, 3)", "date_sub(day, -3) = date'2024-01-02'", false)]
fn dates_of_moments_are_within_a_day(#[case] expression: &str, #[case] filter: &str, #[case] wanted: bool) {
    let day: ArrayRef = Arc::new(Date32Array::from(vec![19_723]));
    assert_eq!(may_match(expression, between(Arc::clone(&day), day), filter), Some(wanted));
}

#[rstest]
#[case::cyclic("month(at)")]
#[case::cyclic("day(day)")]
#[case::cyclic("hour(at)")]
#[case::out_of_order("date_format(at, 'dd.MM.yyyy')")]
#[case::out_of_order("date_format(at, 'MM')")]
#[case::not_of_one_width("date_format(at, 'yyyy-M')")]
#[case::two_digits("date_format(at, 'yy-MM')")]
#[case::read_from_text("to_date(city)")]
#[case::read_from_text("year(city)")]
#[case::read_from_text("to_timestamp(city)")]
#[case::of_two_columns("concat(city, city)")]
#[case::of_no_column("lower('a')")]
#[case::of_a_function("lower(trim(city))")]
#[case::no_function("city = 'a'")]
#[case::not_typed("lower(n)")]
#[case::unknown("lower(nothing)")]
#[case::no_filter("lower(")]
fn what_may_be_anything_is_not_asked(#[case] expression: &str) {
    assert!(Derived::new(expression, &schema()).is_none());
}

#[test]
fn a_column_stands_for_itself() {
    let city = |filter| may_match("`city`", texts("b", "d"), filter);
    assert_eq!(city("city = 'a'"), Some(false));
    assert_eq!(city("lower(city) = 'a'"), Some(true));
    assert_eq!(city("n = 1"), None);
}
