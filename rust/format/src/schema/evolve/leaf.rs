//! How single values change their type: the table of promotions.

use arrow_schema::{DataType, TimeUnit};

use crate::schema::vector;

/// What has to be done to the values of a column without children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// A column of nulls in a type of its own.
    Nulls,
    /// A number of a wider kind, as Java's conversions round: int → long, float, double; long → float, double.
    Widen,
    /// float → double by the decimal text: 0.1f becomes 0.1, as Apache Hudi has it.
    FloatByText,
    /// The text of a number, as Java prints it.
    NumberText,
    /// The ISO text of a date.
    DateText,
    /// The text of a moment in UTC or of a local time, as Spark prints it.
    TimeText,
    /// The text of a decimal, as Java's BigDecimal prints it.
    DecimalText,
    /// Text and bytes are the same UTF-8; a fixed is its bytes.
    Bytes,
    /// The same number under another label: an int that is a date, a long that is a timestamp, and back.
    Relabel,
    /// A timestamp of a finer unit.
    Finer(i64),
    /// A timestamp of a coarser unit, rounded down.
    Coarser(i64),
    /// A decimal with that many more digits behind the point.
    Rescale(u8),
    /// A number or its text as a decimal, rounded half up.
    ToDecimal,
    /// `yyyy-m-d` as a date.
    TextToDate,
    /// The numbers whose bytes a fixed holds.
    Vector,
}

impl Leaf {
    /// The rule for a pair of different types; `None` where a column cannot change that way.
    pub(super) fn between(from: &DataType, to: &DataType) -> Option<Self> {
        use DataType::{
            Binary, Date32, Decimal128, FixedSizeBinary, FixedSizeList, Float32, Float64, Int32, Int64, Null, Time32,
            Time64, Timestamp, Utf8,
        };
        Some(match (from, to) {
            (Null, _) => Self::Nulls,
            (Int32, Int64 | Float32 | Float64) | (Int64, Float32 | Float64) => Self::Widen,
            (Float32, Float64) => Self::FloatByText,
            (Int32 | Int64 | Float32 | Float64, Utf8) => Self::NumberText,
            (Date32, Utf8) => Self::DateText,
            (Timestamp(TimeUnit::Microsecond, _), Utf8) => Self::TimeText,
            (Decimal128(..), Utf8) => Self::DecimalText,
            (Utf8, Binary) | (Binary, Utf8) | (FixedSizeBinary(_), Binary) => Self::Bytes,
            (Int32, Date32 | Time32(_)) | (Date32 | Time32(_), Int32) => Self::Relabel,
            (Int64, Timestamp(..) | Time64(_)) | (Timestamp(..) | Time64(_), Int64) => Self::Relabel,
            // Releases before 1.1 wrote milliseconds and said microseconds, so under a table of milliseconds that is what
            // Apache Hudi takes them for.
            (Timestamp(TimeUnit::Microsecond, Some(_)), Timestamp(TimeUnit::Millisecond, Some(_))) => Self::Relabel,
            (Timestamp(from, _), Timestamp(to, _)) => Self::timestamps(*from, *to),
            (Decimal128(p, s), Decimal128(to_p, to_s)) => {
                let whole = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
                let more = u8::try_from(i16::from(*to_s) - i16::from(*s)).ok()?;
                (whole(*to_p, *to_s) >= whole(*p, *s)).then_some(Self::Rescale(more))?
            }
            (Int32 | Int64 | Float32 | Float64 | Utf8, Decimal128(_, scale)) if *scale >= 0 => Self::ToDecimal,
            (Utf8, Date32) => Self::TextToDate,
            (FixedSizeBinary(bytes), FixedSizeList(item, length)) => {
                vector::fits(*bytes, item, *length).then_some(Self::Vector)?
            }
            _ => return None,
        })
    }

    fn timestamps(from: TimeUnit, to: TimeUnit) -> Self {
        let (from, to) = (per_second(from), per_second(to));
        match to.cmp(&from) {
            std::cmp::Ordering::Equal => Self::Relabel,
            std::cmp::Ordering::Greater => Self::Finer(to / from),
            std::cmp::Ordering::Less => Self::Coarser(from / to),
        }
    }

    /// Whether Apache Hudi changes a column's type that way on its own when rows of the new type are written. The
    /// others need schema-on-read, or come from files that say less than the table does.
    pub(super) fn is_automatic(self, from: &DataType, to: &DataType) -> bool {
        match self {
            Self::Nulls | Self::Widen | Self::FloatByText | Self::NumberText | Self::DecimalText | Self::Rescale(_) => {
                true
            }
            Self::Bytes => !matches!(from, DataType::FixedSizeBinary(_)),
            Self::Relabel => match (from, to) {
                (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) => from != to,
                _ => *from == DataType::Int64 && matches!(to, DataType::Timestamp(..)),
            },
            Self::Coarser(_) => same_zone(from, to),
            Self::DateText | Self::TimeText | Self::Finer(_) | Self::ToDecimal | Self::TextToDate | Self::Vector => {
                false
            }
        }
    }
}

fn same_zone(from: &DataType, to: &DataType) -> bool {
    matches!((from, to), (DataType::Timestamp(_, a), DataType::Timestamp(_, b)) if a.is_some() == b.is_some())
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}
