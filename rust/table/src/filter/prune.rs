//! Whether rows can match of which only statistics are known. When in doubt, they can.
//!
//! A value lies between two bounds; a condition may come out true, false or unknown. Comparisons of bounds are those of rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::Op;
use super::expr::{Column, Expr, Set, Values, compare};
use super::function::Function;
use super::like::Pattern;
use super::types;

/// What is known of a column's values in some rows. What is not known is `None`.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// An array of one value that is not greater than any, null aside. It has the column's type in the table.
    pub min: Option<ArrayRef>,
    /// An array of one value that is not less than any, null aside. NaN is the greatest of floating-point numbers: where it
    /// is not counted, this is `None`.
    pub max: Option<ArrayRef>,
    pub nulls: Option<u64>,
    pub rows: Option<u64>,
}

impl Stats {
    /// Of these rows and others together.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        let bound = |one: Option<ArrayRef>, other: Option<ArrayRef>, is_out: fn(&ArrayRef, &ArrayRef) -> bool| {
            let (one, other) = one.zip(other).filter(|(one, other)| one.data_type() == other.data_type())?;
            Some(if is_out(&one, &other) { one } else { other })
        };
        let sum = |one: Option<u64>, other: Option<u64>| one?.checked_add(other?);
        Self {
            min: bound(self.min, others.min, |one, other| holds(Op::LessEqual, one, other)),
            max: bound(self.max, others.max, |one, other| holds(Op::GreaterEqual, one, other)),
            nulls: sum(self.nulls, others.nulls),
            rows: sum(self.rows, others.rows),
        }
    }
}

/// Statistics of some rows: those of a partition, a file, a row group.
pub trait ColumnStats {
    /// By the column's name in the table, with dots into structs.
    fn stats(&self, column: &str) -> Option<Stats>;
}

pub(super) fn may_match(condition: &Expr, stats: &dyn ColumnStats) -> bool {
    truth(condition, stats).yes
}

/// The values of a column that a part of a filter asks for.
pub(super) fn values_of(part: &Expr, column: &str) -> Option<ArrayRef> {
    let is_it = |expr: &Expr| matches!(expr, Expr::Column(Column { path, .. }) if path.join(".") == column);
    match part {
        Expr::Compare(Op::Equal | Op::Same, left, right) => match (left.as_ref(), right.as_ref()) {
            (found, Expr::Value(value)) | (Expr::Value(value), found) if is_it(found) && value.is_valid(0) => {
                Some(Arc::clone(value))
            }
            _ => None,
        },
        Expr::All(parts) => parts.iter().find_map(|part| values_of(part, column)),
        Expr::OneOf(found, Set { values, .. }) if is_it(found) => Some(Arc::clone(values)),
        _ => None,
    }
}

/// How a condition may come out.
#[derive(Debug, Clone, Copy)]
struct Truth {
    yes: bool,
    no: bool,
    unknown: bool,
}

const ANYTHING: Truth = Truth { yes: true, no: true, unknown: true };

/// What the values of an expression may be.
#[derive(Debug, Clone)]
struct Bounds {
    least: Option<ArrayRef>,
    greatest: Option<ArrayRef>,
    /// Whether some may be null.
    null: bool,
    /// Whether some may be not null.
    value: bool,
}

fn truth(condition: &Expr, stats: &dyn ColumnStats) -> Truth {
    match condition {
        Expr::Compare(op, left, right) => compared(*op, &bounds(left, stats), &bounds(right, stats)),
        Expr::All(parts) => {
            let parts = parts.iter().map(|part| truth(part, stats));
            parts.fold(Truth { yes: true, no: false, unknown: false }, |all, part| Truth {
                yes: all.yes && part.yes,
                no: all.no || part.no,
                unknown: all.unknown || part.unknown,
            })
        }
        Expr::Any(parts) => {
            let parts = parts.iter().map(|part| truth(part, stats));
            parts.fold(Truth { yes: false, no: true, unknown: false }, |any, part| Truth {
                yes: any.yes || part.yes,
                no: any.no && part.no,
                unknown: any.unknown || part.unknown,
            })
        }
        Expr::Not(inner) => {
            let inner = truth(inner, stats);
            Truth { yes: inner.no, no: inner.yes, unknown: inner.unknown }
        }
        Expr::IsNull(inner) => {
            let inner = bounds(inner, stats);
            Truth { yes: inner.null, no: inner.value, unknown: false }
        }
        Expr::OneOf(inner, set) => one_of(&bounds(inner, stats), set),
        Expr::Call(Function::Matches(pattern), arguments) => match arguments.as_slice() {
            [text] => matches(&bounds(text, stats), pattern),
            _ => ANYTHING,
        },
        Expr::Column(_) | Expr::Value(_) => of_booleans(&bounds(condition, stats)),
        Expr::Call(..) | Expr::Cast(..) => ANYTHING,
    }
}

fn bounds(expr: &Expr, stats: &dyn ColumnStats) -> Bounds {
    match expr {
        Expr::Column(column) => of_column(column, stats.stats(&column.path.join(".")).unwrap_or_default()),
        Expr::Value(value) => {
            let null = value.is_null(0) || *value.data_type() == DataType::Null;
            let known = (!null).then(|| Arc::clone(value));
            Bounds { least: known.clone(), greatest: known, null, value: !null }
        }
        // As text 10 is less than 9.
        Expr::Cast(_, DataType::Utf8) => Bounds { least: None, greatest: None, null: true, value: true },
        Expr::Cast(inner, kind) => bounds(inner, stats).map(|value| types::cast(value, kind).ok()),
        Expr::Call(function, arguments) => match arguments.as_slice() {
            [only] if function.is_monotone(&only.kind()) => {
                let inner = bounds(only, stats);
                if !function.keeps_order_between(inner.least.as_ref(), inner.greatest.as_ref()) {
                    return Bounds { least: None, greatest: None, null: true, ..inner };
                }
                let bounds = inner.map(|value| function.call(&[Arc::clone(value)]).ok());
                // What is beyond a calendar becomes null.
                Bounds { null: true, ..bounds }
            }
            _ => Bounds { least: None, greatest: None, null: true, value: true },
        },
        _ => {
            let truth = truth(expr, stats);
            Bounds { least: None, greatest: None, null: truth.unknown, value: truth.yes || truth.no }
        }
    }
}

impl Bounds {
    fn map(self, of: impl Fn(&ArrayRef) -> Option<ArrayRef>) -> Self {
        let bound = |value: Option<ArrayRef>| value.and_then(|value| of(&value)).filter(|value| value.is_valid(0));
        Self { least: bound(self.least), greatest: bound(self.greatest), ..self }
    }

    /// The one value that all have, unless they are null.
    fn only(&self) -> Option<&ArrayRef> {
        let (least, greatest) = (self.least.as_ref()?, self.greatest.as_ref()?);
        holds(Op::Equal, least, greatest).then_some(least)
    }

    /// Whether a value may be among them.
    fn reach(&self, value: &ArrayRef) -> bool {
        !less(Some(value), self.least.as_ref()) && !less(self.greatest.as_ref(), Some(value))
    }
}

fn of_column(column: &Column, stats: Stats) -> Bounds {
    let usable = |value: &ArrayRef| {
        *value.data_type() == column.kind
            && value.len() == 1
            && value.is_valid(0)
            && types::common(&column.kind, &column.kind).is_some()
    };
    let Stats { min, max, nulls, rows } = stats;
    Bounds {
        // A least value that is no number was not compared as Spark would.
        least: min.filter(|value| usable(value) && !is_nan(value)),
        greatest: max.filter(usable),
        null: rows != Some(0) && nulls != Some(0),
        value: match (nulls, rows) {
            (Some(nulls), Some(rows)) => nulls < rows,
            (None, Some(0)) => false,
            _ => true,
        },
    }
}

fn is_nan(value: &ArrayRef) -> bool {
    match value.data_type() {
        DataType::Float32 => value.as_primitive::<Float32Type>().value(0).is_nan(),
        DataType::Float64 => value.as_primitive::<Float64Type>().value(0).is_nan(),
        _ => false,
    }
}

/// Whether that is certain.
fn less(left: Option<&ArrayRef>, right: Option<&ArrayRef>) -> bool {
    left.zip(right).is_some_and(|(left, right)| holds(Op::Less, left, right))
}

fn holds(op: Op, left: &ArrayRef, right: &ArrayRef) -> bool {
    let result = compare(op, Values::One(Arc::clone(left)), Values::One(Arc::clone(right)));
    result.is_ok_and(|result| result.has_true())
}

fn compared(op: Op, left: &Bounds, right: &Bounds) -> Truth {
    let values = left.value && right.value;
    let unknown = left.null || right.null;
    // Whether all values of one side are less than all of the other, and whether none is greater.
    let all_less = less(left.greatest.as_ref(), right.least.as_ref());
    let all_greater = less(right.greatest.as_ref(), left.least.as_ref());
    let at_most = |left: &Bounds, right: &Bounds| {
        left.greatest.as_ref().zip(right.least.as_ref()).is_some_and(|(left, right)| holds(Op::LessEqual, left, right))
    };
    let apart = all_less || all_greater;
    let equal = left.only().zip(right.only()).is_some_and(|(left, right)| holds(Op::Equal, left, right));
    let (yes, no) = match op {
        Op::Equal => (!apart, !equal),
        Op::Same => {
            let nulls = left.null && right.null;
            let mixed = (left.null && right.value) || (left.value && right.null);
            return Truth { yes: nulls || (values && !apart), no: mixed || (values && !equal), unknown: false };
        }
        Op::Less => (!at_most(right, left), !all_less),
        Op::LessEqual => (!all_greater, !at_most(left, right)),
        Op::Greater => (!at_most(left, right), !all_greater),
        Op::GreaterEqual => (!all_less, !at_most(right, left)),
    };
    Truth { yes: values && yes, no: values && no, unknown }
}

fn one_of(value: &Bounds, set: &Set) -> Truth {
    let among = |at| value.reach(&set.values.slice(at, 1));
    let all = value.only().is_some_and(|only| set.holds(only).is_ok_and(|found| found.has_true()));
    Truth {
        yes: value.value && (0..set.values.len()).any(among),
        no: value.value && !set.with_null && !all,
        unknown: value.null || set.with_null,
    }
}

fn matches(text: &Bounds, pattern: &Pattern) -> Truth {
    let prefix = pattern.prefix();
    let as_text = |value: &ArrayRef| value.as_string_opt::<i32>().map(|text| text.value(0).to_owned());
    let before = text.greatest.as_ref().and_then(as_text).is_some_and(|greatest| greatest < prefix);
    let behind = |least: String| least > prefix && !least.starts_with(&prefix);
    let behind = text.least.as_ref().and_then(as_text).is_some_and(behind);
    Truth { yes: text.value && !before && !behind, no: text.value, unknown: text.null }
}

fn of_booleans(value: &Bounds) -> Truth {
    let is = |bound: &Option<ArrayRef>, wanted: bool| {
        bound.as_ref().and_then(|bound| bound.as_boolean_opt()).is_some_and(|bound| bound.value(0) == wanted)
    };
    Truth {
        yes: value.value && !is(&value.greatest, false),
        no: value.value && !is(&value.least, true),
        unknown: value.null,
    }
}
