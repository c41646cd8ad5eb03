use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn partition(pairs: &[(&str, &str)]) -> Result<TimePartition> {
    TimePartition::from_properties(&pairs.iter().map(|(key, value)| (format!("{PREFIX}{key}"), *value)).collect())
}

#[rstest]
#[case::no_type(&[(OUTPUT_FORMAT, "yyyy")], "needs hoodie.keygen.timebased.timestamp.type")]
#[case::no_output(&[(TYPE, "UNIX_TIMESTAMP")], "needs hoodie.keygen.timebased.output.dateformat")]
#[case::type_unknown(&[(TYPE, "unix_timestamp")], "'unix_timestamp'")]
#[case::unit_unknown(&[(TYPE, "SCALAR"), (UNIT, "WEEKS"), (OUTPUT_FORMAT, "yyyy")], "'WEEKS'")]
#[case::no_input(&[(TYPE, "MIXED"), (OUTPUT_FORMAT, "yyyy")], "input.dateformat")]
#[case::short_year(&[(TYPE, "MIXED"), (OUTPUT_FORMAT, "yyyy"), (INPUT_FORMAT, "yyMMdd")], "reading dates by 'yyMMdd'")]
#[case::zone_name(&[(TYPE, "UNIX_TIMESTAMP"), (OUTPUT_FORMAT, "yyyy z")], "name of a time zone")]
#[case::delimiter(
    &[(TYPE, "MIXED"), (OUTPUT_FORMAT, "yyyy"), (INPUT_FORMAT, "yyyy"), (INPUT_DELIMITER, ";|,")],
    "regular expression"
)]
fn what_is_not_understood_is_named(#[case] pairs: &[(&str, &str)], #[case] message: &str) {
    let error = partition(pairs).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn another_date_parser_is_refused() {
    let properties: Properties = [("hoodie.keygen.datetime.parser.class", "com.acme.Dates")].into_iter().collect();
    assert!(TimePartition::from_properties(&properties).unwrap_err().message().contains("com.acme.Dates"));
}

#[rstest]
#[case(";")]
#[case("\\|")]
#[case("[.]")]
#[case("::")]
fn delimiters(#[case] regex: &str) {
    let plain = plain_delimiter(regex).unwrap();
    let formats = format!("yyyy-MM{plain}yyyy");
    let pairs = [(TYPE, "DATE_STRING"), (OUTPUT_FORMAT, "yyyyMM"), (INPUT_FORMAT, &formats), (INPUT_DELIMITER, regex)];
    let dates = partition(&pairs).unwrap();
    assert_eq!(dates.path(TimeValue::Text("2020-03")).unwrap(), "202003");
    assert_eq!(dates.path(TimeValue::Text("2020")).unwrap(), "202001");
}

proptest! {
    #[test]
    fn a_date_that_was_printed_reads_back(utc_ms in -200_000_000_000_000..250_000_000_000_000_i64) {
        let format = "yyyy-MM-dd'T'HH:mm:ss.SSSZZ";
        let dates = partition(&[(TYPE, "DATE_STRING"), (INPUT_FORMAT, format), (OUTPUT_FORMAT, format)]).unwrap();
        let text = dates.output.print(utc_ms, 3_600_000);
        prop_assert_eq!(dates.path(TimeValue::Text(&text)).unwrap(), text);
    }

    #[test]
    fn any_pattern_and_text_end(pattern in "[yMdDHhkKmsSaEewxYCGZzn'/: -]{0,8}", text in "[0-9 :+-]{0,12}|\\PC{0,6}", ms in any::<i64>()) {
        if let Ok(pattern) = Pattern::parse(&pattern) {
            pattern.print(ms, 0);
            if let Some(found) = pattern.find(&text) {
                let _ = found.resolve();
            }
        }
    }
}
