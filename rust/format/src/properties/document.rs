//! A properties file as it stands, comments and all: a change leaves the other bytes alone.

use std::ops::Range;

use super::{Properties, text};
use crate::Result;

/// The bytes of a file and where its pairs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    bytes: Vec<u8>,
    properties: Properties,
}

impl Document {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Ok(Self { bytes: bytes.to_vec(), properties: Properties::parse(bytes)? })
    }

    /// What the file says.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The comments before the first pair, without their `#` or `!`: in a file of Apache Hudi when and why it was written.
    pub fn comments(&self) -> Vec<String> {
        let lines = self.bytes.split(|b| matches!(b, b'\n' | b'\r'));
        let trimmed = lines.map(<[u8]>::trim_ascii_start).filter(|line| !line.is_empty());
        let comments = trimmed.map_while(|line| line.strip_prefix(b"#").or_else(|| line.strip_prefix(b"!")));
        // One byte is one character of Latin-1.
        comments.map(|comment| comment.iter().map(|byte| char::from(*byte)).collect()).collect()
    }

    /// Gives a key a value, in the place of its last one or at the end of the file.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        if self.properties.get(key) == Some(value) {
            return Ok(());
        }
        let mut line = Vec::new();
        text::write_entry(&mut line, key, value);
        match self.spans(key)?.pop() {
            Some(span) => self.replace(span, line),
            None => {
                self.end_last_line();
                self.bytes.extend(line);
            }
        }
        self.properties.set(key, value);
        Ok(())
    }

    /// Takes a key away, wherever it stands.
    pub fn remove(&mut self, key: &str) -> Result<Option<String>> {
        for span in self.spans(key)?.into_iter().rev() {
            self.replace(span, Vec::new());
        }
        Ok(self.properties.remove(key))
    }

    /// Makes sure that a line put at the end of the file is one of its own.
    fn end_last_line(&mut self) {
        if !matches!(self.bytes.last(), None | Some(b'\n' | b'\r')) {
            self.bytes.push(b'\n');
        }
        let line = self.bytes.strip_suffix(b"\r\n").or_else(|| self.bytes.split_last().map(|(_, line)| line));
        if line.is_some_and(text::ends_in_continuation) {
            // Two, because the first may be the second half of a line end.
            self.bytes.extend(b"\n\n");
        }
    }

    fn spans(&self, key: &str) -> Result<Vec<Range<usize>>> {
        let mut spans = Vec::new();
        for entry in text::entries(&self.bytes) {
            let entry = entry?;
            if entry.key == key {
                spans.push(entry.span);
            }
        }
        Ok(spans)
    }

    fn replace(&mut self, span: Range<usize>, line: Vec<u8>) {
        self.bytes.splice(span, line);
    }
}
