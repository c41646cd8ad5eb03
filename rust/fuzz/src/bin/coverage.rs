//! The coverage-guided engine: libFuzzer over the target that the environment names. `make fuzz` builds and runs it.

#![no_main]

use std::backtrace::Backtrace;
use std::env;
use std::sync::OnceLock;

use hudini_fuzz::{Target, panics, target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static TARGET: OnceLock<&'static Target> = OnceLock::new();

/// The variable that names the target.
const VARIABLE: &str = "HUDINI_FUZZ_TARGET";

fn chosen() -> &'static Target {
    TARGET.get_or_init(|| {
        let name = env::var(VARIABLE).unwrap_or_default();
        // libFuzzer's own hook aborts on every panic, caught or not.
        panics::hush(|info| {
            eprintln!("{info}\n{}", Backtrace::force_capture());
            std::process::abort();
        });
        target(&name).unwrap_or_else(|| panic!("{VARIABLE} is '{name}', which is no target"))
    })
}

fuzz_target!(|data: &[u8]| (chosen().run)(data));

// Half the inputs are mended, as in the generator.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    if seed.is_multiple_of(2) {
        (chosen().mend)(&mut data[..size]);
    }
    size
});
