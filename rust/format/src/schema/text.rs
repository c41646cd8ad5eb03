//! Schema text as it stands: printed as Apache Avro for Java prints it, meta columns put in or taken out, with docs,
//! defaults and properties kept. For whoever has to write a table's schema again.

use std::collections::BTreeSet;

use super::json::{Piece, Shape, items, members, piece, push_text, shape, text};
use super::meta::{META_COLUMNS, is_meta};
use super::name;
use super::node::Record;
use crate::{Error, Result};

/// The schema in the form of Java's `Schema.toString()`: attributes in its order, each type in full where it is met
/// first, no blanks. Apache Hudi writes every schema so.
pub fn canonical(text: &str) -> Result<String> {
    print(text, Columns::AsTheyAre)
}

/// With the meta columns in front. As in Apache Hudi, aliases and sort orders of the row's columns go.
pub fn with_meta_columns(text: &str) -> Result<String> {
    print(text, Columns::BehindMeta)
}

/// Without them. As in Apache Hudi, aliases and sort orders of the row's columns go.
pub fn without_meta_columns(text: &str) -> Result<String> {
    print(text, Columns::WithoutMeta)
}

/// The schema with those columns of a `wider` one that it lacks, behind its own.
pub fn with_columns_of(text: &str, wider: &str) -> Result<String> {
    let text = canonical(text)?;
    let stated = Members::of(piece(&text)?)?.must("fields")?;
    let mut names = BTreeSet::new();
    items(stated, "the fields", |field| {
        names.extend(Members::of(field)?.text("name"));
        Ok(())
    })?;
    let mut columns = Vec::new();
    let wider = canonical(wider)?;
    items(Members::of(piece(&wider)?)?.must("fields")?, "the fields", |field| {
        if Members::of(field)?.text("name").is_some_and(|name| !names.contains(&name)) {
            columns.push(field.get().to_owned());
        }
        Ok(())
    })?;
    let inside = stated.get().strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or_default();
    let own = (!names.is_empty()).then(|| inside.to_owned());
    let all: Vec<_> = own.into_iter().chain(columns).collect();
    // The list of the outermost fields is in the text once, for it holds all the others.
    canonical(&text.replacen(stated.get(), &format!("[{}]", all.join(",")), 1))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    AsTheyAre,
    BehindMeta,
    WithoutMeta,
}

fn print(text: &str, columns: Columns) -> Result<String> {
    // What is no schema is refused there, and the rest may take it for granted.
    Record::parse(text)?;
    let mut printer = Printer { out: String::with_capacity(text.len()), defined: BTreeSet::new(), columns };
    printer.node(piece(text)?, "", true)?;
    Ok(printer.out)
}

/// Attributes that Java keeps apart; any other is a property.
const OF_TYPES: [&str; 10] =
    ["type", "name", "namespace", "doc", "fields", "items", "values", "symbols", "size", "aliases"];
const OF_ENUMS: [&str; 11] =
    ["type", "name", "namespace", "doc", "fields", "items", "values", "symbols", "size", "aliases", "default"];
const OF_FIELDS: [&str; 6] = ["name", "type", "doc", "default", "order", "aliases"];

struct Printer {
    out: String,
    /// Full names of the types so far.
    defined: BTreeSet<String>,
    columns: Columns,
}

/// An object's members, in order.
struct Members<'a>(Vec<(String, Piece<'a>)>);

impl<'a> Members<'a> {
    fn of(json: Piece<'a>) -> Result<Self> {
        let mut found = Vec::new();
        members(json, |key, value| {
            found.push((key, value));
            Ok(())
        })?;
        Ok(Self(found))
    }

    fn get(&self, key: &str) -> Option<Piece<'a>> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(text)
    }

    fn must(&self, key: &str) -> Result<Piece<'a>> {
        self.get(key).ok_or_else(|| Error::corrupt(format!("an Avro type without '{key}'")))
    }

    /// Those that are neither of `known`.
    fn others(&self, known: &[&str]) -> impl Iterator<Item = &(String, Piece<'a>)> {
        self.0.iter().filter(move |(name, _)| !known.contains(&name.as_str()))
    }
}

impl Printer {
    /// `space` is the namespace around the type; `top` marks the row itself.
    fn node(&mut self, json: Piece<'_>, space: &str, top: bool) -> Result<()> {
        match shape(json) {
            Shape::Text(name) => self.mention(&name, space),
            Shape::Array => {
                self.out.push('[');
                let mut first = true;
                items(json, "a union", |branch| {
                    self.comma(&mut first);
                    self.node(branch, space, false)
                })?;
                self.out.push(']');
            }
            _ => self.object(&Members::of(json)?, space, top)?,
        }
        Ok(())
    }

    fn comma(&mut self, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.push(',');
        }
    }

    fn mention(&mut self, name: &str, space: &str) {
        let full = name::full(name, space);
        let shown = match self.defined.contains(&full) {
            true => qualified(&full, space).to_owned(),
            false => name.to_owned(),
        };
        push_text(&mut self.out, &shown);
    }

    fn object(&mut self, json: &Members<'_>, space: &str, top: bool) -> Result<()> {
        let kind = json.must("type")?;
        let Shape::Text(kind) = shape(kind) else { return self.node(kind, space, top) };
        match kind.as_str() {
            "record" | "error" | "enum" | "fixed" => return self.definition(&kind, json, space, top),
            "array" => self.collection(&kind, "items", json, space)?,
            "map" => self.collection(&kind, "values", json, space)?,
            _ if self.defined.contains(&name::full(&kind, space)) || json.others(&OF_TYPES).next().is_none() => {
                self.mention(&kind, space);
                return Ok(());
            }
            _ => {
                self.out.push_str(r#"{"type":"#);
                push_text(&mut self.out, &kind);
            }
        }
        self.properties(json, &OF_TYPES);
        self.out.push('}');
        Ok(())
    }

    fn collection(&mut self, kind: &str, inner: &str, json: &Members<'_>, space: &str) -> Result<()> {
        self.out.push_str(r#"{"type":"#);
        push_text(&mut self.out, kind);
        self.key(inner);
        self.node(json.must(inner)?, space, false)
    }

    fn definition(&mut self, kind: &str, json: &Members<'_>, space: &str, top: bool) -> Result<()> {
        let name = json.text("name").ok_or_else(|| Error::corrupt("an Avro type without 'name'"))?;
        let full = name::full(&name, &json.text("namespace").unwrap_or_else(|| space.to_owned()));
        let (own_space, short) = full.rsplit_once('.').unwrap_or(("", &full));
        self.out.push_str(r#"{"type":"#);
        push_text(&mut self.out, kind);
        self.key("name");
        push_text(&mut self.out, short);
        if own_space != space {
            self.key("namespace");
            push_text(&mut self.out, own_space);
        }
        self.text_of(json, "doc");
        match kind {
            "enum" => {
                self.key("symbols");
                self.compact(json.must("symbols")?);
                if let Some(default) = json.get("default") {
                    self.key("default");
                    self.compact(default);
                }
            }
            "fixed" => {
                self.key("size");
                self.compact(json.must("size")?);
            }
            _ => self.fields(json.must("fields")?, own_space, top)?,
        }
        self.defined.insert(full.clone());
        self.properties(json, if kind == "enum" { &OF_ENUMS } else { &OF_TYPES });
        if !(top && self.columns != Columns::AsTheyAre) {
            self.aliases(json, own_space)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn fields(&mut self, json: Piece<'_>, space: &str, top: bool) -> Result<()> {
        self.key("fields");
        self.out.push('[');
        let mut first = true;
        if top && self.columns == Columns::BehindMeta {
            for name in META_COLUMNS {
                self.comma(&mut first);
                self.out.push_str(r#"{"name":"#);
                push_text(&mut self.out, name);
                self.out.push_str(r#","type":["null","string"],"doc":"","default":null}"#);
            }
        }
        items(json, "'fields'", |field| {
            let field = Members::of(field)?;
            let name = field.text("name").unwrap_or_default();
            if top && self.columns != Columns::AsTheyAre && is_meta(&name) {
                return Ok(());
            }
            self.comma(&mut first);
            self.field(&field, &name, space, top)
        })?;
        self.out.push(']');
        Ok(())
    }

    fn field(&mut self, json: &Members<'_>, name: &str, space: &str, top: bool) -> Result<()> {
        self.out.push_str(r#"{"name":"#);
        push_text(&mut self.out, name);
        self.key("type");
        self.node(json.must("type")?, space, false)?;
        self.text_of(json, "doc");
        if let Some(default) = json.get("default") {
            self.key("default");
            self.compact(default);
        }
        if !(top && self.columns != Columns::AsTheyAre) {
            if let Some(order) = json.text("order").map(|order| order.to_lowercase()).filter(|o| o != "ascending") {
                self.key("order");
                push_text(&mut self.out, &order);
            }
            if let Some(aliases) = json.get("aliases") {
                self.key("aliases");
                self.compact(aliases);
            }
        }
        self.properties(json, &OF_FIELDS);
        self.out.push('}');
        Ok(())
    }

    /// Names in the space of the type that has them say no space.
    fn aliases(&mut self, json: &Members<'_>, space: &str) -> Result<()> {
        let Some(aliases) = json.get("aliases") else { return Ok(()) };
        self.key("aliases");
        self.out.push('[');
        let mut first = true;
        items(aliases, "'aliases'", |alias| {
            self.comma(&mut first);
            let full = name::full(&text(alias).unwrap_or_default(), space);
            push_text(&mut self.out, qualified(&full, space));
            Ok(())
        })?;
        self.out.push(']');
        Ok(())
    }

    fn properties(&mut self, json: &Members<'_>, known: &[&str]) {
        for (key, value) in json.others(known) {
            self.key(key);
            self.compact(value);
        }
    }

    fn text_of(&mut self, json: &Members<'_>, key: &str) {
        if let Some(text) = json.text(key) {
            self.key(key);
            push_text(&mut self.out, &text);
        }
    }

    fn key(&mut self, key: &str) {
        self.out.push(',');
        push_text(&mut self.out, key);
        self.out.push(':');
    }

    /// A value as it stands, but for blanks outside of texts.
    fn compact(&mut self, json: Piece<'_>) {
        let (mut in_text, mut escaped) = (false, false);
        for c in json.get().chars() {
            if in_text || !c.is_ascii_whitespace() {
                self.out.push(c);
            }
            if in_text && c == '\\' && !escaped {
                escaped = true;
                continue;
            }
            if c == '"' && !escaped {
                in_text = !in_text;
            }
            escaped = false;
        }
    }
}

/// The full name, or the short one in its own namespace.
fn qualified<'a>(full: &'a str, space: &str) -> &'a str {
    match full.rsplit_once('.') {
        Some((own, short)) if own == space => short,
        _ => full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `Schema.toString()` of Apache Avro 1.11 makes of the other.
    const PRINTED: &str = concat!(
        r#"{"type":"record","name":"r","namespace":"n","doc":"rd","fields":[{"name":"e","type":{"type":"enum","#,
        r#""name":"e","doc":"ed","symbols":["A","B"],"default":"A"},"default":"A","order":"ignore","aliases":["ee"]},"#,
        r#"{"name":"f","type":{"type":"fixed","name":"f","size":3},"default":"abc","foo":{"z":1}},"#,
        r#"{"name":"i","type":["int","null"],"default":3},"#,
        r#"{"name":"db0","type":{"type":"bytes","logicalType":"decimal","precision":7}},"#,
        r#"{"name":"js","type":{"type":"string","avro.java.string":"String"}},"#,
        r#"{"name":"st","type":{"type":"record","name":"s","fields":[{"name":"again","type":"e"},"#,
        r#"{"name":"fx","type":["null","f"],"default":null}]}},"#,
        r#"{"name":"arr","type":{"type":"array","items":"s"},"default":[]}],"custom":7,"aliases":["old"]}"#,
    );
    const LOOSE: &str = r#" { "namespace": "n", "name": "r", "custom": 7, "aliases": ["n.old"], "doc": "rd", "type": "record",
        "fields": [
        {"order": "ignore", "aliases": ["ee"], "type":
            {"symbols": ["A", "B"], "name": "n.e", "type": "enum", "default": "A", "doc": "ed"}, "name": "e", "default": "A"},
        {"foo": {"z": 1}, "default": "abc", "name": "f", "type": {"type": "fixed", "size": 3, "name": "f"}},
        {"name": "i", "type": [{"type": "int"}, "null"], "default": 3, "order": "ascending"},
        {"name": "db0", "type": {"logicalType": "decimal", "type": "bytes", "precision": 7}},
        {"name": "js", "type": {"type": "string", "avro.java.string": "String"}},
        {"name": "st", "type": {"type": "record", "name": "s", "namespace": "n",
            "fields": [{"name": "again", "type": "n.e"}, {"name": "fx", "type": ["null", "f"], "default": null}]}},
        {"name": "arr", "type": {"type": "array", "items": "s"}, "default": []}] } "#;

    #[test]
    fn prints_as_java_does() {
        assert_eq!(canonical(LOOSE).unwrap(), PRINTED);
        assert_eq!(canonical(PRINTED).unwrap(), PRINTED);
    }

    #[test]
    fn names_elsewhere_are_told_in_full() {
        let text = concat!(
            r#"{"type":"record","name":"r","namespace":"n","fields":[{"name":"a","type":{"type":"fixed","#,
            r#""name":"x","namespace":"m","size":1}},{"name":"b","type":"m.x"},{"name":"c","type":{"type":"record","#,
            r#""name":"y","namespace":"m","fields":[{"name":"d","type":"x"}]}},"#,
            r#"{"name":"e","type":{"type":"fixed","name":"z","namespace":"","size":1}}]}"#,
        );
        assert_eq!(canonical(text).unwrap(), text);
    }

    #[test]
    fn a_dot_in_front_is_the_empty_namespace() {
        let text = r#"{"type":"record","name":".r","namespace":"n","fields":[{"name":"a","type":"int"}]}"#;
        let printed = canonical(text).unwrap();
        assert_eq!(printed, r#"{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}"#);
        assert_eq!(Record::parse(&printed).unwrap(), Record::parse(text).unwrap());
    }

    #[test]
    fn meta_columns_come_and_go() {
        let text =
            r#"{"type":"record","name":"r","doc":"d","fields":[{"name":"a","type":"int","doc":"x","default":1}]}"#;
        let with = with_meta_columns(text).unwrap();
        assert_eq!(
            with,
            concat!(
                r#"{"type":"record","name":"r","doc":"d","fields":["#,
                r#"{"name":"_hoodie_commit_time","type":["null","string"],"doc":"","default":null},"#,
                r#"{"name":"_hoodie_commit_seqno","type":["null","string"],"doc":"","default":null},"#,
                r#"{"name":"_hoodie_record_key","type":["null","string"],"doc":"","default":null},"#,
                r#"{"name":"_hoodie_partition_path","type":["null","string"],"doc":"","default":null},"#,
                r#"{"name":"_hoodie_file_name","type":["null","string"],"doc":"","default":null},"#,
                r#"{"name":"a","type":"int","doc":"x","default":1}]}"#,
            )
        );
        assert_eq!(with_meta_columns(&with).unwrap(), with);
        assert_eq!(without_meta_columns(&with).unwrap(), text);
        let aliases = without_meta_columns(PRINTED).unwrap();
        assert!(!aliases.contains("aliases") && !aliases.contains("ignore"));
        assert!(aliases.contains(r#""foo":{"z":1}"#) && aliases.contains(r#""custom":7"#));
    }

    #[test]
    fn columns_are_added_behind_and_the_rest_stays() {
        let added = r#"{"name":"n","type":["null",{"type":"record","name":"q","fields":[{"name":"x","type":"int"}]}]}"#;
        let wider = format!(r#"{{"type":"record","name":"w","fields":[{{"name":"e","type":"int"}},{added}]}}"#);
        let both = with_columns_of(PRINTED, &wider).unwrap();
        let (head, tail) = both.split_once(&format!(",{added}]")).unwrap();
        assert_eq!(format!("{head}]{tail}"), PRINTED);
        assert_eq!(with_columns_of(PRINTED, PRINTED).unwrap(), PRINTED);
        let empty = r#"{"type":"record","name":"w","fields":[]}"#;
        let one = r#"{"type":"record","name":"o","fields":[{"name":"x","type":"int"}]}"#;
        assert_eq!(with_columns_of(empty, one).unwrap(), one.replace(r#""o""#, r#""w""#));
    }
}
