//! Sorting given keys into the classes, and gathering all complaints into one error.

use std::collections::BTreeMap;

use hudini_format::{Error, Result};

use super::honoured::{COMMIT_METADATA_PREFIX, UNSUPPORTED};
use super::known::{Class, Known, Meaning, meaning, nearest};
use super::opt::{Honoured, Refusal};
use super::{Options, Unsupported};

pub(super) fn parse(given: Vec<(String, String)>) -> Result<Options> {
    let mut sorter = Sorter::new(&given);
    for (name, value) in &given {
        sorter.take(name, value.trim());
    }
    sorter.finish()
}

/// What is wrong with one key.
struct Complaint {
    text: String,
    /// Whether the key means something that hudini does not do, rather than nothing.
    known: bool,
}

struct Sorter<'a> {
    options: Options,
    metadata_prefix: String,
    /// The name and value by which each option was given first.
    first: BTreeMap<String, (&'a str, &'a str)>,
    complaints: Vec<Complaint>,
    soft: Vec<&'a str>,
    hints: Vec<String>,
}

impl<'a> Sorter<'a> {
    /// The prefix for commit metadata has to be known before any key is judged.
    fn new(given: &[(String, String)]) -> Self {
        let is_prefix = |name: &str| name.eq_ignore_ascii_case(COMMIT_METADATA_PREFIX.key());
        let given_prefix = given.iter().find(|(name, _)| is_prefix(name)).map(|(_, value)| value.trim());
        let prefix = given_prefix.filter(|prefix| !prefix.is_empty()).or(COMMIT_METADATA_PREFIX.default());
        Self {
            options: Options::default(),
            metadata_prefix: prefix.unwrap_or_default().to_ascii_lowercase(),
            first: BTreeMap::new(),
            complaints: Vec::new(),
            soft: Vec::new(),
            hints: Vec::new(),
        }
    }

    fn take(&mut self, name: &'a str, value: &'a str) {
        match meaning(name) {
            Some(Meaning::Honoured(option)) => self.take_honoured(name, value, option),
            Some(Meaning::Known(known)) => self.take_known(name, value, known),
            None if name.to_ascii_lowercase().starts_with(&self.metadata_prefix) => {
                self.options.commit_metadata.insert(name.to_owned(), value.to_owned());
            }
            None => self.take_unknown(name),
        }
    }

    fn take_honoured(&mut self, name: &'a str, value: &'a str, option: &'static dyn Honoured) {
        if let Err(refusal) = option.check(value) {
            let known = matches!(refusal, Refusal::Unsupported(_));
            self.complaints.push(Complaint { text: format!("{name}: {}", refusal.reason()), known });
            return;
        }
        if self.agrees(option.key(), name, value, |first| option.same(first, value) == Some(true)) {
            self.options.values.entry(option.key()).or_insert_with(|| value.to_owned());
            self.options.names.entry(option.key()).or_insert_with(|| name.to_owned());
        }
    }

    fn take_known(&mut self, name: &'a str, value: &'a str, known: &'static Known) {
        let canonical = if known.key.ends_with('*') { name } else { known.key };
        if !self.agrees(canonical, name, value, |first| first.eq_ignore_ascii_case(value)) {
            return;
        }
        match known.class {
            Class::Refused if !known.is_harmless(value) => {
                self.complaints.push(Complaint { text: not_done(name, known), known: true });
            }
            Class::RefusedSoft if !known.is_harmless(value) => self.soft.push(name),
            Class::Tuning => self.options.without_effect.push(name.to_owned()),
            Class::Honoured | Class::Refused | Class::RefusedSoft => {}
        }
    }

    fn take_unknown(&mut self, name: &str) {
        self.complaints.push(Complaint { text: format!("{name}: no such option"), known: false });
        self.hints.extend(nearest(name).map(|near| format!("did you mean {near} instead of {name}?")));
    }

    /// Whether this is the first value given for an option, or equal to the first.
    fn agrees(&mut self, key: &str, name: &'a str, value: &'a str, same: impl FnOnce(&str) -> bool) -> bool {
        let Some((first_name, first)) = self.first.get(&key.to_ascii_lowercase()) else {
            self.first.insert(key.to_ascii_lowercase(), (name, value));
            return true;
        };
        if same(first) {
            return true;
        }
        let text = format!("{first_name} and {name} are one option but have different values");
        self.complaints.push(Complaint { text, known: false });
        false
    }

    fn finish(mut self) -> Result<Options> {
        self.soft.sort_unstable();
        self.soft.dedup();
        let warn = self.options.get_or_default(&UNSUPPORTED)? == Unsupported::Warn;
        if !self.soft.is_empty() && warn {
            let names = self.soft.join(", ");
            self.options
                .warnings
                .push(format!("hudini does not do what these options ask for; no row changes: {names}"));
        } else if !self.soft.is_empty() {
            for name in &self.soft {
                let Some(Meaning::Known(known)) = meaning(name) else { continue };
                self.complaints.push(Complaint { text: not_done(name, known), known: true });
            }
            let names = self.soft.join(", ");
            self.hints.push(format!("hudini.unsupported=warn makes a warning of what changes no row: {names}"));
        }
        if !self.complaints.is_empty() {
            return Err(self.into_error());
        }
        self.options.without_effect.sort();
        self.options.without_effect.dedup();
        Ok(self.options)
    }

    /// One error for all: of an option nobody could follow, if there is one among them.
    fn into_error(mut self) -> Error {
        self.complaints.sort_by(|a, b| a.text.cmp(&b.text));
        self.hints.sort();
        let texts: Vec<&str> = self.complaints.iter().map(|complaint| complaint.text.as_str()).collect();
        let message = match texts.as_slice() {
            [one] => format!("option {one}"),
            all => format!("{} options cannot be followed: {}", all.len(), all.join("; ")),
        };
        let all_known = self.complaints.iter().all(|complaint| complaint.known);
        let error = if all_known { Error::unsupported(message) } else { Error::option(message) };
        if self.hints.is_empty() { error } else { error.with_hint(self.hints.join("; ")) }
    }
}

/// The value is not repeated: it may be a secret.
fn not_done(name: &str, known: &Known) -> String {
    if known.harmless.is_empty() {
        return format!("{name}: hudini does not do this");
    }
    format!("{name}: hudini does not do this (it takes {})", known.harmless.join(" or "))
}
