use bytes::Bytes;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::ErrorKind;

/// Written by Apache Hudi 1.2.
const MANIFEST: &str = "{\n  \"files\" : [ {\n    \"fileName\" : \"20261121090016065_20261121090052719_0.parquet\",\n    \
                        \"fileLen\" : 6538\n  }, {\n    \"fileName\" : \"20261121090100000_20261121090152719_0.parquet\",\n    \
                        \"fileLen\" : 17\n  } ]\n}";

#[test]
fn manifests() {
    let manifest = Manifest::decode(MANIFEST.as_bytes()).unwrap();
    assert_eq!(manifest.files.iter().map(|f| f.file_len).collect::<Vec<_>>(), [6538, 17]);
    assert_eq!(manifest.files[0].file_name, "20261121090016065_20261121090052719_0.parquet");
    assert_eq!(manifest.encode(), MANIFEST.as_bytes());
    assert_eq!(Manifest::decode(br#"{"later":[1],"files":[]}"#).unwrap(), Manifest::default());
    assert_eq!(Manifest::default().encode(), b"{\n  \"files\" : [ ]\n}");
    for damaged in ["", "{}", "{\"files\":[{}]}", "{\"files\":[{\"fileName\":\"a\",\"fileLen\":-1}]}", &MANIFEST[..99]]
    {
        assert_eq!(Manifest::decode(damaged.as_bytes()).unwrap_err().kind(), ErrorKind::CorruptFile);
    }
}

#[rstest]
#[case(Some("3"), Some(3))]
#[case(Some("12\n"), Some(12))]
#[case(Some(""), Some(10))]
#[case(Some("x"), Some(10))]
#[case(None, Some(10))]
fn the_newest_manifest(#[case] version_file: Option<&str>, #[case] expected: Option<u32>) {
    let names = ["manifest_9", "manifest_10", "manifest_11.tmp", "_version_", "1_2_0.parquet"];
    assert_eq!(latest_version(version_file.map(str::as_bytes), names), expected);
    assert_eq!(latest_version(None, []), None);
}

#[rstest]
#[case("1_2_0.parquet", true)]
#[case("20261121100057710_20261121100138866_2.parquet", true)]
#[case("1_2_10.parquet", false)]
#[case("1_2.parquet", false)]
#[case("1_2_0_1.parquet", false)]
#[case("1_x_0.parquet", false)]
#[case("_2_0.parquet", false)]
#[case("1_2_0.parquet.tmp", false)]
#[case("1_2_+.parquet", false)]
fn names(#[case] name: &str, #[case] valid: bool) {
    assert_eq!(FileName::parse(name).map(|n| n.to_string()), valid.then(|| name.to_owned()));
}

#[rstest]
#[case(None, None, true)]
#[case(Some("5"), None, true)]
#[case(Some("51"), None, false)]
#[case(None, Some("3"), true)]
#[case(None, Some("29"), false)]
#[case(Some("4"), Some("4"), true)]
fn a_name_tells_whether_to_look_inside(#[case] from: Option<&str>, #[case] to: Option<&str>, #[case] expected: bool) {
    assert_eq!(FileName::parse("3_5_0.parquet").unwrap().overlaps(from, to), expected);
}

fn entry(number: usize) -> Entry {
    let even = number.is_multiple_of(2);
    Entry {
        requested: format!("2026112110005{number:04}"),
        completed: Some(format!("2026112110006{number:04}")),
        action: Some(if even { Action::Clean } else { Action::DeltaCommit }),
        metadata: (!number.is_multiple_of(7)).then(|| vec![number as u8; number]),
        plan: even.then(|| b"plan".to_vec()),
    }
}

fn read(file: &[u8], columns: Columns, instants: &impl std::ops::RangeBounds<String>) -> Vec<Entry> {
    Reader::open(Bytes::copy_from_slice(file), columns, instants).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn history_files_round_trip_in_any_number_of_rows() {
    for rows in [0, 1, 256, 600] {
        let entries: Vec<_> = (0..rows).map(entry).collect();
        assert_eq!(read(&write(&entries).unwrap(), Columns::All, &..), entries);
    }
}

#[test]
fn only_what_is_asked_for_is_read() {
    let entries: Vec<_> = (0..600).map(entry).collect();
    let file = write(&entries).unwrap();
    let without = |columns: Columns| {
        let mut wanted = entries.clone();
        for entry in &mut wanted {
            let (metadata, plan) = (entry.metadata.take(), entry.plan.take());
            entry.metadata = metadata.filter(|_| columns == Columns::Metadata);
            entry.plan = plan.filter(|_| columns == Columns::Plans);
            entry.action = entry.action.filter(|_| columns != Columns::Times);
        }
        wanted
    };
    for columns in [Columns::Times, Columns::Actions, Columns::Metadata, Columns::Plans] {
        assert_eq!(read(&file, columns, &..), without(columns));
    }
    let (from, to) = (entries[100].requested.clone(), entries[300].requested.clone());
    assert_eq!(read(&file, Columns::All, &(from.clone()..to.clone())), entries[100..300]);
    assert_eq!(read(&file, Columns::All, &(from.clone()..=to.clone())), entries[100..=300]);
    assert_eq!(read(&file, Columns::All, &(..from)), entries[..100]);
    assert_eq!(read(&file, Columns::All, &("3".to_owned()..)), []);
}

#[test]
fn the_footer_is_that_of_apache_hudi() {
    let file = Bytes::from(write(&[entry(1)]).unwrap());
    let reader = ::parquet::file::serialized_reader::SerializedFileReader::new(file).unwrap();
    let metadata = ::parquet::file::reader::FileReader::metadata(&reader).file_metadata().clone();
    let mut keys: Vec<_> = metadata.key_value_metadata().unwrap().iter().map(|pair| pair.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["parquet.avro.schema", "writer.model.name"]);
    let mut message = Vec::new();
    ::parquet::schema::printer::print_schema(&mut message, metadata.schema_descr().root_schema());
    assert_eq!(
        String::from_utf8(message).unwrap(),
        "message org.apache.hudi.avro.model.HoodieLSMTimelineInstant {\n  OPTIONAL BYTE_ARRAY instantTime (STRING);\n  \
         OPTIONAL BYTE_ARRAY completionTime (STRING);\n  OPTIONAL BYTE_ARRAY action (STRING);\n  \
         OPTIONAL BYTE_ARRAY metadata;\n  OPTIONAL BYTE_ARRAY plan;\n  REQUIRED INT32 version;\n}\n"
    );
}

#[test]
fn damage_is_an_error_or_another_value() {
    let file = write(&(0..40).map(entry).collect::<Vec<_>>()).unwrap();
    for at in (0..file.len()).step_by(7) {
        assert!(Reader::open(Bytes::copy_from_slice(&file[..at]), Columns::All, &..).is_err());
        let mut flipped = file.clone();
        flipped[at] ^= 1 << (at % 8);
        if let Ok(reader) = Reader::open(Bytes::from(flipped), Columns::All, &("2".to_owned()..)) {
            reader.take_while(Result::is_ok).for_each(drop);
        }
    }
}

proptest! {
    #[test]
    fn any_entries_round_trip(
        entries in prop::collection::vec(
            (
                "[0-9]{1,17}",
                prop::option::of("[0-9]{17}"),
                prop::option::of(0..Action::ALL.len()),
                prop::option::of(any::<Vec<u8>>()),
                prop::option::of(any::<Vec<u8>>()),
            ),
            0..20,
        )
    ) {
        let entry = |(requested, completed, action, metadata, plan): (_, _, Option<usize>, _, _)| {
            Entry { requested, completed, action: action.map(|at| Action::ALL[at]), metadata, plan }
        };
        let entries: Vec<_> = entries.into_iter().map(entry).collect();
        prop_assert_eq!(read(&write(&entries).unwrap(), Columns::All, &..), entries);
    }

    #[test]
    fn any_manifest_round_trips(files in prop::collection::vec(("\\PC*", any::<u64>()), 0..5)) {
        let files = files.into_iter().map(|(file_name, file_len)| HistoryFile { file_name, file_len }).collect();
        let manifest = Manifest { files };
        prop_assert_eq!(Manifest::decode(&manifest.encode()).unwrap(), manifest);
    }
}

#[test]
fn only_wanted_columns_and_rows_are_fetched() {
    let entry = |number: u32| Entry {
        requested: format!("{number:017}"),
        completed: Some(format!("{:017}", number + 1)),
        action: Some(Action::DeltaCommit),
        // Nothing that could be made smaller.
        metadata: Some((0..2000_u32).flat_map(|at| (at.wrapping_mul(2_654_435_761) ^ number).to_le_bytes()).collect()),
        plan: None,
    };
    let entries: Vec<_> = (0..100).map(entry).collect();
    let file = write(&entries).unwrap();
    let length = file.len() as u64;
    let read = |columns| {
        let mut fetched = 0;
        let fetch = |ranges: Vec<std::ops::Range<u64>>| {
            fetched += ranges.iter().map(|range| range.end - range.start).sum::<u64>();
            Ok(ranges.into_iter().map(|r| Bytes::copy_from_slice(&file[r.start as usize..r.end as usize])).collect())
        };
        let rows = Reader::fetch(length, columns, &.., fetch).unwrap().collect::<crate::Result<Vec<_>>>().unwrap();
        (rows, fetched)
    };
    let (listed, few) = read(Columns::Actions);
    let named: Vec<_> = entries.iter().cloned().map(|entry| Entry { metadata: None, ..entry }).collect();
    assert_eq!(listed, named);
    assert!(few < 100_000 && length > 500_000, "{few} bytes of {length}");
    assert_eq!(read(Columns::All).0, entries);
}

#[test]
fn what_was_not_fetched_is_an_error() {
    let file = write(&[Entry { requested: "1".into(), completed: None, action: None, metadata: None, plan: None }]);
    let file = file.unwrap();
    for length in [0, 3, 8, file.len() as u64 - 1, file.len() as u64 + 1] {
        let fetch = |ranges: Vec<std::ops::Range<u64>>| {
            let of = |r: std::ops::Range<u64>| file.get(r.start as usize..(r.end as usize).min(file.len()));
            Ok(ranges.into_iter().map(|r| Bytes::copy_from_slice(of(r).unwrap_or_default())).collect())
        };
        let opened =
            Reader::fetch(length, Columns::All, &.., fetch).and_then(|rows| rows.collect::<crate::Result<Vec<_>>>());
        assert_eq!(opened.unwrap_err().kind(), ErrorKind::CorruptFile, "{length}");
    }
}
