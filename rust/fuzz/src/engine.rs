//! The generator: runs a target on mutations of its corpus, in a process of its own.
//!
//! A worker notes each input in a file before it runs it. So whatever ends the worker (a panic, a stack that overflows,
//! memory that is refused, the watchdog) leaves the input behind, and the parent keeps it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::panic;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::mutate::Material;
use crate::{Target, corpus, panics};

/// An input that takes longer hangs. Inputs are so short that milliseconds are usual.
pub const LONGEST_RUN: Duration = Duration::from_secs(10);

/// What one worker did.
#[derive(Debug)]
pub struct Outcome {
    pub target: &'static str,
    pub status: ExitStatus,
    /// What the worker printed: the number of inputs, or why it failed.
    pub said: String,
    /// The input that broke the target.
    pub input: Option<PathBuf>,
}

fn running(target: &str) -> PathBuf {
    corpus::artifacts(target).join("running")
}

/// Runs a worker for every target, `jobs` at a time, and hands out outcomes as they come.
pub fn generate(
    targets: &[&'static Target],
    seconds: u64,
    seed: u64,
    jobs: usize,
    mut each: impl FnMut(Outcome),
) -> io::Result<()> {
    let (send, receive) = mpsc::channel();
    let mut waiting = targets.iter().copied();
    let mut at_work = 0;
    loop {
        while at_work < jobs.max(1)
            && let Some(target) = waiting.next()
        {
            let send = send.clone();
            thread::spawn(move || send.send(supervise(target, seconds, seed)));
            at_work += 1;
        }
        if at_work == 0 {
            return Ok(());
        }
        each(receive.recv().map_err(io::Error::other)??);
        at_work -= 1;
    }
}

fn supervise(target: &'static Target, seconds: u64, seed: u64) -> io::Result<Outcome> {
    let output = Command::new(std::env::current_exe()?)
        .args(["worker", target.name, "--seconds", &seconds.to_string(), "--seed", &seed.to_string()])
        .stdin(Stdio::null())
        .output()?;
    let running = running(target.name);
    let input = if output.status.success() {
        None
    } else {
        let input = fs::read(&running)?;
        Some(corpus::keep(&corpus::artifacts(target.name), "broke-", &input)?)
    };
    fs::remove_file(&running)?;
    // Gone if nothing was kept in it.
    let _ = fs::remove_dir(corpus::artifacts(target.name));
    let said = [output.stdout, output.stderr].concat();
    Ok(Outcome { target: target.name, status: output.status, said: String::from_utf8_lossy(&said).into_owned(), input })
}

/// The worker: first the corpus as it is, then mutations until the time is over. Gives the number of inputs.
pub fn work(target: &'static Target, seconds: u64, seed: u64) -> io::Result<u64> {
    let corpus: Vec<Vec<u8>> = corpus::load(target.name)?.into_iter().map(|(_, input)| input).collect();
    fs::create_dir_all(corpus::artifacts(target.name))?;
    let note = File::create(running(target.name))?;
    let done = Arc::new(AtomicU64::new(0));
    watch(done.clone());
    let print = panic::take_hook();
    panics::hush(move |info| print(info));
    let run = move |input: &[u8]| -> io::Result<()> {
        note.write_all_at(input, 0)?;
        note.set_len(input.len() as u64)?;
        (target.run)(input);
        done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    // A thread, because its stack is as small as that of the threads that decode tables.
    let worker = thread::spawn(move || {
        let began = Instant::now();
        let material = Material { corpus: &corpus, words: target.words };
        let mut rng = fastrand::Rng::with_seed(seed);
        corpus.iter().try_for_each(|input| run(input))?;
        let mut count = corpus.len() as u64;
        while began.elapsed() < Duration::from_secs(seconds) {
            let mut input = material.input(&mut rng);
            if rng.bool() {
                (target.mend)(&mut input);
            }
            run(&input)?;
            count += 1;
        }
        Ok(count)
    });
    worker.join().map_err(|_| io::Error::other("the target panicked"))?
}

/// Ends the process when no input has been done for too long.
fn watch(done: Arc<AtomicU64>) {
    thread::spawn(move || {
        let mut before = u64::MAX;
        loop {
            let now = done.load(Ordering::Relaxed);
            if now == before {
                eprintln!("an input took longer than {} s", LONGEST_RUN.as_secs());
                std::process::abort();
            }
            before = now;
            thread::sleep(LONGEST_RUN);
        }
    });
}
