//! New times: later than everything the timeline shows.

use hudini_format::instant::{format_time, parse_time};

use super::Timeline;
use crate::config::TableConfig;
use crate::context::Context;
use crate::{Error, ErrorKind, Result};

/// How far the newest instant may lie ahead of this machine's clock. Beyond it, an instant of ours that had to follow
/// would push the table's time further and further from the real one.
const MAX_AHEAD_MS: i64 = 60_000;

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
    if newest_ms - now > MAX_AHEAD_MS {
        return Err(Error::new(
            ErrorKind::CommitConflict,
            format!("the table's newest instant lies {} s ahead of this machine's clock", (newest_ms - now) / 1000),
        )
        .at_instant(newest)
        .with_hint("set the clock right, or wait until it has passed that time"));
    }
    let next = newest_ms + 1;
    Ok(format_time(next, offset_at(now)))
}
