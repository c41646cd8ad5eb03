//! `java.util.Date.toString` in UTC, the second line of every properties file.

use crate::instant::civil_from_days;

const SECONDS_PER_DAY: i64 = 86_400;
/// 1 January 1970 was a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Prints epoch milliseconds like `Sat Mar 07 16:24:59 UTC 2026`.
pub fn java_date(epoch_ms: i64) -> String {
    let seconds = epoch_ms.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = civil_from_days(days);
    let weekday = name(&WEEKDAYS, days.rem_euclid(7));
    let month = name(&MONTHS, month - 1);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
}

fn name(names: &[&'static str], index: i64) -> &'static str {
    usize::try_from(index).ok().and_then(|i| names.get(i)).copied().unwrap_or_default()
}
