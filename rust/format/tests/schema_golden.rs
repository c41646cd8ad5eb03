//! Every schema that the golden tables hold: in commits, log headers, footers, properties and schema commits.

use std::collections::BTreeMap;

use crate::support::{File, golden_files};
use hudini_format::schema::on_read::{History, TableSchema};
use hudini_format::schema::{Record, avro_text, text};
use serde_json::Value;
use serde_json::value::RawValue;

/// The objects in a file that begin like that, whatever is around them; in JSON files also those that are texts.
fn objects(file: &File, begin: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = find(&file.bytes[at..], begin.as_bytes()) {
        at += next;
        let mut values = serde_json::Deserializer::from_slice(&file.bytes[at..]).into_iter::<&RawValue>();
        match values.next() {
            Some(Ok(object)) => {
                found.push(object.get().to_owned());
                at += object.get().len();
            }
            _ => at += 1,
        }
    }
    if let Ok(json) = serde_json::from_slice::<Value>(&file.bytes) {
        texts(&json, &mut |text| {
            if text.starts_with(begin) {
                found.push(text.to_owned());
            }
        });
    }
    found
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn texts(json: &Value, visit: &mut impl FnMut(&str)) {
    match json {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, visit)),
        Value::Object(members) => members.values().for_each(|member| texts(member, visit)),
        _ => {}
    }
}

/// Schema texts with a place where each stands.
fn schemas() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for file in golden_files(|path| !path.ends_with(".crc")) {
        for text in objects(&file, r#"{"type":"record""#) {
            found.entry(text).or_insert_with(|| file.place());
        }
    }
    assert!(found.len() > 190, "only {} schemas among the golden tables", found.len());
    found
}

/// The name of the table whose rows have that schema.
fn table_of(record: &Record) -> Option<&str> {
    let (namespace, name) = record.name.rsplit_once('.')?;
    let table = name.strip_suffix("_record")?;
    (namespace.strip_prefix("hoodie.") == Some(table)).then_some(table)
}

#[test]
fn every_schema_reads_and_prints_to_the_letter() {
    for (schema, place) in schemas() {
        let record = Record::parse(&schema).unwrap_or_else(|e| panic!("{place}: {e}\n{schema}"));
        assert_eq!(text::canonical(&schema).unwrap(), schema, "{place}");
        let Some(table) = table_of(&record) else { continue };
        let arrow = record.to_arrow().unwrap_or_else(|e| panic!("{place}: {e}\n{schema}"));
        // Texts say null before the other type.
        let derivable = schema.replace(r#","null"]"#, "");
        if derivable == schema {
            assert_eq!(avro_text(&arrow, table).unwrap(), schema, "{place}");
        }
        let again = Record::parse(&avro_text(&arrow, table).unwrap()).unwrap();
        assert_eq!(again.to_arrow().unwrap(), arrow, "{place}");
        let without = text::without_meta_columns(&schema).unwrap();
        match schema.contains("_hoodie_commit_time") {
            true => assert_eq!(text::with_meta_columns(&without).unwrap(), schema, "{place}"),
            false => assert_eq!(without, schema, "{place}"),
        }
    }
}

#[test]
fn every_schema_commit_reads_and_prints_to_the_letter() {
    let files = golden_files(|path| path.contains("/.schema/") && path.ends_with(".schemacommit"));
    assert!(files.len() > 10, "only {} schema commits", files.len());
    for file in files {
        let history = History::decode(&file.bytes).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
        assert_eq!(history.encode().as_bytes(), file.bytes, "{}", file.place());
        let made_at: i64 = file.name()[..17].parse().unwrap();
        assert_eq!(history.at(made_at), history.newest(), "{}", file.place());
        assert_eq!(history.at(0), history.schemas.last());
    }
}

#[test]
fn every_latest_schema_is_the_schema_of_its_commit() {
    let mut seen = 0;
    for file in golden_files(|path| path.contains("/.hoodie/timeline/") && !path.ends_with(".crc")) {
        for latest in objects(&file, r#"{"max_column_id""#) {
            let schema = TableSchema::decode(&latest).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
            assert_eq!(schema.encode(), latest, "{}", file.place());
            let avro = objects(&file, r#"{"type":"record","name""#);
            let of_rows = |text: &&String| table_of(&Record::parse(text).unwrap()).is_some();
            let stated = avro.iter().find(of_rows).unwrap();
            let name = Record::parse(stated).unwrap().name;
            assert_eq!(schema.to_avro(&name).unwrap(), *stated, "{}: {latest}", file.place());
            seen += 1;
        }
    }
    assert!(seen >= 18, "only {seen} commits with a latest schema");
}

#[test]
fn first_versions_come_from_the_schema_of_the_table() {
    for file in golden_files(|path| path.contains("/.schema/") && path.ends_with(".schemacommit")) {
        let history = History::decode(&file.bytes).unwrap();
        let first = history.at(0).unwrap();
        let avro = first.to_avro("hoodie.t.t_record").unwrap();
        assert_eq!(TableSchema::first(&avro).unwrap(), *first, "{}", file.place());
        assert_eq!(Record::parse(&avro).unwrap(), first.to_record("hoodie.t.t_record").unwrap(), "{}", file.place());
    }
}
