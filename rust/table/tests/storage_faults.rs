//! Each fault does what it says, at the call it was planned for.

use std::sync::Arc;

use hudini_table::Result;
use hudini_table::context::ManualClock;
use hudini_table::storage::faulty::{Call, Fault, FaultPlan, Faulty};
use hudini_table::storage::memory::Memory;
use hudini_table::storage::{Put, Storage};
use rstest::rstest;

fn faulty(n: u64, fault: Fault) -> (Faulty, Memory) {
    let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
    (Faulty::new(Arc::new(memory.clone()), FaultPlan::none().at(n, fault)), memory)
}

fn text(store: &Memory, path: &str) -> Option<String> {
    store.read(path).unwrap().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

fn ops(store: &Faulty) -> Vec<(u64, &'static str, String)> {
    store.log().into_iter().map(|Call { n, op, path }| (n, op, path)).collect()
}

/// One of each call that can fail by itself, ending at the first error.
fn everything(store: &dyn Storage) -> Result<()> {
    let _ = store.create("c", b"create")?;
    let meta = store.replace("r", b"replace")?;
    let _ = store.put_if_match("r", b"matched", &meta.etag)?;
    let mut writer = store.writer("w")?;
    writer.write(b"write")?;
    let _ = writer.close()?;
    store.head("w")?;
    store.read("w")?;
    store.submit("w", vec![0..2, 2..5]).wait()?;
    store.make_dir("d")?;
    store.list("")?;
    store.discard_unfinished("w")?;
    let guard = store.try_lock("l")?;
    guard.map_or(Ok(false), |guard| guard.still_held())?;
    store.delete("c")?;
    store.delete_dir("d")
}

const OPS: [(&str, &str); 17] = [
    ("create", "c"),
    ("replace", "r"),
    ("put_if_match", "r"),
    ("writer", "w"),
    ("write", "w"),
    ("close", "w"),
    ("head", "w"),
    ("read", "w"),
    ("submit", "w"),
    ("wait", "w"),
    ("make_dir", "d"),
    ("list", ""),
    ("discard_unfinished", "w"),
    ("try_lock", "l"),
    ("still_held", "l"),
    ("delete", "c"),
    ("delete_dir", "d"),
];

#[test]
fn every_call_is_counted_and_logged() {
    let (store, _) = faulty(0, Fault::Fail);
    everything(&store).unwrap();
    let wanted: Vec<_> = (1..).zip(OPS).map(|(n, (op, path))| (n, op, path.to_owned())).collect();
    assert_eq!(ops(&store), wanted);
    assert_eq!(store.calls(), 17);
}

#[rstest]
fn every_fault_at_every_call_is_an_error_there(
    #[values(Fault::Fail, Fault::FailAfter, Fault::Torn, Fault::Short, Fault::Kill)] fault: Fault,
) {
    for (n, (op, path)) in (1..).zip(OPS) {
        let run = || {
            let (store, memory) = faulty(n, fault);
            let error = everything(&store).unwrap_err();
            assert_eq!(error.path().map(|shown| shown.trim_start_matches("memory://t/")), Some(path), "{error}");
            (ops(&store), error.to_string(), format!("{memory:?}"))
        };
        let first = run();
        // A failing submit shows at the wait, which is then not made.
        assert_eq!(first.0.last().map(|(n, op, _)| (*n, *op)), Some((n, op)));
        assert_eq!(first, run(), "the same plan gives the same log and the same files");
    }
}

#[rstest]
#[case(Fault::Fail, None, "old")]
#[case(Fault::Torn, None, "old")]
#[case(Fault::Kill, None, "old")]
#[case(Fault::FailAfter, Some("new"), "new")]
fn a_failing_write_is_applied_or_not(#[case] fault: Fault, #[case] created: Option<&str>, #[case] replaced: &str) {
    let (store, memory) = faulty(1, fault);
    assert!(store.create("a", b"new").is_err());
    assert_eq!(text(&memory, "a").as_deref(), created);
    assert_eq!(memory.unfinished().len(), usize::from(fault == Fault::Torn));

    let (store, memory) = faulty(1, fault);
    let meta = memory.replace("a", b"old").unwrap();
    assert!(store.put_if_match("a", b"new", &meta.etag).is_err());
    assert_eq!(text(&memory, "a").as_deref(), Some(replaced));

    let (store, memory) = faulty(1, fault);
    memory.replace("a", b"old").unwrap();
    assert!(store.replace("a", b"new").is_err());
    assert_eq!(text(&memory, "a").as_deref(), Some(replaced));
    assert_eq!(memory.unfinished().len(), usize::from(fault == Fault::Torn));
}

#[rstest]
// fault, at call (1 writer, 2 write, 3 close), content, leftovers
#[case(Fault::Fail, 1, None, 0)]
#[case(Fault::FailAfter, 1, None, 1)]
#[case(Fault::Fail, 2, None, 0)]
#[case(Fault::FailAfter, 2, None, 0)]
#[case(Fault::Torn, 2, None, 1)]
#[case(Fault::Kill, 2, None, 1)]
#[case(Fault::Fail, 3, None, 0)]
#[case(Fault::FailAfter, 3, Some("data"), 0)]
#[case(Fault::Torn, 3, None, 1)]
#[case(Fault::Kill, 3, None, 1)]
fn a_failing_writer_leaves_what_its_fault_leaves(
    #[case] fault: Fault,
    #[case] n: u64,
    #[case] content: Option<&str>,
    #[case] leftovers: usize,
) {
    let (store, memory) = faulty(n, fault);
    let write = || -> Result<Put> {
        let mut writer = store.writer("a")?;
        writer.write(b"data")?;
        writer.close()
    };
    assert!(write().is_err());
    assert_eq!(text(&memory, "a").as_deref(), content);
    assert_eq!(memory.unfinished().len(), leftovers);
    memory.discard_unfinished("a").unwrap();
    assert_eq!(memory.unfinished().len(), 0);
}

#[test]
fn a_writer_is_not_closed_after_a_failed_write() {
    let (store, memory) = faulty(2, Fault::Fail);
    let mut writer = store.writer("a").unwrap();
    assert!(writer.write(b"lost").is_err());
    assert!(writer.write(b"next").is_err());
    assert!(writer.close().is_err());
    assert_eq!(memory.head("a").unwrap(), None);
}

#[test]
fn a_short_read_is_an_error_and_not_short_data() {
    let (store, memory) = faulty(1, Fault::Short);
    memory.replace("a", b"12345").unwrap();
    let error = store.read("a").unwrap_err();
    assert!(error.message().contains("4 bytes instead of 5"), "{error}");

    let (store, memory) = faulty(2, Fault::Short);
    memory.replace("a", b"12345").unwrap();
    let error = store.submit("a", vec![0..2, 2..5]).wait().unwrap_err();
    assert!(error.message().contains("2 bytes instead of 3"), "{error}");
    assert_eq!(error.offset(), Some(2));
    assert_eq!(store.submit("a", vec![0..2, 1..2]).wait().unwrap(), ["12", "2"]);
}

#[test]
fn a_killed_process_does_nothing_more_and_its_locks_are_free() {
    let (store, memory) = faulty(4, Fault::Kill);
    let guard = store.try_lock("l").unwrap().unwrap();
    let mut writer = store.writer("w").unwrap();
    writer.write(b"half").unwrap();
    assert!(memory.try_lock("l").unwrap().is_none());
    assert!(store.head("x").is_err());
    assert!(store.is_dead());

    let next = memory.try_lock("l").unwrap().unwrap();
    assert!(guard.still_held().is_err());
    assert!(writer.write(b"more").is_err());
    drop((guard, writer));
    assert!(next.still_held().unwrap());
    assert_eq!(memory.unfinished(), ["w"], "nobody cleaned up");
    assert!(everything(&store).is_err());
    assert_eq!(names(&memory), ["l"], "nothing but the file of the lock");
    assert_eq!(store.calls(), 4);
}

#[test]
fn a_lock_whose_answer_was_lost_is_held_until_the_process_ends() {
    let (store, memory) = faulty(1, Fault::FailAfter);
    assert!(store.try_lock("l").is_err());
    assert!(memory.try_lock("l").unwrap().is_none());
    drop(store);
    assert!(memory.try_lock("l").unwrap().is_some());
}

#[test]
fn several_faults_can_be_planned() {
    let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
    let store = Faulty::new(Arc::new(memory), FaultPlan::none().at(1, Fault::Fail).at(3, Fault::Fail));
    let outcomes: Vec<bool> = (0..4).map(|_| store.head("a").is_ok()).collect();
    assert_eq!(outcomes, [false, true, false, true]);
}

fn names(memory: &Memory) -> Vec<String> {
    memory.list("").unwrap().iter().map(|entry| entry.name().to_owned()).collect()
}
