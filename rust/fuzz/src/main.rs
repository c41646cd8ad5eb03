//! `hudini-fuzz`: the generator and what goes with it. Without arguments it says what it can do.

use std::error::Error;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use hudini_fuzz::{TARGETS, Target, corpus, engine, golden, memory};

const HELP: &str = "\
hudini-fuzz list                                                the targets
hudini-fuzz generate [--seconds N] [--jobs N] [--seed N] [TARGET..]   mutate the corpus, N seconds a target
hudini-fuzz run TARGET FILE..                                   run single inputs, to reproduce and to debug
hudini-fuzz seeds FOLDER                                        the golden tables' files as inputs, FOLDER/<target>/";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut args: Vec<String> = env::args().skip(1).collect();
    let command = if args.is_empty() { String::new() } else { args.remove(0) };
    match command.as_str() {
        "list" => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        "generate" => generate(args)?,
        "run" => run(&args)?,
        "seeds" => seeds(Path::new(args.first().ok_or(HELP)?))?,
        "worker" => worker(args)?,
        _ => println!("{HELP}"),
    }
    Ok(())
}

/// Takes `--name N` out of the arguments.
fn number(args: &mut Vec<String>, name: &str, default: u64) -> Result<u64> {
    let Some(at) = args.iter().position(|arg| arg == name) else { return Ok(default) };
    let value = args.get(at + 1).ok_or(HELP)?.parse()?;
    args.drain(at..=at + 1);
    Ok(value)
}

fn named(name: &str) -> Result<&'static Target> {
    hudini_fuzz::target(name).ok_or_else(|| format!("no target '{name}'; see hudini-fuzz list").into())
}

fn generate(mut args: Vec<String>) -> Result<()> {
    let seconds = number(&mut args, "--seconds", 20)?;
    let seed = number(&mut args, "--seed", 1)?;
    let jobs = number(&mut args, "--jobs", 2)? as usize;
    let targets: Vec<&Target> = match args.as_slice() {
        [] => TARGETS.iter().collect(),
        names => names.iter().map(|name| named(name)).collect::<Result<_>>()?,
    };
    let mut broken = Vec::new();
    engine::generate(&targets, seconds, seed, jobs, |outcome| {
        println!("{:16} {}", outcome.target, outcome.said.trim());
        if let Some(input) = outcome.input {
            println!("    {}; reproduce: hudini-fuzz run {} {}", outcome.status, outcome.target, input.display());
            broken.push(outcome.target);
        }
    })?;
    if broken.is_empty() { Ok(()) } else { Err(format!("broken: {}", broken.join(", ")).into()) }
}

fn worker(mut args: Vec<String>) -> Result<()> {
    let seconds = number(&mut args, "--seconds", 20)?;
    let seed = number(&mut args, "--seed", 1)?;
    let count = engine::work(named(args.first().ok_or(HELP)?)?, seconds, seed)?;
    println!("{count} inputs in {seconds} s");
    Ok(())
}

fn run(args: &[String]) -> Result<()> {
    let (name, files) = args.split_first().ok_or(HELP)?;
    let target = named(name)?;
    for file in files {
        let input = fs::read(file)?;
        let began = Instant::now();
        let ((), peak) = memory::peak_of(|| (target.run)(&input));
        println!("{file}: {} bytes, {:?}, at most {peak} bytes held", input.len(), began.elapsed());
    }
    Ok(())
}

fn seeds(folder: &Path) -> Result<()> {
    let mut count = 0;
    for table in golden::packed_tables()? {
        let mut result = Ok(());
        golden::each_file(&table, |file| {
            for seed in golden::seeds(&file) {
                count += 1;
                if let Err(error) = corpus::keep(&folder.join(seed.target), "", &seed.input) {
                    result = Err(error);
                }
            }
        })?;
        result?;
    }
    println!("{count} seeds");
    Ok(())
}
