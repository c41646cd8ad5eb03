//! A filter of which all columns and types are known, and its values for rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, RecordBatch, UInt64Array, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::DataType;
use arrow_select::nullif::nullif;
use arrow_select::take::take;

use super::Op;
use super::function::Function;
use super::types;
use crate::{Error, Result};

#[derive(Debug, Clone)]
pub(super) enum Expr {
    Column(Column),
    /// One value; all rows have it.
    Value(ArrayRef),
    /// Both sides have one type.
    Compare(Op, Box<Expr>, Box<Expr>),
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    OneOf(Box<Expr>, Set),
    Call(Function, Vec<Expr>),
    Cast(Box<Expr>, DataType),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    /// From the table's column down into structs.
    pub(super) path: Vec<String>,
    pub(super) kind: DataType,
}

/// The values of `IN (…)`, none of them null, and whether null was among them.
#[derive(Debug, Clone)]
pub(super) struct Set {
    pub(super) values: ArrayRef,
    pub(super) with_null: bool,
    lookup: Lookup,
}

#[derive(Debug, Clone)]
enum Lookup {
    Texts(BTreeSet<String>),
    /// Integers, days and moments.
    Numbers(BTreeSet<i64>),
    /// The values are compared one by one.
    None,
}

/// Values of an expression for the rows of a batch: one a row, or one for all of them.
#[derive(Debug, Clone)]
pub(super) enum Values {
    Rows(ArrayRef),
    One(ArrayRef),
}

impl Datum for Values {
    fn get(&self) -> (&dyn Array, bool) {
        match self {
            Self::Rows(rows) => (rows.as_ref(), false),
            Self::One(one) => (one.as_ref(), true),
        }
    }
}

impl Values {
    fn map(self, of: impl FnOnce(&ArrayRef) -> Result<ArrayRef>) -> Result<Self> {
        Ok(match self {
            Self::Rows(rows) => Self::Rows(of(&rows)?),
            Self::One(one) => Self::One(of(&one)?),
        })
    }

    /// One value for each row.
    pub(super) fn rows(self, rows: usize) -> Result<ArrayRef> {
        match self {
            Self::Rows(values) => Ok(values),
            Self::One(one) => Ok(take(&one, &UInt64Array::from(vec![0; rows]), None)?),
        }
    }
}

impl Expr {
    pub(super) fn kind(&self) -> DataType {
        match self {
            Self::Column(column) => column.kind.clone(),
            Self::Value(value) => value.data_type().clone(),
            Self::Call(function, arguments) => function.kind(&arguments.first().map_or(DataType::Null, Self::kind)),
            Self::Cast(_, kind) => kind.clone(),
            _ => DataType::Boolean,
        }
    }

    /// The columns of the table that it needs.
    pub(super) fn roots(&self, found: &mut BTreeSet<String>) {
        match self {
            Self::Column(column) => found.extend(column.path.first().cloned()),
            Self::Value(_) => {}
            Self::Compare(_, left, right) => [left, right].into_iter().for_each(|side| side.roots(found)),
            Self::All(parts) | Self::Any(parts) | Self::Call(_, parts) => parts.iter().for_each(|p| p.roots(found)),
            Self::Not(inner) | Self::IsNull(inner) | Self::OneOf(inner, _) | Self::Cast(inner, _) => inner.roots(found),
        }
    }

    /// Its values as a type to which [`types::common`] leads; of a constant at once.
    pub(super) fn cast(self, to: &DataType) -> Result<Self> {
        match self {
            same if same.kind() == *to => Ok(same),
            Self::Value(value) if value.is_null(0) || *value.data_type() == DataType::Null => {
                Ok(Self::Value(new_null_array(to, 1)))
            }
            Self::Value(value) => Ok(Self::Value(types::cast(&value, to)?)),
            other => Ok(Self::Cast(Box::new(other), to.clone())),
        }
    }

    pub(super) fn values(&self, rows: &RecordBatch) -> Result<Values> {
        let count = rows.num_rows();
        Ok(match self {
            Self::Column(column) => Values::Rows(column.values(rows)?),
            Self::Value(value) => Values::One(Arc::clone(value)),
            Self::Compare(op, left, right) => {
                let (left, right) = (left.values(rows)?, right.values(rows)?);
                let constant = matches!((&left, &right), (Values::One(_), Values::One(_)));
                let result: ArrayRef = Arc::new(compare(*op, left, right)?);
                if constant { Values::One(result) } else { Values::Rows(result) }
            }
            Self::All(parts) => Values::Rows(Arc::new(chain(parts, rows, both)?)),
            Self::Any(parts) => Values::Rows(Arc::new(chain(parts, rows, either)?)),
            Self::Not(inner) => inner.values(rows)?.map(|values| Ok(Arc::new(not(values.as_boolean()))))?,
            Self::IsNull(inner) => inner.values(rows)?.map(|values| Ok(Arc::new(is_null(values))))?,
            Self::OneOf(inner, set) => inner.values(rows)?.map(|values| Ok(Arc::new(set.holds(values)?)))?,
            Self::Cast(inner, kind) => inner.values(rows)?.map(|values| types::cast(values, kind))?,
            Self::Call(function, arguments) => {
                let of_row = |argument: &Self| argument.values(rows)?.rows(count);
                Values::Rows(function.call(&arguments.iter().map(of_row).collect::<Result<Vec<_>>>()?)?)
            }
        })
    }

    /// Of a condition: for each row whether it holds, does not, or is unknown.
    pub(super) fn truth(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let values = self.values(rows)?.rows(rows.num_rows())?;
        let truth = values.as_boolean_opt().cloned();
        truth.ok_or_else(|| Error::internal("a condition that is neither true nor false"))
    }
}

impl Column {
    fn values(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let missing = || Error::internal(format!("column '{}' was not read", self.path.join(".")));
        let mut names = self.path.iter();
        let mut values = names.next().and_then(|name| rows.column_by_name(name)).cloned().ok_or_else(missing)?;
        for name in names {
            let parent = values.as_struct_opt().ok_or_else(missing)?;
            let child = parent.column_by_name(name).ok_or_else(missing)?;
            // Without its struct a field is null, whatever stands there.
            values = match parent.nulls() {
                None => Arc::clone(child),
                Some(nulls) => nullif(child, &BooleanArray::new(!nulls.inner(), None))?,
            };
        }
        Ok(values)
    }
}

/// For values of one type; NaN equals NaN and is greater than any other number, and zeros are equal.
pub(super) fn compare(op: Op, left: Values, right: Values) -> Result<BooleanArray> {
    let (left, right) = (left.map(comparable)?, right.map(comparable)?);
    let result = match op {
        Op::Equal => cmp::eq(&left, &right),
        Op::Same => cmp::not_distinct(&left, &right),
        Op::Less => cmp::lt(&left, &right),
        Op::LessEqual => cmp::lt_eq(&left, &right),
        Op::Greater => cmp::gt(&left, &right),
        Op::GreaterEqual => cmp::gt_eq(&left, &right),
    };
    Ok(result?)
}

/// The kernels order doubles by their bits: a NaN with a sign is least, and -0.0 is less than 0.0.
fn comparable(values: &ArrayRef) -> Result<ArrayRef> {
    Ok(match values.data_type() {
        DataType::Float32 => {
            let one_of_its_kind = |v: f32| if v.is_nan() { f32::NAN } else { v + 0.0 };
            Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(one_of_its_kind))
        }
        DataType::Float64 => {
            let one_of_its_kind = |v: f64| if v.is_nan() { f64::NAN } else { v + 0.0 };
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(one_of_its_kind))
        }
        _ => Arc::clone(values),
    })
}

impl Set {
    /// Of values that are not null.
    pub(super) fn new(values: ArrayRef, with_null: bool) -> Result<Self> {
        let lookup = match values.data_type() {
            DataType::Utf8 => Lookup::Texts(values.as_string::<i32>().iter().flatten().map(str::to_owned).collect()),
            kind if is_whole(kind) => {
                Lookup::Numbers(numbers(&values)?.as_primitive::<Int64Type>().iter().flatten().collect())
            }
            _ => Lookup::None,
        };
        Ok(Self { values, with_null, lookup })
    }

    pub(super) fn holds(&self, values: &ArrayRef) -> Result<BooleanArray> {
        let found: BooleanArray = match &self.lookup {
            Lookup::Texts(texts) => {
                values.as_string::<i32>().iter().map(|text| text.map(|text| texts.contains(text))).collect()
            }
            Lookup::Numbers(known) => {
                let numbers = numbers(values)?;
                numbers.as_primitive::<Int64Type>().iter().map(|n| n.map(|n| known.contains(&n))).collect()
            }
            Lookup::None => {
                let none = BooleanArray::new(BooleanBuffer::new_unset(values.len()), values.logical_nulls());
                (0..self.values.len()).try_fold(none, |found, at| {
                    let value = Values::One(self.values.slice(at, 1));
                    Ok::<_, Error>(either(&found, &compare(Op::Equal, Values::Rows(Arc::clone(values)), value)?))
                })?
            }
        };
        if !self.with_null {
            return Ok(found);
        }
        // What is not among the known values may be the unknown one.
        let known = NullBuffer::new(found.values().clone());
        Ok(BooleanArray::new(found.values().clone(), NullBuffer::union(found.nulls(), Some(&known))))
    }
}

fn is_whole(kind: &DataType) -> bool {
    matches!(kind, DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Timestamp(..))
}

/// Days and moments as the numbers that they are.
fn numbers(values: &ArrayRef) -> Result<ArrayRef> {
    Ok(arrow_cast::cast(values, &DataType::Int64)?)
}

fn chain(
    parts: &[Expr],
    rows: &RecordBatch,
    join: fn(&BooleanArray, &BooleanArray) -> BooleanArray,
) -> Result<BooleanArray> {
    let mut parts = parts.iter();
    let first = parts.next().ok_or_else(|| Error::internal("a chain of no conditions"))?.truth(rows)?;
    parts.try_fold(first, |left, right| Ok(join(&left, &right.truth(rows)?)))
}

/// Where it is true and known, and where it is false and known.
fn known(values: &BooleanArray) -> (BooleanBuffer, BooleanBuffer) {
    let (yes, no) = (values.values(), !values.values());
    match values.nulls() {
        None => (yes.clone(), no),
        Some(nulls) => (yes & nulls.inner(), &no & nulls.inner()),
    }
}

fn of_known(yes: BooleanBuffer, no: &BooleanBuffer) -> BooleanArray {
    let valid = NullBuffer::new(&yes | no);
    BooleanArray::new(yes, (valid.null_count() > 0).then_some(valid))
}

fn both(left: &BooleanArray, right: &BooleanArray) -> BooleanArray {
    let ((left_yes, left_no), (right_yes, right_no)) = (known(left), known(right));
    of_known(&left_yes & &right_yes, &(&left_no | &right_no))
}

fn either(left: &BooleanArray, right: &BooleanArray) -> BooleanArray {
    let ((left_yes, left_no), (right_yes, right_no)) = (known(left), known(right));
    of_known(&left_yes | &right_yes, &(&left_no & &right_no))
}

fn not(values: &BooleanArray) -> BooleanArray {
    BooleanArray::new(!values.values(), values.nulls().cloned())
}

fn is_null(values: &ArrayRef) -> BooleanArray {
    match values.logical_nulls() {
        Some(nulls) => BooleanArray::new(!nulls.inner(), None),
        None => BooleanArray::new(BooleanBuffer::new_unset(values.len()), None),
    }
}
