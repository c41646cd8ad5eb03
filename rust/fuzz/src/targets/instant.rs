//! Names of timeline files, and instants as numbers; one a line.

use hudini_format::instant::{Action, InstantFile, State, TIME_DIGITS, format_time, parse_time};

use super::{Target, decode, lines, nothing_to_mend};

pub(super) const TARGET: Target = Target {
    name: "instant",
    run,
    words: &[
        b".commit",
        b".deltacommit",
        b".replacecommit",
        b".clustering",
        b".compaction",
        b".logcompaction",
        b".clean",
        b".rollback",
        b".restore",
        b".savepoint",
        b".indexing",
        b".requested",
        b".inflight",
        b"20260307162459000",
        b"_",
        b"00010101000000000",
        b"99991231235959999",
    ],
    mend: nothing_to_mend,
};

/// The first millisecond of the year 10000; later ones have more digits than an instant.
const END_OF_TIMES: i64 = 253_402_300_800_000;

fn run(bytes: &[u8]) {
    for line in lines(bytes) {
        if let Some(Some(file)) = decode(line.as_bytes(), |_| Ok(InstantFile::parse(line))) {
            check_file(&file, line);
        }
        if let Some(millis) = decode(line.as_bytes(), |_| parse_time(line, 0)) {
            let shown = format_time(millis, 0);
            assert_eq!(parse_time(&shown, 0).ok(), Some(millis), "{line:?} is {shown}");
        }
        if let Ok(number) = line.parse::<i64>() {
            let millis = number.rem_euclid(END_OF_TIMES);
            let shown = format_time(millis, 0);
            assert_eq!((shown.len(), parse_time(&shown, 0).ok()), (TIME_DIGITS, Some(millis)), "{shown}");
        }
    }
}

fn check_file(file: &InstantFile, line: &str) {
    let again = match (file.state, &file.completed) {
        (State::Requested, None) => InstantFile::requested(&file.requested, file.action),
        (State::Inflight, None) => InstantFile::inflight(&file.requested, file.action),
        // A completed name of an action that completes under another name is printed under that one.
        (State::Completed, Some(completed)) if file.action.completes_as() == file.action => {
            InstantFile::completed(&file.requested, completed, file.action)
        }
        _ => return,
    };
    let expected = if line.ends_with(".commit.inflight") { again.clone() } else { line.to_owned() };
    assert_eq!(again, expected);
    assert_eq!(InstantFile::parse(&again).as_ref(), Some(file), "{line:?}");
    assert_eq!(Action::parse(file.action.name()), Some(file.action));
}
