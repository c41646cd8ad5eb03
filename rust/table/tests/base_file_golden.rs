//! Base files of the golden tables, read and written again: the same rows, Parquet types and footers.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::golden::{File, golden_case, golden_files};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use hudini_format::bloom::{
    AVRO_SCHEMA_FOOTER, BLOOM_FILTER_FOOTER, BLOOM_TYPE_FOOTER, MAX_RECORD_KEY_FOOTER, MIN_RECORD_KEY_FOOTER,
};
use hudini_format::name::BaseFileName;
use hudini_format::schema::Record;
use hudini_format::schema::evolve::Mapping;
use hudini_table::base_file::{self, BaseFileWriter, KeySummary, WriteOptions};
use hudini_table::context::ManualClock;
use hudini_table::options::Options;
use hudini_table::storage::Storage;
use hudini_table::storage::memory::Memory;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::printer::print_schema;

/// For how many keys Apache Hudi makes a filter, unless it is told otherwise.
const FILTER_ENTRIES: u64 = 60_000;

/// What a footer says: its pairs, and the Parquet types.
struct Footer {
    pairs: BTreeMap<String, String>,
    types: String,
}

impl Footer {
    fn of(bytes: Bytes) -> Self {
        let reader = SerializedFileReader::new(bytes).unwrap();
        let file = reader.metadata().file_metadata();
        let pairs = file.key_value_metadata().cloned().unwrap_or_default();
        let mut types = Vec::new();
        print_schema(&mut types, file.schema());
        Self {
            pairs: pairs.into_iter().map(|pair| (pair.key, pair.value.unwrap_or_default())).collect(),
            types: String::from_utf8(types).unwrap(),
        }
    }
}

fn storage() -> Arc<dyn Storage> {
    Arc::new(Memory::new("t", Arc::new(ManualClock::new(0))))
}

fn rows(storage: &Arc<dyn Storage>, path: &str, schema: &SchemaRef) -> Vec<RecordBatch> {
    let batches = base_file::read(storage, path, schema, &Mapping::default(), 1 << 20).unwrap();
    batches.map(|batch| batch.unwrap()).collect()
}

/// The base files that an Avro writer of Apache Hudi made.
fn base_files() -> impl Iterator<Item = (File, Footer)> {
    let files =
        golden_files(|path| path.starts_with("table/") && path.ends_with(".parquet") && !path.contains("/.hoodie/"));
    let files = files.into_iter().filter(|file| BaseFileName::parse(file.name()).is_some() && !file.bytes.is_empty());
    files.map(|file| {
        let footer = Footer::of(Bytes::from(file.bytes.clone()));
        (file, footer)
    })
}

/// Whether the types can be told apart from ours: lists of two levels are as good as our three, and skeletons of a
/// bootstrap have a name of their own.
fn is_written_otherwise(footer: &Footer) -> bool {
    let two_levels = footer.types.lines().any(|line| line.contains("REPEATED") && line.contains(" array"));
    two_levels || footer.types.starts_with("message HoodieRecordKey ")
}

/// Base64 of the size of a filter; tables may ask for another than the default.
fn size_of(filter: &str) -> &str {
    &filter[..24]
}

#[test]
fn written_again_they_are_the_same() {
    let (mut files, mut types, mut filters) = (0, 0, 0);
    for (file, footer) in base_files() {
        let Some(text) = footer.pairs.get(AVRO_SCHEMA_FOOTER) else { continue };
        let schema: SchemaRef = Arc::new(Record::parse(text).unwrap().to_arrow().unwrap());
        let store = storage();
        let _created = store.create("a.parquet", &file.bytes).unwrap();
        let batches = rows(&store, "a.parquet", &schema);
        write(&store, "b.parquet", &file, &schema, &batches);
        assert_eq!(rows(&store, "b.parquet", &schema), batches, "{}", file.place());
        let again = Footer::of(store.read("b.parquet").unwrap().unwrap());
        files += 1;
        if !is_written_otherwise(&footer) {
            types += 1;
            // The older annotation of a map's pairs adds nothing.
            assert_eq!(again.types, footer.types.replace(" (MAP_KEY_VALUE)", ""), "{}", file.place());
            assert_eq!(again.pairs.get(AVRO_SCHEMA_FOOTER), Some(text), "{}", file.place());
        }
        let Some(filter) = footer.pairs.get(BLOOM_FILTER_FOOTER) else { continue };
        for key in [BLOOM_TYPE_FOOTER, MIN_RECORD_KEY_FOOTER, MAX_RECORD_KEY_FOOTER] {
            assert_eq!(again.pairs.get(key), footer.pairs.get(key), "{key} of {}", file.place());
        }
        if size_of(&again.pairs[BLOOM_FILTER_FOOTER]) == size_of(filter) {
            filters += 1;
            assert!(again.pairs[BLOOM_FILTER_FOOTER] == *filter, "{}", file.place());
        }
    }
    assert!(files > 500 && types > 500 && filters > 400, "{files} files, {types} types, {filters} filters");
}

fn write(store: &Arc<dyn Storage>, path: &str, file: &File, schema: &SchemaRef, batches: &[RecordBatch]) {
    let case = golden_case(&file.case);
    let table = case["hoodie_properties"]["hoodie.table.name"].as_str().unwrap();
    let options = WriteOptions::of(&Options::default()).unwrap();
    let keys = KeySummary::new(FILTER_ENTRIES).unwrap();
    let mut writer = BaseFileWriter::new(store.as_ref(), path, schema, table, &options, keys).unwrap();
    for batch in batches {
        writer.write(&batch.clone().into()).unwrap();
    }
    writer.finish(|| Ok(())).unwrap();
}
