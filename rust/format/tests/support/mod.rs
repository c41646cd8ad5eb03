//! Golden tables as files in memory.
#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "tests read the golden tables from the checkout")]

use std::io::Read;
use std::path::PathBuf;

use hudini_format::log::{BlockKind, Scanned, scan};

/// A file of a golden table.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) case: String,
    /// From `table/` on.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(&self.path, |(_, name)| name)
    }

    /// Whose failure it is.
    pub(crate) fn place(&self) -> String {
        format!("{}: {}", self.case, self.path)
    }
}

fn cases() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/cases")
}

/// What a case says of itself.
pub(crate) fn golden_case(case: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(cases().join(case).join("case.json")).unwrap()).unwrap()
}

/// The files of all golden tables for whose path `wanted` holds.
pub(crate) fn golden_files(wanted: impl Fn(&str) -> bool) -> Vec<File> {
    let mut folders: Vec<_> = std::fs::read_dir(cases()).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders.iter().flat_map(|folder| case_files(folder, &wanted)).collect()
}

fn case_files(folder: &std::path::Path, wanted: impl Fn(&str) -> bool) -> Vec<File> {
    let case = folder.file_name().unwrap().to_str().unwrap();
    let packed = std::fs::read(folder.join("table.tar.gz")).unwrap();
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut tar).unwrap();
    let files = untar(&tar).into_iter().filter(|(path, _)| wanted(path));
    files.map(|(path, bytes)| File { case: case.to_owned(), path, bytes: bytes.to_vec() }).collect()
}

/// The regular files of a tar archive as Python writes it: long names stand in an extended header in front of their file.
fn untar(tar: &[u8]) -> Vec<(String, &[u8])> {
    const RECORD: usize = 512;
    let text = |bytes: &[u8]| String::from_utf8(bytes.iter().copied().take_while(|b| *b != 0).collect()).unwrap();
    let mut files = Vec::new();
    let mut long_name = None;
    let mut at = 0;
    while tar[at] != 0 {
        let header = &tar[at..at + RECORD];
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        let content = &tar[at + RECORD..at + RECORD + size];
        match header[156] {
            b'x' => long_name = text(content).lines().find_map(|line| Some(line.split_once(" path=")?.1.to_owned())),
            kind => {
                let name = long_name.take().unwrap_or_else(|| match text(&header[345..500]).as_str() {
                    "" => text(&header[..100]),
                    prefix => format!("{prefix}/{}", text(&header[..100])),
                });
                if kind == b'0' {
                    files.push((name, content));
                }
            }
        }
        at += RECORD + size.next_multiple_of(RECORD);
    }
    files
}

/// The HFiles of the golden tables: base files of their metadata tables, and the contents of the HFile blocks of logs.
pub(crate) fn golden_hfiles() -> Vec<Hfile> {
    let mut found = Vec::new();
    for file in golden_files(|path| path.contains("/.hoodie/metadata/")) {
        if file.path.ends_with(".hfile") {
            found.push(Hfile { file, block_schema: None });
        } else if file.name().contains(".log.") {
            for block in scan(&file.bytes) {
                if let Scanned::Block(block) = block.unwrap()
                    && block.kind == BlockKind::HfileData
                {
                    let (case, path) = (file.case.clone(), file.path.clone());
                    let bytes = block.content.to_vec();
                    let block_schema = Some(block.schema().unwrap().to_owned());
                    found.push(Hfile { file: File { case, path, bytes }, block_schema });
                }
            }
        }
    }
    assert!(found.len() > 400, "only {} HFiles among the golden tables", found.len());
    found
}

/// An HFile of a metadata table.
pub(crate) struct Hfile {
    /// With the bytes of the HFile alone.
    pub(crate) file: File,
    /// What the header of a log block says.
    pub(crate) block_schema: Option<String>,
}
