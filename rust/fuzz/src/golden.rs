//! The files of the golden tables as inputs of targets.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flate2::read::GzDecoder;
use hudini_format::bloom::{BLOOM_FILTER_FOOTER, BLOOM_TYPE_FOOTER, BloomKind};
use hudini_format::hash::{PARTITION_BUCKETS_SUFFIX, RING_SUFFIX};
use hudini_format::hfile::{self, Codec, Span};
use hudini_format::instant::InstantFile;
use hudini_format::log::{BlockKind, HeaderKey, Scanned, avro_block, scan};
use hudini_format::metadata_record::{SCHEMA_V8, SCHEMA_V9};
use hudini_format::parquet_file::read_footer;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataWriter};

use crate::input::put_frame;
use crate::targets::{action, documents, metadata_record};

/// One file of a golden table.
#[derive(Debug)]
pub struct TableFile {
    /// `<case>/<path in the table>`.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// An input that a file gives to a target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Seed {
    pub target: &'static str,
    pub input: Vec<u8>,
}

/// The packed tables, by name of the case.
pub fn packed_tables() -> io::Result<Vec<PathBuf>> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/cases");
    let mut tables: Vec<_> = fs::read_dir(cases)?
        .map(|entry| Ok(entry?.path().join("table.tar.gz")))
        .collect::<io::Result<Vec<_>>>()?
        .into_iter()
        .filter(|table| table.exists())
        .collect();
    tables.sort();
    Ok(tables)
}

/// Calls `each` with every file of a packed table.
pub fn each_file(packed: &Path, mut each: impl FnMut(TableFile)) -> io::Result<()> {
    let case = packed.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(packed)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let path = format!("{case}/{}", String::from_utf8_lossy(&entry.path_bytes()));
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            each(TableFile { path, bytes });
        }
    }
    Ok(())
}

/// What a file gives to which targets: its name and its bytes.
pub fn seeds(file: &TableFile) -> Vec<Seed> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let mut seeds = vec![Seed { target: "name", input: name.into() }];
    let mut add = |target, input: Vec<u8>| seeds.push(Seed { target, input });
    if name.starts_with("hoodie.properties") || name.starts_with(".hoodie_partition_metadata") {
        add("properties", file.bytes.clone());
    }
    let document = match name {
        "index.json" => Some(documents::INDEXES),
        "MARKERS.type" => Some(documents::MARKER_TYPE),
        name if name.ends_with(RING_SUFFIX) => Some(documents::RING),
        name if name.ends_with(PARTITION_BUCKETS_SUFFIX) => Some(documents::BUCKETS),
        name if name.starts_with(".hoodie_partition_metadata.") => Some(documents::PARTITION),
        name if name.starts_with("MARKERS") => Some(documents::MARKERS),
        _ => None,
    };
    if let Some(choice) = document {
        add("documents", [&[choice], file.bytes.as_slice()].concat());
    }
    if name.ends_with(".parquet")
        && let Ok(metadata) = read_footer(&Bytes::copy_from_slice(&file.bytes))
    {
        add_filter(&metadata, &mut add);
        add("parquet", without_filter(&file.bytes, metadata));
    }
    if name.ends_with(".schemacommit") {
        add("schema_commit", file.bytes.clone());
    }
    if let Some(instant) = InstantFile::parse(name) {
        add("instant", name.into());
        if let Some(kind) = action::choice_of(instant.action, instant.state) {
            add("action", [&[kind], file.bytes.as_slice()].concat());
        }
    }
    let history = match name {
        name if name.starts_with("manifest_") => Some(0),
        name if name.starts_with(".commits_.archive.") => Some(1),
        name if name.ends_with(".parquet") && file.path.contains("/timeline/history/") => Some(3),
        _ => None,
    };
    if let Some(choice) = history {
        add("history", [&[choice], file.bytes.as_slice()].concat());
    }
    if name.contains(".log.") && name.starts_with('.') && !name.contains(".marker.") {
        add("log", file.bytes.clone());
        add_contents(&file.bytes, &mut add);
    }
    if name.ends_with(".hfile") {
        add_hfile(&file.bytes, None, &mut add);
    }
    seeds
}

/// An HFile, and its entries without compression: damage then reaches the cells.
fn add_hfile(bytes: &[u8], schema: Option<&str>, add: &mut impl FnMut(&'static str, Vec<u8>)) {
    add("hfile", bytes.to_vec());
    if let Ok(records) = records(bytes, schema) {
        add("metadata_record", records);
    }
    let plain = || -> hudini_format::Result<Vec<u8>> {
        let mut writer = hfile::Writer::new(hfile::Options { codec: Codec::None, ..hfile::Options::default() })?;
        hfile::Reader::open(bytes)?.visit(Span::All, |cell| writer.put(cell.key, cell.value))?;
        writer.finish()
    };
    if let Ok(plain) = plain() {
        add("hfile", plain);
    }
}

/// The bloom filter of a base file, unless it is so long that flips take minutes.
fn add_filter(metadata: &ParquetMetaData, add: &mut impl FnMut(&'static str, Vec<u8>)) {
    const LONGEST: usize = 1 << 14;
    let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    let value = |key: &str| pairs.clone().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    let kind = value(BLOOM_TYPE_FOOTER).and_then(|code| BloomKind::parse(&code).ok());
    if let (Some(kind), Some(text)) = (kind, value(BLOOM_FILTER_FOOTER))
        && let Ok(filter) = STANDARD.decode(text)
        && filter.len() <= LONGEST
    {
        add("bloom", [&[u8::from(kind != BloomKind::Simple)], filter.as_slice()].concat());
    }
}

/// A Parquet file whose footer holds no bloom filter, which is by far the most of small files.
fn without_filter(bytes: &[u8], metadata: ParquetMetaData) -> Vec<u8> {
    let tail = bytes.last_chunk::<8>().and_then(|tail| tail.first_chunk()).copied().unwrap_or_default();
    let mut slim = bytes[..bytes.len() - 8 - u32::from_le_bytes(tail) as usize].to_vec();
    let file = metadata.file_metadata();
    let keys = file.key_value_metadata().cloned().unwrap_or_default();
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        Some(keys.into_iter().filter(|pair| pair.key != BLOOM_FILTER_FOOTER).collect()),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let metadata = ParquetMetaDataBuilder::new(file).set_row_groups(metadata.row_groups().to_vec()).build();
    ParquetMetaDataWriter::new(&mut slim, &metadata).finish().expect("a footer that was read");
    slim
}

/// Some entries of an HFile, for the target of metadata records.
fn records(bytes: &[u8], schema: Option<&str>) -> hudini_format::Result<Vec<u8>> {
    const ENTRIES: usize = 8;
    let reader = hfile::Reader::open(bytes)?;
    let text = schema.or(reader.info().schema()?).unwrap_or_default();
    let mut input = match text {
        SCHEMA_V8 => vec![metadata_record::V8],
        SCHEMA_V9 => vec![metadata_record::V9],
        other => [&[metadata_record::OTHER], other.as_bytes(), &[0]].concat(),
    };
    for entry in reader.entries().take(ENTRIES) {
        let entry = entry?;
        put_frame(&mut input, &entry.key);
        put_frame(&mut input, &entry.value);
    }
    Ok(input)
}

/// The contents of the blocks of a log file, for the targets of contents.
fn add_contents(bytes: &[u8], add: &mut impl FnMut(&'static str, Vec<u8>)) {
    for scanned in scan(bytes).map_while(Result::ok) {
        let Scanned::Block(block) = scanned else { continue };
        let schema = block.headers.get(HeaderKey::Schema);
        if let Some(schema) = schema {
            add("schema", schema.into());
        }
        if let Some(positions) = block.headers.get(HeaderKey::RecordPositions) {
            add("positions", STANDARD.decode(positions).unwrap_or_default());
        }
        match (block.kind, schema) {
            (BlockKind::HfileData, schema) => add_hfile(block.content, schema, add),
            (BlockKind::ParquetData, _) => {
                if let Ok(metadata) = read_footer(&Bytes::copy_from_slice(block.content)) {
                    add("parquet", without_filter(block.content, metadata));
                }
            }
            (BlockKind::Delete, _) => add("delete", block.content.to_vec()),
            (BlockKind::AvroData | BlockKind::CdcData, Some(schema)) => {
                let mut input = vec![0x55];
                input.extend_from_slice(schema.as_bytes());
                input.push(0);
                for datum in avro_block::records(block.content, 0).into_iter().flatten().map_while(Result::ok) {
                    put_frame(&mut input, datum);
                }
                add("avro", input);
            }
            _ => {}
        }
    }
}
