//! Time zones by the names that Java knows: where Apache Hudi says Java, its answers count, not those of the name.
//!
//! An unknown name is GMT there, `EST` has daylight saving time, and `UTC+8` is GMT because only `GMT+8` is a custom zone.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use crate::{Error, Result};

const MILLIS_PER_SECOND: i64 = 1000;
const SECONDS_PER_DAY: i64 = 86_400;
/// Days after which the Gregorian calendar repeats, weekdays included.
const CALENDAR_CYCLE: i64 = 146_097;
/// The rules of a zone are known for the years 0 to 9999 or so; times outside take those of their place in the cycle.
const KNOWN_SECONDS: std::ops::Range<i64> = -62_135_596_800..253_402_000_000;

/// Old short names, which mean the zone of a place.
const SHORT_NAMES: [(&str, &str); 29] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "CET"),
    ("EST", "America/New_York"),
    ("HST", "Pacific/Honolulu"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("MST", "America/Denver"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
    // Newer rules make it Lisbon, which was an hour ahead for some years.
    ("WET", "Atlantic/Faroe"),
];

/// A time zone, its rules included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Zone(TimeZone);

pub(super) static UTC: Zone = Zone(TimeZone::UTC);

impl Zone {
    /// As `java.util.TimeZone.getTimeZone` and Joda's conversion of it read a name.
    pub(super) fn named(name: &str) -> Self {
        let place = SHORT_NAMES.iter().find(|(short, _)| *short == name).map_or(name, |(_, place)| place);
        let known = TimeZoneDatabase::bundled().get(place).ok();
        // Java minds the case of a name, the database does not.
        let known = known.filter(|zone| zone.iana_name() == Some(place));
        known.or_else(|| custom_seconds(name).and_then(fixed)).map_or_else(|| UTC.clone(), Self)
    }

    /// What the clocks of the zone are ahead of UTC at a time, in milliseconds.
    pub(super) fn offset_at(&self, utc_ms: i64) -> i64 {
        let seconds = into_known_years(utc_ms.div_euclid(MILLIS_PER_SECOND));
        let Ok(time) = Timestamp::from_second(seconds) else { return 0 };
        millis(self.0.to_offset(time))
    }

    /// The UTC time at which the clocks show this one: the earlier of two; none where they skip it.
    pub(super) fn to_utc(&self, local_ms: i64) -> Result<i64> {
        let seconds = local_ms.div_euclid(MILLIS_PER_SECOND);
        let skipped = || Error::schema("a local time that the clocks of its zone skip");
        let local = Timestamp::from_second(into_known_years(seconds)).map(|time| Offset::UTC.to_datetime(time));
        let local: DateTime = local.map_err(|_| Error::internal("a time outside of all years"))?;
        match self.0.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => Ok(local_ms.saturating_sub(millis(offset))),
            AmbiguousOffset::Fold { before, .. } => Ok(local_ms.saturating_sub(millis(before))),
            AmbiguousOffset::Gap { .. } => Err(skipped()),
        }
    }
}

fn fixed(seconds: i32) -> Option<TimeZone> {
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

fn millis(offset: Offset) -> i64 {
    i64::from(offset.seconds()) * MILLIS_PER_SECOND
}

fn into_known_years(seconds: i64) -> i64 {
    if KNOWN_SECONDS.contains(&seconds) {
        return seconds;
    }
    const CYCLE: i64 = CALENDAR_CYCLE * SECONDS_PER_DAY;
    // Early times keep to the first known years, late ones follow the rules that are in force last.
    if seconds < KNOWN_SECONDS.start { KNOWN_SECONDS.start } else { seconds.rem_euclid(CYCLE) + CYCLE }
}

/// `GMT+h`, `GMT+hh`, `GMT+hmm`, `GMT+hhmm`, `GMT+h:mm`, `GMT+hh:mm`, and the same with a minus.
fn custom_seconds(name: &str) -> Option<i32> {
    let rest = name.strip_prefix("GMT")?;
    let (sign, digits) = rest.strip_prefix('+').map(|d| (1, d)).or_else(|| rest.strip_prefix('-').map(|d| (-1, d)))?;
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() <= 2 => (digits, "0"),
        None => digits.split_at_checked(digits.len() - 2)?,
    };
    let plain = |text: &str| !text.is_empty() && text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    if !plain(hours) || !plain(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}
