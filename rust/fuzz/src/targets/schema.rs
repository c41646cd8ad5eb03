//! Avro schema text → Arrow → the table's types → text again; and text printed as Java prints it.

use hudini_format::schema::{Record, avro_text, table_schema, text};

use super::{Target, check_error, decode, nothing_to_mend};

pub(super) const WORDS: &[&[u8]] = &[
    b"{\"type\":\"record\",\"name\":\"r\",\"fields\":[",
    b"{\"name\":\"a\",\"type\":",
    b"[\"null\",",
    b"]",
    b"}",
    b"\"int\"",
    b"\"long\"",
    b"\"float\"",
    b"\"double\"",
    b"\"string\"",
    b"\"bytes\"",
    b"\"boolean\"",
    b"\"null\"",
    b"{\"type\":\"array\",\"items\":",
    b"{\"type\":\"map\",\"values\":",
    b"{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"B\"]}",
    b"{\"type\":\"fixed\",\"name\":\"f\",\"size\":8}",
    b",\"logicalType\":\"decimal\",\"precision\":10,\"scale\":2",
    b",\"logicalType\":\"timestamp-micros\"",
    b",\"logicalType\":\"local-timestamp-millis\"",
    b",\"logicalType\":\"date\"",
    b",\"logicalType\":\"time-micros\"",
    b",\"default\":null",
    b",\"namespace\":\"n.m\"",
    b"_hoodie_commit_time",
];

pub(super) const TARGET: Target = Target { name: "schema", run, words: WORDS, mend: nothing_to_mend };

fn run(bytes: &[u8]) {
    let Ok(given) = str::from_utf8(bytes) else { return };
    let Some(record) = decode(bytes, |_| Record::parse(given)) else { return };
    if let Some(printed) = decode(bytes, |_| text::canonical(given)) {
        let again = Record::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert_eq!(again, record, "{printed}");
        assert_eq!(text::canonical(&printed).ok().as_ref(), Some(&printed));
    }
    let Some(arrow) = decode(bytes, |_| record.to_arrow()) else { return };
    let table = match table_schema(&arrow) {
        Ok(table) => table,
        Err(error) => return check_error(&error),
    };
    let written = match avro_text(&table, "t") {
        Ok(written) => written,
        Err(error) => return check_error(&error),
    };
    let again = Record::parse(&written).and_then(|record| record.to_arrow());
    let again = again.unwrap_or_else(|error| panic!("a schema that was written cannot be read: {error}\n{written}"));
    assert_eq!(again, table, "{written}");
}
