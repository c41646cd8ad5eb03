//! The reference page of the options, made from their declarations.

use std::fmt::Write;

use super::honoured::HONOURED;
use super::known::{Class, KNOWN};

/// One option, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The first name; one that ends in `*` stands for every key that starts so.
    pub key: &'static str,
    pub other_names: Vec<&'static str>,
    /// hudini's default for an honoured option, Apache Hudi's for the others.
    pub default: Option<&'static str>,
    pub class: Class,
    /// What an honoured option's value may be; the values at which a refused one is accepted.
    pub values: String,
    pub help: &'static str,
}

pub(super) fn describe() -> impl Iterator<Item = Description> {
    let honoured = HONOURED.iter().map(|option| Description {
        key: option.key(),
        other_names: option.other_names().to_vec(),
        default: option.default(),
        class: Class::Honoured,
        values: option.values().to_owned(),
        help: option.help(),
    });
    let known = KNOWN.iter().map(|known| Description {
        key: known.key,
        other_names: known.other_names.clone(),
        default: known.default,
        class: known.class,
        values: known.harmless.join(", "),
        help: match known.class {
            Class::Honoured => "",
            Class::Tuning => "Accepted, without effect.",
            Class::Refused => "Not done by hudini: an error.",
            Class::RefusedSoft => "Not done by hudini: an error, or a warning under hudini.unsupported=warn.",
        },
    });
    honoured.chain(known)
}

/// The reference page, in Markdown.
pub fn reference_markdown() -> String {
    let mut page = String::from(HEAD);
    let count = |class| describe().filter(|option| option.class == class).count();
    // Writing to a String cannot fail.
    for (class, name, what) in CLASSES {
        let _ = writeln!(page, "| {name} | {} | {what} |", count(*class));
    }
    page.push_str(TABLE_HEAD);
    for option in describe().filter(|option| option.class == Class::Honoured) {
        let names: Vec<String> = option.other_names.iter().map(|name| format!("`{name}`")).collect();
        let default = option.default.map(|default| format!("`{default}`")).unwrap_or_default();
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {default} | {} |",
            option.key,
            option.help,
            option.values,
            names.join(", ")
        );
    }
    page
}

const HEAD: &str = "\
# Options

<!-- Made from the declarations in rust/table/src/options; HUDINI_BLESS=1 cargo test -p hudini-table options writes it anew. -->

Options are given by key and text, wherever a call takes `options`. The keys are Apache Hudi's own, so a job keeps the
ones it has; keys that start with `hudini.` are hudini's. Case does not matter in keys. An option may be given under any
of its names, but not under two with different values.

Every key that Apache Hudi 1.2 knows is in one of four classes:

| class | options | what hudini does |
|---|---|---|
";

const CLASSES: &[(Class, &str, &str)] = &[
    (Class::Honoured, "honoured", "follows it: the table below"),
    (
        Class::Tuning,
        "tuning",
        "accepts it without effect and says so in `explain()`: it is about speed or memory, or a detail of something that has its own switch",
    ),
    (
        Class::Refused,
        "refused",
        "stops with an error: ignoring it could change rows, what files mean, or who may write",
    ),
    (
        Class::RefusedSoft,
        "refused softly",
        "stops with an error, or warns under `hudini.unsupported=warn`: what it asks for is left undone, and no row changes by that",
    ),
];

const TABLE_HEAD: &str = "
A refused key is accepted with the value that asks for nothing, such as `hoodie.datasource.hive_sync.enable=false`.
All refused keys of a call come in one error. A key that nobody knows is an error that names the nearest one. A key that
starts with `hoodie.datasource.write.commitmeta.key.prefix` goes into the commit's metadata. The full list of the
last three classes is `rust/table/src/options/known.tsv`.

## Honoured options

| key | what it does | values | default | other names |
|---|---|---|---|---|
";
