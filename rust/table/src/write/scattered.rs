//! Rows of one new key that name several partitions, where a key has one place in the whole table: they all go where that
//! one goes which wins over the others, and are merged there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::action::Action;
use super::locate::{KEY_COLUMN, Names, PARTITION_COLUMN};
use super::located::Accepted;
use super::rows::in_table_types;
use super::workers::text;
use crate::Result;
use crate::bytes_form::BytesForm;
use crate::merge::MergeRule;
use crate::merge::ordering::{Ordered, OrderingColumns, OrderingKey};
use crate::timeline::arrow_schema;

/// How the partition of such a key is chosen; the same on every worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    rule: MergeRule,
    /// The table's schema.
    schema: String,
}

impl BytesForm for Choice {
    const KIND: (u8, &'static str) = (b'O', "choice of partitions");
}

impl Choice {
    /// The columns that choosing asks for, besides key and partition.
    pub fn columns(&self) -> Vec<&str> {
        self.rule.ordering_columns().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The schema of keys with their partitions.
    pub fn output_schema() -> SchemaRef {
        let text = |name| Field::new(name, DataType::Utf8, false);
        Arc::new(Schema::new([KEY_COLUMN, PARTITION_COLUMN].map(text).to_vec()))
    }

    /// Runs on a worker. Of located rows, those of a key one behind the other and in the order in which they came, each key
    /// with its partition.
    pub fn run<I>(self, input: I) -> impl Iterator<Item = Result<RecordBatch>> + use<I>
    where
        I: IntoIterator<Item = Result<RecordBatch>>,
    {
        let (mut input, mut open) = (input.into_iter(), Some(Contest::default()));
        std::iter::from_fn(move || {
            let contest = open.as_mut()?;
            let chosen = match input.next() {
                Some(batch) => batch.and_then(|batch| self.chosen(&batch, contest)),
                None => Ok(open.take()?.end().into_iter().collect()),
            };
            Some(chosen.and_then(as_rows))
        })
    }

    /// The keys that end in the batch.
    fn chosen(&self, batch: &RecordBatch, contest: &mut Contest) -> Result<Vec<(String, String)>> {
        let ordering = in_table_types(batch, &arrow_schema(&self.schema)?, Some(&self.columns()))?;
        let ordering = OrderingColumns::of(&ordering, &self.rule)?;
        let mut ended = Vec::new();
        let rows = text(batch, KEY_COLUMN)?.iter().zip(text(batch, PARTITION_COLUMN)?).enumerate();
        for (row, (key, partition)) in rows {
            let (Some(key), Some(partition)) = (key, partition) else { continue };
            if contest.key != key {
                ended.extend(std::mem::take(contest).end());
                key.clone_into(&mut contest.key);
            }
            self.meet(&mut contest.winner, &ordering, row, partition)?;
        }
        Ok(ended)
    }

    /// The later of two rows wins, unless their ordering values say otherwise.
    fn meet(&self, winner: &mut Option<Winner>, columns: &OrderingColumns, row: usize, partition: &str) -> Result<()> {
        let wins = match winner {
            Some(old) => {
                !self.rule.by_event_time || Ordered::Row(columns, row).is_not_less(&Ordered::Key(&old.ordering))?
            }
            None => true,
        };
        if wins {
            *winner = Some(Winner { ordering: columns.key(row), partition: partition.to_owned() });
        }
        Ok(())
    }

    /// The partitions of some keys among rows that one machine holds.
    fn of_rows(
        &self,
        names: &[Names],
        rows: impl Fn(usize) -> Result<RecordBatch>,
        keys: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>> {
        let mut winners: BTreeMap<&str, Option<Winner>> = keys.iter().map(|key| (key.as_str(), None)).collect();
        for (batch, names) in names.iter().enumerate() {
            let columns = OrderingColumns::of(&rows(batch)?, &self.rule)?;
            for (row, (partition, key)) in names.partitions.iter().zip(&names.keys).enumerate() {
                let winner = key.and_then(|key| winners.get_mut(key));
                if let (Some(partition), Some(winner)) = (partition, winner) {
                    self.meet(winner, &columns, row, partition)?;
                }
            }
        }
        let chosen = |(key, winner): (&str, Option<Winner>)| Some((key.to_owned(), winner?.partition));
        Ok(winners.into_iter().filter_map(chosen).collect())
    }
}

/// The row that won so far.
#[derive(Debug)]
struct Winner {
    ordering: OrderingKey,
    partition: String,
}

/// The rows of one key.
#[derive(Debug, Default)]
struct Contest {
    key: String,
    winner: Option<Winner>,
}

impl Contest {
    fn end(self) -> Option<(String, String)> {
        Some((self.key, self.winner?.partition))
    }
}

fn as_rows(chosen: Vec<(String, String)>) -> Result<RecordBatch> {
    let (keys, partitions): (Vec<String>, Vec<String>) = chosen.into_iter().unzip();
    let columns: [ArrayRef; 2] = [Arc::new(StringArray::from(keys)), Arc::new(StringArray::from(partitions))];
    Ok(RecordBatch::try_new(Choice::output_schema(), columns.to_vec())?)
}

/// Moves the rows of new keys to one partition each. Those of others are where their keys are.
pub(super) fn reunite(action: &Action, names: &mut [Names], rows: &Accepted<'_>) -> Result<()> {
    let keys = scattered(names);
    if keys.is_empty() {
        return Ok(());
    }
    let intake = action.intake()?;
    let partitions = action.choice()?.of_rows(names, |batch| rows.batch(&intake, batch), &keys)?;
    names.iter_mut().for_each(|names| names.move_keys(|key| Some(partitions.get(key)?.as_str())));
    Ok(())
}

fn scattered(names: &[Names]) -> BTreeSet<String> {
    let (mut first, mut scattered): (BTreeMap<&str, &str>, _) = (BTreeMap::new(), BTreeSet::new());
    for names in names {
        for (partition, key) in names.partitions.iter().zip(&names.keys) {
            let (Some(partition), Some(key)) = (partition, key) else { continue };
            if *first.entry(key).or_insert(partition) != partition {
                scattered.insert(key.to_owned());
            }
        }
    }
    scattered
}

impl Action {
    /// What chooses a partition for new keys whose rows name several.
    pub fn choice(&self) -> Result<Choice> {
        Ok(Choice { rule: self.rule()?, schema: self.schema_text().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, Int64Array, StructArray};
    use hudini_format::schema::avro_text;
    use rstest::rstest;

    use super::*;
    use crate::options::MergeMode;

    /// Key, partition, ordering value.
    type Row = (&'static str, &'static str, i64);

    const ROWS: [Row; 8] = [
        ("a", "A", 1),
        ("a", "B", 3),
        ("a", "C", 2),
        ("b", "A", 1),
        ("c", "A", 2),
        ("c", "B", 2),
        ("d", "B", i64::MIN),
        ("d", "A", i64::MIN + 1),
    ];

    fn batch(rows: &[Row]) -> RecordBatch {
        let text = |value: fn(&Row) -> &'static str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(rows.iter().map(value)))
        };
        let times: ArrayRef = Arc::new(rows.iter().map(|row| Some(row.2)).collect::<Int64Array>());
        let columns = [(KEY_COLUMN, text(|row| row.0)), (PARTITION_COLUMN, text(|row| row.1)), ("ts", times)];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn choice(mode: MergeMode) -> Choice {
        let schema = Schema::new(vec![Field::new("ts", DataType::Int64, true)]);
        Choice { rule: MergeRule::new(mode, &["ts".to_owned()]), schema: avro_text(&schema, "t").unwrap() }
    }

    #[rstest]
    #[case::greatest(MergeMode::EventTime, ["B", "A", "B", "A"])]
    #[case::latest(MergeMode::CommitTime, ["C", "A", "B", "A"])]
    fn the_row_that_wins_tells_the_partition(
        #[case] mode: MergeMode,
        #[case] expected: [&str; 4],
        #[values(1, 2, 3, 8)] at_once: usize,
    ) {
        let batches = ROWS.chunks(at_once).map(|rows| Ok(batch(rows)));
        let mut chosen = Vec::new();
        for batch in choice(mode).run(batches) {
            let batch = batch.unwrap();
            let text = |at: usize| batch.column(at).as_string::<i32>().iter().flatten().map(str::to_owned);
            chosen.extend(text(0).zip(text(1)));
        }
        let expected: Vec<_> =
            ["a", "b", "c", "d"].into_iter().zip(expected).map(|(key, of)| (key.to_owned(), of.to_owned())).collect();
        assert_eq!(chosen, expected);
    }

    #[test]
    fn a_field_within_a_struct_tells_it_too() {
        let flat = batch(&ROWS[..3]);
        let inner = Field::new("ts", DataType::Int64, true);
        let outer = StructArray::from(vec![(Arc::new(inner), Arc::clone(flat.column(2)))]);
        let schema = Schema::new(vec![Field::new("at", outer.data_type().clone(), true)]);
        let columns = [(KEY_COLUMN, Arc::clone(flat.column(0))), (PARTITION_COLUMN, Arc::clone(flat.column(1)))];
        let rows =
            RecordBatch::try_from_iter(columns.into_iter().chain([("at", Arc::new(outer) as ArrayRef)])).unwrap();
        let rule = MergeRule::new(MergeMode::EventTime, &["at.ts".to_owned()]);
        let choice = Choice { rule, schema: avro_text(&schema, "t").unwrap() };
        assert_eq!(choice.columns(), ["at"]);
        let chosen: Vec<_> = choice.run([Ok(rows)]).map(Result::unwrap).collect();
        let partitions = chosen.iter().flat_map(|rows| rows.column(1).as_string::<i32>().iter().flatten());
        assert_eq!(partitions.collect::<Vec<_>>(), ["B"]);
    }
}
