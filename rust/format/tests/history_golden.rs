//! The history of the golden tables, compared with what Apache Hudi says of it.

use crate::support::{File, golden_case, golden_files};
use bytes::Bytes;
use hudini_format::action::{CleanerPlan, CommitMetadata, CompactionPlan, Payload, RequestedReplaceMetadata};
use hudini_format::history::{self, Columns, Entry, FileName, Manifest, Reader, VERSION_FILE, archive, manifest_name};
use hudini_format::instant::{Action, State};

/// What Apache Hudi lists as archived: requested and completion time, action, state.
fn archived(case: &str) -> Vec<[String; 4]> {
    let listed = golden_case(case)["archived_timeline"].as_array().unwrap().clone();
    let row = |instant: &serde_json::Value| {
        ["requested", "completion", "action", "state"].map(|key| instant[key].as_str().unwrap_or_default().to_owned())
    };
    listed.iter().map(row).collect()
}

fn row(requested: &str, completion: Option<&String>, action: Action, state: &str) -> [String; 4] {
    [requested.to_owned(), completion.cloned().unwrap_or_default(), action.name().to_owned(), state.to_owned()]
}

/// Manifest and files of layout 2, by case.
fn trees() -> Vec<(String, Manifest, Vec<File>)> {
    let files = golden_files(|path| path.contains("/timeline/history/"));
    let of_version = |f: &&File| f.name() == VERSION_FILE;
    let tree = |version: &File| {
        let folder = version.path.strip_suffix(VERSION_FILE).unwrap();
        let number = history::parse_version(&version.bytes).unwrap();
        let here: Vec<_> =
            files.iter().filter(|f| f.case == version.case && f.path.starts_with(folder)).cloned().collect();
        let names = here.iter().map(File::name);
        assert_eq!(history::latest_version(None, names), Some(number));
        let manifest = here.iter().find(|f| f.name() == manifest_name(number)).unwrap();
        (version.case.clone(), Manifest::decode(&manifest.bytes).unwrap(), here)
    };
    let trees: Vec<_> = files.iter().filter(of_version).map(tree).collect();
    assert!(!trees.is_empty(), "no history among the golden tables");
    trees
}

fn read(file: &File) -> Vec<Entry> {
    let entries = Reader::open(Bytes::from(file.bytes.clone()), Columns::All, &..).unwrap();
    entries.collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{}: {e}", file.place()))
}

#[test]
fn histories_of_layout_2_hold_what_apache_hudi_archived() {
    let data_tables = trees().into_iter().filter(|(_, _, files)| !files[0].path.contains("/.hoodie/metadata/"));
    for (case, manifest, files) in data_tables {
        let mut found = Vec::new();
        for listed in &manifest.files {
            let file = files.iter().find(|f| f.name() == listed.file_name).unwrap();
            assert_eq!(file.bytes.len() as u64, listed.file_len);
            let entries = read(file);
            let name = FileName::parse(file.name()).unwrap();
            assert_eq!((&entries[0].requested, &entries.last().unwrap().requested), (&name.least, &name.greatest));
            for entry in &entries {
                check_content(entry);
                found.push(row(&entry.requested, entry.completed.as_ref(), entry.action.unwrap(), "COMPLETED"));
            }
        }
        found.sort();
        // What Apache Hudi listed is the data table's history.
        let of_metadata_table = files.iter().all(|f| f.path.contains("/.hoodie/metadata/"));
        assert!(of_metadata_table || found == archived(&case), "{case}");
    }
}

fn check_content(entry: &Entry) {
    let (action, metadata) = (entry.action.unwrap(), entry.metadata.as_deref().unwrap_or_default());
    let metadata = Payload::decode(action, State::Completed, metadata).unwrap();
    assert!(metadata != Payload::Empty, "{} has no content", entry.requested);
    let Some(plan) = &entry.plan else { return assert!(action != Action::Clean) };
    match action {
        Action::Clean => drop(CleanerPlan::decode(plan).unwrap()),
        Action::Commit | Action::DeltaCommit => drop(CompactionPlan::decode(plan).unwrap()),
        // A plan of clustering, or the profile of an overwrite.
        Action::ReplaceCommit => assert!(
            RequestedReplaceMetadata::decode(plan).is_ok() || CommitMetadata::decode(plan).is_ok(),
            "{}",
            entry.requested
        ),
        other => panic!("a plan of {other}"),
    }
}

#[test]
fn manifests_and_rows_of_layout_2_are_written_as_they_were() {
    for (_, _, files) in trees() {
        for file in files {
            if file.name().starts_with("manifest_") {
                assert_eq!(Manifest::decode(&file.bytes).unwrap().encode(), file.bytes, "{}", file.place());
            } else if let Some(name) = FileName::parse(file.name()) {
                assert_eq!(name.to_string(), file.name());
                let entries = read(&file);
                let again = File { bytes: history::write(&entries).unwrap(), ..file };
                assert_eq!(read(&again), entries, "{}", again.place());
            }
        }
    }
}

#[test]
fn archives_of_layout_1_hold_what_apache_hudi_archived() {
    let files = golden_files(|path| path.contains("/archived/.commits_.archive."));
    let mut cases: Vec<_> = files.iter().map(|f| f.case.clone()).collect();
    cases.dedup();
    assert!(!cases.is_empty(), "no archive among the golden tables");
    // One for all, though releases have schemas of their own.
    let mut archives = archive::Archives::default();
    for case in cases {
        let of_case = files.iter().filter(|f| f.case == case);
        let states: Vec<_> =
            of_case.flat_map(|f| archives.decode(&f.bytes).unwrap_or_else(|e| panic!("{}: {e}", f.place()))).collect();
        let state = |s: &archive::ArchivedState| {
            // Apache Hudi keeps when the other states were reached, and does not tell.
            let completed = s.reached.as_ref().filter(|_| s.state == State::Completed);
            row(&s.requested, completed, s.action, &s.state.name().to_uppercase())
        };
        let mut found: Vec<_> = states.iter().map(state).collect();
        let mut expected = archived(&case);
        found.sort();
        expected.sort();
        assert!(found == expected, "{case}");

        let entries = archive::entries(states);
        assert_eq!(entries.len(), expected.iter().filter(|[.., state]| state == "COMPLETED").count());
        entries.iter().for_each(check_content);
        assert!(entries.iter().any(|e| e.action == Some(Action::Clean)));
        assert!(entries.is_sorted_by(|a, b| a.requested < b.requested));
    }
}
