//! Patterns of `LIKE`: `%` is any text, `_` any character, and behind the escape stands what means itself.

use super::invalid_text;
use crate::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// What stands before the first `%`.
    head: Vec<Unit>,
    /// What stands between two `%`.
    middle: Vec<Vec<Unit>>,
    /// What stands behind the last `%`; `None` if there is none, and the head is all.
    tail: Option<Vec<Unit>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Any,
    One(char),
}

impl Unit {
    fn takes(self, c: char) -> bool {
        match self {
            Self::Any => true,
            Self::One(own) => own == c,
        }
    }
}

impl Pattern {
    pub(super) fn parse(pattern: &str, escape: char) -> Result<Self> {
        let mut parts = vec![Vec::new()];
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let unit = match c {
                _ if c == escape => match chars.next() {
                    Some(next) if next == escape || next == '%' || next == '_' => Unit::One(next),
                    _ => {
                        let message = format!("in the pattern '{pattern}' no %, _ or {escape} stands behind {escape}");
                        return Err(invalid_text(message));
                    }
                },
                '%' => {
                    parts.push(Vec::new());
                    continue;
                }
                '_' => Unit::Any,
                c => Unit::One(c),
            };
            if let Some(part) = parts.last_mut() {
                part.push(unit);
            }
        }
        let tail = if parts.len() > 1 { parts.pop() } else { None };
        let mut parts = parts.into_iter();
        let head = parts.next().unwrap_or_default();
        Ok(Self { head, middle: parts.filter(|part| !part.is_empty()).collect(), tail })
    }

    /// Texts that start with, end with or hold another.
    pub(super) fn around(before: bool, text: &str, behind: bool) -> Self {
        let text: Vec<_> = text.chars().map(Unit::One).collect();
        match (before, behind) {
            (false, _) => Self { head: text, middle: Vec::new(), tail: behind.then(Vec::new) },
            (true, false) => Self { head: Vec::new(), middle: Vec::new(), tail: Some(text) },
            (true, true) => Self { head: Vec::new(), middle: vec![text], tail: Some(Vec::new()) },
        }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let Some(mut rest) = after(&self.head, text) else { return false };
        let Some(tail) = &self.tail else { return rest.is_empty() };
        for part in &self.middle {
            match find(part, rest) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        let mut chars = rest.chars().rev();
        tail.iter().rev().all(|unit| chars.next().is_some_and(|c| unit.takes(c)))
    }

    /// What every text that matches starts with.
    pub(super) fn prefix(&self) -> String {
        let fixed = self.head.iter().map_while(|unit| match unit {
            Unit::One(c) => Some(*c),
            Unit::Any => None,
        });
        fixed.collect()
    }
}

/// What is behind the units, if the text starts with them.
fn after<'a>(units: &[Unit], text: &'a str) -> Option<&'a str> {
    let mut chars = text.chars();
    units.iter().all(|unit| chars.next().is_some_and(|c| unit.takes(c))).then_some(chars.as_str())
}

/// What is behind the first place where they stand.
fn find<'a>(units: &[Unit], text: &'a str) -> Option<&'a str> {
    let mut rest = text;
    loop {
        if let Some(behind) = after(units, rest) {
            return Some(behind);
        }
        let mut chars = rest.chars();
        chars.next()?;
        rest = chars.as_str();
    }
}
