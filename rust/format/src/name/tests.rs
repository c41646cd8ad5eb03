use super::*;
use proptest::prelude::*;
use rstest::rstest;

const UUID: &str = "3f6c0a8e-9d1b-4c55-8a77-0b1c2d3e4f50-0";

#[rstest]
#[case("3f6c0a8e-9d1b-4c55-8a77-0b1c2d3e4f50-0_0-12-30_20260307162459000.parquet", [UUID, "0-12-30", "20260307162459000", "parquet"])]
#[case("files-0000-0_0-0-1_00000000000000000.hfile", ["files-0000-0", "0-0-1", "00000000000000000", "hfile"])]
#[case("record-index-2024%2F01.02-0007-0_1-0-1_1.hfile", ["record-index-2024%2F01.02-0007-0", "1-0-1", "1", "hfile"])]
fn base_files(#[case] name: &str, #[case] parts: [&str; 4]) {
    let parsed = BaseFileName::parse(name).unwrap();
    assert_eq!(parsed.to_string(), name);
    assert_eq!([&*parsed.file_id, &*parsed.write_token, &*parsed.instant, &*parsed.extension], parts);
}

#[rstest]
#[case::log(".a-0_1.log.1_0-1-2")]
#[case::apple_double("._a-0_0-1-2_1.parquet")]
#[case::checksum(".a-0_0-1-2_1.parquet.crc")]
#[case::temporary("a-0_0-1-2_1.parquet.tmp")]
#[case::native_log("a-0_0-1-2_1_1.log.parquet")]
#[case::external("a_0-1-2_1_hudiext.parquet")]
#[case::no_token("a-0_1.parquet")]
#[case::empty_token("a-0__1.parquet")]
#[case::no_instant("a-0_0-1-2_.parquet")]
#[case::no_extension("a-0_0-1-2_1")]
#[case::bare_dot("a-0_0-1-2_1.")]
#[case::path("p/a-0_0-1-2_1.parquet")]
#[case::no_file_id("_0-1-2_1.parquet")]
#[case::partition_file(".hoodie_partition_metadata")]
#[case::spark("_SUCCESS")]
fn other_files_are_no_base_files(#[case] name: &str) {
    assert_eq!(BaseFileName::parse(name), None);
}

fn log(instant: &str, version: u32, token: Option<&str>, cdc: bool) -> LogFileName {
    LogFileName {
        file_id: "a-0".to_owned(),
        instant: instant.to_owned(),
        version,
        token: token.map(str::to_owned),
        cdc,
    }
}

#[rstest]
#[case(".a-0_20260307162459000.log.1_0-12-30", log("20260307162459000", 1, Some("0-12-30"), false))]
#[case(".a-0_1.log.12_0-12-99999999999.cdc", log("1", 12, Some("0-12-99999999999"), true))]
#[case(".a-0_1.log.5", log("1", 5, None, false))]
#[case(".a-0_1.log.0_1-0-1", log("1", 0, Some("1-0-1"), false))]
#[case(".a-0_.log.1_1-0-1", log("", 1, Some("1-0-1"), false))]
#[case(".a-0_1_2.log.1_1-0-1", log("1_2", 1, Some("1-0-1"), false))]
fn log_files(#[case] name: &str, #[case] expected: LogFileName) {
    assert_eq!(LogFileName::parse(name), Some(expected.clone()));
    assert_eq!(expected.to_string(), name);
}

// FSUtils.LOG_FILE_PATTERN of Apache Hudi 1.2.0 rejects each, or takes it for an archived timeline.
#[rstest]
#[case("a-0_1.log.1_0-1-2")]
#[case("._.a-0_1.log.1_0-1-2")]
#[case("..a-0_1.log.1_0-1-2.crc")]
#[case(".a-0_1.log.1_0-1-2.crc")]
#[case(".a-0_1.log.1_abc")]
#[case(".a-0_1.log.1_0-1")]
#[case(".a-0_1.log.1_0-1-2-3")]
#[case(".a-0_1.log.1_0-1-2.cdc.cdc")]
#[case(".a-0_1.log.1_0--2")]
#[case(".a-0_1.log.1_")]
#[case(".a-0_1.log.1.cdc")]
#[case(".a-0_1.log._0-1-2")]
#[case(".a-0_1.log.x_0-1-2")]
#[case(".a-0_1.log.")]
#[case(".a-0_1.log")]
#[case(".a-0.log.1_0-1-2")]
#[case("._1.log.1_0-1-2")]
#[case(".a-0_1.parquet.log.1_0-1-2")]
#[case(".commits_.archive.1_1-0-1")]
#[case(".a-0_0-1-2_1.parquet.crc")]
#[case(".hoodie_partition_metadata")]
#[case("")]
fn other_files_are_no_log_files(#[case] name: &str) {
    assert_eq!(LogFileName::parse(name), None);
}

#[test]
fn leading_zeros_of_a_version_are_not_printed() {
    assert_eq!(LogFileName::parse(".a-0_1.log.010_0-1-2"), Some(log("1", 10, Some("0-1-2"), false)));
}

#[test]
fn logs_merge_by_instant_version_token_and_suffix() {
    let ordered = [
        log("20250101000000000", 10, Some("9-9-9"), false),
        log("20250101000000001", 9, None, false),
        log("20250101000000001", 9, Some("0-10-23"), false),
        log("20250101000000001", 9, Some("0-9-5"), false),
        log("20250101000000001", 9, Some("0-9-5"), true),
        log("20250101000000001", 10, Some("0-10-23"), false),
    ];
    let mut shuffled = ordered.clone();
    shuffled.reverse();
    shuffled.sort_by(LogFileName::slice_order);
    assert_eq!(shuffled, ordered);
}

#[test]
fn file_ids() {
    let bits = 0x3f6c_0a8e_9d1b_fc55_ca77_0b1c_2d3e_4f50;
    assert_eq!(new_file_id(bits), UUID);
    assert_eq!(new_file_id(0), "00000000-0000-4000-8000-000000000000-0");
    assert_eq!(new_file_id(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff-0");
    assert_eq!(bucket_file_id(3, bits), "00000003-9d1b-4c55-8a77-0b1c2d3e4f50-0");
    assert_eq!(shared_bucket_file_id(3), "00000003-0000-0000-0000-000000000000-0");
    assert_eq!(write_token(0, 12, 30), "0-12-30");
}

#[rstest]
#[case("p/.a-0_1.log.1_0-1821-2556.marker.CREATE", "p", ".a-0_1.log.1_0-1821-2556", MarkerKind::Create)]
#[case("2024/01/a-0_0-1-2_1.parquet.marker.MERGE", "2024/01", "a-0_0-1-2_1.parquet", MarkerKind::Merge)]
#[case("a-0_0-1-2_1.parquet.marker.CREATE", "", "a-0_0-1-2_1.parquet", MarkerKind::Create)]
#[case("a.marker.b/x.marker.APPEND", "a.marker.b", "x", MarkerKind::Append)]
fn markers(#[case] path: &str, #[case] partition: &str, #[case] file: &str, #[case] kind: MarkerKind) {
    let marker = MarkerName { partition: partition.to_owned(), file: file.to_owned(), kind };
    assert_eq!(MarkerName::parse(path), Some(marker.clone()));
    assert_eq!(marker.to_string(), path);
}

#[rstest]
#[case("MARKERS.type")]
#[case("MARKERS0")]
#[case("p/a.parquet.marker.create")]
#[case("p/a.parquet.marker.")]
#[case("p/.marker.CREATE")]
fn other_files_are_no_markers(#[case] path: &str) {
    assert_eq!(MarkerName::parse(path), None);
}

#[rstest]
#[case(".commits_.archive.12_1-0-1", 12, Some("1-0-1"))]
#[case(".commits_.archive.1", 1, None)]
fn archived_timelines(#[case] name: &str, #[case] version: u32, #[case] token: Option<&str>) {
    let parsed = ArchiveFileName::parse(name).unwrap();
    assert_eq!((parsed.version, parsed.token.as_deref()), (version, token));
    assert_eq!(parsed.to_string(), name);
    assert_eq!(LogFileName::parse(name), None);
}

#[rstest]
#[case(".commits_.archive.")]
#[case(".commits_.archive.1_x")]
#[case(".commits_.archive.x_1-0-1")]
#[case("commits_.archive.1_1-0-1")]
fn other_files_are_no_archives(#[case] name: &str) {
    assert_eq!(ArchiveFileName::parse(name), None);
}

#[test]
fn the_index_of_a_bootstrapped_table_has_base_files() {
    let name = "00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile";
    assert_eq!(BaseFileName::parse(name).unwrap().instant, "00000000000001");
}

#[rstest]
#[case("MARKERS.type", Some(MarkerFile::Type))]
#[case("MARKERS0", Some(MarkerFile::Names(0)))]
#[case("MARKERS19", Some(MarkerFile::Names(19)))]
#[case("MARKERS", None)]
#[case("MARKERS99999999999", None)]
#[case("a/b.parquet", None)]
fn files_of_markers(#[case] path: &str, #[case] file: Option<MarkerFile>) {
    assert_eq!(MarkerFile::parse(path), file);
    if let Some(file) = file {
        assert_eq!(file.to_string(), path);
    }
}

#[test]
fn lists_of_markers() {
    let text = "sf/a-0_0-1-2_1.parquet.marker.MERGE\n.b-0_1.log.1_0-1-2.marker.CREATE\n";
    let names = Markers::decode_names(text.as_bytes()).unwrap();
    assert_eq!(names.iter().map(|n| n.kind).collect::<Vec<_>>(), [MarkerKind::Merge, MarkerKind::Create]);
    assert_eq!(Markers::encode_names(&names), text);
    assert_eq!(Markers::decode_names(&text.as_bytes()[..50]).unwrap(), names[..1], "the last line is not whole");
    assert_eq!(Markers::decode_names(text.trim_end().as_bytes()).unwrap(), names, "but it may be");
    assert_eq!(Markers::decode_names(b"").unwrap(), []);
    assert!(Markers::decode_names(b"a.parquet\n").unwrap_err().message().contains("a.parquet"));
    assert!(Markers::decode_names(b"\xff\n").is_err());
}

#[test]
fn types_of_markers() {
    for kind in [Markers::Direct, Markers::TimelineServerBased] {
        assert_eq!(Markers::decode_type(kind.encode_type().as_bytes()).unwrap(), kind);
    }
    assert!(Markers::decode_type(b"ELSEWHERE").unwrap_err().message().contains("ELSEWHERE"));
}

#[rstest]
#[case("20260307162459000", Some("20260307162459000"))]
#[case("20260307162459000001", Some("20260307162459000001"))]
#[case(".20260307162459000.crc", None)]
#[case("x", None)]
fn heartbeats(#[case] name: &str, #[case] instant: Option<&str>) {
    assert_eq!(heartbeat_instant(name), instant);
}

proptest! {
    #[test]
    fn what_parses_prints_back(name in "\\.?[a_0./-]{0,6}_?[0a_.]{0,4}(\\.log\\.)?[0-9_a.-]{0,8}(\\.cdc|\\.parquet)?") {
        if let Some(base) = BaseFileName::parse(&name) {
            prop_assert_eq!(base.to_string(), name.as_str());
            prop_assert_eq!(LogFileName::parse(&name), None);
        }
        if let Some(log) = LogFileName::parse(&name) {
            prop_assert_eq!(LogFileName::parse(&log.to_string()), Some(log));
        }
    }

    #[test]
    fn written_names_parse(bits in any::<u128>(), instant in "[0-9]{17}", version in any::<u32>(), task in any::<u32>(), cdc: bool) {
        let token = write_token(task, 1, 2);
        let base = BaseFileName {
            file_id: new_file_id(bits), write_token: token.clone(), instant: instant.clone(), extension: "parquet".into(),
        };
        prop_assert_eq!(BaseFileName::parse(&base.to_string()), Some(base));
        let log = LogFileName { file_id: new_file_id(bits), instant, version, token: Some(token), cdc };
        prop_assert_eq!(LogFileName::parse(&log.to_string()), Some(log));
    }
}
