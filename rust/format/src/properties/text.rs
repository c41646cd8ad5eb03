//! The text form of `java.util.Properties`.
//!
//! ```text
//! file   := line*                bytes are ISO-8859-1; lines end in LF, CR or CR LF; blank lines mean nothing
//! line   := blank* ( '#' | '!' ) any*            a comment, which a backslash cannot continue
//!         | blank* key separator value           a backslash at its end joins the next line, less its leading blanks
//! separator := blank* [ '=' | ':' ] blank*       the first one that no backslash precedes
//! escapes: \t \n \r \f \uXXXX (a UTF-16 unit); a backslash before anything else is dropped
//! ```

use std::ops::Range;

use crate::{Error, Result};

/// The pairs of a file, in file order.
pub(super) fn entries(bytes: &[u8]) -> impl Iterator<Item = Result<Entry>> {
    LogicalLines { bytes, at: 0 }.map(|line| {
        let (key, value) = split_entry(&line.text);
        let place = |e: Error| e.at_offset(line.span.start as u64);
        let (key, value) = (unescape(key).map_err(place)?, unescape(value).map_err(place)?);
        Ok(Entry { key, value, span: line.span })
    })
}

/// A pair and the bytes it takes, line ends included.
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) span: Range<usize>,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0c)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|b| is_blank(**b)).count();
    text.get(blanks..).unwrap_or_default()
}

/// An entry with its continuation lines joined and its escapes still in place.
struct LogicalLine {
    span: Range<usize>,
    text: Vec<u8>,
}

struct LogicalLines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> LogicalLines<'a> {
    fn next_natural_line(&mut self) -> Option<(usize, &'a [u8])> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|b| is_line_end(*b)).unwrap_or(rest.len());
        let (line, end) = rest.split_at_checked(length)?;
        let terminator = if end.starts_with(b"\r\n") { 2 } else { end.len().min(1) };
        let offset = self.at;
        self.at += length + terminator;
        Some((offset, line))
    }
}

impl Iterator for LogicalLines<'_> {
    type Item = LogicalLine;

    fn next(&mut self) -> Option<LogicalLine> {
        let mut text: Vec<u8> = Vec::new();
        let mut start = self.at;
        while let Some((offset, natural)) = self.next_natural_line() {
            let line = skip_blanks(natural);
            if text.is_empty() {
                // As long as nothing has been collected, a comment is one even after a lone backslash.
                if matches!(line.first(), None | Some(b'#' | b'!')) {
                    continue;
                }
                start = offset;
            }
            text.extend_from_slice(line);
            if !ends_in_continuation(line) {
                return Some(LogicalLine { span: start..self.at, text });
            }
            text.pop();
        }
        (!text.is_empty()).then_some(LogicalLine { span: start..self.at, text })
    }
}

/// An even number of backslashes at the end are escaped backslashes.
pub(super) fn ends_in_continuation(line: &[u8]) -> bool {
    line.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}

fn split_entry(line: &[u8]) -> (&[u8], &[u8]) {
    let mut escaped = false;
    let key_end = line.iter().position(|&b| {
        let ends = !escaped && (is_blank(b) || matches!(b, b'=' | b':'));
        escaped = b == b'\\' && !escaped;
        ends
    });
    let (key, rest) = line.split_at_checked(key_end.unwrap_or(line.len())).unwrap_or((line, &[]));
    let rest = skip_blanks(rest);
    (key, rest.strip_prefix(b"=").or(rest.strip_prefix(b":")).map_or(rest, skip_blanks))
}

fn unescape(raw: &[u8]) -> Result<String> {
    let mut units: Vec<u16> = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        let unit = match byte {
            b'\\' => match bytes.next() {
                None => break,
                Some(b't') => u16::from(b'\t'),
                Some(b'n') => u16::from(b'\n'),
                Some(b'r') => u16::from(b'\r'),
                Some(b'f') => 0x0c,
                Some(b'u') => hex_unit(&mut bytes)?,
                Some(other) => u16::from(other),
            },
            other => u16::from(other),
        };
        units.push(unit);
    }
    String::from_utf16(&units).map_err(|_| Error::corrupt("half of a surrogate pair in a properties file"))
}

fn hex_unit(bytes: &mut impl Iterator<Item = u8>) -> Result<u16> {
    (0..4).try_fold(0, |unit: u16, _| {
        let digit = bytes.next().and_then(|b| char::from(b).to_digit(16));
        match digit.and_then(|d| u16::try_from(d).ok()) {
            Some(digit) => Ok(unit << 4 | digit),
            None => Err(Error::corrupt("\\u is not followed by four hexadecimal digits in a properties file")),
        }
    })
}

/// Writes a comment. Java keeps Latin-1 as it is there, and a line end inside it starts another comment line.
pub(super) fn write_comment(out: &mut Vec<u8>, comment: &str) {
    for (i, line) in comment.replace("\r\n", "\n").split(['\n', '\r']).enumerate() {
        if i == 0 || !line.starts_with(['#', '!']) {
            out.push(b'#');
        }
        for c in line.chars() {
            match u8::try_from(c) {
                Ok(latin) => out.push(latin),
                Err(_) => write_unicode(out, c),
            }
        }
        out.push(b'\n');
    }
}

pub(super) fn write_entry(out: &mut Vec<u8>, key: &str, value: &str) {
    for c in key.chars() {
        write_escaped(out, c, true);
    }
    out.push(b'=');
    for (i, c) in value.chars().enumerate() {
        // Java escapes only the first blank of a value: that one would be taken for part of the separator.
        write_escaped(out, c, i == 0);
    }
    out.push(b'\n');
}

fn write_escaped(out: &mut Vec<u8>, c: char, escape_blank: bool) {
    match c {
        '\t' => out.extend_from_slice(b"\\t"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        ' ' if !escape_blank => out.push(b' '),
        '\\' | '=' | ':' | '#' | '!' | ' ' => out.extend([b'\\', c as u8]),
        '\u{20}'..='\u{7e}' => out.push(c as u8),
        _ => write_unicode(out, c),
    }
}

fn write_unicode(out: &mut Vec<u8>, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        out.extend_from_slice(format!("\\u{unit:04X}").as_bytes());
    }
}
