//! Types of columns with ids.

use std::fmt;

use super::Column;
use crate::schema::TimeUnit;
use crate::{Error, Result};

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Date,
    /// Time of day, in millis or micros.
    Time(TimeUnit),
    /// In millis or micros; `utc` marks an instant.
    Timestamp {
        unit: TimeUnit,
        utc: bool,
    },
    String,
    Uuid,
    Binary,
    Fixed(u32),
    Decimal {
        precision: u8,
        scale: u8,
        backing: Backing,
    },
    Record(Vec<Column>),
    Array {
        element_id: i32,
        element: Box<Kind>,
        optional: bool,
    },
    Map {
        key_id: i32,
        key: Box<Kind>,
        value_id: i32,
        value: Box<Kind>,
        optional: bool,
    },
}

/// What a decimal is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// Not said: releases before 1.1 have only fixed ones, of the fewest bytes that do.
    Plain,
    Bytes,
    Fixed(u32),
}

/// More digits than Arrow's decimals have.
const MOST_DIGITS: u32 = 38;

impl Kind {
    /// A type without columns inside, by its name. Apache Hudi writes `timestamp-millis` and reads only
    /// `timestamp_millis`; here both are read.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let name = text.to_lowercase();
        let timestamp = |unit, utc| Self::Timestamp { unit, utc };
        Ok(match name.replace('_', "-").as_str() {
            "boolean" => Self::Boolean,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            "date" => Self::Date,
            "time" => Self::Time(TimeUnit::Micros),
            "time-millis" => Self::Time(TimeUnit::Millis),
            "timestamp" => timestamp(TimeUnit::Micros, true),
            "timestamp-millis" => timestamp(TimeUnit::Millis, true),
            "local-timestamp-micros" => timestamp(TimeUnit::Micros, false),
            "local-timestamp-millis" => timestamp(TimeUnit::Millis, false),
            "string" => Self::String,
            "uuid" => Self::Uuid,
            "binary" => Self::Binary,
            _ => {
                let sized = fixed(&name).or_else(|| decimal(&name));
                return sized.ok_or_else(|| Error::unsupported(format!("the column type '{text}' of schema-on-read")));
            }
        })
    }
}

fn fixed(name: &str) -> Option<Kind> {
    Some(Kind::Fixed(number(name.strip_prefix("fixed[")?.strip_suffix(']')?)?))
}

/// `decimal(p, s)`, `decimal_bytes(p, s)` or `decimal_fixed(p, s)[n]`.
fn decimal(name: &str) -> Option<Kind> {
    let (word, rest) = name.split_once('(')?;
    let (digits, size) = rest.split_once(')')?;
    let backing = match (word, size) {
        ("decimal", "") => Backing::Plain,
        ("decimal_bytes", "") => Backing::Bytes,
        ("decimal_fixed", size) => Backing::Fixed(number(size.strip_prefix('[')?.strip_suffix(']')?)?),
        _ => return None,
    };
    let (precision, scale) = digits.split_once(',')?;
    let (precision, scale) = (number(precision)?, number(scale.trim_start())?);
    if !(1..=MOST_DIGITS).contains(&precision) || scale > precision {
        return None;
    }
    Some(Kind::Decimal { precision: u8::try_from(precision).ok()?, scale: u8::try_from(scale).ok()?, backing })
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The name of a type without columns inside; `record`, `array` and `map` of the others.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Boolean => "boolean",
            Self::Int => "int",
            Self::Long => "long",
            Self::Float => "float",
            Self::Double => "double",
            Self::Date => "date",
            Self::Time(TimeUnit::Millis) => "time-millis",
            Self::Time(_) => "time",
            Self::Timestamp { unit: TimeUnit::Millis, utc: true } => "timestamp-millis",
            Self::Timestamp { utc: true, .. } => "timestamp",
            Self::Timestamp { unit: TimeUnit::Millis, utc: false } => "local-timestamp-millis",
            Self::Timestamp { utc: false, .. } => "local-timestamp-micros",
            Self::String => "string",
            Self::Uuid => "uuid",
            Self::Binary => "binary",
            Self::Fixed(size) => return write!(f, "fixed[{size}]"),
            Self::Decimal { precision, scale, backing } => {
                return match backing {
                    Backing::Plain => write!(f, "decimal({precision}, {scale})"),
                    Backing::Bytes => write!(f, "decimal_bytes({precision}, {scale})"),
                    Backing::Fixed(size) => write!(f, "decimal_fixed({precision}, {scale})[{size}]"),
                };
            }
            Self::Record(_) => "record",
            Self::Array { .. } => "array",
            Self::Map { .. } => "map",
        };
        f.write_str(name)
    }
}
