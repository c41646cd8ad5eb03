//! Calls of functions by name: which function it is, and whether it can be had of these arguments.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::calendar::{Format, Part};
use super::expr::Expr;
use super::function::Function;
use super::like::Pattern;
use super::{invalid, types};
use crate::{Error, Result};

const DEFAULT_TIME_FORMAT: &str = "yyyy-MM-dd HH:mm:ss";

const FUNCTIONS: &str = "lower, upper, trim, ltrim, rtrim, length, substring, concat, startswith, endswith, contains, \
                         abs, ceil, floor, year, quarter, month, day, dayofweek, weekday, dayofyear, weekofyear, hour, \
                         minute, second, to_date, to_timestamp, date_add, date_sub, datediff, date_format, \
                         from_unixtime, unix_timestamp";

pub(super) fn call(name: &str, arguments: Vec<Expr>, at: usize) -> Result<Expr> {
    let mut given = Given { name, at, rest: arguments.into_iter() };
    let (function, values) = match name {
        "lower" | "lcase" => (Function::Lower, vec![given.text()?]),
        "upper" | "ucase" => (Function::Upper, vec![given.text()?]),
        "trim" => (Function::Trim(true, true), vec![given.text()?]),
        "ltrim" => (Function::Trim(true, false), vec![given.text()?]),
        "rtrim" => (Function::Trim(false, true), vec![given.text()?]),
        "length" | "len" | "char_length" | "character_length" => (Function::Length, vec![given.text_or_bytes()?]),
        "substring" | "substr" => {
            let value = given.text()?;
            let from = given.constant()?;
            let count = if given.has_more() { given.constant()? } else { i64::MAX };
            (Function::Substring(from, count), vec![value])
        }
        "concat" => {
            let mut parts = vec![given.text()?];
            while given.has_more() {
                parts.push(given.text()?);
            }
            (Function::Concat, parts)
        }
        "startswith" => given.around(false, true)?,
        "endswith" => given.around(true, false)?,
        "contains" => given.around(true, true)?,
        "abs" => (Function::Abs, vec![given.number()?]),
        "floor" => (Function::Floor, vec![given.number()?]),
        "ceil" | "ceiling" => (Function::Ceil, vec![given.number()?]),
        "to_date" => (Function::ToDate, vec![given.moment(false)?]),
        "to_timestamp" => (Function::ToTimestamp, vec![given.moment(false)?]),
        "date_add" => {
            let day = given.day()?;
            (Function::AddDays(given.constant()?), vec![day])
        }
        "date_sub" => {
            let day = given.day()?;
            (Function::AddDays(given.constant()?.saturating_neg()), vec![day])
        }
        "datediff" | "date_diff" => (Function::DaysBetween, vec![given.day()?, given.day()?]),
        "date_format" => {
            let moment = given.moment(true)?;
            (Function::Format(given.format()?), vec![moment])
        }
        "from_unixtime" => {
            let seconds = folded(Function::FromSeconds, vec![given.whole()?], at)?;
            let format = if given.has_more() { given.format()? } else { Format::parse(DEFAULT_TIME_FORMAT)? };
            (Function::Format(format), vec![seconds])
        }
        "unix_timestamp" | "to_unix_timestamp" => (Function::Seconds, vec![given.time()?]),
        _ => match Part::of_name(name) {
            Some(part) if part.is_of_time() => (Function::Part(part), vec![given.moment(true)?]),
            Some(part) => (Function::Part(part), vec![given.day()?]),
            None => {
                let hint = format!("functions: {FUNCTIONS}");
                return Err(invalid(at, format!("filters do not know the function {name}()")).with_hint(hint));
            }
        },
    };
    if given.has_more() {
        return Err(invalid(at, format!("{name}() does not take so many arguments")));
    }
    folded(function, values, at)
}

/// Of constants the result itself.
pub(super) fn folded(function: Function, values: Vec<Expr>, at: usize) -> Result<Expr> {
    let constants = values.iter().map(|value| match value {
        Expr::Value(value) => Some(value.clone()),
        _ => None,
    });
    let Some(constants) = constants.collect::<Option<Vec<ArrayRef>>>() else {
        return Ok(Expr::Call(function, values));
    };
    let result = function.call(&constants)?;
    let lost = result.is_null(0) && constants.iter().all(|constant| constant.is_valid(0));
    if lost {
        return Err(invalid(at, "the value is no date or time"));
    }
    Ok(Expr::Value(result))
}

/// A text, or null as one.
pub(super) fn text(expr: Expr, what: &str, at: usize) -> Result<Expr> {
    match expr.kind() {
        DataType::Utf8 | DataType::Null => expr.cast(&DataType::Utf8),
        other => Err(invalid(at, format!("{what} takes a string, not a {}", types::name(&other)))),
    }
}

/// `None` for null.
pub(super) fn constant_text(expr: &Expr, what: &str, at: usize) -> Result<Option<String>> {
    match expr {
        Expr::Value(value) if *value.data_type() == DataType::Null => Ok(None),
        Expr::Value(value) if *value.data_type() == DataType::Utf8 => {
            Ok(value.is_valid(0).then(|| value.as_string::<i32>().value(0).to_owned()))
        }
        _ => Err(invalid(at, format!("{what} is a text between quotes"))),
    }
}

/// Arguments, taken one after the other.
struct Given<'n> {
    name: &'n str,
    at: usize,
    rest: std::vec::IntoIter<Expr>,
}

impl Given<'_> {
    fn has_more(&self) -> bool {
        self.rest.len() > 0
    }

    fn next(&mut self) -> Result<Expr> {
        self.rest.next().ok_or_else(|| invalid(self.at, format!("{}() takes more arguments", self.name)))
    }

    fn takes(&self, what: &str, not: &DataType) -> Error {
        invalid(self.at, format!("{}() takes {what}, not a {}", self.name, types::name(not)))
    }

    fn text(&mut self) -> Result<Expr> {
        let next = self.next()?;
        text(next, &format!("{}()", self.name), self.at)
    }

    fn text_or_bytes(&mut self) -> Result<Expr> {
        let next = self.next()?;
        if next.kind() == DataType::Binary { Ok(next) } else { text(next, &format!("{}()", self.name), self.at) }
    }

    fn number(&mut self) -> Result<Expr> {
        let next = self.next()?;
        match next.kind() {
            DataType::Int32 | DataType::Int64 | DataType::Float64 | DataType::Decimal128(..) => Ok(next),
            DataType::Float32 | DataType::Null => next.cast(&DataType::Float64),
            other => Err(self.takes("a number", &other)),
        }
    }

    fn whole(&mut self) -> Result<Expr> {
        let next = self.next()?;
        match next.kind() {
            DataType::Int32 | DataType::Int64 | DataType::Null => next.cast(&DataType::Int64),
            other => Err(self.takes("a whole number", &other)),
        }
    }

    /// A date or a timestamp.
    fn time(&mut self) -> Result<Expr> {
        let next = self.next()?;
        match next.kind() {
            DataType::Date32 | DataType::Timestamp(..) => Ok(next),
            DataType::Null => next.cast(&types::timestamp()),
            other => Err(self.takes("a date or a timestamp", &other)),
        }
    }

    /// The same, or a text, perhaps as the timestamp that it says.
    fn moment(&mut self, read: bool) -> Result<Expr> {
        match self.rest.as_slice().first().map(Expr::kind) {
            Some(DataType::Utf8) => {
                let text = self.next()?;
                if read { folded(Function::ToTimestamp, vec![text], self.at) } else { Ok(text) }
            }
            _ => self.time(),
        }
    }

    fn day(&mut self) -> Result<Expr> {
        let moment = self.moment(false)?;
        if moment.kind() == DataType::Date32 { Ok(moment) } else { folded(Function::ToDate, vec![moment], self.at) }
    }

    /// A whole number that is the same for all rows.
    fn constant(&mut self) -> Result<i64> {
        let next = self.next()?;
        let fitting = match &next {
            Expr::Value(value) => types::fit(value, &DataType::Int64)?,
            _ => None,
        };
        let number = fitting.and_then(|value| {
            let number = value.as_primitive_opt::<Int64Type>()?;
            number.is_valid(0).then(|| number.value(0))
        });
        number.ok_or_else(|| invalid(self.at, format!("{}() takes a whole number that is written out", self.name)))
    }

    fn format(&mut self) -> Result<Format> {
        let next = self.next()?;
        let what = format!("the date pattern of {}()", self.name);
        let pattern = constant_text(&next, &what, self.at)?;
        Format::parse(&pattern.ok_or_else(|| invalid(self.at, format!("{what} is null")))?)
            .map_err(|e| e.at_offset(self.at as u64))
    }

    /// A text, and another that is written out and must be found in it.
    fn around(&mut self, before: bool, behind: bool) -> Result<(Function, Vec<Expr>)> {
        let value = self.text()?;
        let other = self.next()?;
        let what = format!("the second argument of {}()", self.name);
        let other = constant_text(&other, &what, self.at)?;
        let other = other.ok_or_else(|| invalid(self.at, format!("{what} is null")))?;
        Ok((Function::Matches(Pattern::around(before, &other, behind)), vec![value]))
    }
}
