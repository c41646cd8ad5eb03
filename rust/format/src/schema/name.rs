//! Names of Avro types and fields: which there can be, and those that Apache Hudi gives.

use crate::{Error, Result};

/// `name` inside `namespace`, unless it brings its own. What it brings may be the empty one, as a dot in front.
pub(super) fn full(name: &str, namespace: &str) -> String {
    match name.rsplit_once('.') {
        Some(("", name)) => name.to_owned(),
        None if !namespace.is_empty() => format!("{namespace}.{name}"),
        _ => name.to_owned(),
    }
}

/// Letters, digits and '_', no digit first. Apache Avro for Java takes the letters of all scripts, as far as 16 bits
/// hold them.
pub(super) fn is_valid(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| is_letter(c) || c == '_') && chars.all(|c| is_letter(c) || is_digit(c) || c == '_')
}

pub(super) fn check(name: &str) -> Result<()> {
    match is_valid(name) {
        true => Ok(()),
        false => Err(Error::corrupt(format!("'{name}' is not an Avro name (letters, digits and '_')"))),
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() && u32::from(c) <= 0xffff
}

fn is_digit(c: char) -> bool {
    c.is_numeric() && u32::from(c) <= 0xffff
}

/// Names that Java takes for sure. Its letters are those of the Unicode categories L, which here are known only for
/// scripts with upper and lower case, and for the syllables and ideographs of East Asia.
pub(super) fn is_safe(name: &str) -> bool {
    let east_asian = |c| matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
    // Cased, but marks, numbers and symbols.
    let no_letter = |c| matches!(c, '\u{345}' | '\u{2160}'..='\u{2188}' | '\u{24b6}'..='\u{24e9}');
    let cased = |c: char| (c.is_uppercase() || c.is_lowercase()) && u32::from(c) <= 0xffff && !no_letter(c);
    let letter = |c: char| c == '_' || cased(c) || east_asian(c);
    name.chars().next().is_some_and(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// Record name and namespace of a table's rows, as Apache Hudi on Spark derives them from the table name.
pub fn record_name(table: &str) -> (String, String) {
    let mut safe = String::with_capacity(table.len());
    for (at, c) in table.chars().enumerate() {
        if at == 0 && c.is_ascii_digit() {
            safe.push_str("__");
        } else if c.is_ascii_alphanumeric() || c == '_' {
            safe.push(c)
        } else {
            safe.push_str("__")
        }
    }
    (format!("{safe}_record"), format!("hoodie.{safe}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_apache_avro_takes() {
        for name in ["a", "_1", "größe", "Ж", "城市", "도시", "a1"] {
            assert!(is_valid(name) && is_safe(name), "{name}");
        }
        for name in ["", "1a", "a b", "a.b", "a-b", "😀", "𐐀"] {
            assert!(!is_valid(name) && !is_safe(name), "{name}");
        }
        for name in ["Ⅷ", "ⓐ", "a\u{345}"] {
            assert!(!is_safe(name), "{name}");
        }
    }

    #[test]
    fn record_names() {
        let of = |table: &str| record_name(table).0;
        assert_eq!(of("my-tbl.x"), "my__tbl__x_record");
        assert_eq!(of("1a"), "__a_record");
    }
}
