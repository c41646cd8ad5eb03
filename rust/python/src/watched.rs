//! Long calls: Ctrl-C ends them, and who wants to know how far they are is told.
//!
//! Python runs its signal handlers on its main thread, when that thread asks for it. So the work is done on a thread of
//! its own, which ends with the call, and the caller's thread asks while it waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Duration;

use hudini_table::context::{Clock, SystemClock, Watch};
use hudini_table::{Error, Result};
use pyo3::prelude::*;

use crate::errors::to_python;
use crate::held::{Lent, with_gil};

/// How often signals are looked for and progress is told.
const TICK: Duration = Duration::from_millis(50);
/// Items that may wait for the reader of a stream.
const AHEAD: usize = 1;
/// How long an abandoned stream waits for its thread, which may want the GIL that the caller holds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who is told how far a call is: parts done, parts, rows, bytes read.
pub(crate) type Listener = Option<Py<PyAny>>;

/// Runs without the GIL, watched; translates the error. What a signal handler or the listener raises ends the work and is
/// raised here.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    listener: &Listener,
    work: impl FnOnce(&Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let done = py.detach(|| {
        thread::scope(|scope| {
            let (sender, results) = sync_channel(1);
            let watch = &watch;
            let worker = move || {
                let result = catch_unwind(AssertUnwindSafe(|| work(watch)));
                // The receiver stays until there is a result.
                drop(sender.send(result.unwrap_or_else(|_| Err(Error::internal("the work panicked")))));
            };
            let started = thread::Builder::new().name("hudini-work".to_owned()).spawn_scoped(scope, worker);
            let thread = started.map_err(|e| to_python(Error::internal("no thread for the work").caused_by(e)))?;
            let done = waited_for(&results, watch, listener);
            // The end of a scope waits for the work, and not for the thread to be gone. Panics are results here.
            drop(thread.join());
            done
        })
    })?;
    tell(py, listener.as_ref(), &watch)?;
    done.map_err(to_python)
}

fn waited_for<T>(results: &Receiver<Result<T>>, watch: &Watch, listener: &Listener) -> PyResult<Result<T>> {
    let mut raised = None;
    loop {
        match results.recv_timeout(TICK) {
            Ok(result) => return raised.map_or(Ok(result), Err),
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(Error::internal("the work went away"))),
            Err(RecvTimeoutError::Timeout) if raised.is_some() => {}
            Err(RecvTimeoutError::Timeout) => {
                if let Err(error) = Python::attach(|py| tick(py, listener.as_ref(), watch)) {
                    watch.cancel();
                    raised = Some(error);
                }
            }
        }
    }
}

fn tick(py: Python<'_>, listener: Option<&Py<PyAny>>, watch: &Watch) -> PyResult<()> {
    py.check_signals()?;
    tell(py, listener, watch)
}

fn tell(py: Python<'_>, listener: Option<&Py<PyAny>>, watch: &Watch) -> PyResult<()> {
    let Some(listener) = listener else { return Ok(()) };
    let progress = watch.progress();
    listener.call1(py, (progress.done, progress.parts, progress.rows, progress.bytes)).map(drop)
}

/// Items that a thread makes while somebody takes them.
pub(crate) struct Produced<T> {
    watch: Watch,
    listener: Lent,
    /// Where Python code runs: signals are looked for on no other thread.
    home: ThreadId,
    clock: SystemClock,
    ticked_ms: i64,
    /// None once it is over.
    running: Option<(Mutex<Receiver<T>>, JoinHandle<()>)>,
}

/// What a stream has next.
pub(crate) enum Next<T> {
    Item(T),
    End,
    /// What a signal handler or the listener raised.
    Raised(PyErr),
    Panicked,
}

impl<T: Send + 'static> Produced<T> {
    /// To be made on the thread that is to look for signals.
    pub(crate) fn start(
        items: impl Iterator<Item = T> + Send + 'static,
        watch: Watch,
        listener: Lent,
        home: ThreadId,
    ) -> Result<Self> {
        let (sender, receiver) = sync_channel(AHEAD);
        let started = thread::Builder::new().name("hudini-stream".to_owned()).spawn(move || send_all(items, &sender));
        let thread = started.map_err(|e| Error::internal("no thread for a stream").caused_by(e))?;
        let clock = SystemClock::new();
        let ticked_ms = clock.monotonic_ms();
        Ok(Self { watch, listener, home, clock, ticked_ms, running: Some((Mutex::new(receiver), thread)) })
    }

    pub(crate) fn next(&mut self) -> Next<T> {
        loop {
            if let Err(error) = self.tick_if_due() {
                self.abandon();
                return Next::Raised(error);
            }
            match self.waited_for() {
                Ok(item) => return Next::Item(item),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.finish(),
            }
        }
    }

    fn waited_for(&self) -> std::result::Result<T, RecvTimeoutError> {
        let Some((receiver, _)) = &self.running else { return Err(RecvTimeoutError::Disconnected) };
        let waited = lock(receiver).recv_timeout(TICK);
        match waited {
            // Some readers hold the GIL all the while, and a merger may be waiting for it.
            Err(RecvTimeoutError::Timeout) if thread::current().id() == self.home => {
                with_gil(|py| py.detach(|| lock(receiver).recv_timeout(TICK)))
            }
            other => other,
        }
    }

    fn tick_if_due(&mut self) -> PyResult<()> {
        let now = self.clock.monotonic_ms();
        if thread::current().id() != self.home || now - self.ticked_ms < TICK.as_millis() as i64 {
            return Ok(());
        }
        let ticked = with_gil(|py| tick(py, self.listener.get(), &self.watch));
        self.ticked_ms = self.clock.monotonic_ms();
        ticked
    }

    fn finish(&mut self) -> Next<T> {
        let Some((_, thread)) = self.running.take() else { return Next::End };
        if thread.join().is_err() {
            return Next::Panicked;
        }
        let told = match thread::current().id() == self.home && self.listener.get().is_some() {
            true => with_gil(|py| tell(py, self.listener.get(), &self.watch)),
            false => Ok(()),
        };
        told.map_or_else(Next::Raised, |()| Next::End)
    }
}

impl<T> Produced<T> {
    fn abandon(&mut self) {
        self.watch.cancel();
        let Some((receiver, thread)) = self.running.take() else { return };
        let until = self.clock.monotonic_ms() + PATIENCE.as_millis() as i64;
        // Items on their way are let go; the channel closes when the thread is through.
        while self.clock.monotonic_ms() < until {
            if let Err(RecvTimeoutError::Disconnected) = lock(&receiver).recv_timeout(TICK) {
                // It may have panicked; nobody is there any more to be told.
                drop(thread.join());
                return;
            }
        }
    }
}

impl<T> Drop for Produced<T> {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// The lock is for the compiler: letting go of the GIL asks for what threads may share.
fn lock<T>(receiver: &Mutex<Receiver<T>>) -> MutexGuard<'_, Receiver<T>> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of the rows end with them, before the channel closes.
fn send_all<T>(items: impl Iterator<Item = T>, sender: &SyncSender<T>) {
    for item in items {
        if sender.send(item).is_err() {
            return;
        }
    }
}

/// What ended a stream, to be raised by who gets the text of its error: C streams carry no exceptions.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

/// In the text of such an error.
const INTERRUPTED: &str = "hudini: the stream was interrupted";

/// Keeps an exception; the text that stands for it. To be called with the GIL.
pub(crate) fn keep(error: PyErr) -> String {
    let text = format!("{INTERRUPTED}: {error}");
    let before = RAISED.lock().unwrap_or_else(PoisonError::into_inner).replace(error);
    drop(before);
    text
}

/// The exception that an error's text stands for, once.
#[pyfunction]
pub(crate) fn taken_exception(py: Python<'_>, text: &str) -> Option<Py<PyAny>> {
    if !text.contains(INTERRUPTED) {
        return None;
    }
    let kept = RAISED.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    Some(kept.into_value(py).into_any())
}
