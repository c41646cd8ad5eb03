//! What two records of one key are together.
//!
//! Records of a slice merge in the order of their arrival: nothing in them is compared to tell newer from older.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::mem::discriminant;

use super::record::{FileEntry, MetadataRecord, Payload};
use super::stats::{ColumnStats, NULL_TYPE, NUMBER_TYPES, Scalar, StatValue, ValueType};
use crate::{Error, Result};

/// Merges two records of one key. The newer one wins, but lists of files are united and loose bounds of a partition widened.
///
/// The result may hold deletions of what is in neither record. They matter until the oldest record of the key has been
/// merged: see [`MetadataRecord::settle`].
pub fn merge(older: MetadataRecord, newer: MetadataRecord) -> Result<MetadataRecord> {
    let (old, new) = (older.payload.number(), newer.payload.number());
    if older.key != newer.key || old != new {
        let (a, b) = (older.key.escape_debug(), newer.key.escape_debug());
        return Err(Error::corrupt(format!(
            "metadata records '{a}' of type {old} and '{b}' of type {new} are not one"
        )));
    }
    if older.payload.is_deleted() || newer.payload.is_deleted() {
        return Ok(newer);
    }
    let payload = match (older.payload, newer.payload) {
        (Payload::Partitions(old), Payload::Partitions(new)) => Payload::Partitions(merge_files(old, new)),
        (Payload::Files(old), Payload::Files(new)) => Payload::Files(merge_files(old, new)),
        (Payload::ColumnStats(old), Payload::ColumnStats(new)) => Payload::ColumnStats(merge_stats(*old, new)?),
        (Payload::PartitionStats(old), Payload::PartitionStats(new)) => {
            Payload::PartitionStats(merge_stats(*old, new)?)
        }
        (_, new) => new,
    };
    Ok(MetadataRecord { payload, ..newer })
}

impl MetadataRecord {
    /// What is left when no older record can come: nothing for a deleted record, lists without their deleted entries.
    pub fn settle(mut self) -> Option<Self> {
        match &mut self.payload {
            Payload::Partitions(files) | Payload::Files(files) => files.retain(|_, file| !file.is_deleted),
            other if other.is_deleted() => return None,
            _ => {}
        }
        Some(self)
    }
}

/// A deletion takes the entry away. If there is none it stays, since the entry may be in a record that is older still.
/// A file that is in both has the greater size: files only grow, and records of one file may come in either order.
fn merge_files(
    mut files: BTreeMap<String, FileEntry>,
    newer: BTreeMap<String, FileEntry>,
) -> BTreeMap<String, FileEntry> {
    for (name, new) in newer {
        match files.get(&name) {
            Some(old) if new.is_deleted && !old.is_deleted => {
                files.remove(&name);
            }
            Some(old) if !new.is_deleted => {
                let size = old.size.max(new.size);
                files.insert(name, FileEntry { size, is_deleted: false });
            }
            _ => {
                files.insert(name, new);
            }
        }
    }
    files
}

/// Tight bounds replace what was known; loose ones are those of new rows, and widen it.
fn merge_stats(old: ColumnStats, mut new: Box<ColumnStats>) -> Result<Box<ColumnStats>> {
    if new.is_tight_bound {
        return Ok(new);
    }
    let types = (old.value_type.as_ref(), new.value_type.as_ref());
    let widens = old.min_value.as_ref().zip(new.min_value.as_ref()).is_some_and(|(old, new)| is_wider(old, new));
    new.min_value = bound((old.min_value, types.0), (new.min_value, types.1), Ordering::Less)?;
    new.max_value = bound((old.max_value, types.0), (new.max_value, types.1), Ordering::Greater)?;
    // Nothing but nulls is of type "null": then the bounds are the older ones.
    if widens || new.value_type.as_ref().is_none_or(|value_type| value_type.ordinal == NULL_TYPE) {
        new.value_type = old.value_type.or(new.value_type);
    }
    new.value_count = sum(old.value_count, new.value_count);
    new.null_count = sum(old.null_count, new.null_count);
    new.total_size = sum(old.total_size, new.total_size);
    new.total_uncompressed_size = sum(old.total_uncompressed_size, new.total_uncompressed_size);
    Ok(new)
}

fn sum(old: Option<i64>, new: Option<i64>) -> Option<i64> {
    match (old, new) {
        (Some(old), Some(new)) => Some(old.saturating_add(new)),
        (old, new) => new.or(old),
    }
}

type Bound<'a> = (Option<StatValue>, Option<&'a ValueType>);

fn bound(old: Bound<'_>, new: Bound<'_>, wanted: Ordering) -> Result<Option<StatValue>> {
    let ((Some(a), a_type), (Some(b), b_type)) = (&old, &new) else {
        return Ok(new.0.or(old.0));
    };
    // A column that was widened has rows of both types; the merged record has one for both.
    if is_number(a_type) && is_number(b_type) {
        if let (Some(a), Some(b)) = (as_double(a, b, wanted), as_double(b, a, wanted)) {
            let chosen = if java_float_order(a, b) == wanted { a } else { b };
            return Ok(Some(StatValue::Double(chosen)));
        }
        if let (Some(a), Some(b)) = (as_float(a, b, wanted), as_float(b, a, wanted)) {
            let chosen = if java_float_order(a.into(), b.into()) == wanted { a } else { b };
            return Ok(Some(StatValue::Float(chosen)));
        }
        if let (Some(a), Some(b)) = (as_long(a, b), as_long(b, a)) {
            return Ok(Some(StatValue::Long(if a.cmp(&b) == wanted { a } else { b })));
        }
    }
    if discriminant(a) != discriminant(b) {
        return Err(changed_type(a, b));
    }
    let order = compare(&Scalar::of(a, *a_type)?, &Scalar::of(b, *b_type)?);
    let order = order.ok_or_else(|| changed_type(a, b))?;
    Ok(if order == wanted { old.0 } else { new.0 })
}

/// Whether the value is a plain number: dates and times are numbers too, of other meanings.
fn is_number(value_type: &Option<&ValueType>) -> bool {
    value_type.is_none_or(|value_type| NUMBER_TYPES.contains(&value_type.ordinal))
}

/// Whether a value is of a number type that the other one's was widened to.
fn is_wider(a: &StatValue, b: &StatValue) -> bool {
    use StatValue::{Double, Float, Int, Long};
    matches!((a, b), (Long(_), Int(_)) | (Float(_), Int(_) | Long(_)) | (Double(_), Int(_) | Long(_) | Float(_)))
}

/// The number as a long, where it or the other one is a long and neither is more.
fn as_long(value: &StatValue, other: &StatValue) -> Option<i64> {
    match (value, other) {
        (StatValue::Int(value), StatValue::Long(_)) => Some((*value).into()),
        (StatValue::Long(value), StatValue::Int(_)) => Some(*value),
        _ => None,
    }
}

/// The number as a float, where one of the two is a float and the other a whole number, which is rounded to where the bound
/// still holds.
fn as_float(value: &StatValue, other: &StatValue, wanted: Ordering) -> Option<f32> {
    use StatValue::{Float, Int, Long};
    let rounded = |value: i64| {
        let near = value as f32;
        match (near as i128).cmp(&i128::from(value)) {
            Ordering::Greater if wanted == Ordering::Less => near.next_down(),
            Ordering::Less if wanted == Ordering::Greater => near.next_up(),
            _ => near,
        }
    };
    match (value, other) {
        (Float(value), Int(_) | Long(_)) => Some(*value),
        (Int(value), Float(_)) => Some(rounded((*value).into())),
        (Long(value), Float(_)) => Some(rounded(*value)),
        _ => None,
    }
}

/// The number as a double, where one of the two is a double and the other is not. A long that no double is equal to is
/// rounded to where the bound still holds; rows that were floats are read as their text says, or as they are.
fn as_double(value: &StatValue, other: &StatValue, wanted: Ordering) -> Option<f64> {
    use StatValue::{Double, Float, Int, Long};
    match (value, other) {
        (Double(value), Int(_) | Long(_) | Float(_)) => Some(*value),
        (Int(value), Double(_)) => Some((*value).into()),
        (Float(value), Double(_)) => {
            let (exact, as_text) = (f64::from(*value), value.to_string().parse::<f64>().ok()?);
            Some(if wanted == Ordering::Less { exact.min(as_text) } else { exact.max(as_text) })
        }
        (Long(value), Double(_)) => {
            let near = *value as f64;
            Some(match (near as i128).cmp(&i128::from(*value)) {
                Ordering::Greater if wanted == Ordering::Less => near.next_down(),
                Ordering::Less if wanted == Ordering::Greater => near.next_up(),
                _ => near,
            })
        }
        _ => None,
    }
}

fn changed_type(a: &StatValue, b: &StatValue) -> Error {
    Error::unsupported(format!("merging statistics of a column that changed its type, {a:?} and {b:?}"))
        .with_hint("rebuild the index: drop it and create it again")
}

/// The order of Java's `compareTo`: floats with -0.0 below 0.0 and NaN on top. But texts and bytes are in the order of bytes, as
/// queries compare them: Apache Hudi merges by UTF-16 units and signed bytes, and then misses rows.
/// None between two types.
fn compare(a: &Scalar, b: &Scalar) -> Option<Ordering> {
    Some(match (a, b) {
        (Scalar::Boolean(a), Scalar::Boolean(b)) => a.cmp(b),
        (Scalar::Int(a), Scalar::Int(b)) | (Scalar::Date(a), Scalar::Date(b)) => a.cmp(b),
        (Scalar::Long(a), Scalar::Long(b)) => a.cmp(b),
        (Scalar::Float(a), Scalar::Float(b)) => java_float_order((*a).into(), (*b).into()),
        (Scalar::Double(a), Scalar::Double(b)) => java_float_order(*a, *b),
        (Scalar::String(a), Scalar::String(b)) | (Scalar::Uuid(a), Scalar::Uuid(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Scalar::Bytes(a), Scalar::Bytes(b)) => a.cmp(b),
        (Scalar::Decimal { unscaled: a, scale: s }, Scalar::Decimal { unscaled: b, scale: t }) if s == t => a.cmp(b),
        (Scalar::Time(unit, a), Scalar::Time(other, b)) if unit == other => a.cmp(b),
        (
            Scalar::Timestamp { unit, utc, value: a },
            Scalar::Timestamp { unit: other_unit, utc: other_utc, value: b },
        ) if (unit, utc) == (other_unit, other_utc) => a.cmp(b),
        _ => return None,
    })
}

/// `Double.compareTo`: all NaN are equal.
fn java_float_order(a: f64, b: f64) -> Ordering {
    let canonical = |value: f64| if value.is_nan() { f64::NAN.abs() } else { value };
    canonical(a).total_cmp(&canonical(b))
}
