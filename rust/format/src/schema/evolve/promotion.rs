//! From one type to another, children and all.

use std::collections::BTreeMap;

use arrow_schema::{DataType, Field, Fields, Schema};

use super::leaf::Leaf;
use crate::{Error, Result};

/// What has to be done to a column of one type to make it one of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promotion {
    /// Nothing: the types are equal.
    Same,
    Leaf(Leaf),
    List(Box<Promotion>),
    /// Of keys and of values.
    Map(Box<Promotion>, Box<Promotion>),
    /// One slot for each field that is wanted.
    Struct(Vec<Slot>),
}

/// Where a field of a record comes from: the position that it has there, or nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    From(usize, Promotion),
    Missing,
}

/// Under which names a file has the fields of a record; a field that is not mentioned has its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping(pub BTreeMap<String, Source>);

/// `within` is about the record that the field holds, as its type or as that of its items or values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// `None`: the file does not have the field, even if it has one of that name.
    pub name: Option<String>,
    pub within: Mapping,
}

impl Promotion {
    /// How columns of type `from` become columns of type `to`.
    pub fn between(from: &DataType, to: &DataType) -> Result<Self> {
        find(from, to, &Mapping::default()).map_err(Misfit::into_error)
    }
}

/// Why a type cannot become another, and how deep inside.
pub(super) struct Misfit {
    /// Innermost first.
    path: Vec<String>,
    /// `None`: the field is missing in the file, and must not be null.
    types: Option<(DataType, DataType)>,
}

impl Misfit {
    fn under(mut self, name: &str) -> Self {
        self.path.push(name.to_owned());
        self
    }

    pub(super) fn into_error(self) -> Error {
        let path = self.path.iter().rev().map(String::as_str).collect::<Vec<_>>().join(".");
        let column = if path.is_empty() { "the value".to_owned() } else { format!("column '{path}'") };
        Error::schema(match self.types {
            Some((from, to)) => format!("{column} is {from} in the file and {to} in the table"),
            None => format!("{column} is missing in the file and must not be null in the table"),
        })
    }
}

fn find(from: &DataType, to: &DataType, names: &Mapping) -> std::result::Result<Promotion, Misfit> {
    if from == to && names.0.is_empty() {
        return Ok(Promotion::Same);
    }
    let misfit = || Misfit { path: Vec::new(), types: Some((from.clone(), to.clone())) };
    Ok(match (from, to) {
        (DataType::List(from), DataType::List(to)) => {
            Promotion::List(Box::new(find(from.data_type(), to.data_type(), names).map_err(|e| e.under("element"))?))
        }
        (DataType::Map(from, _), DataType::Map(to, _)) => {
            let ((from_key, from_value), (to_key, to_value)) =
                (entries(from).ok_or_else(misfit)?, entries(to).ok_or_else(misfit)?);
            let key =
                find(from_key.data_type(), to_key.data_type(), &Mapping::default()).map_err(|e| e.under("key"))?;
            let value = find(from_value.data_type(), to_value.data_type(), names).map_err(|e| e.under("value"))?;
            Promotion::Map(Box::new(key), Box::new(value))
        }
        (DataType::Struct(from), DataType::Struct(to)) => Promotion::Struct(find_fields(from, to, names)?),
        _ if from == to => Promotion::Same,
        _ => Promotion::Leaf(Leaf::between(from, to).ok_or_else(misfit)?),
    })
}

/// One slot for each of the fields `to`.
pub(super) fn find_fields(from: &Fields, to: &Fields, names: &Mapping) -> std::result::Result<Vec<Slot>, Misfit> {
    let positions: BTreeMap<&str, usize> =
        from.iter().enumerate().rev().map(|(at, field)| (field.name().as_str(), at)).collect();
    to.iter().map(|field| find_field(from, &positions, field, names).map_err(|e| e.under(field.name()))).collect()
}

fn find_field(
    from: &Fields,
    positions: &BTreeMap<&str, usize>,
    field: &Field,
    names: &Mapping,
) -> std::result::Result<Slot, Misfit> {
    let nothing = Mapping::default();
    let (name, within) = match names.0.get(field.name()) {
        Some(source) => (source.name.as_deref(), &source.within),
        None => (Some(field.name().as_str()), &nothing),
    };
    let at = name.and_then(|name| positions.get(name)).copied();
    match at.and_then(|at| Some((at, from.get(at)?))) {
        Some((at, have)) => Ok(Slot::From(at, find(have.data_type(), field.data_type(), within)?)),
        None if field.is_nullable() => Ok(Slot::Missing),
        None => Err(Misfit { path: Vec::new(), types: None }),
    }
}

/// Key and value of a map's entries.
pub(super) fn entries(entries: &Field) -> Option<(&Field, &Field)> {
    match entries.data_type() {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, value] => Some((key, value)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a table of schema `from` takes on schema `to` without schema-on-read, by Apache Hudi's rules: no column goes
/// away, new ones may be null, types change only as [`Leaf::is_automatic`] has it, and null stays allowed.
pub fn check_evolution(from: &Schema, to: &Schema) -> Result<()> {
    check_fields(from.fields(), to.fields()).map_err(|(path, reason)| {
        let path = path.iter().rev().map(String::as_str).collect::<Vec<_>>().join(".");
        Error::schema(format!("column '{path}' {reason}"))
    })
}

type Refused = (Vec<String>, String);

fn check_fields(from: &Fields, to: &Fields) -> std::result::Result<(), Refused> {
    let under = |name: &String| {
        let name = name.clone();
        move |(mut path, reason): Refused| {
            path.push(name);
            (path, reason)
        }
    };
    let refused = |field: &Field, reason: &str| Err((vec![field.name().clone()], reason.to_owned()));
    for field in from {
        match to.find(field.name()) {
            Some((_, next)) => check_field(field, next).map_err(under(field.name()))?,
            None => return refused(field, "of the table is missing"),
        }
    }
    match to.iter().find(|field| from.find(field.name()).is_none() && !field.is_nullable()) {
        Some(field) => refused(field, "is new and must not be null, which older rows would be"),
        None => Ok(()),
    }
}

fn check_field(from: &Field, to: &Field) -> std::result::Result<(), Refused> {
    if from.is_nullable() && !to.is_nullable() {
        return Err((Vec::new(), "may be null in the table and must not be any more".to_owned()));
    }
    let refused =
        || Err((Vec::new(), format!("is {} in the table and cannot become {}", from.data_type(), to.data_type())));
    match (from.data_type(), to.data_type()) {
        (have, next) if have == next => Ok(()),
        (DataType::List(have), DataType::List(next)) => check_field(have, next),
        (DataType::Map(have, _), DataType::Map(next, _)) => match (entries(have), entries(next)) {
            (Some((_, have)), Some((_, next))) => check_field(have, next),
            _ => refused(),
        },
        (DataType::Struct(have), DataType::Struct(next)) => check_fields(have, next),
        (have, next) => match Leaf::between(have, next) {
            Some(leaf) if leaf.is_automatic(have, next) => Ok(()),
            _ => refused(),
        },
    }
}
