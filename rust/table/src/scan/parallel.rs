//! Several splits at once, their rows handed out in the order of the splits.
//!
//! A thread that is done with a split takes the next one, however far the reader is. So rows wait for those of earlier
//! splits; how many bytes of them is limited, but never for the split whose turn it is.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;

use super::split::{Manner, Split};
use super::stages::{Stage, Stages};
use crate::context::Watch;
use crate::storage::Storage;
use crate::{Error, Result};

/// Batches that the split whose turn it is may be ahead of the reader.
const AHEAD: usize = 4;
/// What the memory limit is divided by for rows that wait.
const SHARE: u64 = 4;
/// What a batch takes beside its values.
const BATCH_BYTES: u64 = 1024;

type Item = Result<RecordBatch>;

/// With one thread, everything happens on the caller's. Threads are started for a scan and end with it; none outlive a
/// fork.
pub(super) fn read(
    storage: &Arc<dyn Storage>,
    (threads, memory): (usize, u64),
    splits: Vec<Split>,
    batch_size: usize,
    watch: &Watch,
    stages: Stages,
) -> Box<dyn Iterator<Item = Item> + Send> {
    let (storage, watch) = (Arc::clone(storage), watch.clone());
    let at_once = threads.min(splits.len()).max(1);
    let manner = Manner { batch_size, at_once, stages };
    let rows_of = move |split: Split| rows_of(&storage, &split, &manner, &watch);
    if at_once == 1 {
        return Box::new(splits.into_iter().flat_map(rows_of));
    }
    Box::new(Ordered::new(splits, at_once, memory / SHARE, rows_of))
}

fn rows_of(
    storage: &Arc<dyn Storage>,
    split: &Split,
    manner: &Manner,
    watch: &Watch,
) -> Box<dyn Iterator<Item = Item> + Send> {
    let stages = manner.stages.of_a_thread();
    let manner = Manner { stages: stages.clone(), ..manner.clone() };
    match watch.check().and_then(|()| stages.time(Stage::Merging, || split.read_on(storage, manner))) {
        Ok(reader) => {
            let (watch, over) = (watch.clone(), watch.clone());
            let counted = stages.timed(Stage::Merging, reader).map(move |batch| {
                watch.check()?;
                batch.inspect(|rows| watch.add_rows(rows.num_rows()))
            });
            let mut over = Some(over);
            Box::new(counted.chain(std::iter::from_fn(move || {
                over.take().inspect(Watch::part_done);
                None
            })))
        }
        Err(e) => Box::new(std::iter::once(Err(e))),
    }
}

/// Rows of one part that nobody has taken yet.
#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    done: bool,
}

/// What readers and the one who takes their rows share.
#[derive(Debug)]
struct Board<P> {
    parts: VecDeque<P>,
    /// By place: those that were begun and are not taken to their end.
    queues: BTreeMap<usize, Queue>,
    begun: usize,
    /// The part whose turn it is.
    turn: usize,
    waiting_bytes: u64,
    most_bytes: u64,
    abandoned: bool,
}

impl<P> Board<P> {
    fn begin(&mut self) -> Option<(usize, P)> {
        let part = self.parts.pop_front().filter(|_| !self.abandoned)?;
        let at = self.begun;
        self.begun += 1;
        self.queues.entry(at).or_default();
        Some((at, part))
    }

    fn has_room(&self, at: usize, bytes: u64) -> bool {
        let queued = self.queues.get(&at).map_or(0, |queue| queue.items.len());
        if at == self.turn { queued < AHEAD } else { self.waiting_bytes + bytes <= self.most_bytes }
    }

    fn add(&mut self, at: usize, item: Item) {
        self.waiting_bytes += bytes_of(&item);
        self.queues.entry(at).or_default().items.push_back(item);
    }

    fn end(&mut self, at: usize) {
        self.queues.entry(at).or_default().done = true;
    }

    /// The next item, if it is there; the turn goes on where a part is at its end.
    fn take(&mut self) -> Option<Item> {
        while let Entry::Occupied(mut queue) = self.queues.entry(self.turn) {
            if let Some(item) = queue.get_mut().items.pop_front() {
                self.waiting_bytes -= bytes_of(&item);
                return Some(item);
            }
            if !queue.get().done {
                return None;
            }
            queue.remove();
            self.turn += 1;
        }
        None
    }

    fn is_over(&self) -> bool {
        self.parts.is_empty() && self.turn == self.begun
    }
}

/// The board, and a bell that rings when something on it changed.
#[derive(Debug)]
struct Shared<P> {
    board: Mutex<Board<P>>,
    changed: Condvar,
}

impl<P> Shared<P> {
    fn board(&self) -> MutexGuard<'_, Board<P>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'b>(&self, board: MutexGuard<'b, Board<P>>) -> MutexGuard<'b, Board<P>> {
        self.changed.wait(board).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room. Whether anybody still wants it.
    fn add(&self, at: usize, item: Item) -> bool {
        let bytes = bytes_of(&item);
        let mut board = self.board();
        while !board.abandoned && !board.has_room(at, bytes) {
            board = self.wait(board);
        }
        let wanted = !board.abandoned;
        if wanted {
            board.add(at, item);
        }
        drop(board);
        self.changed.notify_all();
        wanted
    }

    fn work<R: Iterator<Item = Item>>(&self, rows_of: impl Fn(P) -> R) {
        loop {
            let Some((at, part)) = self.board().begin() else { return };
            let read = || {
                for item in rows_of(part) {
                    let failed = item.is_err();
                    if !self.add(at, item) || failed {
                        break;
                    }
                }
            };
            if catch_unwind(AssertUnwindSafe(read)).is_err() {
                self.add(at, Err(Error::internal("a scan thread panicked")));
            }
            self.board().end(at);
            self.changed.notify_all();
        }
    }
}

struct Ordered<P> {
    shared: Arc<Shared<P>>,
    threads: Vec<JoinHandle<()>>,
    /// What the threads are to do, until they are started.
    start: Option<Box<dyn Fn() -> std::io::Result<JoinHandle<()>> + Send>>,
    most_threads: usize,
}

impl<P: Send + 'static> Ordered<P> {
    fn new<R: Iterator<Item = Item>>(
        parts: Vec<P>,
        threads: usize,
        most_bytes: u64,
        rows_of: impl Fn(P) -> R + Clone + Send + 'static,
    ) -> Self {
        let most_threads = threads.min(parts.len());
        let board = Board {
            parts: parts.into(),
            queues: BTreeMap::new(),
            begun: 0,
            turn: 0,
            waiting_bytes: 0,
            most_bytes,
            abandoned: false,
        };
        let shared = Arc::new(Shared { board: Mutex::new(board), changed: Condvar::new() });
        let of_threads = Arc::clone(&shared);
        let start = move || {
            let (shared, rows_of) = (Arc::clone(&of_threads), rows_of.clone());
            std::thread::Builder::new().name("hudini-scan".to_owned()).spawn(move || shared.work(rows_of))
        };
        Self { shared, threads: Vec::new(), start: Some(Box::new(start)), most_threads }
    }

    /// When the first row is asked for: a scan may be made and dropped, and its process may fork before. A system that
    /// gives fewer threads makes it slower.
    fn start(&mut self) -> Result<()> {
        let Some(start) = self.start.take() else { return Ok(()) };
        for _ in 0..self.most_threads {
            match start() {
                Ok(thread) => self.threads.push(thread),
                Err(e) if self.threads.is_empty() => {
                    return Err(Error::internal("no thread for a scan").caused_by(e));
                }
                Err(_) => break,
            }
        }
        Ok(())
    }
}

/// Who stops reading leaves no thread behind.
impl<P> Drop for Ordered<P> {
    fn drop(&mut self) {
        self.shared.board().abandoned = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // It catches panics; nobody is there any more to be told of another.
            drop(thread.join());
        }
    }
}

impl<P: Send + 'static> Iterator for Ordered<P> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if let Err(e) = self.start() {
            return Some(Err(e));
        }
        let mut board = self.shared.board();
        loop {
            let turn = board.turn;
            if let Some(item) = board.take() {
                drop(board);
                self.shared.changed.notify_all();
                return Some(item);
            }
            if board.is_over() {
                return None;
            }
            if board.turn != turn {
                self.shared.changed.notify_all();
            }
            board = self.shared.wait(board);
        }
    }
}

fn bytes_of(item: &Item) -> u64 {
    BATCH_BYTES + item.as_ref().map_or(0, |rows| rows.get_array_memory_size() as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use arrow_array::{Int64Array, RecordBatchOptions};
    use arrow_schema::{DataType, Field, Schema};
    use rstest::rstest;

    use super::*;

    const PLENTY: u64 = 1 << 30;

    fn batch(value: i64) -> RecordBatch {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let values = Arc::new(Int64Array::from(vec![value]));
        RecordBatch::try_new_with_options(schema, vec![values], &RecordBatchOptions::new()).unwrap()
    }

    fn values(rows: impl Iterator<Item = Item>) -> Vec<i64> {
        let value = |batch: Item| batch.unwrap().column(0).as_any().downcast_ref::<Int64Array>().unwrap().value(0);
        rows.map(value).collect()
    }

    /// Part n has n batches of its number.
    fn counting(part: usize) -> Box<dyn Iterator<Item = Item>> {
        Box::new((0..part).map(move |_| Ok(batch(part as i64))))
    }

    #[rstest]
    fn rows_come_in_the_order_of_the_parts(#[values(2, 3, 16)] threads: usize, #[values(0, 5000, PLENTY)] bytes: u64) {
        let rows = values(Ordered::new((0..40).collect(), threads, bytes, counting));
        assert_eq!(rows, (0..40_usize).flat_map(|n| vec![n as i64; n]).collect::<Vec<_>>());
    }

    #[test]
    fn a_thread_goes_on_while_another_is_slow() {
        let (done, last) = mpsc::channel::<()>();
        let last = Arc::new(Mutex::new(last));
        // The first part waits until the last one is read.
        let rows_of = move |part: usize| {
            let (done, last) = (done.clone(), Arc::clone(&last));
            std::iter::once_with(move || {
                if part == 0 {
                    last.lock().unwrap().recv().unwrap();
                } else if part == 9 {
                    done.send(()).unwrap();
                }
                Ok(batch(part as i64))
            })
        };
        assert_eq!(values(Ordered::new((0..10).collect(), 2, PLENTY, rows_of)), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn rows_that_wait_are_few() {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&made);
        let rows_of = move |part: usize| {
            let made = Arc::clone(&counted);
            (0..1000).map(move |_| {
                made.fetch_add(1, Ordering::SeqCst);
                Ok(batch(part as i64))
            })
        };
        let most = 10 * bytes_of(&Ok(batch(0)));
        let mut rows = Ordered::new((0..8).collect(), 4, most, rows_of);
        for taken in 1..=100 {
            rows.next().unwrap().unwrap();
            let waiting = made.load(Ordering::SeqCst) - taken;
            // Those on the board, and one in the hands of each thread.
            assert!(waiting <= AHEAD + 10 + 4, "{waiting} batches are ahead");
        }
        drop(rows);
    }

    #[test]
    fn an_error_or_a_panic_ends_its_part_alone() {
        let rows_of = |part: usize| {
            (0..3).map(move |n| match (part, n) {
                (1, 1) => Err(Error::storage("gone")),
                (2, 2) => panic!("a bug"),
                _ => Ok(batch(part as i64)),
            })
        };
        let rows = Ordered::new((0..4).collect(), 2, PLENTY, rows_of);
        let outcome: Vec<_> = rows.map(|item| item.map(|_| ()).map_err(|e| e.message().to_owned())).collect();
        let (ok, gone, panicked) = (Ok(()), Err("gone".to_owned()), Err("a scan thread panicked".to_owned()));
        let expected = [&ok, &ok, &ok, &ok, &gone, &ok, &ok, &panicked, &ok, &ok, &ok];
        assert_eq!(outcome.iter().collect::<Vec<_>>(), expected);
    }
}
