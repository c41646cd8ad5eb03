//! Instants: the times, actions and states that the names of timeline files spell.
//!
//! A time is 17 digits, `yyyyMMddHHmmssSSS`; times compare as strings. Since layout 2 (table versions 8 and 9) a completed
//! file carries two of them, `<requested>_<completed>.<action>`; creating that file is the commit.
//!
//! ```text
//!              requested               inflight               completed, layout 1   completed, layout 2
//! commit       T.commit.requested      T.inflight             T.commit              T_C.commit
//! compaction   T.compaction.requested  T.compaction.inflight  T.commit              T_C.commit
//! clustering   T.clustering.requested  T.clustering.inflight  T.replacecommit       T_C.replacecommit
//! others (a)   T.a.requested           T.a.inflight           T.a                   T_C.a
//! ```

use std::cmp::Ordering;
use std::fmt;

use crate::{Error, Result};

/// Digits of an instant with milliseconds.
pub const TIME_DIGITS: usize = 17;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// What a table did. Pending names and completed names differ for the three services that turn into commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Action {
    Commit,
    DeltaCommit,
    ReplaceCommit,
    Clustering,
    Compaction,
    LogCompaction,
    Clean,
    Rollback,
    Restore,
    Savepoint,
    Indexing,
    /// Kept in a folder of its own, `.hoodie/.schema`.
    SchemaCommit,
}

impl Action {
    pub const ALL: [Self; 12] = [
        Self::Commit,
        Self::DeltaCommit,
        Self::ReplaceCommit,
        Self::Clustering,
        Self::Compaction,
        Self::LogCompaction,
        Self::Clean,
        Self::Rollback,
        Self::Restore,
        Self::Savepoint,
        Self::Indexing,
        Self::SchemaCommit,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::DeltaCommit => "deltacommit",
            Self::ReplaceCommit => "replacecommit",
            Self::Clustering => "clustering",
            Self::Compaction => "compaction",
            Self::LogCompaction => "logcompaction",
            Self::Clean => "clean",
            Self::Rollback => "rollback",
            Self::Restore => "restore",
            Self::Savepoint => "savepoint",
            Self::Indexing => "indexing",
            Self::SchemaCommit => "schemacommit",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.name() == name)
    }

    /// The action under which this one completes: compaction → commit, log compaction → deltacommit, clustering → replacecommit.
    pub fn completes_as(self) -> Self {
        match self {
            Self::Compaction => Self::Commit,
            Self::LogCompaction => Self::DeltaCommit,
            Self::Clustering => Self::ReplaceCommit,
            other => other,
        }
    }

    /// Whether completing it adds or replaces data files.
    pub fn writes_data(self) -> bool {
        matches!(self.completes_as(), Self::Commit | Self::DeltaCommit | Self::ReplaceCommit)
    }

    /// Whether it takes away files that states of the table need.
    pub fn deletes_files(self) -> bool {
        matches!(self, Self::Clean | Self::Rollback | Self::Restore)
    }

    /// Whether it is a plan that others wait for, and that an ordinary writer must never roll back.
    pub fn is_service_plan(self) -> bool {
        matches!(self, Self::Compaction | Self::LogCompaction | Self::Clustering)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far an action has come. The order is the order of life: the highest state present wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    Requested,
    Inflight,
    Completed,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Inflight => "inflight",
            Self::Completed => "completed",
        }
    }
}

/// The layout of the timeline folder: 1 for table versions up to 7, 2 from 8 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    One,
    Two,
}

/// One file of the active timeline, parsed from its name. Files sort as instants do: by requested time, the action that
/// it completes as, and state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstantFile {
    pub requested: String,
    /// Only completed files of layout 2 have one in the name; without it, in a folder of layout 2, such a file is of
    /// layout 1 still, and its content too.
    pub completed: Option<String>,
    pub action: Action,
    pub state: State,
}

impl InstantFile {
    /// Parses a file name of the timeline folder; `None` for what Apache Hudi does not list there (temporary files,
    /// folders, unknown actions, states that an action does not have under its name).
    pub fn parse(name: &str) -> Option<Self> {
        let (times, rest) = name.split_once('.')?;
        let (requested, completed) = match times.split_once('_') {
            Some((t, c)) => (t, Some(c)),
            None => (times, None),
        };
        if !is_digits(requested) || !completed.is_none_or(is_digits) {
            return None;
        }
        let (action, state) = match rest.split_once('.') {
            None if rest == "inflight" => (Action::Commit, State::Inflight),
            None => (Action::parse(rest).filter(|a| a.completes_as() == *a)?, State::Completed),
            Some((action, "requested")) => {
                (Action::parse(action).filter(|a| *a != Action::Savepoint)?, State::Requested)
            }
            Some((action, "inflight")) => (Action::parse(action).filter(|a| *a != Action::Commit)?, State::Inflight),
            Some(_) => return None,
        };
        Some(Self { requested: requested.to_owned(), completed: completed.map(str::to_owned), action, state })
    }

    /// The file name; what [`parse`](Self::parse) took.
    pub fn name(&self) -> String {
        let name = match self.state {
            State::Requested => Self::requested(&self.requested, self.action),
            State::Inflight => Self::inflight(&self.requested, self.action),
            State::Completed => format!("{}.{}", self.requested, self.action.completes_as()),
        };
        match &self.completed {
            Some(completed) => name.replacen('.', &format!("_{completed}."), 1),
            None => name,
        }
    }

    pub fn requested(time: &str, action: Action) -> String {
        format!("{time}.{action}.requested")
    }

    pub fn inflight(time: &str, action: Action) -> String {
        match action {
            Action::Commit => format!("{time}.inflight"),
            _ => format!("{time}.{action}.inflight"),
        }
    }

    /// The completed file's name in layout 2.
    pub fn completed(time: &str, completed: &str, action: Action) -> String {
        format!("{time}_{completed}.{}", action.completes_as())
    }

    fn rank(&self) -> impl Ord {
        let (action, completes_as) = (self.action.name(), self.action.completes_as().name());
        (&self.requested, completes_as, self.state, action, &self.completed)
    }
}

impl Ord for InstantFile {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for InstantFile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Prints epoch milliseconds as an instant in a zone that lies `offset_ms` east of UTC.
pub fn format_time(epoch_ms: i64, offset_ms: i64) -> String {
    let local = epoch_ms + offset_ms;
    let (days, ms) = (local.div_euclid(MILLIS_PER_DAY), local.rem_euclid(MILLIS_PER_DAY));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second, milli) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}{milli:03}")
}

/// Reads an instant back as epoch milliseconds. 14-digit instants (seconds) count as the last millisecond of their
/// second, and longer ones (suffixes of version 6 metadata tables) by their first 17 digits.
pub fn parse_time(time: &str, offset_ms: i64) -> Result<i64> {
    let bad = || Error::corrupt(format!("'{time}' is not an instant (yyyyMMddHHmmssSSS)"));
    if !is_digits(time) || time.len() < 14 {
        return Err(bad());
    }
    let number = |from: usize, to: usize| -> Result<i64> {
        time.get(from..to).and_then(|digits| digits.parse().ok()).ok_or_else(bad)
    };
    let milli = if time.len() >= TIME_DIGITS { number(14, 17)? } else { 999 };
    let (month, day) = (number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(8, 10)?, number(10, 12)?, number(12, 14)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return Err(bad());
    }
    let year = number(0, 4)?;
    let first = days_from_civil(year, month, 1);
    let next_month = if month == 12 { days_from_civil(year + 1, 1, 1) } else { days_from_civil(year, month + 1, 1) };
    // A day that its month does not have is the month's last, as Java has it.
    let days = (first + day - 1).min(next_month - 1);
    Ok(days * MILLIS_PER_DAY + hour * 3_600_000 + minute * 60_000 + second * 1000 + milli - offset_ms)
}

/// Gregorian date (year, month, day) of a day number; eras of 400 years counted from 1 March 0000, so that leap days end a year.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The other way; months and days are taken as they are.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("20260307162434124.commit.requested", "20260307162434124", None, Action::Commit, State::Requested)]
    #[case("20260307162434124.inflight", "20260307162434124", None, Action::Commit, State::Inflight)]
    #[case("1.deltacommit.inflight", "1", None, Action::DeltaCommit, State::Inflight)]
    #[case("1_2.replacecommit", "1", Some("2"), Action::ReplaceCommit, State::Completed)]
    #[case("1.commit", "1", None, Action::Commit, State::Completed)]
    #[case("20150101000000.rollback", "20150101000000", None, Action::Rollback, State::Completed)]
    #[case(
        "20240101000000000001.deltacommit.requested",
        "20240101000000000001",
        None,
        Action::DeltaCommit,
        State::Requested
    )]
    #[case("00000000000000002_3.deltacommit", "00000000000000002", Some("3"), Action::DeltaCommit, State::Completed)]
    #[case("1.clustering.inflight", "1", None, Action::Clustering, State::Inflight)]
    #[case("1.compaction.requested", "1", None, Action::Compaction, State::Requested)]
    #[case("1.logcompaction.inflight", "1", None, Action::LogCompaction, State::Inflight)]
    #[case("1.savepoint.inflight", "1", None, Action::Savepoint, State::Inflight)]
    #[case("1_2.savepoint", "1", Some("2"), Action::Savepoint, State::Completed)]
    #[case("1.clean.requested", "1", None, Action::Clean, State::Requested)]
    #[case("1.restore.inflight", "1", None, Action::Restore, State::Inflight)]
    #[case("1_2.indexing", "1", Some("2"), Action::Indexing, State::Completed)]
    #[case("1_2.schemacommit", "1", Some("2"), Action::SchemaCommit, State::Completed)]
    fn names(
        #[case] name: &str,
        #[case] t: &str,
        #[case] c: Option<&str>,
        #[case] action: Action,
        #[case] state: State,
    ) {
        let file = InstantFile::parse(name).unwrap();
        assert_eq!(file.name(), name);
        assert_eq!(file, InstantFile { requested: t.to_owned(), completed: c.map(str::to_owned), action, state });
    }

    #[rstest]
    #[case("history")]
    #[case("1_2.commit.3f2a")]
    #[case("1.commit.requested.tmp")]
    #[case(".commit")]
    #[case("1_.commit")]
    #[case("1.unknown")]
    #[case("1.commit.inflight")]
    #[case("1.savepoint.requested")]
    #[case("1.compaction")]
    #[case("1_2.clustering")]
    #[case("1_2_3.commit")]
    #[case("1a.commit")]
    #[case("")]
    fn other_files_are_not_instants(#[case] name: &str) {
        assert_eq!(InstantFile::parse(name), None);
    }

    /// Times compare as text: an instant of seconds comes before all milliseconds of its second, a suffixed one after.
    #[test]
    fn instants_sort_by_time_then_what_they_complete_as_then_state() {
        let sorted = [
            "00000000000000001_20260101000000009.deltacommit",
            "20260101000000.commit",
            "20260101000000000.compaction.requested",
            "20260101000000000.inflight",
            "20260101000000000_20260101000000005.commit",
            "20260101000000000.deltacommit.requested",
            "20260101000000000001.rollback",
            "20260101000000001.commit.requested",
        ];
        let mut files: Vec<_> = sorted.iter().rev().filter_map(|name| InstantFile::parse(name)).collect();
        files.sort();
        assert_eq!(files.iter().map(InstantFile::name).collect::<Vec<_>>(), sorted);
    }

    #[test]
    fn services_complete_as_commits() {
        assert_eq!(InstantFile::completed("1", "2", Action::Compaction), "1_2.commit");
        assert_eq!(InstantFile::completed("1", "2", Action::Clustering), "1_2.replacecommit");
        assert_eq!(InstantFile::inflight("1", Action::Compaction), "1.compaction.inflight");
    }

    #[test]
    fn times() {
        assert_eq!(format_time(1_795_251_923_455, 0), "20261121090523455");
        assert_eq!(parse_time("20261121090523455", 0).unwrap(), 1_795_251_923_455);
        assert_eq!(parse_time("20261121090523", 0).unwrap(), 1_795_251_923_999);
        assert_eq!(format_time(0, 3_600_000), "19700101010000000");
        assert!(parse_time("20261321090523455", 0).is_err());
        assert!(parse_time("2026", 0).is_err());
    }

    #[rstest]
    #[case("20260231000000000", Some("20260228000000000"))]
    #[case("20240231000000000", Some("20240229000000000"))]
    #[case("20261131235959999", Some("20261130235959999"))]
    #[case("99991231235959999", Some("99991231235959999"))]
    #[case("99991231235960999", None)]
    #[case("20260132000000000", None)]
    fn times_that_no_calendar_has(#[case] time: &str, #[case] shown: Option<&str>) {
        let parsed = parse_time(time, 0).ok().map(|ms| format_time(ms, 0));
        assert_eq!(parsed.as_deref(), shown);
    }

    proptest! {
        #[test]
        fn times_round_trip(ms in 0_i64..253_402_300_800_000, offset in -50_400_000_i64..50_400_000) {
            prop_assume!(ms + offset >= 0 && ms + offset < 253_402_300_800_000);
            prop_assert_eq!(parse_time(&format_time(ms, offset), offset).unwrap(), ms);
        }

        #[test]
        fn any_name_parses_and_prints_back_or_not(name in "[0-9]{1,3}(_[0-9]{1,2})?\\.[a-z]{1,14}(\\.[a-z]{1,9})?|\\PC*") {
            if let Some(file) = InstantFile::parse(&name) {
                prop_assert_eq!(file.name(), name);
            }
        }

        #[test]
        fn every_name_parses_back(time in "[0-9]{1,20}", completed in "[0-9]{17}", action in 0..Action::ALL.len()) {
            let action = Action::ALL[action];
            let names = [
                InstantFile::requested(&time, action),
                InstantFile::inflight(&time, action),
                InstantFile::completed(&time, &completed, action),
            ];
            for (name, state) in names.iter().zip([State::Requested, State::Inflight, State::Completed]) {
                match InstantFile::parse(name) {
                    Some(file) => prop_assert_eq!((file.name(), file.state), (name.clone(), state)),
                    None => prop_assert_eq!((action, state), (Action::Savepoint, State::Requested)),
                }
            }
        }
    }
}
