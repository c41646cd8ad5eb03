//! Keys, partition paths, hashes, filters, positions, properties and names of the golden tables.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{File, golden_files};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use bytes::Bytes;
use hudini_format::bloom::{BLOOM_FILTER_FOOTER, BLOOM_TYPE_FOOTER, BloomFilter, BloomKind};
use hudini_format::hash::{FIRST_RING_INSTANT, Ring, RingFile};
use hudini_format::key::{KeyConfig, key_values};
use hudini_format::log::{HeaderKey, Scanned, scan};
use hudini_format::metadata_record::{Partition, file_group_of};
use hudini_format::name::{ArchiveFileName, BaseFileName, LogFileName, MarkerFile, Markers};
use hudini_format::positions::Positions;
use hudini_format::properties::{Document, IndexDefinitions, PartitionMetadata, Properties};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

#[test]
fn properties_to_the_byte() {
    let files = golden_files(|path| path.contains("/hoodie.properties") && !path.ends_with(".crc"));
    assert!(files.len() > 150, "only {} files", files.len());
    for File { bytes, .. } in &files {
        let document = Document::parse(bytes).unwrap();
        assert_eq!(document.to_bytes(), bytes);
        let properties = document.properties();
        let [comment, date] = &document.comments()[..] else { panic!("{:?}", document.comments()) };
        assert_eq!(&properties.to_bytes(comment, date), bytes);
        properties.verify_checksum().unwrap();
    }
}

#[test]
fn partition_metadata_to_the_byte() {
    let files = golden_files(|path| path.rsplit('/').next().is_some_and(PartitionMetadata::is_its_name));
    assert!(files.len() > 150, "only {} files", files.len());
    for file in files {
        let read =
            PartitionMetadata::decode(file.name(), &file.bytes).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
        // A restore puts a partition of the metadata table aside, as `.hoodie/.metadata_<partition>_<instant>`.
        let of_metadata = ["/.hoodie/metadata/", "/.hoodie/.metadata_"];
        let below = of_metadata.iter().find_map(|folder| file.path.split_once(folder));
        let levels = below.map_or(&*file.path, |(_, path)| path);
        let levels = levels.strip_prefix("table/").unwrap_or(levels);
        assert_eq!(read.depth as usize, levels.matches('/').count(), "{}", file.place());
        if file.name().ends_with("metadata") {
            let date = Document::parse(&file.bytes).unwrap().comments()[1].clone();
            assert_eq!(read.to_bytes(&date), file.bytes, "{}", file.place());
        }
    }
}

#[test]
fn index_definitions_to_the_byte() {
    let files = golden_files(|path| path.ends_with("/index.json"));
    assert!(files.len() > 20, "only {} files", files.len());
    for file in files {
        let indexes = IndexDefinitions::decode(&file.bytes).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
        assert_eq!(indexes.encode().unwrap(), file.bytes, "{}", file.place());
        assert!(indexes.iter().all(|(name, index)| index.index_name == name && index.key_version().is_ok()));
    }
}

#[test]
fn bucket_rings_to_the_byte_and_where_they_put_keys() {
    let files = golden_files(|path| path.contains("/consistent_hashing_metadata/") && path.ends_with(".hashing_meta"));
    assert!(files.len() > 1, "only {} files", files.len());
    for file in &files {
        let ring = RingFile::decode(&file.bytes).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
        assert_eq!(ring.encode().unwrap(), file.bytes, "{}", file.place());
        assert_eq!(ring.file_name(), file.name());
        if ring.instant == FIRST_RING_INSTANT {
            assert_eq!(RingFile::first(&ring.partition_path, ring.num_buckets), ring, "{}", file.place());
        }
        Ring::new(&ring, &[]).unwrap();
    }
}

#[test]
fn positions_to_the_byte() {
    let mut count = 0;
    for file in golden_files(|path| path.contains(".log.") && !path.ends_with(".crc")) {
        for block in scan(&file.bytes) {
            let Ok(Scanned::Block(block)) = block else { continue };
            let Some(text) = block.headers.get(HeaderKey::RecordPositions) else {
                continue;
            };
            let positions = Positions::from_header(text).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
            assert_eq!(positions.to_header(), text, "{}", file.place());
            count += 1;
        }
    }
    assert!(count > 20, "only {count} headers");
}

#[test]
fn every_name_is_understood() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for file in golden_files(|_| true) {
        let name = file.name();
        let known = if let Some(base) = BaseFileName::parse(name) {
            assert_eq!(base.to_string(), name);
            "base"
        } else if let Some(log) = LogFileName::parse(name) {
            assert_eq!(log.to_string(), name);
            "log"
        } else if let Some(archive) = ArchiveFileName::parse(name) {
            assert_eq!(archive.to_string(), name);
            "archive"
        } else if let Some((_, below)) = file.path.split_once("/.hoodie/.temp/") {
            let below = below.split_once('/').unwrap().1;
            let marker = MarkerFile::parse(below).unwrap_or_else(|| panic!("{}", file.place()));
            assert_eq!(marker.to_string(), below);
            match marker {
                MarkerFile::Type => {
                    assert_eq!(Markers::decode_type(&file.bytes).unwrap(), Markers::TimelineServerBased)
                }
                MarkerFile::Names(_) => {
                    let names = Markers::decode_names(&file.bytes).unwrap();
                    assert_eq!(Markers::encode_names(&names).as_bytes(), file.bytes);
                }
                MarkerFile::Direct(_) => assert!(file.bytes.is_empty()),
            }
            "marker"
        } else {
            let looks_like_data =
                !file.path.contains("/.hoodie/") && !name.starts_with('.') && name.contains(".parquet");
            assert!(!looks_like_data || file.path.starts_with("bootstrap_source/"), "{}", file.place());
            continue;
        };
        *kinds.entry(known).or_default() += 1;
    }
    for kind in ["base", "log", "archive", "marker"] {
        assert!(kinds.get(kind).is_some_and(|count| *count > 5), "{kind} in {kinds:?}");
    }
}

#[test]
fn file_groups_of_metadata_tables() {
    let mut kinds = BTreeSet::new();
    for file in golden_files(|path| path.contains("/.hoodie/metadata/") && !path.contains("/.hoodie/metadata/.hoodie/"))
    {
        let file_id = match (BaseFileName::parse(file.name()), LogFileName::parse(file.name())) {
            (Some(base), _) => base.file_id,
            (_, Some(log)) => log.file_id,
            _ => continue,
        };
        let folder = file.path.rsplit('/').nth(1).unwrap();
        let partition = Partition::parse(folder).unwrap_or_else(|| panic!("{}", file.place()));
        let group = file_group_of(&file_id).unwrap();
        if hudini_format::metadata_record::data_partition_of(&file_id).is_none() {
            assert_eq!(partition.file_id(group), file_id, "{}", file.place());
        }
        kinds.insert(folder.to_owned());
    }
    assert!(kinds.len() > 5, "{kinds:?}");
}

/// A base file: its rows, and the pairs of its footer.
fn base_file(file: &File) -> (Vec<RecordBatch>, BTreeMap<String, String>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file.bytes.clone())).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let footer = pairs.into_iter().map(|pair| (pair.key, pair.value.unwrap_or_default())).collect();
    (reader.build().unwrap().map(|batch| batch.unwrap()).collect(), footer)
}

fn texts<'a>(batch: &'a RecordBatch, column: &str) -> Vec<Option<&'a str>> {
    batch.column_by_name(column).unwrap().as_string::<i32>().iter().collect()
}

fn base_files() -> Vec<File> {
    let mut files =
        golden_files(|path| path.starts_with("table/") && path.ends_with(".parquet") && !path.contains("/.hoodie/"));
    // Killed writers leave empty ones.
    files.retain(|file| BaseFileName::parse(file.name()).is_some() && !file.bytes.is_empty());
    assert!(files.len() > 500, "only {} base files", files.len());
    files
}

#[test]
fn bloom_filters_to_the_byte_and_with_every_key() {
    let mut seen: BTreeMap<String, BloomFilter> = BTreeMap::new();
    for file in base_files() {
        let (batches, footer) = base_file(&file);
        let Some(text) = footer.get(BLOOM_FILTER_FOOTER) else { continue };
        let kind = BloomKind::parse(&footer[BLOOM_TYPE_FOOTER]).unwrap();
        let filter = seen.entry(text.clone()).or_insert_with(|| {
            let filter = BloomFilter::from_text(kind, text).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
            assert!(filter.to_text() == *text, "{}", file.place());
            filter
        });
        for key in batches.iter().flat_map(|batch| texts(batch, "_hoodie_record_key")) {
            assert!(filter.contains(key.unwrap()), "{}: {key:?}", file.place());
        }
    }
    assert!(seen.len() > 100, "only {} filters", seen.len());
}

/// Cases whose keys or paths are not those of the Avro key generators of the table's properties, and why.
fn made_otherwise(case: &str) -> Option<&'static str> {
    match case {
        case if case.contains("keyless") => Some("keys are made of the write"),
        case if case.contains("drop_partition_columns") => Some("the partition column is not in the file"),
        _ => None,
    }
}

/// What the writer was told beside the table's properties: settings for times are stored by newer releases only, and only
/// of the timestamp key generator.
fn told_to_the_writer(case: &str) -> &'static str {
    match case {
        "cow_custom_keygen" => {
            "hoodie.keygen.timebased.timestamp.type=UNIX_TIMESTAMP
             hoodie.keygen.timebased.output.dateformat=yyyyMMdd"
        }
        "mor_custom_keygen_v6" | "mor_custom_keygen_v9" => {
            "hoodie.table.partition.fields=city:simple,ev:timestamp
             hoodie.keygen.timebased.timestamp.type=EPOCHMILLISECONDS
             hoodie.keygen.timebased.output.dateformat=yyyyMMdd"
        }
        "cow_timestamp_keygen_datestring_formats_v6" => {
            "hoodie.keygen.timebased.timestamp.type=DATE_STRING
             hoodie.keygen.timebased.input.dateformat=yyyy-MM-dd'T'HH:mm:ssZ,yyyyMMdd
             hoodie.keygen.timebased.output.dateformat=yyyy-MM-dd"
        }
        "mor_timestamp_keygen_millis_v6" => {
            "hoodie.keygen.timebased.timestamp.type=EPOCHMILLISECONDS
             hoodie.keygen.timebased.output.dateformat=yyyy/MM/dd"
        }
        _ => "",
    }
}

#[test]
fn keys_and_paths_of_every_row() {
    let mut tables = BTreeMap::new();
    for file in golden_files(|path| path == "table/.hoodie/hoodie.properties") {
        if made_otherwise(&file.case).is_some() {
            continue;
        }
        let told = format!("\n{}\n", told_to_the_writer(&file.case));
        let properties = Properties::parse(&[&file.bytes, told.as_bytes()].concat()).unwrap();
        let keys = KeyConfig::from_properties(&properties).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
        tables.insert(file.case, keys);
    }
    let mut rows = 0;
    for file in base_files() {
        if made_otherwise(&file.case).is_some() {
            continue;
        }
        let config = &tables[&file.case];
        for batch in base_file(&file).0 {
            // Virtual keys, and skeletons of a bootstrap, which hold the meta columns alone.
            let virtual_keys = batch.column_by_name("_hoodie_record_key").is_none_or(|keys| keys.null_count() > 0);
            if virtual_keys || batch.num_columns() == 5 {
                continue;
            }
            let stored = texts(&batch, "_hoodie_record_key");
            if stored.iter().flatten().all(|key| key.is_empty()) {
                continue;
            }
            let keys = config.record_keys(&batch).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
            assert_eq!(keys.iter().collect::<Vec<_>>(), stored, "{}", file.place());
            let paths = config.partition_paths(&batch).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
            assert_eq!(paths.iter().collect::<Vec<_>>(), texts(&batch, "_hoodie_partition_path"), "{}", file.place());
            let folder = file.path.strip_prefix("table/").unwrap().rsplit_once('/').map_or("", |(folder, _)| folder);
            assert!(paths.iter().all(|path| path == Some(folder)), "{}", file.place());
            let fields: Vec<_> = config.partition_fields.iter().map(|field| field.name.as_str()).collect();
            if config.partition_fields.iter().all(|field| field.time.is_none()) {
                assert_eq!(config.path_style.values(folder, &fields).unwrap().len(), fields.len());
            }
            assert!(stored.iter().flatten().all(|key| key_values(key, &config.key_fields).is_some()));
            rows += batch.num_rows();
        }
    }
    assert!(rows > 10_000, "only {rows} rows");
}
