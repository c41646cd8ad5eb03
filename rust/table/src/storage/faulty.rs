//! A store that fails on purpose and on schedule, around any other store.
//!
//! Every call is counted, from 1: each method of [`Storage`] but `root`, each `write` and `close` of a writer, each
//! `wait` of a ticket and each `still_held` of a lock. A [`FaultPlan`] says what happens at which call; without a
//! fault a call goes through. The same calls under the same plan leave the same log and the same files.
//!
//! | fault | what the caller sees | what happened below |
//! |---|---|---|
//! | `Fail` | an error | nothing |
//! | `FailAfter` | an error | all of it: a time-out whose outcome is unknown |
//! | `Torn` | an error | a write stopped half way: nothing shows, an unfinished rest lies about; other calls: `Fail` |
//! | `Short` | an error | a read brought a byte too few; other calls: `Fail` |
//! | `Kill` | errors, from here on | nothing more: unfinished writes stay as they are, locks are free |

mod state;

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

pub use state::{Call, Fault, FaultPlan};
use state::{State, go, injected};

use super::{Entry, LockGuard, Meta, Put, Storage, Ticket, Writer, complete};
use crate::{Error, Result};

/// A store around another one, with faults. Clones share the count and the plan: together they are one process.
#[derive(Debug, Clone)]
pub struct Faulty {
    inner: Arc<dyn Storage>,
    state: Arc<State>,
}

impl Faulty {
    pub fn new(inner: Arc<dyn Storage>, plan: FaultPlan) -> Self {
        Self { inner, state: Arc::new(State::new(plan)) }
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.state.calls()
    }

    /// Every call so far, in order. A dead process makes none: calls after a `Kill` are not counted.
    pub fn log(&self) -> Vec<Call> {
        self.state.log()
    }

    /// Whether a `Kill` has happened.
    pub fn is_dead(&self) -> bool {
        self.state.is_dead()
    }

    fn call<R>(&self, op: &'static str, path: &str, apply: impl FnOnce() -> Result<R>) -> Result<R> {
        go(self.state.enter(op, path)?, op, path, apply)
    }

    /// A call that writes a whole file and can stop half way.
    fn put<R>(&self, op: &'static str, path: &str, bytes: &[u8], apply: impl FnOnce() -> Result<R>) -> Result<R> {
        let fault = self.state.enter(op, path)?;
        if fault == Some(Fault::Torn) {
            let mut rest = self.inner.writer(path)?;
            rest.write(half(bytes))?;
            leave_behind(rest);
        }
        go(fault, op, path, apply)
    }
}

/// Ends a write as the death of its process would, with nobody to clean up. Costs memory and a file handle.
fn leave_behind(writer: Box<dyn Writer>) {
    mem::forget(writer);
}

fn half(bytes: &[u8]) -> &[u8] {
    bytes.split_at(bytes.len() / 2).0
}

/// A read that ended a byte too soon, put to the check that all stores use.
fn one_short(mut bytes: Bytes, offset: u64) -> Result<()> {
    let wanted = bytes.len();
    bytes.truncate(wanted.saturating_sub(1));
    complete(bytes, wanted as u64, offset).map(drop)
}

impl Storage for Faulty {
    fn root(&self) -> &str {
        self.inner.root()
    }

    fn head(&self, path: &str) -> Result<Option<Meta>> {
        self.call("head", path, || self.inner.head(path))
    }

    fn read(&self, path: &str) -> Result<Option<Bytes>> {
        let fault = self.state.enter("read", path)?;
        if fault == Some(Fault::Short) {
            let bytes = self.inner.read(path)?.unwrap_or_default();
            one_short(bytes, 0).map_err(|e| e.at_path(path))?;
        }
        go(fault, "read", path, || self.inner.read(path))
    }

    fn submit(&self, path: &str, ranges: Vec<Range<u64>>) -> Box<dyn Ticket> {
        let last = ranges.last().map_or(0, |range| range.start);
        let inner = self.call("submit", path, || Ok(self.inner.submit(path, ranges)));
        Box::new(FaultyTicket { inner, last, path: path.to_owned(), state: Arc::clone(&self.state) })
    }

    fn list(&self, dir: &str) -> Result<Vec<Entry>> {
        self.call("list", dir, || self.inner.list(dir))
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<Put> {
        self.put("create", path, bytes, || self.inner.create(path, bytes))
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<Meta> {
        self.put("replace", path, bytes, || self.inner.replace(path, bytes))
    }

    fn put_if_match(&self, path: &str, bytes: &[u8], etag: &str) -> Result<Put> {
        self.put("put_if_match", path, bytes, || self.inner.put_if_match(path, bytes, etag))
    }

    fn delete(&self, path: &str) -> Result<bool> {
        self.call("delete", path, || self.inner.delete(path))
    }

    fn make_dir(&self, dir: &str) -> Result<()> {
        self.call("make_dir", dir, || self.inner.make_dir(dir))
    }

    fn delete_dir(&self, dir: &str) -> Result<()> {
        self.call("delete_dir", dir, || self.inner.delete_dir(dir))
    }

    fn writer(&self, path: &str) -> Result<Box<dyn Writer>> {
        let fault = self.state.enter("writer", path)?;
        if fault == Some(Fault::FailAfter) {
            // Begun, and nobody has the handle to end it.
            leave_behind(self.inner.writer(path)?);
            return Err(injected(Fault::FailAfter, "writer", path));
        }
        let inner = go(fault, "writer", path, || self.inner.writer(path))?;
        Ok(Box::new(FaultyWriter { inner: Some(inner), path: path.to_owned(), state: Arc::clone(&self.state) }))
    }

    fn discard_unfinished(&self, path: &str) -> Result<()> {
        self.call("discard_unfinished", path, || self.inner.discard_unfinished(path))
    }

    fn try_lock(&self, path: &str) -> Result<Option<Box<dyn LockGuard>>> {
        let take = || self.inner.try_lock(path)?.map(|guard| self.state.keep(guard)).transpose();
        let Some(id) = self.call("try_lock", path, take)? else { return Ok(None) };
        Ok(Some(Box::new(FaultyGuard { id, path: path.to_owned(), state: Arc::clone(&self.state) })))
    }
}

#[derive(Debug)]
struct FaultyTicket {
    inner: Result<Box<dyn Ticket>>,
    /// Where the last part begins.
    last: u64,
    path: String,
    state: Arc<State>,
}

impl Ticket for FaultyTicket {
    fn wait(self: Box<Self>) -> Result<Vec<Bytes>> {
        let Self { inner, last, path, state } = *self;
        let inner = inner?;
        let fault = state.enter("wait", &path)?;
        if fault == Some(Fault::Short) {
            let part = inner.wait()?.pop().unwrap_or_default();
            one_short(part, last).map_err(|e| e.at_path(&path))?;
            return Err(injected(Fault::Short, "wait", &path));
        }
        go(fault, "wait", &path, || inner.wait())
    }
}

#[derive(Debug)]
struct FaultyWriter {
    /// None once it failed.
    inner: Option<Box<dyn Writer>>,
    path: String,
    state: Arc<State>,
}

impl FaultyWriter {
    fn write_under(&mut self, fault: Option<Fault>, bytes: &[u8]) -> Result<()> {
        let Some(inner) = &mut self.inner else { return Err(failed_before(&self.path)) };
        if fault == Some(Fault::Torn) {
            inner.write(half(bytes))?;
            self.inner.take().into_iter().for_each(leave_behind);
            return Err(injected(Fault::Torn, "write", &self.path));
        }
        go(fault, "write", &self.path, || inner.write(bytes))
    }
}

impl Writer for FaultyWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let fault = self.state.enter("write", &self.path);
        let result = fault.and_then(|fault| self.write_under(fault, bytes));
        if result.is_err() {
            end(self.inner.take(), &self.state);
        }
        result
    }

    fn close(mut self: Box<Self>) -> Result<Put> {
        let fault = self.state.enter("close", &self.path)?;
        let inner = self.inner.take().ok_or_else(|| failed_before(&self.path))?;
        if fault == Some(Fault::Torn) {
            leave_behind(inner);
            return Err(injected(Fault::Torn, "close", &self.path));
        }
        go(fault, "close", &self.path, || inner.close())
    }
}

impl Drop for FaultyWriter {
    fn drop(&mut self) {
        end(self.inner.take(), &self.state);
    }
}

/// Ends a write that will not be closed: a living process cleans up, a dead one can't.
fn end(writer: Option<Box<dyn Writer>>, state: &State) {
    if let Some(writer) = writer
        && state.is_dead()
    {
        leave_behind(writer);
    }
}

fn failed_before(path: &str) -> Error {
    Error::storage("a write to the file failed before").at_path(path)
}

/// The real guard is kept by the state, so that a `Kill` can release it while this one is still in somebody's hands.
#[derive(Debug)]
struct FaultyGuard {
    id: u64,
    path: String,
    state: Arc<State>,
}

impl LockGuard for FaultyGuard {
    fn still_held(&self) -> Result<bool> {
        go(self.state.enter("still_held", &self.path)?, "still_held", &self.path, || self.state.still_held(self.id))
    }
}

impl Drop for FaultyGuard {
    fn drop(&mut self) {
        self.state.release(self.id);
    }
}
