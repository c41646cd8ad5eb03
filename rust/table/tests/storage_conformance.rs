//! What every store must do, run over all of them.
#![allow(clippy::single_range_in_vec_init, reason = "one range is what is meant")]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use bytes::Bytes;
use hudini_table::context::{ManualClock, SeededIds};
use hudini_table::storage::faulty::{FaultPlan, Faulty};
use hudini_table::storage::folder::Folder;
use hudini_table::storage::local::Local;
use hudini_table::storage::memory::Memory;
use hudini_table::storage::{Entry, Put, Storage};
use hudini_table::{ErrorKind, Result};
use rstest::rstest;
use tempfile::TempDir;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Local,
    Memory,
    FaultyLocal,
    FaultyMemory,
    FolderLocal,
    FolderMemory,
}
use Kind::{FaultyLocal, FaultyMemory, FolderLocal, FolderMemory};

/// A store and what must outlive it.
struct Fixture(Arc<dyn Storage>, #[allow(dead_code, reason = "keeps the directory")] Option<TempDir>);

impl Kind {
    fn store(self) -> Fixture {
        match self {
            Self::Local => {
                let dir = TempDir::new().unwrap();
                let root = dir.path().join("root");
                Fixture(Arc::new(Local::new(root.to_str().unwrap(), Arc::new(SeededIds::new(7))).unwrap()), Some(dir))
            }
            Self::Memory => Fixture(Arc::new(Memory::new("t", Arc::new(ManualClock::new(1_000)))), None),
            FaultyLocal => Self::Local.store().faulty(),
            FaultyMemory => Self::Memory.store().faulty(),
            FolderLocal => Self::Local.store().folder(),
            FolderMemory => Self::Memory.store().folder(),
        }
    }
}

impl Fixture {
    fn faulty(self) -> Self {
        Self(Arc::new(Faulty::new(self.0, FaultPlan::none())), self.1)
    }

    fn folder(self) -> Self {
        Self(Arc::new(Folder::new(self.0, "within/it")), self.1)
    }
}

fn done(put: Result<Put>) -> hudini_table::storage::Meta {
    match put.unwrap() {
        Put::Done(meta) => meta,
        Put::Refused => panic!("refused"),
    }
}

fn names(store: &dyn Storage, dir: &str) -> Vec<String> {
    store.list(dir).unwrap().iter().map(|entry| entry.name().to_owned()).collect()
}

fn content(store: &dyn Storage, path: &str) -> Bytes {
    store.read(path).unwrap().unwrap()
}

macro_rules! every_store {
    ($($name:ident($store:ident) $body:block)+) => {$(
        #[rstest]
        fn $name(#[values(Kind::Local, Kind::Memory, FaultyLocal, FaultyMemory, FolderLocal, FolderMemory)] kind: Kind) {
            let fixture = kind.store();
            let $store: &dyn Storage = &*fixture.0;
            $body
        }
    )+};
}

every_store! {
    a_created_file_is_there_with_its_content(store) {
        let meta = done(store.create("a/b/c", b"hello"));
        assert_eq!(meta.size, 5);
        assert!(meta.modified_ms >= 1_000);
        assert_eq!(store.head("a/b/c").unwrap(), Some(meta.clone()));
        assert_eq!(content(store, "a/b/c"), "hello");
        assert_eq!(store.list("a/b").unwrap(), [Entry::File { name: "c".into(), meta }]);
        assert_eq!(store.list("a").unwrap(), [Entry::Dir { name: "b".into() }]);
        assert_eq!(content(store, "a/b/c").len(), 5);
        done(store.create("empty", b""));
        assert_eq!(content(store, "empty"), "");
    }

    create_never_overwrites(store) {
        let meta = done(store.create("a", b"first"));
        assert_eq!(store.create("a", b"second").unwrap(), Put::Refused);
        store.make_dir("d").unwrap();
        assert_eq!(store.create("d", b"second").unwrap(), Put::Refused);
        assert_eq!(content(store, "a"), "first");
        assert_eq!(store.head("a").unwrap(), Some(meta));
    }

    one_of_many_racing_creators_wins(store) {
        for round in 0..10 {
            let path = format!("race/{round}");
            let start = Barrier::new(8);
            let winners: Vec<u8> = thread::scope(|scope| {
                let racers: Vec<_> = (0..8u8).map(|me| {
                    let (start, path) = (&start, &path);
                    scope.spawn(move || {
                        start.wait();
                        let put = if me % 2 == 0 {
                            store.create(path, &[me; 1000])
                        } else {
                            let mut writer = store.writer(path).unwrap();
                            writer.write(&[me; 1000]).unwrap();
                            writer.close()
                        };
                        matches!(put.unwrap(), Put::Done(_)).then_some(me)
                    })
                }).collect();
                racers.into_iter().filter_map(|racer| racer.join().unwrap()).collect()
            });
            assert_eq!(winners.len(), 1, "{winners:?}");
            assert_eq!(content(store, &path), vec![winners[0]; 1000]);
            assert_eq!(names(store, "race").len(), round + 1);
        }
    }

    files_are_made_while_their_directory_is_removed(store) {
        thread::scope(|scope| {
            for me in 0..3 {
                scope.spawn(move || (0..300).for_each(|n| drop(done(store.create(&format!("d/{me}/{n}"), b"hello")))));
            }
            (0..50).for_each(|_| store.delete_dir("d").unwrap());
        });
        store.delete_dir("d").unwrap();
        assert_eq!(names(store, "d"), [""; 0]);
    }

    a_writer_shows_nothing_before_it_is_closed(store) {
        let mut writer = store.writer("p/a").unwrap();
        writer.write(b"one ").unwrap();
        writer.write(b"two").unwrap();
        assert_eq!(store.head("p/a").unwrap(), None);
        assert_eq!(names(store, "p"), [""; 0]);
        let meta = done(writer.close());
        assert_eq!(store.head("p/a").unwrap(), Some(meta));
        assert_eq!(content(store, "p/a"), "one two");
    }

    a_dropped_writer_leaves_nothing(store) {
        let mut writer = store.writer("p/a").unwrap();
        writer.write(b"lost").unwrap();
        drop(writer);
        assert_eq!(names(store, "p"), [""; 0]);
        done(store.create("p/a", b"kept"));
        assert_eq!(names(store, "p"), ["a"]);
    }

    a_writer_does_not_overwrite(store) {
        let mut writer = store.writer("a").unwrap();
        writer.write(b"late").unwrap();
        done(store.create("a", b"soon"));
        assert_eq!(writer.close().unwrap(), Put::Refused);
        assert_eq!(content(store, "a"), "soon");
        assert_eq!(names(store, ""), ["a"]);
    }

    replace_writes_files_new_and_old(store) {
        let first = store.replace("d/a", b"1").unwrap();
        let second = store.replace("d/a", b"2").unwrap();
        assert_eq!(content(store, "d/a"), "2");
        assert_eq!(store.head("d/a").unwrap(), Some(second.clone()));
        assert_ne!(first.etag, second.etag);
        assert_eq!(names(store, "d"), ["a"]);
    }

    a_reader_never_sees_half_a_replacement(store) {
        let contents = [vec![b'a'; 100_000], vec![b'b'; 10]];
        store.replace("a", &contents[0]).unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut reads = 0;
                while !stop.load(Ordering::SeqCst) || reads == 0 {
                    let seen = content(store, "a");
                    assert!(contents.iter().any(|content| *content == seen), "{} bytes", seen.len());
                    reads += 1;
                }
            });
            for round in 1..=200 {
                store.replace("a", &contents[round % 2]).unwrap();
            }
            stop.store(true, Ordering::SeqCst);
            reader.join().unwrap();
        });
    }

    an_etag_never_comes_back(store) {
        let mut seen = Vec::new();
        for round in 0..100 {
            let etag = store.replace("a", &[round]).unwrap().etag;
            assert!(!seen.contains(&etag), "round {round}: {etag}");
            seen.push(etag);
        }
        for old in &seen[..99] {
            assert_eq!(store.put_if_match("a", b"x", old).unwrap(), Put::Refused);
        }
        done(store.put_if_match("a", b"x", &seen[99]));
    }

    put_if_match_writes_only_what_it_saw(store) {
        assert_eq!(store.put_if_match("a", b"0", "any").unwrap(), Put::Refused);
        assert_eq!(store.head("a").unwrap(), None);
        let first = done(store.create("a", b"1"));
        let second = done(store.put_if_match("a", b"2", &first.etag));
        assert_eq!(store.put_if_match("a", b"3", &first.etag).unwrap(), Put::Refused);
        assert_eq!(content(store, "a"), "2");
        assert_eq!(store.head("a").unwrap(), Some(second));
    }

    racing_conditional_writes_lose_no_update(store) {
        store.replace("count", b"0").unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut left = 25;
                    while left > 0 {
                        let etag = store.head("count").unwrap().unwrap().etag;
                        let count: u32 = std::str::from_utf8(&content(store, "count")).unwrap().parse().unwrap();
                        let next = (count + 1).to_string();
                        if matches!(store.put_if_match("count", next.as_bytes(), &etag).unwrap(), Put::Done(_)) {
                            left -= 1;
                        }
                    }
                });
            }
        });
        assert_eq!(content(store, "count"), "100");
    }

    lists_are_sorted_and_shallow(store) {
        for path in ["d/b", "d/a.x", "d/a/deep/er", "d/a-", "d/B", "dd/z"] {
            done(store.create(path, b"x"));
        }
        store.make_dir("d/c").unwrap();
        assert_eq!(names(store, "d"), ["B", "a", "a-", "a.x", "b", "c"]);
        assert_eq!(names(store, "d/c"), [""; 0]);
        assert_eq!(names(store, ""), ["d", "dd"]);
        assert_eq!(names(store, "nowhere"), [""; 0]);
        assert_eq!(names(store, "nowhere/at/all"), [""; 0]);
        assert_eq!(names(store, "d/b"), [""; 0], "a file has no children");
    }

    an_empty_store_is_empty(store) {
        assert_eq!(names(store, ""), [""; 0]);
        assert_eq!(store.head("a").unwrap(), None);
        assert_eq!(store.read("a/b").unwrap(), None);
        assert!(!store.delete("a").unwrap());
    }

    odd_names_stay_as_they_are(store) {
        let mut odd = ["100%", "a%2Fb", "city=Zürich", "12:30:00", "a b", " ", "日本", "~", "~d", "a\\b", "#?&+", ".x", "..."];
        odd.sort_unstable();
        for name in odd {
            done(store.create(&format!("{name}/{name}"), name.as_bytes()));
            assert_eq!(names(store, name), [name]);
            assert_eq!(content(store, &format!("{name}/{name}")), name);
        }
        assert_eq!(names(store, ""), odd);
    }

    paths_that_leave_the_store_are_refused(store) {
        for bad in ["", "/a", "a/", "a//b", "..", "a/../b", "./a"] {
            assert!(store.head(bad).is_err(), "{bad}");
            assert!(store.read(bad).is_err(), "{bad}");
            assert!(store.submit(bad, vec![]).wait().is_err(), "{bad}");
            assert!(store.create(bad, b"").is_err(), "{bad}");
            assert!(store.replace(bad, b"").is_err(), "{bad}");
            assert!(store.put_if_match(bad, b"", "").is_err(), "{bad}");
            assert!(store.delete(bad).is_err(), "{bad}");
            assert!(store.writer(bad).is_err(), "{bad}");
            assert!(store.discard_unfinished(bad).is_err(), "{bad}");
            assert!(store.try_lock(bad).is_err(), "{bad}");
        }
        for bad in ["/", "a/", "..", "a/./b"] {
            assert!(store.list(bad).is_err(), "{bad}");
            assert!(store.make_dir(bad).is_err(), "{bad}");
            assert!(store.delete_dir(bad).is_err(), "{bad}");
        }
    }

    parts_come_in_the_order_asked_for(store) {
        done(store.create("a", b"0123456789"));
        let parts = |ranges: Vec<Range<u64>>| store.submit("a", ranges).wait();
        assert_eq!(parts(vec![8..10, 0..3, 2..4, 10..10, 0..0]).unwrap(), ["89", "012", "23", "", ""]);
        assert_eq!(parts(vec![0..10]).unwrap(), ["0123456789"]);
        assert_eq!(parts(vec![]).unwrap(), [""; 0]);
    }

    parts_beyond_the_end_are_errors(store) {
        done(store.create("a", b"0123456789"));
        for beyond in [8..11, 10..11, 11..11, 0..u64::MAX, u64::MAX..u64::MAX] {
            let error = store.submit("a", vec![0..1, beyond.clone()]).wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFailure, "{beyond:?}");
            assert!(error.path().unwrap().ends_with('a'), "{error}");
            assert_eq!(error.offset(), Some(beyond.start));
        }
        assert!(store.submit("missing", vec![0..0]).wait().is_err());
        assert!(store.submit("missing", vec![]).wait().is_err());
    }

    directories_are_not_files(store) {
        store.make_dir("d/e").unwrap();
        store.make_dir("d/e").unwrap();
        assert_eq!(store.head("d").unwrap(), None);
        assert_eq!(store.read("d").unwrap(), None);
        assert!(store.submit("d", vec![0..0]).wait().is_err());
        assert!(!store.delete("d").unwrap());
        assert!(store.replace("d", b"x").is_err());
        assert_eq!(names(store, "d"), ["e"]);
    }

    files_are_not_directories(store) {
        done(store.create("f", b"x"));
        assert_eq!(store.head("f/a").unwrap(), None);
        assert_eq!(store.read("f/a").unwrap(), None);
        assert!(!store.delete("f/a").unwrap());
        assert!(store.create("f/a", b"x").is_err());
        assert!(store.make_dir("f").is_err());
        assert_eq!(content(store, "f"), "x");
    }

    deleted_files_are_gone(store) {
        done(store.create("d/a", b"x"));
        done(store.create("d/ab", b"x"));
        assert!(store.delete("d/a").unwrap());
        assert!(!store.delete("d/a").unwrap());
        assert_eq!(store.head("d/a").unwrap(), None);
        assert_eq!(names(store, "d"), ["ab"]);
        done(store.create("d/a", b"again"));
    }

    deleted_directories_are_gone_with_all_below(store) {
        for path in ["d/a", "d/e/f", "d2/a", "x"] {
            done(store.create(path, b"x"));
        }
        store.delete_dir("d").unwrap();
        store.delete_dir("d").unwrap();
        store.delete_dir("never/there").unwrap();
        assert_eq!(names(store, ""), ["d2", "x"]);
        assert_eq!(store.head("d/e/f").unwrap(), None);
        assert_eq!(names(store, "d"), [""; 0]);
    }

    discarding_ends_unfinished_writes_of_that_path_only(store) {
        let mut ours = store.writer("p/a").unwrap();
        let mut other = store.writer("p/a.b").unwrap();
        ours.write(b"x").unwrap();
        other.write(b"x").unwrap();
        done(store.create("p/c", b"x"));
        store.discard_unfinished("p/a").unwrap();
        store.discard_unfinished("p/c").unwrap();
        store.discard_unfinished("nowhere/a").unwrap();
        assert!(ours.close().is_err(), "its data is gone");
        done(other.close());
        assert_eq!(names(store, "p"), ["a.b", "c"]);
    }

    a_lock_has_one_holder(store) {
        let guard = store.try_lock("locks/t").unwrap().unwrap();
        assert!(store.try_lock("locks/t").unwrap().is_none());
        assert!(guard.still_held().unwrap());
        let other = store.try_lock("locks/u").unwrap().unwrap();
        drop(guard);
        let again = store.try_lock("locks/t").unwrap().unwrap();
        assert!(again.still_held().unwrap() && other.still_held().unwrap());
    }

    a_lock_leaves_its_file_and_is_lost_with_it(store) {
        let guard = store.try_lock("locks/t").unwrap().unwrap();
        assert_eq!(content(store, "locks/t"), "");
        drop(guard);
        assert_eq!(names(store, "locks"), ["t"], "the next one to ask sees that somebody had it");
        let guard = store.try_lock("locks/t").unwrap().unwrap();
        assert!(store.delete("locks/t").unwrap());
        assert!(!guard.still_held().unwrap());
        let other = store.try_lock("locks/t").unwrap().unwrap();
        drop(guard);
        assert!(other.still_held().unwrap(), "a broken lock takes no other with it");
        store.delete_dir("locks").unwrap();
        assert!(!other.still_held().unwrap());
    }

    one_of_many_racing_lockers_wins(store) {
        let start = Barrier::new(8);
        let holders = thread::scope(|scope| {
            let racers: Vec<_> = (0..8).map(|_| scope.spawn(|| {
                start.wait();
                store.try_lock("lock").unwrap()
            })).collect();
            // Kept until all have tried.
            racers.into_iter().map(|racer| racer.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(holders.iter().flatten().count(), 1);
    }
}
