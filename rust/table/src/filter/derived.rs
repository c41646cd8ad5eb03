//! What an index has of a column in place of its values: what a function makes of them.
//!
//! Who made the index was Spark, in a time zone and a language that are not written down, and a filter has its own
//! (UTC, none). So what the index says of values is taken to be about those that the filter works out only as far as both
//! can differ:
//!
//! | function | in any other zone or language |
//! |---|---|
//! | of texts; of dates | the same |
//! | upper and lower case | the same of ASCII, which Spark changes byte by byte; a Turkish I has another small letter |
//! | a date, a year, seconds of a moment | within a day, a year, 18 hours |
//! | a moment as text, from the year down | the text of a moment within 18 hours |
//! | a month, a day, an hour of a moment | anything: such an index is not asked |
//!
//! Texts that are read as dates are not among them: what is no date for the one may be one for the other.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::calendar::{Format, MICROS_PER_DAY, MICROS_PER_SECOND, Part};
use super::expr::{Column, Expr, Set};
use super::function::Function;
use super::prune::Stats;
use super::{Op, Predicate, bind, calendar, parse};

/// The name by which a predicate asks for what the index has. No column can have it.
pub(crate) const STAND_IN: &str = "\0";
/// No zone is further from UTC.
const FARTHEST_ZONE: i64 = 18 * 3600;
/// From here on the calendar has one name for each day, whatever Spark was told about old ones.
const FIRST_YEAR: i64 = 1583;
/// Years behind have texts that are out of order, and so have those before the first, which are not told from these.
const LAST_YEAR: i64 = 9998;

/// A function of one column.
#[derive(Debug, Clone)]
pub(crate) struct Derived {
    expression: Expr,
    column: Column,
    likeness: Likeness,
}

/// How like each other are a value of the index and that of a filter.
#[derive(Debug, Clone, PartialEq)]
enum Likeness {
    Same,
    /// Where one of them is ASCII, or the column's value is.
    SameInAscii,
    /// No further apart than that, in units of the type; of values that are not less.
    Near {
        by: i64,
        from: i64,
    },
    /// Texts of moments.
    Moments(Format),
}

impl Derived {
    /// By its text as a filter has it, over the columns of a table. `None` if it is none, or if its values can be anything.
    pub(crate) fn new(text: &str, schema: &Schema) -> Option<Self> {
        let expression = bind::expression(&parse::parse(text).ok()?, schema).ok()?;
        let likeness = likeness(&expression)?;
        let column = only_column(&expression)?.clone();
        Some(Self { expression, column, likeness })
    }

    pub(crate) fn kind(&self) -> DataType {
        self.expression.kind()
    }

    /// Whether the index has the very values that the filter works out, of those that the filter asks for.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.likeness, Likeness::Same | Likeness::SameInAscii)
    }

    /// What bounds of the index say of the values that a filter works out. How many are null they do not: a value may be
    /// too great for the one and not for the other.
    pub(crate) fn of_filter(&self, indexed: Stats) -> Stats {
        let Stats { min, max, .. } = indexed;
        let (min, max) = match &self.likeness {
            Likeness::Same | Likeness::SameInAscii => (min, max),
            Likeness::Near { by, from } => match min.as_ref().and_then(number).filter(|min| min >= from) {
                Some(_) => (min.and_then(|min| moved(&min, -by)), max.and_then(|max| moved(&max, *by))),
                None => (None, None),
            },
            Likeness::Moments(format) => match min.zip(max).and_then(|(min, max)| in_any_zone(format, &min, &max)) {
                Some((min, max)) => (Some(min), Some(max)),
                None => (None, None),
            },
        };
        Stats { min, max, nulls: None, rows: None }
    }

    /// Puts the stand-in wherever the condition asks for values of the index, or for what follows for them.
    fn put_in(&self, condition: &Expr, found: &mut bool) -> Expr {
        if let Some(asked) = self.asked_by(condition) {
            *found = true;
            return asked;
        }
        if self.likeness != Likeness::SameInAscii && same(condition, &self.expression) {
            *found = true;
            return self.stand_in();
        }
        let mut inner = |expr: &Expr| self.put_in(expr, found);
        let boxed = |expr: Expr| Box::new(expr);
        match condition {
            Expr::Column(_) | Expr::Value(_) => condition.clone(),
            Expr::Compare(op, left, right) => Expr::Compare(*op, boxed(inner(left)), boxed(inner(right))),
            Expr::All(parts) => Expr::All(parts.iter().map(inner).collect()),
            Expr::Any(parts) => Expr::Any(parts.iter().map(inner).collect()),
            Expr::Not(part) => Expr::Not(boxed(inner(part))),
            Expr::IsNull(part) => Expr::IsNull(boxed(inner(part))),
            Expr::OneOf(part, set) => Expr::OneOf(boxed(inner(part)), set.clone()),
            Expr::Call(function, parts) => Expr::Call(function.clone(), parts.iter().map(inner).collect()),
            Expr::Cast(part, kind) => Expr::Cast(boxed(inner(part)), kind.clone()),
        }
    }

    /// Of a condition that wants certain values of the column, or of the function in ASCII: the same, and what the index
    /// must have for it. Nothing follows from its being false.
    fn asked_by(&self, condition: &Expr) -> Option<Expr> {
        let (subject, values) = wanted(condition)?;
        let is_ascii = self.likeness == Likeness::SameInAscii;
        if is_ascii && !all_ascii(&values) {
            return None;
        }
        let is_column = !matches!(self.expression, Expr::Column(_))
            && matches!(subject, Expr::Column(column) if *column == self.column);
        let implied = if is_ascii && same(subject, &self.expression) {
            values
        } else if is_column {
            self.values_of(&values)?
        } else {
            return None;
        };
        let set = Set::new(implied, false).ok()?;
        Some(Expr::All(vec![condition.clone(), Expr::OneOf(Box::new(self.stand_in()), set)]))
    }

    /// What the function makes of some values of the column, if it is a value of all of them.
    fn values_of(&self, values: &ArrayRef) -> Option<ArrayRef> {
        let name = self.column.path.first()?;
        let schema = Schema::new(vec![Field::new(name, values.data_type().clone(), true)]);
        let rows = RecordBatch::try_new(Arc::new(schema), vec![Arc::clone(values)]).ok()?;
        let made = self.expression.values(&rows).ok()?.rows(values.len()).ok()?;
        (made.null_count() == 0).then_some(made)
    }

    fn stand_in(&self) -> Expr {
        Expr::Column(Column { path: vec![STAND_IN.to_owned()], kind: self.kind() })
    }
}

impl Predicate {
    /// The same condition, asked of what an index has; `None` if nothing of it is.
    pub(crate) fn by(&self, derived: &Derived) -> Option<Self> {
        let mut found = false;
        let condition = derived.put_in(&self.condition, &mut found);
        found.then(|| Self { condition, columns: self.columns.clone() })
    }
}

/// What a comparison with constants is about, and the values of which it wants one.
fn wanted(condition: &Expr) -> Option<(&Expr, ArrayRef)> {
    match condition {
        Expr::Compare(Op::Equal | Op::Same, left, right) => match (left.as_ref(), right.as_ref()) {
            (subject, Expr::Value(value)) | (Expr::Value(value), subject) if value.is_valid(0) => {
                Some((subject, Arc::clone(value)))
            }
            _ => None,
        },
        Expr::OneOf(subject, set) => Some((subject, Arc::clone(&set.values))),
        _ => None,
    }
}

fn all_ascii(values: &ArrayRef) -> bool {
    values.as_string_opt::<i32>().is_some_and(|texts| texts.iter().flatten().all(str::is_ascii))
}

fn same(one: &Expr, other: &Expr) -> bool {
    match (one, other) {
        (Expr::Column(one), Expr::Column(other)) => one == other,
        (Expr::Cast(one, to), Expr::Cast(other, other_to)) => to == other_to && same(one, other),
        (Expr::Call(function, parts), Expr::Call(other, other_parts)) => {
            function == other
                && parts.len() == other_parts.len()
                && parts.iter().zip(other_parts).all(|(one, other)| same(one, other))
        }
        _ => false,
    }
}

/// The column that a function of one argument is of, or one of such functions.
fn only_column(expression: &Expr) -> Option<&Column> {
    match expression {
        Expr::Column(column) => Some(column).filter(|column| column.path.len() == 1),
        Expr::Cast(inner, _) => only_column(inner),
        Expr::Call(_, arguments) => match arguments.as_slice() {
            [only] => only_column(only),
            _ => None,
        },
        _ => None,
    }
}

fn likeness(expression: &Expr) -> Option<Likeness> {
    let Expr::Call(function, arguments) = expression else {
        return matches!(expression, Expr::Column(_)).then_some(Likeness::Same);
    };
    let [argument] = arguments.as_slice() else { return None };
    let from_day = calendar::first_day_of(FIRST_YEAR);
    Some(match (function, Source::of(argument)?) {
        (Function::Lower | Function::Upper, Source::Text) => Likeness::SameInAscii,
        (Function::Trim(..) | Function::Length | Function::Substring(..), Source::Text)
        | (Function::Length, Source::Bytes) => Likeness::Same,
        (Function::Part(Part::Year), Source::Date) => Likeness::Near { by: 0, from: FIRST_YEAR },
        (Function::Part(Part::Year), Source::DateOfMoment) => Likeness::Near { by: 1, from: FIRST_YEAR + 1 },
        (Function::ToDate, Source::Date) => Likeness::Near { by: 0, from: from_day },
        (Function::ToDate, Source::Instant | Source::LocalTime) => Likeness::Near { by: 1, from: from_day + 1 },
        (Function::AddDays(count), source @ (Source::Date | Source::DateOfMoment)) => {
            let by = i64::from(source == Source::DateOfMoment);
            Likeness::Near { by, from: from_day.checked_add((*count).max(0))?.checked_add(by)? }
        }
        // Spark rounds what is before 1970 toward it.
        (Function::Seconds, Source::Instant) => Likeness::Near { by: 1, from: from_day * 86_400 },
        (Function::Seconds, Source::Date | Source::LocalTime) => {
            Likeness::Near { by: FARTHEST_ZONE, from: (from_day + 1) * 86_400 }
        }
        (Function::Format(format), Source::Date | Source::Instant | Source::LocalTime | Source::Seconds)
            if format.is_ordered() =>
        {
            Likeness::Moments(format.clone())
        }
        _ => return None,
    })
}

/// What a function is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Text,
    Bytes,
    Date,
    /// A moment, the same in all zones.
    Instant,
    /// A time of day without a zone.
    LocalTime,
    /// Seconds since 1970, taken for a moment.
    Seconds,
    /// The day of a moment.
    DateOfMoment,
}

impl Source {
    fn of(argument: &Expr) -> Option<Self> {
        match argument {
            Expr::Column(column) => Some(match &column.kind {
                DataType::Utf8 => Self::Text,
                DataType::Binary => Self::Bytes,
                DataType::Date32 => Self::Date,
                DataType::Timestamp(_, Some(_)) => Self::Instant,
                DataType::Timestamp(_, None) => Self::LocalTime,
                _ => return None,
            }),
            Expr::Call(Function::ToDate, inner) => match inner.as_slice() {
                [Expr::Column(Column { kind: DataType::Timestamp(..), .. })] => Some(Self::DateOfMoment),
                _ => None,
            },
            Expr::Call(Function::FromSeconds, inner) => match inner.as_slice() {
                [Expr::Column(_)] => Some(Self::Seconds),
                [Expr::Cast(widened, _)] => matches!(widened.as_ref(), Expr::Column(_)).then_some(Self::Seconds),
                _ => None,
            },
            _ => None,
        }
    }
}

fn number(value: &ArrayRef) -> Option<i64> {
    let numbers = arrow_cast::cast(value, &DataType::Int64).ok()?;
    let numbers = numbers.as_primitive::<Int64Type>();
    (numbers.len() == 1 && numbers.is_valid(0)).then(|| numbers.value(0))
}

fn moved(value: &ArrayRef, by: i64) -> Option<ArrayRef> {
    let there: ArrayRef = Arc::new(Int64Array::from(vec![number(value)?.checked_add(by)?]));
    arrow_cast::cast(&there, value.data_type()).ok().filter(|there| there.is_valid(0))
}

/// The texts between which those of the same moments are in UTC.
fn in_any_zone(format: &Format, min: &ArrayRef, max: &ArrayRef) -> Option<(ArrayRef, ArrayRef)> {
    let text_of = |bound: &ArrayRef| bound.as_string_opt::<i32>().map(|text| text.value(0).to_owned());
    let far = FARTHEST_ZONE * MICROS_PER_SECOND;
    let mut least = format.moments_of(&text_of(min)?)?.0 - far;
    let mut greatest = format.moments_of(&text_of(max)?)?.1 + far;
    let year = |micros: i64| Part::Year.of(micros.div_euclid(MICROS_PER_DAY), 0);
    let (first, last) = (year(least), year(greatest));
    if first < FIRST_YEAR || last > LAST_YEAR {
        return None;
    }
    // Texts do not tell years from those before our era, where the year after the last of December has a lower number.
    if first != last {
        least = calendar::first_day_of(first - 1) * MICROS_PER_DAY;
        greatest = calendar::first_day_of(last + 2) * MICROS_PER_DAY - 1;
    }
    let printed = |micros: i64| {
        let mut out = String::new();
        format.push(micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY), &mut out);
        Arc::new(StringArray::from(vec![out])) as ArrayRef
    };
    Some((printed(least), printed(greatest)))
}

#[cfg(test)]
mod tests;
