//! The columns of a table under schema-on-read, version by version.

use hudini_format::schema::Record;
use hudini_format::schema::on_read::{History, TableSchema};

use super::{Target, check_error, decode, nothing_to_mend, survives};

pub(super) const TARGET: Target = Target {
    name: "schema_commit",
    run,
    words: &[
        b"{\"schemas\":[",
        b"{\"max_column_id\":1,\"version_id\":0,\"type\":\"record\",\"fields\":[",
        b"{\"id\":0,\"name\":\"a\",\"optional\":true,\"type\":\"int\"}",
        b",\"doc\":\"\\u001F\"",
        b"{\"type\":\"array\",\"element_id\":7,\"element\":\"int\",\"element_optional\":true}",
        b"{\"type\":\"map\",\"key_id\":8,\"key\":\"string\",\"value_id\":9,\"value\":\"int\",\"value_optional\":true}",
        b"\"decimal_fixed(10, 2)[5]\"",
        b"\"decimal(10, 2)\"",
        b"\"fixed[4]\"",
        b"\"uuid\"",
        b"\"local-timestamp-millis\"",
        b"]}",
    ],
    mend: nothing_to_mend,
};

fn run(bytes: &[u8]) {
    let Some(history) = decode(bytes, History::decode) else { return };
    survives(&history, |history| Ok(history.encode().into_bytes()), History::decode);
    for schema in &history.schemas {
        assert_eq!(TableSchema::decode(&schema.encode()).ok().as_ref(), Some(schema));
        match schema.to_record("n.r") {
            Ok(record) => check_avro(schema, &record),
            Err(error) => check_error(&error),
        }
    }
    if let (Some(newest), Some(oldest)) = (history.newest(), history.schemas.last()) {
        let _ = newest.names_in(oldest);
    }
}

/// Names need not be those of Avro, so the text need not be a schema; if it is, then one of the same rows.
fn check_avro(schema: &TableSchema, record: &Record) {
    let text = schema.to_avro("n.r").unwrap_or_else(|error| panic!("{error}\n{record:?}"));
    match Record::parse(&text) {
        Ok(read) => assert_eq!(read, *record, "{text}"),
        Err(error) => check_error(&error),
    }
}
