//! Work on several threads.
//!
//! The threads live only as long as one call: there is no global pool, so that a process may fork between any two
//! calls without the child inheriting a pool whose threads are gone. Starting a thread costs some ten microseconds;
//! the items here are whole file groups. A call inside a call starts threads of its own: fan out at one level only.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::{Error, Result};

/// Runs `f(position, item)` for every item on up to `threads` threads, the caller's own among them.
///
/// Results come in the order of the items. If items fail, the first failure in the order of the items is returned,
/// whatever the timing, and items that have not been started are left out. A panic in `f` is an internal error.
pub fn run_all<T, R, F>(threads: usize, items: Vec<T>, f: F) -> Result<Vec<R>>
where
    T: Send,
    R: Send,
    F: Fn(usize, T) -> Result<R> + Sync,
{
    let workers = threads.min(items.len()).max(1);
    let queue = Mutex::new(items.into_iter().enumerate());
    let failed = AtomicBool::new(false);
    // Items are started in their order and a started item is always finished, so nothing before a failure is missing.
    let work = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::SeqCst) {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((position, item)) = next else { break };
            let result = guarded(&f, position, item);
            if result.is_err() {
                failed.store(true, Ordering::SeqCst);
            }
            done.push((position, result));
        }
        done
    };
    let mut results = thread::scope(|scope| {
        // A system that gives no more threads slows the work down and does not stop it.
        let helpers: Vec<_> =
            (1..workers).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut results = work();
        for helper in helpers {
            results.extend(helper.join().unwrap_or_default());
        }
        results
    });
    results.sort_unstable_by_key(|(position, _)| *position);
    results.into_iter().map(|(_, result)| result).collect()
}

fn guarded<T, R>(f: &(impl Fn(usize, T) -> Result<R> + Sync), position: usize, item: T) -> Result<R> {
    catch_unwind(AssertUnwindSafe(|| f(position, item)))
        .unwrap_or_else(|panic| Err(Error::internal(format!("a worker panicked: {}", text_of(&*panic)))))
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use rstest::rstest;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    #[rstest]
    fn results_keep_the_order_of_the_items(#[values(0, 1, 2, 7, 64)] threads: usize) {
        let results = run_all(threads, (0..50).collect(), |position, item: usize| Ok((position, item * 2))).unwrap();
        assert_eq!(results, (0..50).map(|i| (i, i * 2)).collect::<Vec<_>>());
        assert_eq!(run_all(threads, Vec::<u8>::new(), |_, item| Ok(item)).unwrap(), Vec::<u8>::new());
    }

    #[test]
    fn items_run_at_the_same_time() {
        // Would never return if one thread had to run both.
        let meeting = Barrier::new(2);
        run_all(2, vec![(), ()], |_, ()| {
            meeting.wait();
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn the_first_failure_in_item_order_wins_though_a_later_one_came_sooner() {
        let meeting = Barrier::new(2);
        let late = AtomicBool::new(false);
        let error = run_all(2, vec!["early", "late"], |_, name| {
            meeting.wait();
            if name == "early" {
                while !late.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            }
            late.store(true, Ordering::SeqCst);
            Err::<(), _>(Error::storage(name))
        })
        .unwrap_err();
        assert_eq!(error.message(), "early");
    }

    #[test]
    fn a_failure_stops_what_has_not_begun() {
        let started = AtomicUsize::new(0);
        let result = run_all(1, (0..10).collect(), |_, item: usize| {
            started.fetch_add(1, Ordering::SeqCst);
            if item == 3 { Err(Error::storage("three")) } else { Ok(()) }
        });
        assert_eq!(result.unwrap_err().message(), "three");
        assert_eq!(started.load(Ordering::SeqCst), 4);
    }

    #[rstest]
    fn a_panic_becomes_an_internal_error(#[values(1, 3)] threads: usize) {
        let result = run_all(threads, (0..6).collect(), |_, item: usize| {
            assert!(item != 2, "item {item} is bad");
            Ok(item)
        });
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(error.message().contains("item 2 is bad"), "{error}");
    }
}
