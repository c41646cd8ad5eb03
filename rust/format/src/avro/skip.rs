//! The way over values that nobody wants, without looking at them: only what says how long they are is read.

use super::bunch::Rests;
use super::cursor;
use super::shape::{self, Bounds};
use crate::schema::Node;
use crate::{Error, Result};

/// How to get behind a value. The commonest kinds, nullable ones too, are a step of their own.
#[derive(Debug)]
pub(super) enum Skip {
    Fixed(usize),
    Number,
    Bytes,
    NullOrFixed { null: u8, value: u8, size: usize },
    NullOrNumber { null: u8, value: u8 },
    NullOrBytes { null: u8, value: u8 },
    Nested(Nested),
}

#[derive(Debug)]
pub(super) enum Nested {
    Record(Vec<Skip>),
    Union(Vec<Skip>),
    /// Array or map; the fewest bytes of an item.
    Items(Box<Skip>, usize),
}

impl Skip {
    pub(super) fn new(node: &Node, bounds: &mut Bounds) -> Result<Self> {
        bounds.within(|bounds| Self::within(node, bounds))
    }

    fn within(node: &Node, bounds: &mut Bounds) -> Result<Self> {
        Ok(match node {
            Node::Null => Self::Fixed(0),
            Node::Boolean => Self::Fixed(1),
            Node::Float => Self::Fixed(4),
            Node::Double => Self::Fixed(8),
            Node::Fixed(size) | Node::Decimal { size: Some(size), .. } => Self::Fixed(*size),
            Node::Vector(vector) => Self::Fixed(vector.size()),
            Node::Int | Node::Long | Node::Date | Node::Time(_) | Node::Timestamp { .. } | Node::Enum(_) => {
                Self::Number
            }
            Node::Bytes | Node::String | Node::Decimal { size: None, .. } => Self::Bytes,
            Node::Record(record) => {
                let mut steps = Vec::with_capacity(record.fields.len());
                for field in &record.fields {
                    append(&mut steps, Self::new(&field.node, bounds)?);
                }
                match steps.as_slice() {
                    [] => Self::Fixed(0),
                    [Self::Fixed(size)] => Self::Fixed(*size),
                    _ => Self::Nested(Nested::Record(steps)),
                }
            }
            Node::Array(item) => {
                Self::Nested(Nested::Items(Box::new(Self::new(item, bounds)?), shape::fewest_bytes(item)))
            }
            Node::Map(value) => {
                let entry = Self::Nested(Nested::Record(vec![Self::Bytes, Self::new(value, bounds)?]));
                Self::Nested(Nested::Items(Box::new(entry), shape::fewest_bytes(value).saturating_add(1)))
            }
            Node::Union(branches) => Self::union(branches, bounds)?,
        })
    }

    fn union(branches: &[Node], bounds: &mut Bounds) -> Result<Self> {
        let (null, value, inner) = match branches {
            [Node::Null, inner] => (0, 2, inner),
            [inner, Node::Null] => (2, 0, inner),
            _ => {
                let branches = branches.iter().map(|b| Self::new(b, bounds)).collect::<Result<_>>()?;
                return Ok(Self::Nested(Nested::Union(branches)));
            }
        };
        Ok(match Self::new(inner, bounds)? {
            Self::Fixed(size) => Self::NullOrFixed { null, value, size },
            Self::Number => Self::NullOrNumber { null, value },
            Self::Bytes => Self::NullOrBytes { null, value },
            other if null == 0 => Self::Nested(Nested::Union(vec![Self::Fixed(0), other])),
            other => Self::Nested(Nested::Union(vec![other, Self::Fixed(0)])),
        })
    }

    /// What follows the value.
    #[inline]
    pub(super) fn over<'a>(&self, mut rest: &'a [u8]) -> Result<&'a [u8]> {
        self.over_each(&mut rest)?;
        Ok(rest)
    }

    /// Goes over a value of each row.
    #[inline(always)]
    pub(super) fn over_each<'a, R: Rests<'a>>(&self, rows: &mut R) -> Result<(), R::Error> {
        match *self {
            Self::Fixed(size) => rows.each(|rest| Ok(cursor::take(rest, size)?.1)),
            Self::Number => rows.each(cursor::after_number),
            Self::Bytes => rows.each(|rest| Ok(cursor::bytes(rest)?.1)),
            Self::NullOrFixed { null, value, size } => {
                rows.each(|rest| cursor::after_nullable_fixed(rest, null, value, size))
            }
            Self::NullOrNumber { null, value } => rows.each(|rest| cursor::after_nullable_number(rest, null, value)),
            Self::NullOrBytes { null, value } => rows.each(|rest| cursor::after_nullable_bytes(rest, null, value)),
            Self::Nested(ref nested) => rows.each(|rest| nested.over(rest)),
        }
    }
}

impl Nested {
    #[inline(never)]
    fn over<'a>(&self, rest: &'a [u8]) -> Result<&'a [u8]> {
        match self {
            Self::Record(steps) => steps.iter().try_fold(rest, |rest, step| step.over(rest)),
            Self::Union(branches) => {
                let (at, rest) = cursor::long(rest)?;
                let branch = usize::try_from(at).ok().and_then(|i| branches.get(i));
                branch
                    .ok_or_else(|| Error::corrupt(format!("branch {at} of a union of {}", branches.len())))?
                    .over(rest)
            }
            Self::Items(item, fewest) => over_items(item, *fewest, rest),
        }
    }
}

/// Blocks whose size is stated are jumped over, as Apache Hudi does; so are items of one size.
fn over_items<'a>(item: &Skip, fewest: usize, mut rest: &'a [u8]) -> Result<&'a [u8]> {
    loop {
        let (count, size, items) = cursor::block(rest)?;
        if count == 0 {
            return Ok(items);
        }
        rest = match (size, item) {
            (Some(size), _) => cursor::after(items, size)?,
            (None, Skip::Fixed(size)) => cursor::take(items, cursor::checked_count(count, *size, items)? * size)?.1,
            (None, _) => {
                let count = cursor::checked_count(count, fewest, items)?;
                (0..count).try_fold(items, |rest, _| item.over(rest))?
            }
        };
    }
}

/// Neighbours of fixed size become one step.
pub(super) fn append(steps: &mut Vec<Skip>, next: Skip) {
    match (steps.last_mut(), next) {
        (_, Skip::Fixed(0)) => {}
        (Some(Skip::Fixed(size)), Skip::Fixed(more)) => *size = size.saturating_add(more),
        (_, Skip::Nested(Nested::Record(inner))) => inner.into_iter().for_each(|step| append(steps, step)),
        (_, next) => steps.push(next),
    }
}
