//! Composite keys, `f1:v1,f2:v2`, and the way back from them.

/// What a composite key holds in the place of a null component.
pub const NULL_KEY_PART: &str = "__null__";
/// What a composite key holds in the place of an empty component.
pub const EMPTY_KEY_PART: &str = "__empty__";

/// Takes a composite key `f1:v1,f2:v2` apart: fields with their values, in key order, null and empty ones resolved.
/// Nothing for a key without a colon or without a comma, which is one bare value.
///
/// Values may hold colons and commas themselves: a value ends at the last comma before the next colon that has a comma
/// between. So `ts:10:00:00,x:1` has a `ts` of `10:00:00`, but a colon after a comma inside a value misleads the split.
pub fn key_parts(record_key: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let composite = record_key.contains(':') && record_key.contains(',');
    let mut rest = composite.then_some(record_key);
    std::iter::from_fn(move || {
        let (field, value_on) = rest?.split_once(':')?;
        let (value, next) = split_value(value_on);
        rest = next;
        Some((field, part_value(value)))
    })
}

/// What the text of a part of a key stands for.
pub(crate) fn part_value(text: &str) -> Option<&str> {
    match text {
        NULL_KEY_PART => None,
        EMPTY_KEY_PART => Some(""),
        other => Some(other),
    }
}

fn split_value(text: &str) -> (&str, Option<&str>) {
    let Some(first_comma) = text.find(',') else {
        return (text, None);
    };
    let (_, from_comma) = text.split_at(first_comma);
    let Some(colon) = from_comma.find(':') else {
        return (text, None);
    };
    match text.get(..first_comma + colon).and_then(|before| before.rfind(',')).and_then(|i| text.split_at_checked(i)) {
        Some((value, next)) => (value, next.get(1..)),
        None => (text, None),
    }
}

/// The values of a table's key fields in a record key; `None` where the key is not made of them.
///
/// A key of one field is its value, bare or behind the field's name: which of the two, a table may mix.
pub fn key_values<'a>(record_key: &'a str, fields: &[impl AsRef<str>]) -> Option<Vec<Option<&'a str>>> {
    if let [field] = fields {
        let named = record_key.strip_prefix(field.as_ref()).and_then(|rest| rest.strip_prefix(':'));
        return Some(vec![Some(named.unwrap_or(record_key))]);
    }
    let mut values = Vec::with_capacity(fields.len());
    let mut rest = record_key;
    for (at, field) in fields.iter().enumerate() {
        rest = rest.strip_prefix(field.as_ref())?.strip_prefix(':')?;
        // The names are known here, so commas and colons inside of values mislead less than they do Apache Hudi.
        let end = match fields.get(at + 1) {
            Some(next) => rest.find(&format!(",{}:", next.as_ref()))?,
            None => rest.len(),
        };
        let (value, after) = rest.split_at_checked(end)?;
        values.push(part_value(value));
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    Some(values)
}
