//! New times: later than everything the timeline shows.

use hudini_format::instant::{format_time, parse_time};

use super::Timeline;
use crate::config::TableConfig;
use crate::context::Context;
use crate::{Error, ErrorKind, Result};

/// How far the newest instant may lie ahead of this machine's clock. Beyond it, an instant of ours that had to follow
/// would push the table's time further and further from the real one.
const MAX_AHEAD_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

/// A requested time, greater than all times of the timeline. Callers hold the table's lock.
pub fn new_time(context: &Context, config: &TableConfig, timeline: &Timeline) -> Result<String> {
    time_after(context, config, timeline.newest_time())
}

/// A completion time, greater than all times of the timeline and than the action's own request.
pub fn completion_time(
    context: &Context,
    config: &TableConfig,
    timeline: &Timeline,
    requested: &str,
) -> Result<String> {
    time_after(context, config, timeline.newest_time().max(Some(requested)))
}

/// A time greater than all of those.
pub(crate) fn time_after(context: &Context, config: &TableConfig, newest: Option<&str>) -> Result<String> {
    let offset_at = |ms: i64| if config.utc() { 0 } else { context.clock.local_offset_ms(ms) };
    let now = context.clock.now_ms();
    let time = format_time(now, offset_at(now));
    let Some(newest) = newest.filter(|newest| *newest >= time.as_str()) else { return Ok(time) };
    let newest_ms = parse_time(newest, offset_at(now))?;
    // Where the clocks were set back within the hour, local times from before seem to lie ahead.
    let ahead_ms = newest_ms.min(parse_time(newest, offset_at(now - HOUR_MS))?) - now;
    if ahead_ms > MAX_AHEAD_MS {
        return Err(Error::new(
            ErrorKind::CommitConflict,
            format!("the table's newest instant lies {} s ahead of this machine's clock", ahead_ms / 1000),
        )
        .at_instant(newest)
        .with_hint("set the clock right, or wait until it has passed that time"));
    }
    let next = newest_ms + 1;
    Ok(format_time(next, offset_at(now)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::{Clock, ManualClock, SystemIds};
    use crate::storage::Storage;
    use crate::storage::memory::Memory;

    /// Clocks go back from 3 to 2 at this moment.
    const CHANGE: i64 = 1_792_890_000_000;

    #[derive(Debug)]
    struct Autumn(i64);

    impl Clock for Autumn {
        fn now_ms(&self) -> i64 {
            self.0
        }

        fn monotonic_ms(&self) -> i64 {
            self.0
        }

        fn sleep_ms(&self, _ms: u64) {}

        fn local_offset_ms(&self, epoch_ms: i64) -> i64 {
            if epoch_ms < CHANGE { 2 * HOUR_MS } else { HOUR_MS }
        }
    }

    fn time(now: i64, newest: &str) -> Result<String> {
        let context = Context { clock: Arc::new(Autumn(now)), ids: Arc::new(SystemIds), threads: 1 };
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        memory.replace(".hoodie/hoodie.properties", b"hoodie.table.name=t\nhoodie.table.version=9\n").unwrap();
        time_after(&context, &TableConfig::load(&memory).unwrap(), Some(newest))
    }

    #[test]
    fn the_hour_that_comes_twice_stops_nobody() {
        let before = format_time(CHANGE - 5_000, 2 * HOUR_MS);
        let after = time(CHANGE + 10_000, &before).unwrap();
        assert!(after > before && after[..14] == before[..14], "{after} follows {before}");
        let ahead = format_time(CHANGE + 20_000 + 2 * MAX_AHEAD_MS, 2 * HOUR_MS);
        assert_eq!(time(CHANGE + 10_000, &ahead).unwrap_err().kind(), ErrorKind::CommitConflict);
    }
}
