//! Every log file of the golden tables: data, metadata and CDC logs, and the archives of version 6.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{File, golden_files};
use arrow_array::cast::AsArray;
use arrow_array::{Int32Array, RecordBatch, StringArray};
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;
use hudini_format::action::CommitMetadata;
use hudini_format::log::{
    BlockKind, BlockRef, CdcMode, Event, Reader, RowBlockWriter, Scanned, avro_block, delete, encode_block,
    encode_deletes, hfile_block, scan,
};
use hudini_format::schema::{Record, meta};
use hudini_format::{ErrorKind, Result, hfile};

fn logs() -> Vec<File> {
    let mut files = golden_files(|path| path.contains(".log.") || path.contains(".archive."));
    files.retain(|file| file.name().starts_with('.') && !file.name().ends_with(".crc"));
    assert!(files.len() > 900, "only {} logs among the golden tables", files.len());
    files
}

/// Cases whose logs are damaged on purpose say so in their names.
fn is_damaged(file: &File) -> bool {
    ["torn", "corrupt", "damage"].iter().any(|word| file.case.contains(word))
}

fn refused_as(file: &File) -> Option<ErrorKind> {
    match file.case.as_str() {
        case if case.contains("_no_magic") => Some(ErrorKind::CorruptFile),
        case if case.contains("_unknown_") => Some(ErrorKind::UnsupportedFeature),
        _ => None,
    }
}

#[test]
fn every_block_decodes_and_encodes_to_the_same_bytes() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for file in logs() {
        for item in scan(&file.bytes) {
            match item {
                Ok(Scanned::Block(block)) => {
                    *kinds.entry(block.kind.name()).or_default() += 1;
                    let end = block.content_offset as usize + block.content.len() + 12;
                    let again = encode_again(&block).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
                    // Of a length only the lower half counts, and damage may be in the upper one.
                    let from = if is_damaged(&file) { 14 } else { 0 };
                    assert!(again[from..] == file.bytes[block.offset as usize + from..end], "{}", file.place());
                }
                Ok(Scanned::Corrupt(_)) => assert!(is_damaged(&file), "{}", file.place()),
                Err(error) => assert_eq!(Some(error.kind()), refused_as(&file), "{}: {error}", file.place()),
            }
        }
    }
    for kind in ["avro", "parquet", "hfile", ":delete", ":command", "cdc"] {
        assert!(kinds.get(kind).is_some_and(|count| *count > 0), "no {kind} block in {kinds:?}");
    }
}

/// A block once more from its values: rows by way of Arrow, deletes as records; files inside a block stay as they are.
fn encode_again(block: &BlockRef<'_>) -> Result<Vec<u8>> {
    let headers: Vec<_> = block.headers.iter().collect();
    match block.kind {
        BlockKind::AvroData | BlockKind::CdcData => {
            let writer = Record::parse(block.schema()?)?;
            let mut decoder = block.decoder(Arc::new(writer.to_arrow()?))?;
            for datum in avro_block::records(block.content, block.content_offset)? {
                decoder.decode(datum?)?;
            }
            let mut again = RowBlockWriter::new(block.kind, headers);
            again.write_rows(&writer, &decoder.flush()?)?;
            again.finish()
        }
        BlockKind::Delete => {
            let deletes: Vec<_> = delete::records(block.content, block.content_offset)?.collect::<Result<_>>()?;
            encode_deletes(&headers, &deletes)
        }
        other => encode_block(other, &headers, block.content),
    }
}

/// HFile blocks of metadata tables, whose rows have the column `key`, and of data tables, whose rows encode again.
#[test]
fn rows_of_hfile_blocks() {
    let (mut of_metadata, mut of_data) = (0, 0);
    for file in logs() {
        let blocks = scan(&file.bytes).filter_map(|item| match item {
            Ok(Scanned::Block(block)) if block.kind == BlockKind::HfileData => Some(block),
            _ => None,
        });
        for block in blocks {
            let text = block.schema().unwrap();
            let writer = Record::parse(text).unwrap();
            let wanted = columns(&writer);
            let rows = hfile_rows(block.content, text, &wanted).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
            let keys = hfile_keys(block.content);
            let named = |name: &str| rows.column_by_name(name).map(|column| column.as_string::<i32>().clone());
            if let Some(own) = named(hfile_block::KEY_COLUMN) {
                assert_eq!(own, keys, "{}", file.place());
                of_metadata += 1;
                continue;
            }
            assert_eq!(wanted.fields().len(), writer.fields.len(), "{}", file.place());
            let again = hfile_block::encode(text, &rows, hfile::Options::default()).unwrap();
            assert_eq!(hfile_rows(&again, text, &wanted).unwrap(), rows, "{}", file.place());
            // 0.15 took the record keys where later releases count.
            let by_key = named(meta::RECORD_KEY) == Some(keys.clone());
            assert!(by_key || hfile_keys(&again) == keys, "{}", file.place());
            of_data += 1;
        }
    }
    assert!(of_metadata > 0 && of_data > 0, "{of_metadata} blocks of metadata tables, {of_data} of data tables");
}

/// Those with an Arrow type: some of a metadata table are unions of many types.
fn columns(writer: &Record) -> Schema {
    let one = |field: &hudini_format::schema::Field| {
        Record { name: writer.name.clone(), fields: vec![field.clone()] }.to_arrow().ok()
    };
    Schema::try_merge(writer.fields.iter().filter_map(one)).unwrap()
}

#[test]
fn rows_with_keys_are_sorted_by_them_and_stored_without() {
    let schema =
        r#"{"type":"record","name":"r","fields":[{"name":"n","type":"int"},{"name":"key","type":["null","string"]}]}"#;
    let wanted = Arc::new(Record::parse(schema).unwrap().to_arrow().unwrap());
    let rows = |keys: [&str; 4], numbers: [i32; 4]| {
        let keys = StringArray::from_iter_values(keys);
        RecordBatch::try_new(wanted.clone(), vec![Arc::new(Int32Array::from(numbers.to_vec())), Arc::new(keys)])
            .unwrap()
    };
    let content =
        hfile_block::encode(schema, &rows(["b", "é", "a", "c"], [2, 4, 1, 3]), hfile::Options::default()).unwrap();
    let file = hfile::Reader::open(&content).unwrap();
    assert_eq!(file.get(b"a").unwrap().unwrap(), [2, 2, 0], "int 1, then a text without letters");
    assert_eq!(hfile_rows(&content, schema, &wanted).unwrap(), rows(["a", "b", "c", "é"], [1, 2, 3, 4]));
    let only_n = wanted.project(&[0]).unwrap();
    assert_eq!(hfile_rows(&content, schema, &only_n).unwrap().num_rows(), 4);

    let twice = hfile_block::encode(schema, &rows(["b", "a", "a", "c"], [0; 4]), hfile::Options::default());
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::DuplicateKey);
    let damaged = hfile_rows(&content[..content.len() - 1], schema, &wanted).unwrap_err();
    assert_eq!(damaged.kind(), ErrorKind::CorruptFile);
}

fn hfile_keys(content: &[u8]) -> StringArray {
    let file = hfile::Reader::open(content).unwrap();
    file.entries().map(|entry| Some(String::from_utf8(entry.unwrap().key).unwrap())).collect()
}

fn hfile_rows(content: &[u8], schema: &str, wanted: &Schema) -> Result<RecordBatch> {
    let (writer, wanted) = (Record::parse(schema)?, Arc::new(wanted.clone()));
    let mut batches = Vec::new();
    hfile_block::read(content, 0, &writer, &wanted, 3, |rows| {
        batches.push(rows);
        Ok(())
    })?;
    Ok(concat_batches(&wanted, &batches)?)
}

/// What a reader finds when it gets `size` bytes at a time: offsets and kinds, rows as counts, content by length.
fn pushed(bytes: &[u8], size: usize, decode: bool) -> Vec<String> {
    let mut reader = Reader::new(bytes.len() as u64);
    let mut found = Vec::new();
    let mut window = 0..0;
    loop {
        let event = reader.push(window.start as u64, &bytes[window.clone()]);
        let decoder = match event {
            Ok(Event::Need(need)) => {
                let start = need.offset as usize;
                window = start..start.saturating_add(size).min(bytes.len());
                continue;
            }
            Ok(Event::Block(block)) => {
                found.push(format!("{:?} at {} {:?}", block.kind, block.offset, block.headers));
                let is_avro = matches!(block.kind, BlockKind::AvroData | BlockKind::CdcData);
                (decode && is_avro).then(|| {
                    let wanted = Record::parse(block.schema()?)?.to_arrow()?;
                    block.decoder(Arc::new(wanted))
                })
            }
            Ok(Event::Rows(rows)) => {
                found.push(format!("{rows:?}"));
                continue;
            }
            Ok(Event::Content(content)) => {
                found.push(format!("{} bytes", content.len()));
                continue;
            }
            Ok(Event::Corrupt(range)) => {
                found.push(format!("corrupt {range:?}"));
                continue;
            }
            Ok(Event::End) => return found,
            Err(error) => {
                found.push(error.to_string());
                return found;
            }
        };
        let told = match decoder {
            Some(Ok(decoder)) => reader.decode(decoder),
            Some(Err(error)) => Err(error),
            None => reader.take(1 << 30),
        };
        if let Err(error) = told {
            found.push(error.to_string());
            return found;
        }
    }
}

#[test]
fn pieces_make_no_difference() {
    for file in logs() {
        let whole = pushed(&file.bytes, usize::MAX, true);
        let size = if file.bytes.len() < 8192 { 1 } else { 97 };
        assert_eq!(pushed(&file.bytes, size, true), whole, "{}", file.place());
    }
}

/// One file of each case is enough: those of a case resemble each other.
fn one_of_each_case() -> Vec<File> {
    let mut files: BTreeMap<(String, bool), File> = BTreeMap::new();
    for file in logs() {
        files.entry((file.case.clone(), file.path.contains("/metadata/"))).or_insert(file);
    }
    files.into_values().collect()
}

#[test]
fn cut_files_give_blocks_or_errors() {
    for file in one_of_each_case() {
        let blocks = |bytes: &[u8]| scan(bytes).filter(|item| matches!(item, Ok(Scanned::Block(_)))).count();
        let all = blocks(&file.bytes);
        for cut in (0..file.bytes.len()).step_by(97) {
            assert!(blocks(&file.bytes[..cut]) <= all, "{} cut at {cut}", file.place());
        }
        pushed(&file.bytes[..file.bytes.len() / 2], 1 << 12, true);
    }
}

#[test]
fn flipped_bytes_give_blocks_or_errors() {
    for mut file in one_of_each_case() {
        for (turn, at) in (0..file.bytes.len()).step_by(97 * 7).enumerate() {
            let flip = 1 << (turn % 8);
            file.bytes[at] ^= flip;
            assert!(pushed(&file.bytes, 1 << 20, true).len() <= file.bytes.len(), "{}", file.place());
            file.bytes[at] ^= flip;
        }
    }
}

/// The schemas of CDC blocks follow from the table's, which `before` and `after` repeat.
#[test]
fn cdc_schemas_are_those_of_apache_hudi() {
    let (mut seen, tables) = (0, table_schemas());
    for file in logs().iter().filter(|file| file.name().ends_with(".cdc")) {
        for item in scan(&file.bytes) {
            let Ok(Scanned::Block(block)) = item else { panic!("{}", file.place()) };
            let text = block.schema().unwrap();
            let mode = match text {
                text if text.contains("\"ts_ms\"") => CdcMode::DataBeforeAfter,
                text if text.contains("\"before\"") => CdcMode::DataBefore,
                _ => CdcMode::OpKeyOnly,
            };
            // Before 1.1 the record had no doc.
            let schema = mode.schema(tables.get(&file.case).unwrap_or_else(|| panic!("{}", file.place()))).unwrap();
            let former = schema.replacen(r#","doc":"","fields""#, r#","fields""#, 1);
            assert!(text == schema || text == former, "{}: {text}\n{schema}", file.place());
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} CDC blocks");
}

/// By case, as the newest commit has it.
fn table_schemas() -> BTreeMap<String, String> {
    let commits = golden_files(|path| {
        path.starts_with("table/.hoodie/") && !path.contains("/metadata/") && path.ends_with("commit")
    });
    let commits = commits.iter().filter(|file| !file.bytes.is_empty());
    let schema = |file: &File| Some(CommitMetadata::decode(&file.bytes).unwrap().schema()?.to_owned());
    commits.filter_map(|file| Some((file.case.clone(), schema(file)?))).collect()
}
