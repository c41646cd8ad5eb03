use super::*;
use crate::metadata_record::IndexVersion;
use proptest::prelude::*;
use rstest::rstest;

fn pairs(text: &str) -> Vec<(String, String)> {
    let properties = Properties::parse(text.as_bytes()).unwrap();
    properties.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

// The answers of java.util.Properties of JDK 17.
#[rstest]
#[case("a=1", &[("a", "1")])]
#[case("a = 1", &[("a", "1")])]
#[case("a:1", &[("a", "1")])]
#[case("a 1", &[("a", "1")])]
#[case("a\t\u{c} : 1 ", &[("a", "1 ")])]
#[case("a= =1", &[("a", "=1")])]
#[case("a =:1", &[("a", ":1")])]
#[case("  a", &[("a", "")])]
#[case("=1", &[("", "1")])]
#[case("a\\=b\\:c\\ d=1", &[("a=b:c d", "1")])]
#[case("a\\\\=1", &[("a\\", "1")])]
#[case("# c\n! c\r\n   # c\n\n\r\na=1\rb=2\r\nc=3", &[("a", "1"), ("b", "2"), ("c", "3")])]
#[case("# c \\\na=1", &[("a", "1")])]
#[case("a=1\\\n   2\\\r\n\t3\n", &[("a", "123")])]
#[case("a=1\\\n# 2\nb=3", &[("a", "1# 2"), ("b", "3")])]
#[case("a=1\\\n\nb=3", &[("a", "1"), ("b", "3")])]
#[case("a=1\\\\\nb=3", &[("a", "1\\"), ("b", "3")])]
#[case("a=1\\", &[("a", "1")])]
#[case("\\\n\n", &[])]
#[case("\\\n# c\na=1", &[("a", "1")])]
#[case("a=\\t\\n\\r\\f\\q\\\"", &[("a", "\t\n\r\u{c}q\"")])]
#[case("a=\\u00e9\\uD83D\\uDE00", &[("a", "é😀")])]
#[case("a=1\nb=2\na=3", &[("a", "3"), ("b", "2")])]
#[case("", &[])]
fn reads_like_java(#[case] text: &str, #[case] expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    assert_eq!(pairs(text), expected);
}

#[test]
fn bytes_are_latin_1() {
    assert_eq!(Properties::parse(b"a=\xe9").unwrap().get("a"), Some("é"));
}

#[rstest]
#[case("a=1\nb=\\u12", 4)]
#[case("a=\\u12g4", 0)]
#[case("a=\\uD83D", 0)]
fn names_the_line_that_is_malformed(#[case] text: &str, #[case] offset: u64) {
    let error = Properties::parse(text.as_bytes()).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (crate::ErrorKind::CorruptFile, Some(offset)));
}

// Written by java.util.Properties of JDK 17.
#[test]
fn writes_like_java() {
    let all = " k ey=:#!\\\t\n\r\u{c}\u{1}\u{7f}é日😀";
    let properties: Properties = [(all, format!("{} ", all.replace("k e", "v ")))].into_iter().collect();
    let expected = b"#c1\n#c2\n#c3 \xe9\\u65E5\n#d\n\
        \\ k\\ ey\\=\\:\\#\\!\\\\\\t\\n\\r\\f\\u0001\\u007F\\u00E9\\u65E5\\uD83D\\uDE00\
        =\\ v y\\=\\:\\#\\!\\\\\\t\\n\\r\\f\\u0001\\u007F\\u00E9\\u65E5\\uD83D\\uDE00 \n";
    assert_eq!(properties.to_bytes("c1\nc2\r\n#c3 é日", "d"), expected);
}

#[test]
fn order_is_that_of_first_insertion() {
    let mut properties: Properties = [("z", "1"), ("a", "2"), ("m", "3")].into_iter().collect();
    properties.set("z", "4");
    assert_eq!(properties.remove("a").as_deref(), Some("2"));
    assert_eq!(properties.remove("a"), None);
    properties.set("a", "5");
    assert_eq!(properties.iter().collect::<Vec<_>>(), [("z", "4"), ("m", "3"), ("a", "5")]);
    assert_eq!((properties.len(), properties.is_empty()), (3, false));
}

#[rstest]
#[case(Some("default"), "v8_nonpartitioned", 1_908_876_706)]
#[case(Some("default"), "ix", 762_680_581)]
#[case(None, "t", 498_511_606)]
#[case(None, "m1_metadata", 293_181_802)]
fn checksums(#[case] database: Option<&str>, #[case] table: &str, #[case] expected: u32) {
    assert_eq!(table_checksum(database, table), expected);
}

#[test]
fn a_wrong_checksum_is_a_corrupt_file_and_a_missing_one_is_not() {
    let mut properties: Properties = [(TABLE_NAME, "ix"), (DATABASE_NAME, "default")].into_iter().collect();
    properties.verify_checksum().unwrap();
    properties.set(TABLE_CHECKSUM, "762680581");
    properties.verify_checksum().unwrap();
    for wrong in ["762680582", "", "x"] {
        properties.set(TABLE_CHECKSUM, wrong);
        assert_eq!(properties.verify_checksum().unwrap_err().kind(), crate::ErrorKind::CorruptFile);
    }
}

#[rstest]
#[case(1_772_900_699_000, "Sat Mar 07 16:24:59 UTC 2026")]
#[case(0, "Thu Jan 01 00:00:00 UTC 1970")]
#[case(951_782_400_000, "Tue Feb 29 00:00:00 UTC 2000")]
#[case(253_402_300_800_000, "Sat Jan 01 00:00:00 UTC 10000")]
#[case(-1, "Wed Dec 31 23:59:59 UTC 1969")]
fn dates_like_java(#[case] epoch_ms: i64, #[case] expected: &str) {
    assert_eq!(java_date(epoch_ms), expected);
}

const PARTITION_FILE: &[u8] =
    b"#partition metadata\n#Sat Nov 21 09:20:56 UTC 2026\ncommitTime=20261121092051751\npartitionDepth=1\n";

#[test]
fn partition_metadata_as_apache_hudi_wrote_it() {
    let parsed = PartitionMetadata::parse(PARTITION_FILE).unwrap();
    assert_eq!(parsed, PartitionMetadata::new("20261121092051751", "city=sf"));
    assert_eq!(parsed.to_bytes("Sat Nov 21 09:20:56 UTC 2026"), PARTITION_FILE);
}

#[rstest]
#[case("", 0)]
#[case("a", 1)]
#[case("2024/01/15", 3)]
fn partition_depth_counts_levels(#[case] partition: &str, #[case] depth: u32) {
    assert_eq!(PartitionMetadata::new("1", partition).depth, depth);
}

#[rstest]
#[case("commitTime=1", "has no partitionDepth")]
#[case("partitionDepth=1", "has no commitTime")]
#[case("commitTime=1\npartitionDepth=-1", "partitionDepth is '-1'")]
fn a_partition_file_that_lacks_something_says_what(#[case] text: &str, #[case] message: &str) {
    let error = PartitionMetadata::parse(text.as_bytes()).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}

/// Written by HoodiePartitionMetadata of Apache Hudi 1.2.0.
const PARTITION_PARQUET: &[u8] = include_bytes!("../../tests/vectors/partition_metadata.parquet");

#[test]
fn partition_metadata_by_its_name() {
    let read = PartitionMetadata::decode(".hoodie_partition_metadata.parquet", PARTITION_PARQUET).unwrap();
    assert_eq!(read, PartitionMetadata::new("20260307162459000", "a/b"));
    assert_eq!(PartitionMetadata::decode(PARTITION_METADATA_FILE, PARTITION_FILE).unwrap().depth, 1);
    let error = PartitionMetadata::decode(".hoodie_partition_metadata.orc", b"ORC").unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::UnsupportedFeature);
    assert!(error.message().contains(".orc"));
    let names =
        [".hoodie_partition_metadata", ".hoodie_partition_metadata.parquet", "..hoodie_partition_metadata.crc", "x"];
    assert_eq!(names.map(PartitionMetadata::is_its_name), [true, true, false, false]);
}

#[test]
fn damaged_partition_parquet_is_an_error_or_right() {
    for at in 0..PARTITION_PARQUET.len() {
        assert!(PartitionMetadata::parse_parquet(&PARTITION_PARQUET[..at]).is_err());
        for flip in [0x01, 0x7f, 0x80, 0xff] {
            let mut bytes = PARTITION_PARQUET.to_vec();
            bytes[at] ^= flip;
            let _ = PartitionMetadata::parse_parquet(&bytes);
        }
    }
    assert!(PartitionMetadata::parse_parquet(&vec![0; MAX + 1]).is_err());
}

const MAX: usize = 64 * 1024;

const DOCUMENT: &str = "#Updated at 1\n! two\n\n a = 1 \r\nb:2\\\n  3\n#c\na=4\nlast";

#[test]
fn a_document_keeps_every_other_byte() {
    let mut document = Document::parse(DOCUMENT.as_bytes()).unwrap();
    assert_eq!(document.to_bytes(), DOCUMENT.as_bytes());
    assert_eq!(document.comments(), ["Updated at 1", " two"]);
    document.set("b", "23").unwrap();
    assert_eq!(document.to_bytes(), DOCUMENT.as_bytes(), "the value it has");
    document.set("b", "x y:").unwrap();
    assert_eq!(document.to_bytes(), DOCUMENT.replace("b:2\\\n  3", "b=x y\\:").as_bytes());
    document.set("a", "5").unwrap();
    document.set("new", "6").unwrap();
    let expected = "#Updated at 1\n! two\n\n a = 1 \r\nb=x y\\:\n#c\na=5\nlast\nnew=6\n";
    assert_eq!(document.to_bytes(), expected.as_bytes());
    assert_eq!(document.remove("a").unwrap().as_deref(), Some("5"));
    assert_eq!(document.remove("a").unwrap(), None);
    assert_eq!(document.to_bytes(), expected.replace(" a = 1 \r\n", "").replace("a=5\n", "").as_bytes());
    assert_eq!(document.properties(), &Properties::parse(document.to_bytes()).unwrap());
}

#[test]
fn a_document_that_ends_in_a_backslash() {
    let mut document = Document::parse(b"a=1\\").unwrap();
    document.set("b", "2").unwrap();
    assert_eq!(Properties::parse(document.to_bytes()).unwrap(), *document.properties());
}

/// The file of the golden table `mor_metadata_all_indexes_v9`, shortened.
const INDEXES: &str = r#"{
  "indexDefinitions" : {
    "record_index" : {
      "indexName" : "record_index",
      "indexType" : "record_index",
      "indexFunction" : "",
      "sourceFields" : [ ],
      "indexOptions" : {
        "isPartitioned" : "false"
      },
      "version" : "V1"
    },
    "column_stats" : {
      "indexName" : "column_stats",
      "indexType" : "column_stats",
      "indexFunction" : "column_stats",
      "sourceFields" : [ "_hoodie_commit_time", "id" ],
      "indexOptions" : { }
    }
  }
}"#;

#[test]
fn index_definitions_to_the_byte() {
    let mut indexes = IndexDefinitions::decode(INDEXES.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(indexes.encode().unwrap()).unwrap(), INDEXES);
    let names: Vec<_> = indexes.iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["record_index", "column_stats"]);
    let mut stats = indexes.get("column_stats").unwrap().clone();
    assert_eq!((stats.key_version().unwrap(), stats.source_fields.len()), (IndexVersion::V1, 2));
    stats.version = Some("V2".to_owned());
    assert_eq!(stats.key_version().unwrap(), IndexVersion::V2);
    indexes.set("column_stats", stats.clone());
    indexes.set("other", stats);
    assert!(indexes.remove("record_index").is_some() && indexes.remove("record_index").is_none());
    assert_eq!(IndexDefinitions::decode(&indexes.encode().unwrap()).unwrap(), indexes);
    assert_eq!(indexes.iter().count(), 2);
}

#[rstest]
#[case("", "cannot be decoded")]
#[case("{}", "cannot be decoded")]
#[case("{\"indexDefinitions\":{\"a\":{\"indexName\":1}}}", "cannot be decoded")]
#[case("{\"indexDefinitions\":{},\"more\":1}", "unknown field `more`")]
fn index_definitions_that_are_none(#[case] text: &str, #[case] message: &str) {
    assert!(IndexDefinitions::decode(text.as_bytes()).unwrap_err().to_string().contains(message));
}

#[test]
fn a_version_of_an_index_that_is_not_known() {
    let text = INDEXES.replace("\"V1\"", "\"X\"");
    let indexes = IndexDefinitions::decode(text.as_bytes()).unwrap();
    let error = indexes.get("record_index").unwrap().key_version().unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::UnsupportedFeature);
}

proptest! {
    #[test]
    fn what_is_written_reads_back(pairs in prop::collection::vec(("\\PC*|[ \t\n\r=:#!\\\\]*", any::<String>()), 0..8)) {
        let properties: Properties = pairs.into_iter().collect();
        let read = Properties::parse(&properties.to_bytes("comment", "date")).unwrap();
        prop_assert!(read.iter().eq(properties.iter()));
    }

    #[test]
    fn a_changed_document_says_what_was_set(
        soup in "[ab =:\\\\#!\n\r\tx]{0,40}",
        key in "[ab]{1,2}|\\PC{0,3}",
        value in "\\PC{0,4}|[ =\\\\\t\n]{0,3}",
    ) {
        if let Ok(mut document) = Document::parse(soup.as_bytes()) {
            let before = document.clone();
            prop_assert_eq!(before.to_bytes(), soup.as_bytes());
            document.set(&key, &value).unwrap();
            let read = Properties::parse(document.to_bytes()).unwrap();
            prop_assert_eq!(&read, document.properties());
            prop_assert_eq!(read.get(&key), Some(value.as_str()));
            document.remove(&key).unwrap();
            prop_assert_eq!(&Properties::parse(document.to_bytes()).unwrap(), document.properties());
        }
    }

    #[test]
    fn any_bytes_parse_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Properties::parse(&bytes);
    }

    #[test]
    fn any_line_soup_parses_or_fails(text in "[ab =:\\\\#!\n\r\tu0f]{0,40}") {
        let _ = Properties::parse(text.as_bytes());
    }
}
