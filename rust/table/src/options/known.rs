//! Every key that means something: the options hudini follows, and those it only knows (`known.tsv`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::honoured::HONOURED;
use super::opt::Honoured;

/// What hudini does about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Follows it.
    Honoured,
    /// Takes it without any effect: it is about speed, or a detail of something that has its own switch.
    Tuning,
    /// Refuses it: ignoring it could change rows, what files mean, or who may write.
    Refused,
    /// Refuses it, or warns: it asks for something left undone that changes no row.
    RefusedSoft,
}

/// A line of `known.tsv`. The file's head says what its columns mean.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) key: &'static str,
    pub(super) other_names: Vec<&'static str>,
    pub(super) default: Option<&'static str>,
    pub(super) class: Class,
    pub(super) harmless: Vec<&'static str>,
}

impl Known {
    /// `None` for a line that is none; a test sees to it that there is no such line.
    fn read(line: &'static str) -> Option<Self> {
        let mut columns = line.split('\t');
        let list = |column: Option<&'static str>, by: char| -> Vec<&'static str> {
            column.into_iter().flat_map(|text| text.split(by)).filter(|part| !part.is_empty()).collect()
        };
        let key = columns.next().filter(|key| !key.is_empty())?;
        let other_names = list(columns.next(), ',');
        let default = columns.next().filter(|default| !default.is_empty());
        let class = match columns.next()? {
            "tuning" => Class::Tuning,
            "refused" => Class::Refused,
            "refused_soft" => Class::RefusedSoft,
            _ => return None,
        };
        Some(Self { key, other_names, default, class, harmless: list(columns.next(), '|') })
    }

    /// What every key of the family starts with, if the line stands for a family.
    fn family(&self) -> Option<&'static str> {
        self.key.strip_suffix('*')
    }

    /// Whether the value asks for nothing that hudini does not do already.
    pub(super) fn is_harmless(&self, value: &str) -> bool {
        if self.harmless.is_empty() {
            return value.is_empty();
        }
        self.harmless.iter().any(|harmless| harmless.eq_ignore_ascii_case(value))
    }
}

/// What a key turned out to be.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Honoured(&'static dyn Honoured),
    Known(&'static Known),
}

struct Names {
    /// By name in lower case: the name as it is written, and what it means.
    exact: BTreeMap<String, (&'static str, Meaning)>,
    /// By beginning, in lower case.
    families: BTreeMap<String, &'static Known>,
}

pub(super) fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("known.tsv").lines().filter(|line| !line.starts_with('#'))
}

/// The readable lines of `known.tsv`, in its order.
pub(super) static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| lines().filter_map(Known::read).collect());

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names = Names { exact: BTreeMap::new(), families: BTreeMap::new() };
    for known in KNOWN.iter() {
        if let Some(start) = known.family() {
            names.families.insert(start.to_ascii_lowercase(), known);
            continue;
        }
        for name in std::iter::once(known.key).chain(known.other_names.iter().copied()) {
            names.exact.insert(name.to_ascii_lowercase(), (name, Meaning::Known(known)));
        }
    }
    for option in HONOURED {
        for name in option.names() {
            names.exact.insert(name.to_ascii_lowercase(), (name, Meaning::Honoured(*option)));
        }
    }
    names
});

/// What a key means. Spark hands keys over in lower case, so case tells nothing.
pub(super) fn meaning(key: &str) -> Option<Meaning> {
    let key = key.to_ascii_lowercase();
    if let Some((_, meaning)) = NAMES.exact.get(&key) {
        return Some(*meaning);
    }
    let of_family = NAMES.families.iter().filter(|(start, _)| key.starts_with(start.as_str()));
    of_family.max_by_key(|(start, _)| start.len()).map(|(_, known)| Meaning::Known(known))
}

/// The known name that is least different from a key nobody knows, unless more than half of it would have to change.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    let key = key.to_ascii_lowercase();
    let near = |difference: usize| difference * 2 <= key.len();
    let candidates = NAMES.exact.iter().filter(|(lower, _)| near(lower.len().abs_diff(key.len())));
    let distances = candidates.map(|(lower, (name, _))| (distance(&key, lower), *name));
    distances.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| near(*distance)).map(|(_, name)| name)
}

/// Levenshtein's distance: how many bytes to insert, delete or replace.
fn distance(one: &str, other: &str) -> usize {
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let (mut corner, mut left) = (i, i + 1);
        let mut row = vec![left];
        for (b, &up) in other.bytes().zip(above.iter().skip(1)) {
            left = (corner + usize::from(a != b)).min(up + 1).min(left + 1);
            corner = up;
            row.push(left);
        }
        above = row;
    }
    above.last().copied().unwrap_or(0)
}
