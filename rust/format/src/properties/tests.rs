use super::*;
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

proptest! {
    #[test]
    fn what_is_written_reads_back(pairs in prop::collection::vec(("\\PC*|[ \t\n\r=:#!\\\\]*", any::<String>()), 0..8)) {
        let properties: Properties = pairs.into_iter().collect();
        let read = Properties::parse(&properties.to_bytes("comment", "date")).unwrap();
        prop_assert!(read.iter().eq(properties.iter()));
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
