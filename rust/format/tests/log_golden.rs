//! Every log file of the golden tables: data, metadata and CDC logs, and the archives of version 6.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use hudini_format::action::CommitMetadata;
use hudini_format::log::{
    BlockKind, BlockRef, CdcMode, Event, Reader, RowBlockWriter, Scanned, avro_block, delete, encode_block,
    encode_deletes, scan,
};
use hudini_format::schema::Record;
use hudini_format::{ErrorKind, Result};
use support::{File, golden_case, golden_files};

fn logs() -> Vec<File> {
    let mut files = golden_files(|path| path.contains(".log.") || path.contains(".archive."));
    files.retain(|file| file.name().starts_with('.') && !file.name().ends_with(".crc"));
    assert!(files.len() > 900, "only {} logs among the golden tables", files.len());
    files
}

/// What is wrong with a log on purpose.
fn expected_damage(file: &File) -> Option<&'static str> {
    match file.case.as_str() {
        "mor_torn_log_tail_v9" | "mor_corrupt_block_then_good_v9" | "mor_log_damages_v9" => Some("corrupt"),
        "refuse_unknown_log_block_type" | "mor_log_unknown_header_key_v9" | "mor_log_unknown_log_version_v9" => {
            Some("unknown")
        }
        "mor_log_no_magic_v9" => Some("no magic"),
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
                    // A damaged length may still be good enough for a reader; it is not written again.
                    let same = again == file.bytes[block.offset as usize..end];
                    assert!(same || expected_damage(&file).is_some(), "{}", file.place());
                }
                Ok(Scanned::Corrupt(_)) => assert_eq!(expected_damage(&file), Some("corrupt"), "{}", file.place()),
                Err(error) => {
                    let damage = match error.kind() {
                        ErrorKind::UnsupportedFeature => "unknown",
                        _ => "no magic",
                    };
                    assert_eq!(expected_damage(&file), Some(damage), "{}: {error}", file.place());
                }
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
            let ours = mode.schema(&tables[&file.case]).unwrap();
            if written_by_1_2(&file.case) {
                assert_eq!(ours, text, "{}", file.place());
            } else {
                // Older releases leave out the empty docs; the rows are the same.
                assert_eq!(Record::parse(&ours).unwrap(), Record::parse(text).unwrap(), "{}", file.place());
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} CDC blocks");
}

fn written_by_1_2(case: &str) -> bool {
    golden_case(case)["written_by"].as_str() == Some("1.2.0")
}

/// By case, as the newest commit has it.
fn table_schemas() -> BTreeMap<String, String> {
    let commits = golden_files(|path| path.starts_with("table/.hoodie/timeline/") && path.ends_with("commit"));
    let commits = commits.iter().filter(|file| file.case.starts_with("cdc_") && !file.bytes.is_empty());
    let schema = |file: &File| CommitMetadata::decode(&file.bytes).unwrap().schema().unwrap().to_owned();
    commits.map(|file| (file.case.clone(), schema(file))).collect()
}
