//! What hudi-rs takes for the jobs of `benches/reading.py` and `benches/writing.py`, and how it fares in
//! `benches/two_writers.py`:
//!
//! ```text
//! hudi-rs-peer TABLE [--columns a,b] [--out FILE]
//! hudi-rs-peer TABLE --operation O [--rows FILE] [--create TYPE] [--option key=value …] [--out FILE]
//! hudi-rs-peer two-writers TABLE WRITER COMMITS ROWS
//! ```
//!
//! The first two take what hudini's examples `read` and `write` take, as far as hudi-rs knows of it, and print what they
//! print.

mod jobs;
mod two_writers;

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == "two-writers" => two_writers::write(rest).await,
        _ => jobs::run(jobs::Job::parse(words)).await,
    }
}
