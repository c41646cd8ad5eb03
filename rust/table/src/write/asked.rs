//! What a job means that names a save mode and options, as jobs of Apache Hudi do.

use std::collections::BTreeMap;

use crate::options::{self, Operation, Options};
use crate::table::Table;
use crate::{Error, Result};

type Given = BTreeMap<String, String>;

/// The operation, and the options that go with it.
///
/// As in Apache Hudi nothing said means upsert, or bulk insert where there is no record key; and the mode overwrite leaves
/// the rows that the operation would leave in an empty table. It does so by replacing all file groups.
///
/// `table`: `None` if it is still to be made from the options.
pub fn asked(table: Option<&Table>, mut given: Given, overwrites: bool) -> Result<(Operation, Given)> {
    let options = Options::parse(given.clone())?;
    let keyless = || match table {
        Some(table) => Ok(table.config()?.record_key.is_empty()),
        None => Ok::<_, Error>(options.get(&options::RECORD_KEY)?.unwrap_or_default().is_empty()),
    };
    let asked = match options.get(&options::OPERATION)? {
        Some(told) => told,
        None if keyless()? => Operation::BulkInsert,
        None => Operation::Upsert,
    };
    let operation = if overwrites { overwriting(asked)? } else { asked };
    if operation == Operation::DeletePartitions && !options.is_set(&options::PARTITIONS_TO_DELETE) {
        let told = format!("{}={asked} of the partitions of rows", options::OPERATION.key());
        let hint = format!("{} takes them by name", options::PARTITIONS_TO_DELETE.key());
        return Err(Error::unsupported(told).with_hint(hint));
    }
    if operation != asked && asked == Operation::Upsert {
        set(&mut given, options::COMBINE_BEFORE_INSERT.key(), "true");
    }
    set(&mut given, options::OPERATION.key(), operation.word());
    Ok((operation, given))
}

fn overwriting(asked: Operation) -> Result<Operation> {
    match asked {
        Operation::Upsert
        | Operation::Insert
        | Operation::BulkInsert
        | Operation::InsertOverwrite
        | Operation::OverwriteTable => Ok(Operation::OverwriteTable),
        Operation::Delete | Operation::DeletePartitions => {
            Err(Error::option(format!("{}={asked} in the mode overwrite", options::OPERATION.key()))
                .with_hint("deletes go with the mode append"))
        }
    }
}

/// Options may be given in any case.
fn set(given: &mut Given, key: &str, value: &str) {
    given.retain(|name, _| !name.eq_ignore_ascii_case(key));
    given.insert(key.to_owned(), value.to_owned());
}
