//! What a clean keeps.

use hudini_format::instant::format_time;

use crate::Result;
use crate::config::TableConfig;
use crate::context::Context;
use crate::options::{self, CleanPolicy, Options};
use crate::timeline::{Instant, Timeline};

const MS_PER_HOUR: i64 = 3_600_000;

/// A policy with its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) kind: CleanPolicy,
    pub(crate) retain: u32,
}

impl Policy {
    /// What is given counts; the rest comes from the options.
    pub(crate) fn of(options: &Options, kind: Option<CleanPolicy>, retain: Option<u32>) -> Result<Self> {
        let kind = kind.map_or_else(|| options.get_or_default(&options::CLEAN_POLICY), Ok)?;
        let option = match kind {
            CleanPolicy::Commits => &options::CLEAN_COMMITS,
            CleanPolicy::Hours => &options::CLEAN_HOURS,
            CleanPolicy::Versions => &options::CLEAN_VERSIONS,
        };
        let retain = match retain {
            Some(given) => option.read(&given.to_string())?,
            None => options.get_or_default(option)?,
        };
        Ok(Self { kind, retain })
    }

    /// The earliest commit whose state is kept; `None`: all of them are, or the policy counts no commits.
    ///
    /// Never so late that a slice could go which a write under way builds upon: it saw what had completed when it began.
    pub(crate) fn retained<'t>(
        self,
        context: &Context,
        config: &TableConfig,
        timeline: &'t Timeline,
    ) -> Option<&'t Instant> {
        let commits: Vec<&Instant> = timeline.commits().collect();
        let wanted = match self.kind {
            CleanPolicy::Versions => None,
            CleanPolicy::Commits => {
                let retain = usize::try_from(self.retain).unwrap_or(usize::MAX);
                // With no more commits than are kept, the oldest state may be the only one that is whole.
                commits.len().checked_sub(retain).filter(|first| *first > 0).and_then(|first| commits.get(first))
            }
            CleanPolicy::Hours => {
                let now = context.clock.now_ms();
                let offset = if config.utc() { 0 } else { context.clock.local_offset_ms(now) };
                let since = format_time(now - i64::from(self.retain) * MS_PER_HOUR, offset);
                commits.iter().find(|commit| commit.requested >= since)
            }
        }?;
        match timeline.unsettled_since() {
            Some(since) if wanted.requested.as_str() > since => {
                commits.iter().rev().find(|commit| commit.requested.as_str() < since).copied()
            }
            _ => Some(wanted),
        }
    }
}
