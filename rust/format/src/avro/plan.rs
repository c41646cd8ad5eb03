//! How to walk a record: one step for each of the writer's fields, one slot for each wanted field.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{DataType, Fields};

use super::allowance::Allowance;
use super::bunch::{BadDatum, Bunch, Rests};
use super::column::Column;
use super::shape::Bounds;
use super::skip::{self, Skip};
use crate::schema::Record;
use crate::{Error, Result};

#[derive(Debug)]
pub(super) struct Plan {
    steps: Vec<Step>,
    slots: Vec<Slot>,
    width: usize,
    missing_width: usize,
    rows: usize,
}

#[derive(Debug)]
enum Step {
    Read(Column),
    Skip(Skip),
}

/// Where a wanted field comes from.
#[derive(Debug)]
enum Slot {
    /// The so-manieth column that is read.
    Column(usize),
    Missing(DataType),
}

impl Plan {
    pub(super) fn new(writer: &Record, wanted: &Fields, bounds: &mut Bounds) -> Result<Self> {
        let by_name: BTreeMap<&str, usize> = wanted.iter().enumerate().map(|(at, w)| (w.name().as_str(), at)).collect();
        if by_name.len() < wanted.len() {
            return Err(Error::schema("two wanted columns of the same name"));
        }
        let mut slots: Vec<_> = wanted.iter().map(|w| Slot::Missing(w.data_type().clone())).collect();
        let (mut steps, mut skipped) = (Vec::with_capacity(wanted.len().min(writer.fields.len())), Vec::new());
        let (mut columns, mut width) = (0, 0_usize);
        for field in &writer.fields {
            let want = by_name.get(field.name.as_str()).and_then(|at| Some((wanted.get(*at)?, slots.get_mut(*at)?)));
            let Some((want, slot)) = want else {
                skip::append(&mut skipped, Skip::new(&field.node, bounds)?);
                continue;
            };
            if matches!(slot, Slot::Column(_)) {
                return Err(Error::corrupt(format!("two fields of an Avro record are called '{}'", field.name)));
            }
            let column = Column::new(&field.node, want.data_type(), bounds)
                .map_err(|e| Error::new(e.kind(), format!("column '{}': {}", field.name, e.message())))?;
            steps.extend(skipped.drain(..).map(Step::Skip));
            width = width.saturating_add(column.width());
            steps.push(Step::Read(column));
            *slot = Slot::Column(columns);
            columns += 1;
        }
        steps.extend(skipped.drain(..).map(Step::Skip));
        let missing_width = slots.iter().map(Slot::missing_width).fold(0, usize::saturating_add);
        Ok(Self { steps, slots, width, missing_width, rows: 0 })
    }

    /// Drops the steps behind the last wanted field. Whether there were any.
    pub(super) fn stop_early(&mut self) -> bool {
        let wanted = self.steps.iter().rposition(|step| matches!(step, Step::Read(_))).map_or(0, |at| at + 1);
        let stops = wanted < self.steps.len();
        self.steps.truncate(wanted);
        stops
    }

    /// Bytes in memory of the wanted fields that the writer lacks, a row.
    pub(super) fn missing_width(&self) -> usize {
        self.missing_width
    }

    /// Bytes in memory of the slots of a row, but for those of fields that the writer lacks.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    fn columns(&self) -> impl Iterator<Item = &Column> {
        self.steps.iter().filter_map(|step| match step {
            Step::Read(column) => Some(column),
            Step::Skip(_) => None,
        })
    }

    fn columns_mut(&mut self) -> impl Iterator<Item = &mut Column> {
        self.steps.iter_mut().filter_map(|step| match step {
            Step::Read(column) => Some(column),
            Step::Skip(_) => None,
        })
    }

    /// Reads a record and hands back what follows.
    #[inline]
    pub(super) fn read<'a>(&mut self, mut rest: &'a [u8], allowance: &mut Allowance) -> Result<&'a [u8]> {
        for step in &mut self.steps {
            rest = match step {
                Step::Read(column) => column.read(rest, allowance)?,
                Step::Skip(skip) => skip.over(rest)?,
            };
        }
        self.rows += 1;
        Ok(rest)
    }

    /// Reads rows of a plan that [is even](Self::is_even), which need no allowance.
    pub(super) fn read_bunch(&mut self, bunch: &mut Bunch<'_>) -> Result<(), BadDatum> {
        for step in &mut self.steps {
            match step {
                Step::Read(column) => bunch.each(|rest| column.read(rest, &mut Allowance::none()))?,
                Step::Skip(skip) => skip.over_each(bunch)?,
            }
        }
        self.rows += bunch.rows();
        Ok(())
    }

    /// Whether all rows take the same memory but for what they have in bytes: the width says it all.
    pub(super) fn is_even(&self) -> bool {
        self.columns().all(Column::is_even)
    }

    /// Whether values are passed over.
    pub(super) fn skips(&self) -> bool {
        self.columns().count() < self.steps.len()
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        self.columns_mut().for_each(|column| column.reserve(rows));
    }

    /// The children of a struct that is null.
    pub(super) fn push_fillers(&mut self) -> Result<()> {
        self.columns_mut().try_for_each(Column::push_filler)?;
        self.rows += 1;
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        let rows = std::mem::take(&mut self.rows);
        let read = self.columns_mut().map(Column::finish).collect::<Result<Vec<_>>>()?;
        let lost = || Error::internal("a decoded column went missing");
        self.slots
            .iter()
            .map(|slot| match slot {
                Slot::Column(at) => read.get(*at).map(Arc::clone).ok_or_else(lost),
                Slot::Missing(data_type) => Ok(new_null_array(data_type, rows)),
            })
            .collect()
    }
}

impl Slot {
    fn missing_width(&self) -> usize {
        match self {
            Self::Column(_) => 0,
            Self::Missing(data_type) => slot_width(data_type),
        }
    }
}

/// Bytes in memory of the slot of a value.
pub(super) fn slot_width(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|f| slot_width(f.data_type())).fold(0, usize::saturating_add),
        DataType::FixedSizeBinary(size) => usize::try_from(*size).unwrap_or(0),
        DataType::FixedSizeList(item, size) => {
            slot_width(item.data_type()).saturating_mul(usize::try_from(*size).unwrap_or(0))
        }
        DataType::Null => 0,
        other => other.primitive_width().unwrap_or(size_of::<i32>()),
    }
}
