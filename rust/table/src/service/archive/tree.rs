//! The history of layout 2, extended: a file for each archiving, merged by layers as they grow in number.
//!
//! A file counts once a manifest names it and `_version_` names the manifest. So whatever is interrupted leaves files that
//! do not count; they are written over, or removed when old manifests are.

use std::collections::BTreeSet;

use bytes::Bytes;
use hudini_format::history::{
    self, Columns, Entry, FileName, HistoryFile, Manifest, Reader, VERSION_FILE, latest_version, manifest_name,
};

use crate::concurrency::TableLock;
use crate::config::TableConfig;
use crate::options::{self, Options};
use crate::storage::{self, Put, Storage};
use crate::timeline::history_dir;
use crate::{Error, Result};

/// Names have one digit for the level.
const LAST_LEVEL: u8 = 9;

/// How the history grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Growth {
    /// So many files of a level are merged into one.
    pub(crate) batch: usize,
    /// But no more than so many bytes.
    pub(crate) target_bytes: u64,
    /// So many manifests are kept for readers.
    pub(crate) manifests: usize,
}

impl Growth {
    pub(crate) fn of(options: &Options) -> Result<Self> {
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(Self {
            batch: count(options.get_or_default(&options::HISTORY_BATCH)?),
            target_bytes: options.get_or_default(&options::HISTORY_TARGET_BYTES)?,
            manifests: count(options.get_or_default(&options::HISTORY_MANIFESTS)?),
        })
    }
}

/// The newest state of the history.
pub(super) struct Tree<'a> {
    storage: &'a dyn Storage,
    lock: &'a TableLock,
    dir: String,
    /// Number of the newest manifest; 0 before the first.
    version: u32,
    manifest: Manifest,
}

impl<'a> Tree<'a> {
    pub(super) fn load(storage: &'a dyn Storage, config: &TableConfig, lock: &'a TableLock) -> Result<Self> {
        let dir = history_dir(config);
        let stated = storage.read(&format!("{dir}/{VERSION_FILE}"))?;
        let names = storage.list(&dir)?;
        let version = latest_version(stated.as_deref(), names.iter().map(storage::Entry::name));
        let mut tree = Self { storage, lock, dir, version: version.unwrap_or(0), manifest: Manifest::default() };
        if let Some(version) = version {
            tree.manifest = tree.read_manifest(version)?;
        }
        Ok(tree)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.dir)
    }

    fn read_manifest(&self, version: u32) -> Result<Manifest> {
        let path = self.path(&manifest_name(version));
        let bytes = self.storage.read(&path)?;
        let bytes = bytes.ok_or_else(|| Error::storage("a manifest of the history is missing").at_path(&path))?;
        Manifest::decode(&bytes).map_err(|e| e.at_path(path))
    }

    /// Adds actions, which come by their requested times.
    pub(super) fn add(&mut self, entries: &[Entry]) -> Result<()> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(()) };
        let name = FileName { least: first.requested.clone(), greatest: last.requested.clone(), level: 0 };
        self.put(&name, entries, &[])
    }

    /// Writes a file and says that it counts, and that those it takes the place of do not any more.
    fn put(&mut self, name: &FileName, entries: &[Entry], instead_of: &[HistoryFile]) -> Result<()> {
        let file_name = name.to_string();
        let bytes = history::write(entries)?;
        self.create_anew(&file_name, &bytes)?;
        let mut manifest = self.manifest.clone();
        manifest.files.retain(|file| !instead_of.contains(file) && file.file_name != file_name);
        manifest.files.push(HistoryFile { file_name, file_len: bytes.len() as u64 });
        let version = self.version + 1;
        self.create_anew(&manifest_name(version), &manifest.encode())?;
        self.lock.check()?;
        self.storage.replace(&self.path(VERSION_FILE), version.to_string().as_bytes())?;
        (self.version, self.manifest) = (version, manifest);
        Ok(())
    }

    /// A file of that name that is there already was left by an attempt that was interrupted before it counted; or it is
    /// somebody's who has taken the lock from us.
    fn create_anew(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.lock.check()?;
        let path = self.path(name);
        if self.manifest.files.iter().any(|file| file.file_name == name) {
            return Err(Error::internal("a file of the history that counts was to be written anew").at_path(path));
        }
        self.storage.discard_unfinished(&path)?;
        self.storage.delete(&path)?;
        match self.storage.create(&path, bytes)? {
            Put::Done(_) => Ok(()),
            Put::Refused => Err(Error::storage("another writer archives at the same time").at_path(path)),
        }
    }

    /// Merges the files of each level that has many into one of the next. Answers how many levels were merged.
    pub(super) fn merge(&mut self, growth: Growth) -> Result<usize> {
        let mut merged = 0;
        for level in 0..LAST_LEVEL {
            let inputs = self.candidates(level, growth)?;
            let mut entries = Vec::new();
            for (_, file) in &inputs {
                entries.extend(self.read(&file.file_name)?);
            }
            entries.sort_by(|a, b| (&a.requested, a.action).cmp(&(&b.requested, b.action)));
            entries.dedup_by(|b, a| a.requested == b.requested && a.action == b.action);
            let (Some(least), Some(greatest)) =
                (inputs.iter().map(|(name, _)| &name.least).min(), inputs.iter().map(|(name, _)| &name.greatest).max())
            else {
                continue;
            };
            let name = FileName { least: least.clone(), greatest: greatest.clone(), level: level + 1 };
            let files: Vec<HistoryFile> = inputs.into_iter().map(|(_, file)| file).collect();
            self.put(&name, &entries, &files)?;
            merged += 1;
        }
        Ok(merged)
    }

    /// The files of a level that are to be merged, the oldest first; none if the level has few.
    fn candidates(&self, level: u8, growth: Growth) -> Result<Vec<(FileName, HistoryFile)>> {
        let mut files = Vec::new();
        for file in &self.manifest.files {
            let name = FileName::parse(&file.file_name).ok_or_else(|| {
                Error::unsupported(format!("the name '{}' of a file of the history", file.file_name)).at_path(&self.dir)
            })?;
            if name.level == level {
                files.push((name, file.clone()));
            }
        }
        if files.len() < growth.batch {
            return Ok(Vec::new());
        }
        files.sort_by(|(_, a), (_, b)| a.file_name.cmp(&b.file_name));
        let mut chosen: Vec<(FileName, HistoryFile)> = Vec::new();
        let mut bytes = 0_u64;
        for (name, file) in files {
            if bytes.saturating_add(file.file_len) > growth.target_bytes {
                if chosen.len() > 1 {
                    break;
                }
                // One that is large already stays as it is.
                chosen.clear();
                bytes = 0;
            }
            bytes = bytes.saturating_add(file.file_len);
            chosen.push((name, file));
            if chosen.len() == growth.batch {
                break;
            }
        }
        if chosen.len() < 2 {
            chosen.clear();
        }
        Ok(chosen)
    }

    fn read(&self, name: &str) -> Result<Vec<Entry>> {
        let path = self.path(name);
        let bytes: Option<Bytes> = self.storage.read(&path)?;
        let bytes = bytes.ok_or_else(|| Error::storage("a file of the history is missing").at_path(&path))?;
        let rows = Reader::open(bytes, Columns::All, &..).and_then(|rows| rows.collect::<Result<Vec<_>>>());
        rows.map_err(|e| e.at_path(path))
    }

    /// Removes manifests but the newest, and then files that none of those names.
    pub(super) fn sweep(&self, keep: usize) -> Result<()> {
        // What somebody adds who has taken the lock from us is named by a manifest that is not known here.
        self.lock.check()?;
        let names: Vec<String> = self.storage.list(&self.dir)?.iter().map(|entry| entry.name().to_owned()).collect();
        // One beyond the newest was never finished; it is written over.
        let mut versions: Vec<u32> =
            names.iter().filter_map(|name| manifest_version(name)).filter(|version| *version <= self.version).collect();
        versions.sort_unstable_by(|a, b| b.cmp(a));
        let Some((kept, old)) = versions.split_at_checked(keep).filter(|(_, old)| !old.is_empty()) else {
            return Ok(());
        };
        let mut named = BTreeSet::new();
        for version in kept {
            named.extend(self.read_manifest(*version)?.files.into_iter().map(|file| file.file_name));
        }
        for version in old.iter().rev() {
            self.storage.delete(&self.path(&manifest_name(*version)))?;
        }
        for name in names.iter().filter(|name| FileName::parse(name).is_some() && !named.contains(*name)) {
            self.storage.delete(&self.path(name))?;
        }
        Ok(())
    }
}

fn manifest_version(name: &str) -> Option<u32> {
    latest_version(None, [name])
}
