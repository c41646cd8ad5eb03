//! The schedule of faults, and what one simulated process shares: count, log, locks, and whether it lives.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::storage::LockGuard;
use crate::{Error, Result};

/// What goes wrong at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An error; nothing was done.
    Fail,
    /// An error, though all was done.
    FailAfter,
    /// An error; a write was done in part and shows nothing but leftovers.
    Torn,
    /// A read that ends too soon.
    Short,
    /// The process dies before the call.
    Kill,
}

/// Which call meets which fault. Calls count from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultPlan(BTreeMap<u64, Fault>);

impl FaultPlan {
    /// No faults.
    pub fn none() -> Self {
        Self::default()
    }

    /// With a fault at call `n`.
    #[must_use]
    pub fn at(mut self, n: u64, fault: Fault) -> Self {
        self.0.insert(n, fault);
        self
    }
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub n: u64,
    /// The method's name.
    pub op: &'static str,
    pub path: String,
}

#[derive(Debug)]
pub(super) struct State {
    plan: FaultPlan,
    process: Mutex<Process>,
}

#[derive(Debug, Default)]
struct Process {
    log: Vec<Call>,
    locks: BTreeMap<u64, Box<dyn LockGuard>>,
    last_lock: u64,
    dead: bool,
}

impl State {
    pub(super) fn new(plan: FaultPlan) -> Self {
        Self { plan, process: Mutex::default() }
    }

    pub(super) fn calls(&self) -> u64 {
        self.process().log.len() as u64
    }

    pub(super) fn log(&self) -> Vec<Call> {
        self.process().log.clone()
    }

    pub(super) fn is_dead(&self) -> bool {
        self.process().dead
    }

    /// Counts a call. `Fail` and `Kill` end it here; other faults are for the call to act on.
    pub(super) fn enter(&self, op: &'static str, path: &str) -> Result<Option<Fault>> {
        let mut process = self.process();
        if process.dead {
            return Err(injected(Fault::Kill, op, path));
        }
        let n = process.log.len() as u64 + 1;
        process.log.push(Call { n, op, path: path.to_owned() });
        match self.plan.0.get(&n) {
            Some(Fault::Fail) => Err(injected(Fault::Fail, op, path)),
            Some(Fault::Kill) => {
                process.dead = true;
                process.locks.clear();
                Err(injected(Fault::Kill, op, path))
            }
            fault => Ok(fault.copied()),
        }
    }

    /// Keeps a guard for as long as the process lives and nobody releases it.
    pub(super) fn keep(&self, guard: Box<dyn LockGuard>) -> Result<u64> {
        let mut process = self.process();
        if process.dead {
            return Err(Error::storage("injected: the process was killed while it took a lock"));
        }
        process.last_lock += 1;
        let id = process.last_lock;
        process.locks.insert(id, guard);
        Ok(id)
    }

    pub(super) fn still_held(&self, id: u64) -> Result<bool> {
        self.process().locks.get(&id).map_or(Ok(false), |guard| guard.still_held())
    }

    pub(super) fn release(&self, id: u64) {
        self.process().locks.remove(&id);
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries on after `enter`: as asked, or done and then lost, or not at all.
pub(super) fn go<R>(fault: Option<Fault>, op: &str, path: &str, apply: impl FnOnce() -> Result<R>) -> Result<R> {
    match fault {
        None => apply(),
        Some(fault) => {
            if fault == Fault::FailAfter {
                apply()?;
            }
            Err(injected(fault, op, path))
        }
    }
}

pub(super) fn injected(fault: Fault, op: &str, path: &str) -> Error {
    let what = match fault {
        Fault::Fail | Fault::Short => "failed",
        Fault::FailAfter => "timed out",
        Fault::Torn => "broke off",
        Fault::Kill => "came from a process that was killed",
    };
    Error::storage(format!("injected: {op} {what}")).at_path(path)
}
