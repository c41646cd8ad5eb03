//! Files that an index of an expression rules out: what a function makes of their values.
//!
//! Apache Hudi builds such an index when it is told to (`CREATE INDEX … USING column_stats(ts) OPTIONS(expr = 'year')`) and
//! keeps it with every write, for logs too. It tells of each file the least and the greatest result, or has a bloom
//! filter of the results as text.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::ArrayRef;
use arrow_schema::Schema;
use hudini_format::metadata_record::Partition;
use hudini_format::properties::IndexDefinition;
use serde_json::Value;

use super::super::shape::RowShape;
use super::values::have_a_say;
use super::{Question, Wanted, believed, given_up, texts};
use crate::Result;
use crate::filter::{Derived, Predicate, STAND_IN};
use crate::view::FileSlice;

const COLUMN_STATS: &str = "column_stats";
const BLOOM_FILTERS: &str = "bloom_filters";
/// Repeats the name of the function.
const FUNCTION: &str = "expr";
/// They say how a bloom filter is made, which is written in it.
const OF_BLOOM_FILTERS: [&str; 4] = ["filtertype", "numentries", "fpp", "maxentries"];

impl Question<'_> {
    pub(super) fn by_expression_indexes(&self, slices: &[FileSlice]) -> Result<Wanted> {
        let metadata = self.read.metadata;
        let is_of_expression = |name: &String| matches!(Partition::parse(name), Some(Partition::ExpressionIndex(_)));
        if !metadata.partitions().iter().any(is_of_expression) || self.read.snapshot.evolution.is_some() {
            return Ok(None);
        }
        let stored = RowShape::stored(self.read.snapshot)?;
        let definitions = metadata.definitions()?;
        let mut wanted: Wanted = None;
        for (name, definition) in definitions.iter() {
            let Some(partition @ Partition::ExpressionIndex(_)) = Partition::parse(name) else { continue };
            let asked = metadata.has(&partition).then(|| self.expression_of(definition, &stored)).flatten();
            let Some((column, derived)) = asked else { continue };
            let Some(predicate) = self.predicate.by(&derived) else { continue };
            let found = match definition.index_type.as_str() {
                COLUMN_STATS => self.by_results(&partition, column, &derived, &predicate, slices)?,
                BLOOM_FILTERS => self.by_result_filters(&partition, &derived, &predicate, slices)?,
                _ => None,
            };
            // An index may have been built anew under its name.
            if found.is_some() && !(metadata.still_has(&partition)? && metadata.definitions()? == definitions) {
                return Err(given_up());
            }
            wanted = match (wanted, found) {
                (Some(one), Some(other)) => Some(one.into_iter().zip(other).map(|(one, other)| one && other).collect()),
                (one, other) => one.or(other),
            };
        }
        Ok(wanted)
    }

    /// The column of an index and the function of it, if filters have that and files have the column.
    fn expression_of<'d>(&self, definition: &'d IndexDefinition, stored: &Schema) -> Option<(&'d str, Derived)> {
        let (column, text) = as_filter(definition)?;
        let derived = self.is_as_in_files(stored, column).then(|| Derived::new(&text, &self.columns)).flatten()?;
        Some((column, derived))
    }

    /// By the least and the greatest result.
    fn by_results(
        &self,
        partition: &Partition,
        column: &str,
        derived: &Derived,
        predicate: &Predicate,
        slices: &[FileSlice],
    ) -> Result<Wanted> {
        let kind = derived.kind();
        let stand_in = STAND_IN.to_owned();
        if !believed::is_comparable(&kind) || !have_a_say(predicate, [&stand_in]) {
            return Ok(None);
        }
        let found = self.read.metadata.stats_of(partition, &[column.to_owned()], &self.files_that_tell(slices))?;
        let stats = |found: &[_]| match found {
            [found] => derived.of_filter(believed::of_results(found, &kind)),
            _ => Default::default(),
        };
        let known = found
            .iter()
            .map(|(file, found)| (file.clone(), BTreeMap::from([(stand_in.clone(), stats(found.as_slice()))])));
        Ok(Some(Self::by_stats_of_files(predicate, slices, &known.collect())))
    }

    /// By bloom filters of results.
    fn by_result_filters(
        &self,
        partition: &Partition,
        derived: &Derived,
        predicate: &Predicate,
        slices: &[FileSlice],
    ) -> Result<Wanted> {
        let results = predicate.values_of(STAND_IN).filter(|_| derived.is_exact());
        let Some(results) = results.as_ref().and_then(hashed) else { return Ok(None) };
        self.by_filters_in(partition, &results, slices).map(Some)
    }
}

/// Results as they are hashed: in the bytes of a character set that is not written down, so of ASCII alone.
fn hashed(results: &ArrayRef) -> Option<BTreeSet<String>> {
    let texts: BTreeSet<String> = texts(results)?.into_iter().flatten().collect();
    texts.iter().all(|text| text.is_ascii()).then_some(texts)
}

/// The column of an expression index, and its function of it as a filter has it. `None` of what filters do not have, or
/// have otherwise: texts that are read by a pattern, and characters other than spaces that go away.
fn as_filter(definition: &IndexDefinition) -> Option<(&str, String)> {
    let [column] = definition.source_fields.as_slice() else { return None };
    let option = |name: &str| definition.index_options.get(name).and_then(Value::as_str);
    let number = |name: &str| option(name)?.trim().parse::<i32>().ok();
    let quoted = |name: &str| Some(format!("'{}'", option(name)?.replace('\'', "''")));
    let name = format!("`{}`", column.replace('`', "``"));
    let function = definition.index_function.to_lowercase();
    let (text, options): (_, &[&str]) = match function.as_str() {
        "identity" => (name, &[]),
        "lower" | "upper" | "trim" | "ltrim" | "rtrim" | "length" | "year" | "to_date" | "unix_timestamp" => {
            (format!("{function}({name})"), &[])
        }
        "substring" => (format!("substring({name}, {}, {})", number("pos")?, number("len")?), &["pos", "len"]),
        "date_add" | "date_sub" => (format!("{function}({name}, {})", number("days")?), &["days"]),
        "from_unixtime" if option("format").is_none() => (format!("from_unixtime({name})"), &[]),
        "from_unixtime" | "date_format" => (format!("{function}({name}, {})", quoted("format")?), &["format"]),
        _ => return None,
    };
    let is_known = |key: &String| {
        let key = key.as_str();
        key == FUNCTION || options.contains(&key) || OF_BLOOM_FILTERS.contains(&key)
    };
    definition.index_options.keys().all(is_known).then_some((column.as_str(), text))
}
