//! From a tree of words to an expression over the columns of a schema: names are found, types are checked.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, NullArray, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use arrow_select::concat::concat;

use super::call::{self, constant_text, folded, text};
use super::expr::{Column, Expr, Set};
use super::function::Function;
use super::like::Pattern;
use super::parse::{Literal, Node, TypeName, What};
use super::{Op, invalid, types};
use crate::{Error, Result};

/// Parts of an expression that may stand in it once more. A value that is compared twice is worked out twice, and such
/// values within such values would be worked out any number of times.
const MOST_COPIES: usize = 10_000;

pub(super) fn condition(node: &Node, schema: &Schema) -> Result<Expr> {
    Binder { fields: schema.fields(), copies: 0 }.condition(node)
}

/// Of any type.
pub(super) fn expression(node: &Node, schema: &Schema) -> Result<Expr> {
    Binder { fields: schema.fields(), copies: 0 }.bind(node)
}

struct Binder<'s> {
    fields: &'s Fields,
    copies: usize,
}

impl Binder<'_> {
    fn condition(&mut self, node: &Node) -> Result<Expr> {
        let bound = self.bind(node)?;
        match bound.kind() {
            DataType::Boolean => Ok(bound),
            DataType::Null => bound.cast(&DataType::Boolean),
            other => Err(invalid(node.at, format!("a condition is expected, and this is a {}", types::name(&other)))),
        }
    }

    fn conditions(&mut self, nodes: &[Node]) -> Result<Vec<Expr>> {
        nodes.iter().map(|node| self.condition(node)).collect()
    }

    fn bind(&mut self, node: &Node) -> Result<Expr> {
        let at = node.at;
        Ok(match &node.what {
            What::Column(path) => Expr::Column(self.column(path).map_err(|e| e.at_offset(at as u64))?),
            What::Literal(literal) => Expr::Value(value(literal).map_err(|e| e.at_offset(at as u64))?),
            What::Compare(op, left, right) => {
                let (left, right) = (self.bind(left)?, self.bind(right)?);
                compared(*op, left, right, at)?
            }
            What::Between(parts) => {
                let [value, least, greatest] = parts.as_ref();
                let value = self.bind(value)?;
                let again = self.copy(&value, at)?;
                let (least, greatest) = (self.bind(least)?, self.bind(greatest)?);
                Expr::All(vec![
                    compared(Op::GreaterEqual, value, least, at)?,
                    compared(Op::LessEqual, again, greatest, at)?,
                ])
            }
            What::All(parts) => Expr::All(flat(self.conditions(parts)?)),
            What::Any(parts) => Expr::Any(self.conditions(parts)?),
            What::Not(inner) => Expr::Not(Box::new(self.condition(inner)?)),
            What::IsNull(inner) => Expr::IsNull(Box::new(self.bind(inner)?)),
            What::In(value, items) => self.one_of(value, items, at)?,
            What::Like { value, pattern, escape } => {
                let value = text(self.bind(value)?, "LIKE", value.at)?;
                let bound = self.bind(pattern)?;
                match constant_text(&bound, "the pattern of LIKE", pattern.at)? {
                    Some(like) => {
                        let like = Pattern::parse(&like, *escape).map_err(|e| e.at_offset(pattern.at as u64))?;
                        Expr::Call(Function::Matches(like), vec![value])
                    }
                    None => Expr::Value(new_null_array(&DataType::Boolean, 1)),
                }
            }
            What::Call(name, arguments) => {
                let bound = arguments.iter().map(|node| self.bind(node)).collect::<Result<Vec<_>>>()?;
                call::call(name, bound, at)?
            }
            What::Cast(value, kind) => cast(self.bind(value)?, kind, at)?,
        })
    }

    fn copy(&mut self, expr: &Expr, at: usize) -> Result<Expr> {
        self.copies += size(expr);
        if self.copies > MOST_COPIES {
            return Err(invalid(at, "the filter asks for too many values more than once"));
        }
        Ok(expr.clone())
    }

    /// As it is written, or else in other upper and lower case if that is clear.
    fn column(&self, path: &[String]) -> Result<Column> {
        let mut names = path.iter();
        let first = names.next().ok_or_else(|| Error::internal("a column without a name"))?;
        let mut field = find(self.fields, first).ok_or_else(|| unknown(first, "column", self.fields))?;
        let mut found = vec![field.name().clone()];
        for name in names {
            let DataType::Struct(inner) = field.data_type() else {
                return Err(super::invalid_text(format!(
                    "column '{}' is a {} and has no field '{name}'",
                    found.join("."),
                    types::name(field.data_type())
                )));
            };
            field = find(inner, name).ok_or_else(|| unknown(name, "field", inner))?;
            found.push(field.name().clone());
        }
        Ok(Column { path: found, kind: field.data_type().clone() })
    }

    fn one_of(&mut self, value: &Node, items: &[Node], at: usize) -> Result<Expr> {
        let value = self.bind(value)?;
        let kind = value.kind();
        let (mut known, mut rest, mut with_null) = (Vec::new(), Vec::new(), false);
        for item in items {
            let bound = self.bind(item)?;
            match &bound {
                Expr::Value(constant) if types::common(&kind, &kind).is_some() => {
                    let fitting = types::fit(constant, &kind).map_err(|e| e.at_offset(item.at as u64))?;
                    match fitting.filter(|fitting| *fitting.data_type() == kind) {
                        Some(fitting) if fitting.is_null(0) => with_null = true,
                        Some(fitting) => known.push(fitting),
                        None => rest.push(compared(Op::Equal, self.copy(&value, at)?, bound, item.at)?),
                    }
                }
                _ => rest.push(compared(Op::Equal, self.copy(&value, at)?, bound, item.at)?),
            }
        }
        if !known.is_empty() || with_null {
            let values: Vec<&dyn Array> = known.iter().map(|value| value.as_ref()).collect();
            let values = if values.is_empty() { new_null_array(&kind, 0) } else { concat(&values)? };
            rest.insert(0, Expr::OneOf(Box::new(value), Set::new(values, with_null)?));
        }
        Ok(match rest.len() {
            1 => rest.remove(0),
            _ => Expr::Any(rest),
        })
    }
}

/// The parts of conditions within a chain are parts of the chain.
fn flat(parts: Vec<Expr>) -> Vec<Expr> {
    let inner = parts.into_iter().flat_map(|part| match part {
        Expr::All(inner) => inner,
        other => vec![other],
    });
    inner.collect()
}

fn size(expr: &Expr) -> usize {
    1 + match expr {
        Expr::Column(_) | Expr::Value(_) => 0,
        Expr::Compare(_, left, right) => size(left) + size(right),
        Expr::All(parts) | Expr::Any(parts) | Expr::Call(_, parts) => parts.iter().map(size).sum(),
        Expr::Not(inner) | Expr::IsNull(inner) | Expr::OneOf(inner, _) | Expr::Cast(inner, _) => size(inner),
    }
}

fn find<'f>(fields: &'f Fields, name: &str) -> Option<&'f Field> {
    let exact = fields.iter().find(|field| field.name() == name);
    let mut alike = fields.iter().filter(|field| field.name().to_lowercase() == name.to_lowercase());
    let found = exact.or_else(|| alike.next().filter(|_| alike.next().is_none()));
    found.map(|field| field.as_ref())
}

fn unknown(name: &str, what: &str, fields: &Fields) -> Error {
    let known: Vec<_> = fields.iter().map(|field| field.name().as_str()).collect();
    super::invalid_text(format!("there is no {what} '{name}'"))
        .with_hint(format!("{what}s: {}; texts stand between single quotes", known.join(", ")))
}

fn value(literal: &Literal) -> Result<ArrayRef> {
    let bad = |kind: &str, text: &str| super::invalid_text(format!("'{text}' is no {kind}"));
    Ok(match literal {
        Literal::Null => Arc::new(NullArray::new(1)),
        Literal::Boolean(value) => Arc::new(BooleanArray::from(vec![*value])),
        Literal::Text(text) => Arc::new(StringArray::from(vec![text.as_str()])),
        Literal::Number(text) => types::number(text).ok_or_else(|| bad("number that filters know", text))?,
        Literal::Typed(kind, text) => {
            let given: ArrayRef = Arc::new(StringArray::from(vec![text.as_str()]));
            let wanted = match kind.as_str() {
                "date" => DataType::Date32,
                "timestamp" | "timestamp_ltz" => types::timestamp(),
                "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
                "x" => {
                    let bytes = hex(text).ok_or_else(|| bad("number of hexadecimal digits in pairs", text))?;
                    return Ok(Arc::new(BinaryArray::from(vec![bytes.as_slice()])));
                }
                _ => return Err(bad(&format!("value: filters do not know {kind}'…'"), text)),
            };
            types::fit(&given, &wanted)?.ok_or_else(|| bad(kind, text))?
        }
    })
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    pairs.collect()
}

/// Both sides as values of one type.
fn compared(op: Op, left: Expr, right: Expr, at: usize) -> Result<Expr> {
    let placed = |e: Error| e.at_offset(at as u64);
    let right = toward(right, &left.kind()).map_err(placed)?;
    let left = toward(left, &right.kind()).map_err(placed)?;
    let (left_kind, right_kind) = (left.kind(), right.kind());
    let common = types::common(&left_kind, &right_kind).ok_or_else(|| {
        let (left, right) = (types::name(&left_kind), types::name(&right_kind));
        invalid(at, format!("a {left} cannot be compared with a {right}"))
    })?;
    let (left, right) = (left.cast(&common).map_err(placed)?, right.cast(&common).map_err(placed)?);
    Ok(Expr::Compare(op, Box::new(left), Box::new(right)))
}

/// A constant as a value of the type that it is compared with, if that has such a value.
fn toward(expr: Expr, kind: &DataType) -> Result<Expr> {
    match expr {
        Expr::Value(value) if *kind != DataType::Null && types::common(kind, kind).is_some() => {
            Ok(Expr::Value(types::fit(&value, kind)?.unwrap_or(value)))
        }
        other => Ok(other),
    }
}

fn cast(expr: Expr, TypeName(name, numbers): &TypeName, at: usize) -> Result<Expr> {
    let placed = |e: Error| e.at_offset(at as u64);
    let wanted = types::named(name, numbers)
        .ok_or_else(|| invalid(at, format!("filters do not know the type {name}({})", numbers.join(","))))?;
    let kind = expr.kind();
    if let Expr::Value(value) = &expr
        && let Some(fitting) = types::fit(value, &wanted).map_err(placed)?
        && *fitting.data_type() == wanted
    {
        return Ok(Expr::Value(fitting));
    }
    let widened = types::common(&kind, &wanted).as_ref() == Some(&wanted);
    let printed = wanted == DataType::Utf8 && matches!(kind, DataType::Int32 | DataType::Int64 | DataType::Boolean);
    match (&kind, &wanted) {
        _ if widened || printed => expr.cast(&wanted).map_err(placed),
        (DataType::Timestamp(..) | DataType::Utf8, DataType::Date32) => folded(Function::ToDate, vec![expr], at),
        (DataType::Utf8, DataType::Timestamp(..)) if wanted == types::timestamp() => {
            folded(Function::ToTimestamp, vec![expr], at)
        }
        _ => {
            let (from, to) = (types::name(&kind), types::name(&wanted));
            Err(invalid(at, format!("filters do not cast a {from} to a {to}")))
        }
    }
}
