//! JSON read in place: pieces of the text, never a tree of it. A tree of a dense text takes thirty times its room.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{Error, Result};

/// A piece of text that is one JSON value.
pub(super) type Piece<'a> = &'a RawValue;

/// What a piece begins as; its insides may still be broken.
pub(super) enum Shape {
    Text(String),
    Array,
    Object,
    Other,
}

pub(super) fn piece(text: &str) -> Result<Piece<'_>> {
    serde_json::from_str(text).map_err(|e| Error::corrupt("a schema is not JSON").caused_by(e))
}

pub(super) fn shape(piece: Piece<'_>) -> Shape {
    match piece.get().bytes().next() {
        Some(b'"') => text(piece).map_or(Shape::Other, Shape::Text),
        Some(b'[') => Shape::Array,
        Some(b'{') => Shape::Object,
        _ => Shape::Other,
    }
}

/// The text that the piece is, if it is one.
pub(super) fn text(piece: Piece<'_>) -> Option<String> {
    serde_json::from_str(piece.get()).ok()
}

/// The whole number that the piece is, if it is one.
pub(super) fn number(piece: Piece<'_>) -> Option<i64> {
    serde_json::from_str(piece.get()).ok()
}

/// The members of an object that `T` names.
pub(super) fn object<'a, T: Deserialize<'a>>(piece: Piece<'a>) -> Result<T> {
    serde_json::from_str(piece.get()).map_err(|e| Error::corrupt("a schema has a broken object").caused_by(e))
}

/// Hands over the items of an array, one by one.
pub(super) fn items<'a>(piece: Piece<'a>, what: &str, mut visit: impl FnMut(Piece<'a>) -> Result<()>) -> Result<()> {
    let mut inside = Inside { visit: |_, item| visit(item), failed: None };
    let read = serde_json::Deserializer::from_str(piece.get()).deserialize_seq(&mut inside);
    inside.outcome(read, || format!("{what} in a schema is not a list"))
}

/// Hands over the members of an object, one by one.
pub(super) fn members<'a>(piece: Piece<'a>, visit: impl FnMut(String, Piece<'a>) -> Result<()>) -> Result<()> {
    let mut inside = Inside { visit, failed: None };
    let read = serde_json::Deserializer::from_str(piece.get()).deserialize_map(&mut inside);
    inside.outcome(read, || "a schema has a broken object".to_owned())
}

/// Goes through an array or an object; items have no key.
struct Inside<F> {
    visit: F,
    failed: Option<Error>,
}

impl<F> Inside<F> {
    fn outcome(self, read: serde_json::Result<()>, what: impl FnOnce() -> String) -> Result<()> {
        match (read, self.failed) {
            (_, Some(failed)) => Err(failed),
            (Err(e), None) => Err(Error::corrupt(what()).caused_by(e)),
            (Ok(()), None) => Ok(()),
        }
    }
}

impl<'a, F: FnMut(String, Piece<'a>) -> Result<()>> Inside<F> {
    fn see<E: serde::de::Error>(&mut self, key: String, value: Piece<'a>) -> std::result::Result<(), E> {
        (self.visit)(key, value).map_err(|e| {
            self.failed = Some(e);
            E::custom("an item is refused")
        })
    }
}

impl<'a, F: FnMut(String, Piece<'a>) -> Result<()>> Visitor<'a> for &mut Inside<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> std::result::Result<(), S::Error> {
        while let Some(item) = seq.next_element()? {
            self.see(String::new(), item)?;
        }
        Ok(())
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> std::result::Result<(), M::Error> {
        while let Some((key, value)) = map.next_entry()? {
            self.see(key, value)?;
        }
        Ok(())
    }
}

/// Appends a JSON text, with the escapes of the library that Apache Hudi uses.
pub(super) fn push_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        push_text(&mut out, "a\"\\\n\r\t\u{8}\u{c}\u{1f}\u{7f}ü😀");
        assert_eq!(out, "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u001F\u{7f}ü😀\"");
        assert_eq!(text(piece(&out).unwrap()).unwrap(), "a\"\\\n\r\t\u{8}\u{c}\u{1f}\u{7f}ü😀");
    }

    #[test]
    fn items_fail_with_their_own_errors() {
        let failed = items(piece("[1, 2]").unwrap(), "it", |_| Err(Error::unsupported("this"))).unwrap_err();
        assert_eq!(failed.message(), "this");
        assert!(items(piece("{}").unwrap(), "it", |_| Ok(())).unwrap_err().message().contains("it in a schema"));
    }
}
