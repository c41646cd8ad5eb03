//! Dates taken apart: years, ISO weeks, days.

use crate::instant::days_from_civil;

pub(super) const MILLIS_PER_DAY: i64 = 86_400_000;

/// A local time. Months and days count from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    /// Of the day.
    pub(super) millis: i64,
    /// Since the epoch.
    pub(super) days: i64,
}

impl Civil {
    pub(super) fn hour(&self) -> i64 {
        self.millis / 3_600_000
    }

    /// From 0, a Monday, to 6.
    pub(super) fn weekday(&self) -> i64 {
        weekday(self.days)
    }

    /// From one.
    pub(super) fn day_of_year(&self) -> i64 {
        self.days - days_from_civil(self.year, 1, 1) + 1
    }

    /// Year and number of the ISO week: that of its Thursday.
    pub(super) fn week(&self) -> (i64, i64) {
        let monday = self.days - self.weekday();
        let year = [self.year + 1, self.year].into_iter().find(|y| first_week(*y) <= monday).unwrap_or(self.year - 1);
        (year, (monday - first_week(year)) / 7 + 1)
    }
}

/// The epoch was a Thursday.
fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7)
}

/// The Monday of a year's first ISO week: the one with the fourth of January.
pub(super) fn first_week(year: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - weekday(fourth)
}

pub(super) fn days_of_month(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_civil(next_year, next_month, 1) - days_from_civil(year, month, 1)
}
