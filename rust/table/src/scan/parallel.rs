//! Several splits at once, their rows handed out in the order of the splits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;

use super::split::Split;
use crate::context::{Context, Watch};
use crate::storage::Storage;
use crate::{Error, Result};

/// Batches that a split may be ahead of the reader.
const AHEAD: usize = 4;

type Item = Result<RecordBatch>;

/// With one thread, everything happens on the caller's. Threads are started for a scan and end with it; none outlive a
/// fork.
pub(super) fn read(
    storage: &Arc<dyn Storage>,
    context: &Context,
    splits: Vec<Split>,
    batch_size: usize,
    watch: &Watch,
) -> Box<dyn Iterator<Item = Item> + Send> {
    let (storage, watch) = (Arc::clone(storage), watch.clone());
    if context.threads <= 1 || splits.len() <= 1 {
        return Box::new(splits.into_iter().flat_map(move |split| rows_of(&storage, &split, batch_size, &watch)));
    }
    Box::new(Ordered {
        storage,
        watch,
        batch_size,
        waiting: splits.into(),
        running: VecDeque::new(),
        threads: context.threads,
    })
}

fn rows_of(
    storage: &Arc<dyn Storage>,
    split: &Split,
    batch_size: usize,
    watch: &Watch,
) -> Box<dyn Iterator<Item = Item> + Send> {
    match watch.check().and_then(|()| split.read_on(storage, batch_size)) {
        Ok(reader) => {
            let (watch, over) = (watch.clone(), watch.clone());
            let counted = reader.map(move |batch| {
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

struct Ordered {
    storage: Arc<dyn Storage>,
    watch: Watch,
    batch_size: usize,
    waiting: VecDeque<Split>,
    running: VecDeque<Running>,
    threads: usize,
}

struct Running {
    rows: Receiver<Item>,
    thread: JoinHandle<()>,
}

impl Ordered {
    fn start_more(&mut self) -> Result<()> {
        while self.running.len() < self.threads
            && let Some(split) = self.waiting.pop_front()
        {
            let (sender, rows) = sync_channel(AHEAD);
            let (storage, watch, batch_size) = (Arc::clone(&self.storage), self.watch.clone(), self.batch_size);
            let work = move || {
                for batch in rows_of(&storage, &split, batch_size, &watch) {
                    let failed = batch.is_err();
                    if sender.send(batch).is_err() || failed {
                        break;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("hudini-scan".to_owned()).spawn(work);
            let thread = thread.map_err(|e| Error::internal("no thread for a scan").caused_by(e))?;
            self.running.push_back(Running { rows, thread });
        }
        Ok(())
    }
}

/// Who stops reading leaves no thread behind.
impl Drop for Ordered {
    fn drop(&mut self) {
        for Running { rows, thread } in self.running.drain(..) {
            drop(rows);
            // It may have panicked; nobody is there any more to be told.
            drop(thread.join());
        }
    }
}

impl Iterator for Ordered {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            if let Err(e) = self.start_more() {
                return Some(Err(e));
            }
            let first = self.running.front()?;
            if let Ok(batch) = first.rows.recv() {
                return Some(batch);
            }
            if let Some(done) = self.running.pop_front()
                && done.thread.join().is_err()
            {
                return Some(Err(Error::internal("a scan thread panicked")));
            }
        }
    }
}
