//! Several splits at once, their rows handed out in the order of the splits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;

use super::split::Split;
use crate::context::Context;
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
) -> Box<dyn Iterator<Item = Item> + Send> {
    let storage = Arc::clone(storage);
    if context.threads <= 1 || splits.len() <= 1 {
        return Box::new(splits.into_iter().flat_map(move |split| rows_of(&storage, &split, batch_size)));
    }
    Box::new(Ordered {
        storage,
        batch_size,
        waiting: splits.into(),
        running: VecDeque::new(),
        threads: context.threads,
    })
}

fn rows_of(storage: &Arc<dyn Storage>, split: &Split, batch_size: usize) -> Box<dyn Iterator<Item = Item> + Send> {
    match split.read_on(storage, batch_size) {
        Ok(reader) => Box::new(reader),
        Err(e) => Box::new(std::iter::once(Err(e))),
    }
}

struct Ordered {
    storage: Arc<dyn Storage>,
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
            let (storage, batch_size) = (Arc::clone(&self.storage), self.batch_size);
            let work = move || {
                for batch in rows_of(&storage, &split, batch_size) {
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
