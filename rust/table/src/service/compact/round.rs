//! Compactions one after the other: what waits, then what is planned anew. An engine runs the tasks of each.

use super::action::{Compaction, OPERATION, When, Which, schedule};
use super::task::{CompactionStatus, CompactionTask};
use crate::Result;
use crate::context::Watch;
use crate::context::pool::run_all;
use crate::options::{self, Options};
use crate::table::Table;
use crate::write::CommitResult;

/// Each task is run once here, so that the names of files do not depend on chance.
const ONLY_ATTEMPT: u32 = 0;

/// What a caller wants compacted.
#[derive(Debug, Clone)]
pub struct CompactRequest {
    /// Plan all slices with logs.
    pub schedule: bool,
    /// Do what is planned, whoever planned it.
    pub execute: bool,
    /// A condition on partition columns: only such partitions are planned.
    pub filter: Option<String>,
    pub options: Options,
    /// Who may end a compaction before it commits.
    pub watch: Watch,
}

impl Default for CompactRequest {
    fn default() -> Self {
        Self { schedule: true, execute: true, filter: None, options: Options::default(), watch: Watch::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    Waiting,
    Planning,
    Planned(String),
    Over,
}

/// The compactions that a request, or the options of a write, ask for.
#[derive(Debug)]
pub struct Round {
    table: Table,
    options: Options,
    plan: Option<When>,
    execute: bool,
    /// Of plans that wait, which are taken up.
    waiting: Which<'static>,
    stage: Stage,
    scheduled: Option<String>,
}

impl Round {
    pub fn new(table: &Table, request: CompactRequest) -> Self {
        let plan = request.schedule.then_some(When::Now(request.filter));
        Self::of(table, request.options, plan, request.execute, Which::Oldest)
    }

    /// What follows a delta commit with these options.
    pub fn after_write(table: &Table, given: &Options) -> Result<Self> {
        let options = given.clone().with(&table.options);
        let serves = options.get_or_default(&options::TABLE_SERVICES)?;
        let execute = serves && options.get_or_default(&options::COMPACT_INLINE)?;
        let schedule = serves && options.get_or_default(&options::COMPACT_SCHEDULE_INLINE)?;
        let plan = (execute || schedule).then_some(When::Due { alone: !execute });
        let plan = plan.filter(|_| table.config().is_ok_and(|config| config.is_mor()));
        Ok(Self::of(table, options, plan.clone(), execute && plan.is_some(), Which::LeavingYoung))
    }

    fn of(table: &Table, options: Options, plan: Option<When>, execute: bool, waiting: Which<'static>) -> Self {
        let options = options.with(&table.options);
        let stage = if execute { Stage::Waiting } else { Stage::Planning };
        Self { table: table.clone(), options, plan, execute, waiting, stage, scheduled: None }
    }

    /// What was planned here.
    pub fn scheduled(&self) -> Option<&str> {
        self.scheduled.as_deref()
    }

    /// The next compaction to run; commit it, or give up, before the next call.
    pub fn begin_next(&mut self) -> Result<Option<Compaction>> {
        loop {
            let instant = match &self.stage {
                Stage::Over => return Ok(None),
                Stage::Planning => {
                    self.plan()?;
                    continue;
                }
                Stage::Waiting => None,
                Stage::Planned(instant) => Some(instant.clone()),
            };
            let which = instant.as_deref().map_or(self.waiting, Which::Planned);
            let taken = Compaction::begin(&self.table, &self.options, which)?;
            if instant.is_some() {
                self.stage = Stage::Over;
            } else if taken.is_none() {
                self.stage = Stage::Planning;
            }
            if taken.is_some() {
                return Ok(taken);
            }
        }
    }

    fn plan(&mut self) -> Result<()> {
        self.scheduled = match &self.plan {
            Some(when) => schedule(&self.table, &self.options, when)?,
            None => None,
        };
        self.stage = match &self.scheduled {
            Some(instant) if self.execute => Stage::Planned(instant.clone()),
            _ => Stage::Over,
        };
        Ok(())
    }

    /// Runs all of it with this process's threads.
    pub fn run(mut self, watch: &Watch) -> Result<CommitResult> {
        let mut result = CommitResult { operation: OPERATION, ..CommitResult::default() };
        while let Some(compaction) = self.begin_next()? {
            let done = match run_tasks(&self.table.watched(watch), &compaction) {
                Ok(statuses) => compaction.commit(statuses)?,
                Err(e) => return Err(compaction.tasks_failed(e)),
            };
            result = result.and(done);
        }
        Ok(self.finish(result))
    }

    /// A plan that was made and not run is named by its instant.
    pub fn finish(&self, result: CommitResult) -> CommitResult {
        match &self.scheduled {
            Some(scheduled) if result.instant.is_none() => {
                CommitResult { instant: Some(scheduled.clone()), action: Some("compaction"), ..result }
            }
            _ => result,
        }
    }
}

fn run_tasks(table: &Table, compaction: &Compaction) -> Result<Vec<CompactionStatus>> {
    let tasks: Vec<&CompactionTask> = compaction.tasks().iter().collect();
    let at_once = table.context.threads.min(tasks.len());
    run_all(table.context.threads, tasks, |_, task: &CompactionTask| {
        task.run_on(&table.storage, &table.context, ONLY_ATTEMPT, at_once)
    })
}

/// Compacts with this process's threads. Of several compactions the counts are sums, the instant is the last one's.
pub fn compact(table: &Table, request: CompactRequest) -> Result<CommitResult> {
    let watch = request.watch.clone();
    Round::new(table, request).run(&watch)
}
