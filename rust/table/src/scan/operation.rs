//! The column in which Flink, and who else is told to, says of every row how it came: `_hoodie_operation`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use hudini_format::log::{Block, BlockKind};
use hudini_format::name::{BaseFileName, LogFileName};
use hudini_format::schema::{Record, avro_text, meta};

use super::ScanRequest;
use crate::base_file;
use crate::config::TableConfig;
use crate::log_file::{Choice, LogFile, Part, Visitor};
use crate::storage::{Storage, file_names};
use crate::timeline::{self, Snapshot};
use crate::{ErrorKind, Result};

/// Whether a read has to know if there is such a column: its values are asked for, or deletes may be told by them.
pub(super) fn matters(config: &TableConfig, request: &ScanRequest) -> bool {
    let names_it = |names: &Vec<String>| names.iter().any(|name| name == meta::OPERATION);
    let shown = request.meta && request.columns.as_ref().is_none_or(names_it);
    let filtered = request.filter.as_ref().is_some_and(|filter| filter.contains(meta::OPERATION));
    config.is_mor() || shown || filtered
}

/// Whether rows have the column.
///
/// No commit and no property tells. For Apache Hudi it is there if it is in a file of the newest commit that brought rows,
/// and in no other case, whatever older files have.
pub(crate) fn is_there(storage: &Arc<dyn Storage>, config: &TableConfig, snapshot: &Snapshot) -> Result<bool> {
    Ok(!config.has_virtual_keys() && is_written(storage, &snapshot.newest_files)?)
}

/// Gives the snapshot's schema the column, in front, if rows have it.
pub(super) fn show(storage: &Arc<dyn Storage>, config: &TableConfig, snapshot: &mut Snapshot) -> Result<()> {
    let Some(text) = &snapshot.schema else { return Ok(()) };
    if !is_there(storage, config, snapshot)? {
        return Ok(());
    }
    let stated = timeline::arrow_schema(text)?;
    let column = Arc::new(Field::new(meta::OPERATION, DataType::Utf8, true));
    let others = stated.fields().iter().filter(|field| field.name() != meta::OPERATION).cloned();
    let fields: Vec<_> = std::iter::once(column).chain(others).collect();
    snapshot.schema = Some(avro_text(&Schema::new(fields), &config.name)?);
    Ok(())
}

/// Asks one file after the other, until one says it. Where one says nothing, a clean may have taken it, and others of its
/// folder too: which of those are left is looked up once.
fn is_written(storage: &Arc<dyn Storage>, files: &[String]) -> Result<bool> {
    let mut left: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for path in files {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if left.get(folder).is_some_and(|names| !names.contains(name)) {
            continue;
        }
        match has_column(storage, path) {
            Ok(Some(has)) => return Ok(has),
            Ok(None) => {}
            // Who reads the file will say what is wrong with it.
            Err(e) if e.kind() != ErrorKind::StorageFailure || storage.head(path)?.is_none() => {}
            Err(e) => return Err(e),
        }
        if !left.contains_key(folder) {
            left.insert(folder, file_names(storage.as_ref(), folder)?);
        }
    }
    Ok(false)
}

/// `None` where nothing tells the columns.
fn has_column(storage: &Arc<dyn Storage>, path: &str) -> Result<Option<bool>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if BaseFileName::parse(name).is_some_and(|base| base.extension == "parquet") {
        return Ok(Some(base_file::footer(storage, path)?.schema.field_with_name(meta::OPERATION).is_ok()));
    }
    if LogFileName::parse(name).is_none() {
        return Ok(None);
    }
    let Some(meta) = storage.head(path)? else { return Ok(None) };
    let mut newest = NewestSchema(None);
    LogFile::new(storage.as_ref(), path.to_owned(), meta.size).read_from(0, &mut newest)?;
    newest.0.map(|text| Ok(Record::parse(&text)?.field(meta::OPERATION).is_some())).transpose()
}

/// The schema of a log's last block of rows.
struct NewestSchema(Option<String>);

impl Visitor for NewestSchema {
    fn meet(&mut self, block: &Block<'_>) -> Result<Choice> {
        if matches!(block.kind, BlockKind::AvroData | BlockKind::HfileData | BlockKind::ParquetData) {
            self.0 = Some(block.schema()?.to_owned());
        }
        Ok(Choice::Nothing)
    }

    fn take(&mut self, _: Part<'_>) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ManualClock;
    use crate::storage::faulty::{FaultPlan, Faulty};
    use crate::storage::memory::Memory;

    #[test]
    fn files_that_were_cleaned_away_are_looked_up_by_the_folder() {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        let name = |partition: &str, number: u32| format!("{partition}/f-{number}_0-1-2_20261121090000000.parquet");
        let files: Vec<_> = (0..200).map(|number| name(if number < 100 { "p" } else { "q" }, number)).collect();
        let (left, junk) = (name("q", 150), b"no Parquet file".as_slice());
        memory.replace(&left, junk).unwrap();
        let counted = Arc::new(Faulty::new(Arc::new(memory), FaultPlan::none()));
        let storage: Arc<dyn Storage> = counted.clone();
        assert!(!is_written(&storage, &files).unwrap());
        let log = counted.log();
        assert!(log.iter().any(|call| call.path == left), "what is left is asked");
        assert!(log.len() < 20, "{} calls for two folders", log.len());
    }
}
