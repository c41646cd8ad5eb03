//! The inputs kept in the repository: `corpus/<target>/<name>`, one a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the inputs of a target are kept.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Where inputs that broke something are put.
pub fn artifacts(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(target)
}

/// The inputs of a target with their files, by file name.
pub fn load(target: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = folder(target);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();
    files.into_iter().map(|file| Ok((file.clone(), fs::read(&file)?))).collect()
}

/// Keeps an input in `folder` under a name made of its bytes.
pub fn keep(folder: &Path, prefix: &str, input: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let file = folder.join(format!("{prefix}{:016x}", fingerprint(input)));
    fs::write(&file, input)?;
    Ok(file)
}

/// FNV-1a of 64 bits.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
