//! Record keys of tables that store none (virtual keys).

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use hudini_format::key::{Generator, KeyConfig, PathStyle, outermost};
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How to make the key of a row anew, as its writer made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualKeys {
    fields: Vec<String>,
    names_single_key: bool,
    dated_timestamps: bool,
}

impl VirtualKeys {
    pub(crate) fn of(keys: &KeyConfig, names_single_key: bool) -> Result<Self> {
        if keys.key_fields.is_empty() {
            return Err(Error::unsupported("a table without meta fields (virtual keys) and without record key fields"));
        }
        Ok(Self { fields: keys.key_fields.clone(), names_single_key, dated_timestamps: keys.dated_timestamps })
    }

    /// Whether a column of the table is asked for keys.
    pub(super) fn are_made_of(&self, column: &str) -> bool {
        let of_column = |field: &String| outermost(field) == column;
        self.fields.iter().any(of_column)
    }

    /// The keys of rows that have all columns of which they are made.
    pub(super) fn make(&self, rows: &RecordBatch) -> Result<StringArray> {
        let mut config = KeyConfig::new(Generator::Simple, self.fields.clone(), Vec::new(), PathStyle::default());
        config.names_single_key = self.names_single_key;
        config.dated_timestamps = self.dated_timestamps;
        config.record_keys(rows)
    }

    /// A key that a log tells, as those of rows are made: logs of older releases leave the name of a single field out, and stay
    /// as they are when a table is upgraded.
    pub(super) fn spelled<'k>(&self, key: &'k str) -> Cow<'k, str> {
        match self.fields.as_slice() {
            [field] if self.names_single_key && !names(key, field) => Cow::Owned(format!("{field}:{key}")),
            _ => Cow::Borrowed(key),
        }
    }

    /// The rows with their keys in the meta column, whose stored values mean nothing.
    pub(super) fn fill(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let keys = self.make(rows)?;
        let at = rows.schema_ref().index_of(meta::RECORD_KEY)?;
        let mut columns = rows.columns().to_vec();
        if let Some(column) = columns.get_mut(at) {
            *column = Arc::new(keys);
        }
        Ok(RecordBatch::try_new(rows.schema(), columns)?)
    }
}

fn names(key: &str, field: &str) -> bool {
    key.strip_prefix(field).is_some_and(|rest| rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use hudini_format::log::{DeleteRecord, OrderingValue};
    use rstest::rstest;

    use super::*;
    use crate::merge::{Deltas, MergeRule};
    use crate::options::MergeMode;

    #[rstest]
    #[case::of_an_older_release("7", "id:7")]
    #[case::of_a_newer_one("id:7", "id:7")]
    #[case::of_another_field("identity:7", "id:identity:7")]
    fn logs_of_all_releases_spell_keys_alike(#[case] told: &str, #[case] spelled: &str) {
        let keys =
            |names_single_key| VirtualKeys { fields: vec!["id".to_owned()], names_single_key, dated_timestamps: false };
        assert_eq!(keys(true).spelled(told), spelled);
        assert_eq!(keys(false).spelled(told), told);
    }

    #[test]
    fn deletes_of_older_releases_are_of_the_same_rows() {
        let keys = VirtualKeys { fields: vec!["id".to_owned()], names_single_key: true, dated_timestamps: false };
        let rule = MergeRule { virtual_keys: Some(keys), ..MergeRule::new(MergeMode::CommitTime, &[]) };
        let mut deltas = Deltas::new(rule).unwrap();
        let delete =
            |key: &str| DeleteRecord { key: Some(key.to_owned()), partition: None, ordering: OrderingValue::NONE };
        deltas.push_deletes(["7", "id:7", "8"].map(|key| Ok(delete(key)))).unwrap();
        let found: Vec<_> = deltas.deletes().map(|told| told.unwrap().0.to_owned()).collect();
        assert_eq!(found, ["id:7", "id:8"]);
    }
}
