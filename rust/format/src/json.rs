//! JSON as Jackson prints it for people: `"key" : value`, a line for each entry of an object, arrays in a row.

use std::io;

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

use crate::{Error, Result};

/// Prints a value by Jackson's default pretty printer, to the byte.
pub(crate) fn to_pretty(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Jackson::default());
    value.serialize(&mut serializer).map_err(|e| Error::internal("a value that is no JSON").caused_by(e))?;
    Ok(out)
}

#[derive(Default)]
struct Jackson {
    depth: usize,
    has_entries: bool,
}

impl Jackson {
    fn line(&self, writer: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Jackson {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b" " } else { b", " })
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" ]")
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.has_entries = false;
        writer.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" : ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_entries = true;
        Ok(())
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        if self.has_entries {
            self.line(writer)?
        } else {
            writer.write_all(b" ")?
        }
        self.has_entries = true;
        writer.write_all(b"}")
    }

    fn write_char_escape<W: ?Sized + io::Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        let letter = match escape {
            CharEscape::Quote => '"',
            CharEscape::ReverseSolidus => '\\',
            CharEscape::Solidus => '/',
            CharEscape::Backspace => 'b',
            CharEscape::FormFeed => 'f',
            CharEscape::LineFeed => 'n',
            CharEscape::CarriageReturn => 'r',
            CharEscape::Tab => 't',
            CharEscape::AsciiControl(byte) => return write!(writer, "\\u{byte:04X}"),
        };
        write!(writer, "\\{letter}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by the Jackson of Apache Hudi 1.2.0.
    #[test]
    fn as_jackson_prints_it() {
        let value = serde_json::json!({
            "a\u{1}\u{1f}\u{7f}\u{2028}ä/\"\\\u{8}\t\n\u{c}\r": [], "e": {}, "l": [1, ["x", {"k": true}]], "n": null, "f": 1.5
        });
        let expected = "{\n  \"a\\u0001\\u001F\u{7f}\u{2028}ä/\\\"\\\\\\b\\t\\n\\f\\r\" : [ ],\n  \"e\" : { },\n  \
            \"l\" : [ 1, [ \"x\", {\n    \"k\" : true\n  } ] ],\n  \"n\" : null,\n  \"f\" : 1.5\n}";
        assert_eq!(String::from_utf8(to_pretty(&value).unwrap()).unwrap(), expected);
    }

    #[test]
    fn an_empty_object_behind_an_empty_one() {
        let value = serde_json::json!({"a": {"b": {}}, "c": {}});
        let expected = "{\n  \"a\" : {\n    \"b\" : { }\n  },\n  \"c\" : { }\n}";
        assert_eq!(String::from_utf8(to_pretty(&value).unwrap()).unwrap(), expected);
    }
}
