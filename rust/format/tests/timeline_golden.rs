//! Every timeline file of the golden tables, data tables and metadata tables, layouts 1 and 2.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{File, golden_files};
use hudini_format::action::{Payload, to_json};
use hudini_format::instant::{InstantFile, State};

/// The files whose folder is a timeline, with what their names say.
fn timeline_files() -> Vec<(File, InstantFile)> {
    let of_timeline = |path: &str| {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        ["/.hoodie", "/.hoodie/timeline", "/.hoodie/.schema"].iter().any(|end| folder.ends_with(end))
    };
    let files = golden_files(of_timeline);
    let files: Vec<_> = files.into_iter().filter_map(|f| InstantFile::parse(f.name()).map(|i| (f, i))).collect();
    assert!(files.len() > 1500, "only {} timeline files among the golden tables", files.len());
    files
}

fn decode(file: &File, instant: &InstantFile) -> Payload {
    Payload::decode(instant.action, instant.state, &file.bytes).unwrap_or_else(|e| panic!("{}: {e}", file.place()))
}

/// Apache Hudi's file without the two sync markers: the bytes that are not chance.
fn without_sync(bytes: &[u8], schema_length: usize) -> Vec<u8> {
    // Magic, one entry, key, length of the schema in two bytes, schema, end of the entries.
    let header = 4 + 1 + 12 + 2 + schema_length + 1;
    [&bytes[..header], &bytes[header + 16..bytes.len() - 16]].concat()
}

#[test]
fn every_name_prints_back() {
    for (file, instant) in timeline_files() {
        assert_eq!(instant.name(), file.name());
    }
}

#[test]
fn every_file_decodes_and_shows_all_that_it_holds() {
    let mut kinds = BTreeMap::new();
    for (file, instant) in timeline_files() {
        let payload = decode(&file, &instant);
        let kind = format!("{payload:?}").split(['(', '{', ' ']).next().unwrap().to_owned();
        *kinds.entry(kind).or_insert(0) += 1;
        assert_eq!(payload == Payload::Empty, file.bytes.is_empty(), "{}", file.place());
        let shown = to_json(&file.bytes).unwrap_or_else(|e| panic!("{}: {e}", file.place()));
        assert_eq!(shown.is_null(), file.bytes.is_empty(), "{}", file.place());
        if let Payload::Commit(commit) = &payload {
            let mut typed = serde_json::to_value(commit).unwrap();
            let mut shown = shown;
            drop_nulls(&mut typed);
            drop_nulls(&mut shown);
            assert_eq!(typed, shown, "{}", file.place());
        }
    }
    let seen: Vec<_> = kinds.keys().map(String::as_str).collect();
    let all = "Clean CleanerPlan Commit CompactionPlan Empty Index IndexPlan RequestedReplace Restore RestorePlan \
               Rollback RollbackPlan Savepoint Schemas";
    assert_eq!(seen.join(" "), all);
}

#[test]
fn every_payload_of_layout_2_is_written_as_apache_hudi_wrote_it() {
    let (mut equal, mut older) = (0, BTreeSet::new());
    for (file, instant) in timeline_files() {
        if !file.bytes.starts_with(b"Obj\x01") {
            continue;
        }
        let payload = decode(&file, &instant);
        let again = payload.encode().unwrap();
        assert_eq!(Payload::decode(instant.action, instant.state, &again).unwrap(), payload, "{}", file.place());
        let length = (file.bytes[17] as usize & 0x7f | (file.bytes[18] as usize) << 7) / 2;
        if file.bytes[..19 + length] != again[..19 + length] {
            older.insert(file.case);
            continue;
        }
        let (mut theirs, mut ours) = (without_sync(&file.bytes, length), without_sync(&again, length));
        equal += usize::from(theirs == ours);
        // Java's maps have no order; everything else has.
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(theirs, ours, "{}", file.place());
    }
    assert!(equal > 250, "only {equal} files are the same to the byte");
    assert!(older.iter().all(|case| case.contains("v6")), "only release 0.15 has other schemas: {older:?}");
}

#[test]
fn json_of_layout_1_becomes_a_container_with_the_same_values() {
    let mut seen = 0;
    for (file, instant) in timeline_files() {
        if file.bytes.starts_with(b"{") && !file.path.contains("/.schema/") {
            let Payload::Commit(mut commit) = decode(&file, &instant) else { panic!("{}", file.place()) };
            let again = Payload::decode(instant.action, State::Completed, &commit.encode().unwrap()).unwrap();
            for stats in commit.partition_to_write_stats.iter_mut().flat_map(BTreeMap::values_mut) {
                stats.iter_mut().for_each(|stat| stat.extra = Default::default());
            }
            assert_eq!(again, Payload::Commit(commit), "{}", file.place());
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} JSON files among the golden tables");
}

/// One file of each kind is enough: what differs between two of a kind is names and numbers.
#[test]
fn damage_is_an_error_or_another_value() {
    let one_of_a_kind: BTreeMap<_, _> = timeline_files()
        .into_iter()
        .map(|(file, instant)| ((instant.action, instant.state, file.bytes.first().copied()), (file, instant)))
        .collect();
    for (file, instant) in one_of_a_kind.values() {
        for at in (0..file.bytes.len()).step_by(if file.bytes.len() < 4096 { 5 } else { 41 }) {
            let cut = &file.bytes[..at];
            let whole = Payload::decode(instant.action, instant.state, cut).is_ok_and(|p| p != Payload::Empty);
            assert!(!whole, "{} cut at {at}", file.place());
            assert!(to_json(cut).is_err() || at == 0, "{} cut at {at}", file.place());
            let mut flipped = file.bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let _ = Payload::decode(instant.action, instant.state, &flipped);
            let _ = to_json(&flipped);
        }
    }
}

fn drop_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) => {
            members.retain(|_, v| !v.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
