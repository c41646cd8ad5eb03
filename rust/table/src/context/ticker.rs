//! Something that happens again and again while its owner lives.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Calls a function at fixed intervals on a thread of its own; dropping it ends that, without waiting for the interval.
#[derive(Debug)]
pub struct Ticker {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    /// After a fork the thread is not there, and must not be waited for.
    process: u32,
}

impl Ticker {
    /// The first call comes after the first interval. Without a thread to be had, nothing is called.
    pub fn start(interval_ms: u64, tick: impl Fn() + Send + 'static) -> Self {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = Arc::clone(&stop);
        let run = move || {
            let (flag, wake) = &*stopped;
            let mut over = flag.lock().unwrap_or_else(PoisonError::into_inner);
            while !*over {
                let waited = wake.wait_timeout(over, Duration::from_millis(interval_ms.max(1)));
                let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                over = guard;
                if timeout.timed_out() && !*over {
                    tick();
                }
            }
        };
        let thread = std::thread::Builder::new().name("hudini-ticker".to_owned()).spawn(run).ok();
        Self { stop, thread, process: std::process::id() }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take().filter(|_| self.process == std::process::id()) else { return };
        let (flag, wake) = &*self.stop;
        *flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        wake.notify_all();
        // A tick that panicked has nothing more to say.
        drop(thread.join());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn it_ticks_until_dropped() {
        let (sender, receiver) = mpsc::channel();
        let ticker = Ticker::start(1, move || sender.send(()).unwrap_or_default());
        receiver.recv().unwrap();
        receiver.recv().unwrap();
        drop(ticker);
        receiver.try_iter().for_each(drop);
        assert!(receiver.recv().is_err(), "the sender is gone with the thread");
    }

    #[test]
    fn a_long_interval_is_not_waited_for() {
        let ticker = Ticker::start(3_600_000, || {});
        drop(ticker);
    }
}
