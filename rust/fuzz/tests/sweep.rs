//! Every file of the golden tables, cut and with flipped bytes: an error or values, never a panic or too much memory.
//!
//! Short files are cut at every offset and flipped at every byte, longer ones at every 97th, and files that look like
//! many before them more thinly still, so that the sweep takes few minutes. With HUDINI_SWEEP=all nothing is left out.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use hudini_fuzz::golden::{Seed, each_file, packed_tables, seeds};
use hudini_fuzz::{TARGETS, target};

/// Targets whose inputs stand in no file of a table.
const MADE_OF_ROWS: [&str; 2] = ["hash", "key"];
/// Longer inputs are not damaged at every offset.
const SHORT: usize = 2_000;
const STRIDE: usize = 97;
/// Runs of damaged inputs for each further input of the same kind in one table.
const FURTHER: usize = 12;
/// How many of a kind in one table are swept in full.
const FULL: usize = 1;
/// Runs for each of those that come when so many of a kind in one table were swept.
const MANY: usize = 10;
const LAST: usize = 3;

#[test]
fn damaged_golden_files_are_errors_or_values() {
    let tables = packed_tables().unwrap();
    assert!(tables.len() >= 75, "{} golden tables", tables.len());
    let mut seen = HashSet::new();
    let broken: Vec<String> = tables.iter().flat_map(|table| sweep_table(table, &mut seen)).collect();
    assert!(broken.is_empty(), "{} of\n{}", broken.len(), broken.join("\n"));
    let swept: BTreeSet<&str> = seen.iter().map(|seed| seed.target).collect();
    let left: Vec<&str> = TARGETS.iter().map(|target| target.name).filter(|name| !swept.contains(name)).collect();
    assert_eq!(left, MADE_OF_ROWS, "targets for which no golden file was found");
}

/// What broke, one line each.
fn sweep_table(table: &Path, seen: &mut HashSet<Seed>) -> Vec<String> {
    let everything = std::env::var("HUDINI_SWEEP").is_ok_and(|value| value == "all");
    let mut of_a_kind: HashMap<(&str, u8), usize> = HashMap::new();
    let mut broken = Vec::new();
    each_file(table, |file| {
        for seed in seeds(&file) {
            if !seen.insert(seed.clone()) {
                continue;
            }
            // The first byte says which of several formats of a target it is.
            let kind = (seed.target, seed.input.first().copied().unwrap_or_default());
            let before = of_a_kind.entry(kind).and_modify(|count| *count += 1).or_insert(1);
            let length = seed.input.len();
            let stride = if length <= SHORT { 1 } else { STRIDE };
            let stride = match *before {
                before if everything || before <= FULL => stride,
                ..=MANY => stride.max(length / FURTHER),
                _ => stride.max(length / LAST),
            };
            broken.extend(sweep(&seed, stride).map(|what| format!("{} as {}: {what}", file.path, seed.target)));
        }
    })
    .unwrap();
    broken
}

/// A damage that broke the target. All cores share one input, for of all the time one long input may take most.
fn sweep(seed: &Seed, stride: usize) -> Option<String> {
    if fails(seed, &seed.input) {
        return Some("as it is".into());
    }
    let parts = thread::available_parallelism().map_or(1, usize::from);
    let offsets = |part: usize| (0..seed.input.len()).step_by(stride).skip(part).step_by(parts);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..parts).map(|part| scope.spawn(move || sweep_offsets(seed, offsets(part)))).collect();
        parts.into_iter().find_map(|part| part.join().unwrap())
    })
}

/// The first damage at one of the offsets that broke the target.
fn sweep_offsets(seed: &Seed, offsets: impl Iterator<Item = usize> + Clone) -> Option<String> {
    let input = &seed.input;
    if let Some(cut) = offsets.clone().find(|cut| fails(seed, &input[..*cut])) {
        return Some(format!("cut at {cut}"));
    }
    let mut damaged = input.clone();
    for at in offsets {
        // All bits, the sign, the least: which one depends on the offset, so that all of them have their turn.
        let mask = [0xff, 0x80, 0x01, 0x20][at % 4];
        damaged[at] ^= mask;
        if fails(seed, &damaged) {
            return Some(format!("byte {at} xor {mask:#04x}"));
        }
        damaged[at] = input[at];
    }
    None
}

fn fails(seed: &Seed, bytes: &[u8]) -> bool {
    let run = target(seed.target).unwrap().run;
    catch_unwind(AssertUnwindSafe(|| run(bytes))).is_err()
}
