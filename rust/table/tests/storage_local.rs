//! What only the local file system has: sidecars, links, leftovers, and locks that die with their process.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests that look at the disk itself")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hudini_table::context::SeededIds;
use hudini_table::storage::faulty::{Fault, FaultPlan, Faulty};
use hudini_table::storage::local::Local;
use hudini_table::storage::{Put, Storage};
use tempfile::TempDir;

fn at(root: &Path) -> Local {
    Local::new(root.to_str().unwrap(), Arc::new(SeededIds::new(7))).unwrap()
}

fn on_disk(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|child| child.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn hadoop_checksums_of_written_and_deleted_files_are_removed() {
    let dir = TempDir::new().unwrap();
    let store = at(dir.path());
    let stale = || fs::write(dir.path().join(".a.crc"), "old").unwrap();
    let gone = || assert!(!dir.path().join(".a.crc").exists());
    stale();
    assert!(matches!(store.create("a", b"1").unwrap(), Put::Done(_)));
    gone();
    stale();
    assert_eq!(store.create("a", b"2").unwrap(), Put::Refused);
    assert!(dir.path().join(".a.crc").exists(), "a file that is left alone keeps its checksum");
    let etag = store.head("a").unwrap().unwrap().etag;
    assert!(matches!(store.put_if_match("a", b"3", &etag).unwrap(), Put::Done(_)));
    gone();
    stale();
    store.replace("a", b"4").unwrap();
    gone();
    stale();
    assert!(store.delete("a").unwrap());
    gone();
    assert_eq!(on_disk(dir.path()), [""; 0]);
}

#[test]
fn a_replacement_is_younger_than_what_it_replaces_whatever_the_clock_says() {
    let dir = TempDir::new().unwrap();
    let store = at(dir.path());
    let file = dir.path().join("a");
    fs::write(&file, "1").unwrap();
    let ahead = SystemTime::now() + Duration::from_secs(3_600);
    fs::File::options().write(true).open(&file).unwrap().set_modified(ahead).unwrap();
    let meta = store.replace("a", b"2").unwrap();
    assert!(fs::metadata(&file).unwrap().modified().unwrap() > ahead);
    assert_eq!(store.head("a").unwrap(), Some(meta));
}

#[test]
fn nothing_but_the_files_is_left_on_disk() {
    let dir = TempDir::new().unwrap();
    let store = at(dir.path());
    let _ = store.create("a", b"1").unwrap();
    let _ = store.create("a", b"1").unwrap();
    store.replace("a", b"2").unwrap();
    let _ = store.put_if_match("a", b"3", "no such etag").unwrap();
    let mut writer = store.writer("a").unwrap();
    writer.write(b"x").unwrap();
    assert_eq!(on_disk(dir.path()).len(), 2);
    assert_eq!(writer.close().unwrap(), Put::Refused);
    drop(store.writer("b").unwrap());
    assert_eq!(on_disk(dir.path()), ["a"]);
}

#[test]
fn leftovers_of_a_killed_process_are_not_listed_and_can_be_discarded() {
    let dir = TempDir::new().unwrap();
    // 1 writer, 2 write, 3 killed
    let dying = Faulty::new(Arc::new(at(dir.path())), FaultPlan::none().at(3, Fault::Kill));
    let mut writer = dying.writer("f_1_2.parquet").unwrap();
    writer.write(b"half").unwrap();
    assert!(writer.close().is_err());
    let left = on_disk(dir.path());
    assert!(matches!(&*left, [name] if name.starts_with('.') && !name.contains(".parquet")), "{left:?}");

    // A source of the same ids meets the leftover and passes it by.
    let next = at(dir.path());
    assert!(next.list("").unwrap().is_empty());
    assert!(matches!(next.create("f_1_2.parquet", b"whole").unwrap(), Put::Done(_)));
    assert_eq!(on_disk(dir.path()).len(), 2);
    next.discard_unfinished("f_1_2.parquet").unwrap();
    assert_eq!(on_disk(dir.path()), ["f_1_2.parquet"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_dead_ones_are_not_there() {
    use std::os::unix::fs::symlink;
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("real")).unwrap();
    symlink(dir.path().join("real"), dir.path().join("link")).unwrap();
    symlink(dir.path().join("nothing"), dir.path().join("real/dead")).unwrap();
    let store = at(&dir.path().join("link"));
    assert!(store.root().ends_with("/link"), "the root stays as it was given");
    assert!(matches!(store.create("a", b"x").unwrap(), Put::Done(_)));
    assert_eq!(fs::read(dir.path().join("real/a")).unwrap(), b"x");
    assert_eq!(store.list("").unwrap().len(), 1);
    assert_eq!(store.head("dead").unwrap(), None);
    assert_eq!(store.create("dead", b"x").unwrap(), Put::Refused, "a link is not written through");
    assert!(store.delete("dead").unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_unicode_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"a\xff")), "x").unwrap();
    let error = at(dir.path()).list("").unwrap_err();
    assert!(error.message().contains("Unicode"), "{error}");
}

#[test]
fn a_lock_is_lost_with_its_file() {
    let dir = TempDir::new().unwrap();
    let store = at(dir.path());
    let guard = store.try_lock("l").unwrap().unwrap();
    assert!(store.delete("l").unwrap());
    assert!(!guard.still_held().unwrap());
    let other = store.try_lock("l").unwrap().unwrap();
    drop(guard);
    assert!(other.still_held().unwrap());
    assert!(store.try_lock("l").unwrap().is_none(), "the loser's release frees nothing of the new holder's");
}

/// Set for the child process of the next test: where the lock is.
const CHILD: &str = "HUDINI_TEST_LOCK_ROOT";
const SIGN: &str = "<child holds it>";

#[test]
fn the_lock_of_a_killed_process_is_free() {
    if let Some(root) = std::env::var_os(CHILD) {
        return hold_the_lock_until_killed(&PathBuf::from(root));
    }
    let dir = TempDir::new().unwrap();
    let store = at(dir.path());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "storage_local::the_lock_of_a_killed_process_is_free", "--nocapture"])
        .env(CHILD, dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let held = lines.map_while(Result::ok).any(|line| line.contains(SIGN));
    let while_alive = store.try_lock("l").unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(held, "the child ended early");
    assert!(while_alive.is_none());
    assert!(store.try_lock("l").unwrap().is_some());
}

fn hold_the_lock_until_killed(root: &Path) {
    let _guard = at(root).try_lock("l").unwrap().unwrap();
    println!("{SIGN}");
    std::io::stdout().flush().unwrap();
    // The parent holds the other end open and writes nothing.
    let _ = std::io::stdin().read(&mut [0]);
}
