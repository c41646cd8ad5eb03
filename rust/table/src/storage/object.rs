//! Object stores: S3 and what speaks its language, Google Cloud Storage, Azure. For reading; hudini does not write to
//! them in this version.
//!
//! The client is asynchronous and keeps connections. Both live on a small runtime that is made when it is needed first,
//! and anew in a forked child, which must not use its parent's connections.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error as ObjectError, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::runtime::{Builder, Runtime};

use super::{Entry, LockGuard, Meta, Put, Storage, Ticket, Writer, complete, dir_parts, file_parts, not_there};
use crate::{Error, Result};

/// Makes the client of a store; asked again in a forked child.
pub(super) type Connect = Box<dyn Fn() -> Result<Arc<dyn ObjectStore>> + Send + Sync>;

/// One table's part of a bucket or container.
pub struct Object {
    shown: String,
    /// The root within the store, without slashes around it.
    base: String,
    connect: Connect,
    connected: Mutex<Option<Connected>>,
}

impl Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What connects knows secrets.
        f.debug_struct("Object").field("root", &self.shown).finish_non_exhaustive()
    }
}

/// A client in the process that made it.
#[derive(Debug, Clone)]
struct Connected {
    process: u32,
    store: Arc<dyn ObjectStore>,
    runtime: Arc<OwnRuntime>,
}

/// A runtime that nobody waits for when it ends.
#[derive(Debug)]
struct OwnRuntime {
    process: u32,
    runtime: Option<Runtime>,
}

impl OwnRuntime {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(task);
        }
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        match self.runtime.take() {
            Some(runtime) if self.process == std::process::id() => runtime.shutdown_background(),
            // Its threads did not come along into a forked child.
            runtime => std::mem::forget(runtime),
        }
    }
}

impl Object {
    pub(super) fn new(shown: String, base: String, connect: Connect) -> Self {
        Self { shown, base, connect, connected: Mutex::new(None) }
    }

    fn connected(&self) -> Result<Connected> {
        let process = std::process::id();
        let mut slot = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connected) = slot.as_ref().filter(|connected| connected.process == process) {
            return Ok(connected.clone());
        }
        // A parent's connections are not to be closed here either.
        std::mem::forget(slot.take());
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("hudini-storage").enable_all().build();
        let runtime = runtime.map_err(|e| Error::storage("no thread for a storage client").caused_by(e))?;
        let runtime = Arc::new(OwnRuntime { process, runtime: Some(runtime) });
        let connected = Connected { process, store: (self.connect)()?, runtime };
        Ok(slot.insert(connected).clone())
    }

    /// Runs a question to the store on its runtime, for the caller to wait for.
    fn ask<T, F>(&self, path: &str, question: impl FnOnce(Arc<dyn ObjectStore>) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let Connected { store, runtime, .. } = self.connected()?;
        Answer::to(&runtime, question(store)).wait().map_err(|e| e.at_path(path))
    }

    fn location(&self, path: &str) -> Result<Path> {
        let whole = if self.base.is_empty() { path.to_owned() } else { format!("{}/{path}", self.base) };
        Path::parse(whole.trim_end_matches('/'))
            .map_err(|e| Error::storage("not a path in an object store").caused_by(e))
    }

    fn refused<T>(&self) -> Result<T> {
        Err(Error::unsupported("writing to an object store").at_path(&self.shown))
    }
}

/// What the runtime is working on.
#[derive(Debug)]
struct Answer<T>(Receiver<object_store::Result<T>>);

impl<T: Send + 'static> Answer<T> {
    fn to(runtime: &OwnRuntime, question: impl Future<Output = object_store::Result<T>> + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        runtime.spawn(async move {
            // Nobody may be waiting any more.
            drop(sender.send(question.await));
        });
        Self(receiver)
    }

    fn wait(self) -> Result<T> {
        match self.0.recv() {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(Error::storage("the storage client ended without an answer")),
        }
    }
}

fn failed(e: ObjectError) -> Error {
    match e {
        ObjectError::NotFound { .. } => not_there().caused_by(e),
        ObjectError::PermissionDenied { .. } | ObjectError::Unauthenticated { .. } => {
            Error::storage("the object store refused access").caused_by(e).with_hint("check storage_options")
        }
        e => Error::storage("the object store failed").caused_by(e),
    }
}

/// A missing object is an answer too.
fn if_there<T>(answer: object_store::Result<T>) -> object_store::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(ObjectError::NotFound { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

fn meta_of(object: &ObjectMeta) -> Meta {
    Meta {
        size: object.size,
        modified_ms: object.last_modified.timestamp_millis(),
        etag: object.e_tag.clone().unwrap_or_default(),
    }
}

impl Storage for Object {
    fn root(&self) -> &str {
        &self.shown
    }

    fn head(&self, path: &str) -> Result<Option<Meta>> {
        file_parts(path)?;
        let location = self.location(path)?;
        let found = self.ask(path, |store| async move { if_there(store.head(&location).await) })?;
        Ok(found.as_ref().map(meta_of))
    }

    fn read(&self, path: &str) -> Result<Option<Bytes>> {
        file_parts(path)?;
        let location = self.location(path)?;
        let read = self.ask(path, |store| async move {
            match if_there(store.get(&location).await)? {
                Some(found) => {
                    let size = found.meta.size;
                    Ok(Some((size, found.bytes().await?)))
                }
                None => Ok(None),
            }
        })?;
        read.map(|(size, bytes)| complete(bytes, size, 0).map_err(|e| e.at_path(path))).transpose()
    }

    fn submit(&self, path: &str, ranges: Vec<Range<u64>>) -> Box<dyn Ticket> {
        let answer = self.location(path).and_then(|location| {
            let Connected { store, runtime, .. } = self.connected()?;
            // A store refuses to read nothing.
            let some: Vec<_> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
            Ok(Answer::to(&runtime, async move { store.get_ranges(&location, &some).await }))
        });
        Box::new(Parts { path: path.to_owned(), ranges, answer })
    }

    fn list(&self, dir: &str) -> Result<Vec<Entry>> {
        dir_parts(dir)?;
        let prefix = self.location(dir)?;
        let below = prefix.clone();
        let found = self.ask(dir, |store| async move { store.list_with_delimiter(Some(&below)).await })?;
        let name = |path: &Path| path.filename().map(str::to_owned);
        // Some tools mark a directory by an empty object of its name.
        let files = found.objects.iter().filter(|object| object.location != prefix);
        let files =
            files.filter_map(|object| Some(Entry::File { name: name(&object.location)?, meta: meta_of(object) }));
        let dirs = found.common_prefixes.iter().filter_map(|dir| Some(Entry::Dir { name: name(dir)? }));
        let mut entries: Vec<_> = files.chain(dirs).collect();
        entries.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        Ok(entries)
    }

    fn create(&self, _: &str, _: &[u8]) -> Result<Put> {
        self.refused()
    }

    fn replace(&self, _: &str, _: &[u8]) -> Result<Meta> {
        self.refused()
    }

    fn put_if_match(&self, _: &str, _: &[u8], _: &str) -> Result<Put> {
        self.refused()
    }

    fn delete(&self, _: &str) -> Result<bool> {
        self.refused()
    }

    fn make_dir(&self, _: &str) -> Result<()> {
        self.refused()
    }

    fn delete_dir(&self, _: &str) -> Result<()> {
        self.refused()
    }

    fn writer(&self, _: &str) -> Result<Box<dyn Writer>> {
        self.refused()
    }

    fn discard_unfinished(&self, _: &str) -> Result<()> {
        self.refused()
    }

    fn try_lock(&self, _: &str) -> Result<Option<Box<dyn LockGuard>>> {
        self.refused()
    }
}

/// Parts of an object under way.
#[derive(Debug)]
struct Parts {
    path: String,
    ranges: Vec<Range<u64>>,
    /// Those that are not empty.
    answer: Result<Answer<Vec<Bytes>>>,
}

impl Parts {
    fn parts(self) -> Result<Vec<Bytes>> {
        let mut parts = self.answer?.wait()?.into_iter();
        let part = |range: &Range<u64>| {
            let bytes = if range.is_empty() { Bytes::new() } else { parts.next().unwrap_or_default() };
            complete(bytes, range.end.saturating_sub(range.start), range.start)
        };
        self.ranges.iter().map(part).collect()
    }
}

impl Ticket for Parts {
    fn wait(self: Box<Self>) -> Result<Vec<Bytes>> {
        let path = self.path.clone();
        self.parts().map_err(|e| e.at_path(path))
    }
}
