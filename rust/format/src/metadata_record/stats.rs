//! Statistics of a column: least and greatest value, counts and sizes.
//!
//! A value lies in a union of records of one field, one for each type: it is wrapped. Until release 1.0 the wrapper told
//! the type ("V1"). From 1.1 on a value is wrapped by how it is stored, and `valueType` tells the type ("V2"):
//!
//! | ordinal | type | in | ordinal | type | in |
//! |---|---|---|---|---|---|
//! | 0 | see the wrapper | | 11 | UUID | String |
//! | 1 | null | | 12 | date | Int |
//! | 2–8 | boolean, int, long, float, double, string, bytes | | 13, 14 | time in ms, µs | Int, Long |
//! | 9 | fixed | Bytes | 15–17 | timestamp in ms, µs, ns | Long |
//! | 10 | decimal, "precision,scale" beside it | Bytes | 18–20 | local timestamp in ms, µs, ns | Long |

use crate::schema::{Node, TimeUnit};
use crate::wire::{Reader as Wire, put_avro_bytes, put_avro_long};
use crate::{Error, Result};

use serde::{Deserialize, Serialize};

use super::schema::{Branch, Datum, is_int, is_long, read_block};

/// Ordinal of the type of a column that holds nothing but nulls.
pub const NULL_TYPE: i32 = 1;
/// Those of plain numbers, and of a value that only its wrapper tells the type of.
pub(super) const NUMBER_TYPES: [i32; 5] = [0, 3, 4, 5, 6];
/// Digits behind the point of every decimal in V1.
pub(super) const V1_SCALE: i32 = 15;

/// A value as it is wrapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum StatValue {
    Boolean(bool),
    Int(i32),
    Long(i64),
    #[serde(with = "bits::of_float")]
    Float(f32),
    #[serde(with = "bits::of_double")]
    Double(f64),
    Bytes(Vec<u8>),
    String(String),
    Date(i32),
    /// The unscaled value, most significant byte first; 15 digits stand behind the point.
    Decimal(Vec<u8>),
    TimeMicros(i64),
    TimestampMicros(i64),
    LocalDate(i32),
    Array(Vec<Option<StatValue>>),
}

/// JSON has neither NaN nor infinities, and tasks tell of them.
mod bits {
    macro_rules! as_bits {
        ($name:ident, $float:ty, $bits:ty) => {
            pub(super) mod $name {
                use serde::{Deserialize, Deserializer, Serialize, Serializer};

                pub(crate) fn serialize<S: Serializer>(value: &$float, to: S) -> Result<S::Ok, S::Error> {
                    value.to_bits().serialize(to)
                }

                pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$float, D::Error> {
                    <$bits>::deserialize(from).map(<$float>::from_bits)
                }
            }
        };
    }
    as_bits!(of_float, f32, u32);
    as_bits!(of_double, f64, u64);
}

impl StatValue {
    /// The name of the record that wraps it.
    pub(super) fn wrapper(&self) -> &'static str {
        match self {
            Self::Boolean(_) => "BooleanWrapper",
            Self::Int(_) => "IntWrapper",
            Self::Long(_) => "LongWrapper",
            Self::Float(_) => "FloatWrapper",
            Self::Double(_) => "DoubleWrapper",
            Self::Bytes(_) => "BytesWrapper",
            Self::String(_) => "StringWrapper",
            Self::Date(_) => "DateWrapper",
            Self::Decimal(_) => "DecimalWrapper",
            Self::TimeMicros(_) => "TimeMicrosWrapper",
            Self::TimestampMicros(_) => "TimestampMicrosWrapper",
            Self::LocalDate(_) => "LocalDateWrapper",
            Self::Array(_) => ARRAY_WRAPPER,
        }
    }

    /// Whether a wrapper of this name may hold a field of this type.
    pub(super) fn fits(wrapper: &str, node: &Node) -> bool {
        match wrapper {
            "BooleanWrapper" => *node == Node::Boolean,
            "IntWrapper" | "DateWrapper" | "LocalDateWrapper" => is_int(node),
            "LongWrapper" | "TimeMicrosWrapper" | "TimestampMicrosWrapper" => is_long(node),
            "FloatWrapper" => *node == Node::Float,
            "DoubleWrapper" => *node == Node::Double,
            "BytesWrapper" => *node == Node::Bytes,
            "StringWrapper" => *node == Node::String,
            "DecimalWrapper" => match node {
                Node::Decimal { scale, size: None, .. } => i32::from(*scale) == V1_SCALE,
                _ => false,
            },
            _ => false,
        }
    }

    pub(super) fn read(wire: &mut Wire<'_>, branches: &[Branch]) -> Result<Option<Self>> {
        let offset = wire.offset();
        let at = wire.avro_long("branch of a statistic")?;
        let branch = usize::try_from(at).ok().and_then(|at| branches.get(at));
        let branch = branch
            .ok_or_else(|| Error::corrupt(format!("a statistic of the unknown branch {at}")).at_offset(offset))?;
        Ok(Some(match branch.name.as_str() {
            "null" => return Ok(None),
            "BooleanWrapper" => Self::Boolean(wire.u8("statistic")? != 0),
            "IntWrapper" => Self::Int(wire.avro_int("statistic")?),
            "LongWrapper" => Self::Long(wire.avro_long("statistic")?),
            "FloatWrapper" => Self::Float(wire.f32_le("statistic")?),
            "DoubleWrapper" => Self::Double(wire.f64_le("statistic")?),
            "BytesWrapper" => Self::Bytes(wire.avro_bytes("statistic")?.to_vec()),
            "StringWrapper" => Self::String(wire.avro_string("statistic")?.to_owned()),
            "DateWrapper" => Self::Date(wire.avro_int("statistic")?),
            "DecimalWrapper" => Self::Decimal(wire.avro_bytes("statistic")?.to_vec()),
            "TimeMicrosWrapper" => Self::TimeMicros(wire.avro_long("statistic")?),
            "TimestampMicrosWrapper" => Self::TimestampMicros(wire.avro_long("statistic")?),
            "LocalDateWrapper" => Self::LocalDate(wire.avro_int("statistic")?),
            ARRAY_WRAPPER => Self::Array(read_array(wire, &branch.items)?),
            other => return Err(Error::unsupported(format!("statistics wrapped in {other}"))),
        }))
    }

    pub(super) fn write(out: &mut Vec<u8>, value: Option<&Self>, branches: &[Branch]) -> Result<()> {
        let wrapper = value.map_or("null", Self::wrapper);
        let at = branches.iter().position(|branch| branch.name == wrapper);
        let at = at.ok_or_else(|| Error::schema(format!("the schema of metadata records has no {wrapper}")))?;
        put_avro_long(out, at as i64);
        match value {
            None => {}
            Some(Self::Boolean(value)) => out.push(u8::from(*value)),
            Some(Self::Int(value) | Self::Date(value) | Self::LocalDate(value)) => put_avro_long(out, (*value).into()),
            Some(Self::Long(value) | Self::TimeMicros(value) | Self::TimestampMicros(value)) => {
                put_avro_long(out, *value);
            }
            Some(Self::Float(value)) => out.extend_from_slice(&value.to_le_bytes()),
            Some(Self::Double(value)) => out.extend_from_slice(&value.to_le_bytes()),
            Some(Self::Bytes(value) | Self::Decimal(value)) => put_avro_bytes(out, value),
            Some(Self::String(value)) => put_avro_bytes(out, value.as_bytes()),
            Some(Self::Array(items)) => {
                let branches = branches.get(at).map(|branch| branch.items.as_slice()).unwrap_or_default();
                write_array(out, items, branches)?;
            }
        }
        Ok(())
    }
}

pub(super) const ARRAY_WRAPPER: &str = "ArrayWrapper";
/// A null takes one byte in the file and many in memory. No release has been seen to write an array.
const MOST_ITEMS: usize = 16 << 10;

/// The wrapper's one field is a union of null and an array; an absent array and an empty one mean the same.
fn read_array(wire: &mut Wire<'_>, branches: &[Branch]) -> Result<Vec<Option<StatValue>>> {
    let mut items = Vec::new();
    match wire.avro_long("branch of an array statistic")? {
        0 => return Ok(items),
        1 => {}
        other => return Err(wire.corrupt(format!("an array statistic of the unknown branch {other}"))),
    }
    while let Some(count) = read_block(wire, "items of an array statistic")? {
        if items.len() + count > MOST_ITEMS {
            return Err(Error::unsupported(format!("a statistic of more than {MOST_ITEMS} values")));
        }
        for _ in 0..count {
            items.push(StatValue::read(wire, branches)?);
        }
    }
    Ok(items)
}

fn write_array(out: &mut Vec<u8>, items: &[Option<StatValue>], branches: &[Branch]) -> Result<()> {
    put_avro_long(out, 1);
    if !items.is_empty() {
        put_avro_long(out, items.len() as i64);
    }
    for item in items {
        StatValue::write(out, item.as_ref(), branches)?;
    }
    put_avro_long(out, 0);
    Ok(())
}

/// `valueType`: the type of the column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueType {
    pub ordinal: i32,
    /// `precision,scale` of a decimal.
    pub additional: Option<String>,
}

/// A value with the type of its column, as far as the statistics know it: V1 keeps timestamps as longs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    Boolean(bool),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    Decimal {
        unscaled: i128,
        scale: i32,
    },
    Uuid(String),
    /// Days since 1970.
    Date(i32),
    Time(TimeUnit, i64),
    Timestamp {
        unit: TimeUnit,
        utc: bool,
        value: i64,
    },
}

impl Scalar {
    /// The meaning of a wrapped value. Arrays mean nothing yet.
    pub fn of(value: &StatValue, value_type: Option<&ValueType>) -> Result<Self> {
        match value_type {
            Some(value_type) if value_type.ordinal != 0 => Self::of_type(value, value_type),
            _ => Self::of_wrapper(value),
        }
    }

    fn of_wrapper(value: &StatValue) -> Result<Self> {
        Ok(match value {
            StatValue::Boolean(value) => Self::Boolean(*value),
            StatValue::Int(value) => Self::Int(*value),
            StatValue::Long(value) => Self::Long(*value),
            StatValue::Float(value) => Self::Float(*value),
            StatValue::Double(value) => Self::Double(*value),
            StatValue::Bytes(value) => Self::Bytes(value.clone()),
            StatValue::String(value) => Self::String(value.clone()),
            StatValue::Date(days) | StatValue::LocalDate(days) => Self::Date(*days),
            StatValue::Decimal(bytes) => Self::Decimal { unscaled: integer(bytes)?, scale: V1_SCALE },
            StatValue::TimeMicros(value) => Self::Time(TimeUnit::Micros, *value),
            StatValue::TimestampMicros(value) => Self::Timestamp { unit: TimeUnit::Micros, utc: true, value: *value },
            StatValue::Array(_) => return Err(Error::unsupported("statistics of arrays")),
        })
    }

    fn of_type(value: &StatValue, value_type: &ValueType) -> Result<Self> {
        let timestamp = |unit, utc, value: &i64| Self::Timestamp { unit, utc, value: *value };
        Ok(match (value_type.ordinal, value) {
            (2, StatValue::Boolean(value)) => Self::Boolean(*value),
            (3, StatValue::Int(value)) => Self::Int(*value),
            (4, StatValue::Long(value)) => Self::Long(*value),
            (5, StatValue::Float(value)) => Self::Float(*value),
            (6, StatValue::Double(value)) => Self::Double(*value),
            (7, StatValue::String(value)) => Self::String(value.clone()),
            (8 | 9, StatValue::Bytes(value)) => Self::Bytes(value.clone()),
            (10, StatValue::Bytes(bytes)) => Self::Decimal { unscaled: integer(bytes)?, scale: value_type.scale()? },
            (11, StatValue::String(value)) => Self::Uuid(value.clone()),
            (12, StatValue::Int(days)) => Self::Date(*days),
            (13, StatValue::Int(value)) => Self::Time(TimeUnit::Millis, (*value).into()),
            (14, StatValue::Long(value)) => Self::Time(TimeUnit::Micros, *value),
            (15, StatValue::Long(value)) => timestamp(TimeUnit::Millis, true, value),
            (16, StatValue::Long(value)) => timestamp(TimeUnit::Micros, true, value),
            (17, StatValue::Long(value)) => timestamp(TimeUnit::Nanos, true, value),
            (18, StatValue::Long(value)) => timestamp(TimeUnit::Millis, false, value),
            (19, StatValue::Long(value)) => timestamp(TimeUnit::Micros, false, value),
            (20, StatValue::Long(value)) => timestamp(TimeUnit::Nanos, false, value),
            (0..=20, other) => {
                let message = format!("a statistic of type {} in a {}", value_type.ordinal, other.wrapper());
                return Err(Error::corrupt(message));
            }
            (other, _) => return Err(Error::unsupported(format!("statistics of type {other}"))),
        })
    }
}

impl ValueType {
    fn scale(&self) -> Result<i32> {
        let scale = self.additional.as_deref().and_then(|text| text.split_once(',')?.1.trim().parse().ok());
        scale.ok_or_else(|| Error::corrupt(format!("decimal statistics of precision and scale {:?}", self.additional)))
    }
}

/// A big-endian two's complement number.
pub(super) fn integer(bytes: &[u8]) -> Result<i128> {
    let Some(first) = bytes.first().filter(|_| bytes.len() <= size_of::<i128>()) else {
        return Err(Error::unsupported(format!("a decimal statistic of {} bytes", bytes.len())));
    };
    let sign = if first & 0x80 == 0 { 0 } else { -1 };
    Ok(bytes.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte)))
}

/// Statistics of a column in a file, or in a partition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnStats {
    /// The name of the file, without folders; of a partition, its path.
    pub file_name: Option<String>,
    /// With dots, for a nested column.
    pub column_name: Option<String>,
    pub min_value: Option<StatValue>,
    pub max_value: Option<StatValue>,
    /// Rows, null ones included.
    pub value_count: Option<i64>,
    pub null_count: Option<i64>,
    pub total_size: Option<i64>,
    pub total_uncompressed_size: Option<i64>,
    pub is_deleted: bool,
    /// Of a partition: whether the bounds were taken from all its rows, or may be wider.
    pub is_tight_bound: bool,
    /// None in V1.
    pub value_type: Option<ValueType>,
}

impl ColumnStats {
    pub fn min(&self) -> Result<Option<Scalar>> {
        self.min_value.as_ref().map(|value| Scalar::of(value, self.value_type.as_ref())).transpose()
    }

    pub fn max(&self) -> Result<Option<Scalar>> {
        self.max_value.as_ref().map(|value| Scalar::of(value, self.value_type.as_ref())).transpose()
    }

    pub(super) fn from_fields(fields: Vec<Datum<'_>>) -> Result<Self> {
        let mut fields = fields.into_iter();
        let mut next = || fields.next().unwrap_or_default();
        Ok(Self {
            file_name: text(next()),
            column_name: text(next()),
            min_value: wrapped(next()),
            max_value: wrapped(next()),
            value_count: long(&next()),
            null_count: long(&next()),
            total_size: long(&next()),
            total_uncompressed_size: long(&next()),
            is_deleted: next() == Datum::Boolean(true),
            is_tight_bound: next() == Datum::Boolean(true),
            value_type: match next() {
                Datum::Record(fields) => Some(ValueType::from_fields(fields)?),
                _ => None,
            },
        })
    }

    pub(super) fn fields(&self) -> Vec<Datum<'_>> {
        vec![
            put_text(&self.file_name),
            put_text(&self.column_name),
            self.min_value.clone().map_or(Datum::Null, Datum::Wrapped),
            self.max_value.clone().map_or(Datum::Null, Datum::Wrapped),
            put_long(self.value_count),
            put_long(self.null_count),
            put_long(self.total_size),
            put_long(self.total_uncompressed_size),
            Datum::Boolean(self.is_deleted),
            Datum::Boolean(self.is_tight_bound),
            self.value_type.as_ref().map_or(Datum::Null, |value_type| {
                Datum::Record(vec![Datum::Int(value_type.ordinal), put_text(&value_type.additional)])
            }),
        ]
    }
}

impl ValueType {
    fn from_fields(fields: Vec<Datum<'_>>) -> Result<Self> {
        let mut fields = fields.into_iter();
        let Some(Datum::Int(ordinal)) = fields.next() else {
            return Err(Error::corrupt("the type of a statistic without typeOrdinal"));
        };
        Ok(Self { ordinal, additional: fields.next().and_then(text) })
    }
}

fn text(datum: Datum<'_>) -> Option<String> {
    if let Datum::String(text) = datum { Some(text.to_owned()) } else { None }
}

fn long(datum: &Datum<'_>) -> Option<i64> {
    if let Datum::Long(long) = datum { Some(*long) } else { None }
}

fn wrapped(datum: Datum<'_>) -> Option<StatValue> {
    if let Datum::Wrapped(value) = datum { Some(value) } else { None }
}

fn put_text(text: &Option<String>) -> Datum<'_> {
    text.as_deref().map_or(Datum::Null, Datum::String)
}

fn put_long<'a>(long: Option<i64>) -> Datum<'a> {
    long.map_or(Datum::Null, Datum::Long)
}
