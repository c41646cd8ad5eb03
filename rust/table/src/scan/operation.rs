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
use crate::timeline::{self, Snapshot, Timeline};
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
pub(crate) fn is_there(
    storage: &Arc<dyn Storage>,
    config: &TableConfig,
    timeline: &Timeline,
    snapshot: &Snapshot,
) -> Result<bool> {
    let Some(newest) = snapshot.newest_files.as_ref().filter(|_| !config.has_virtual_keys()) else { return Ok(false) };
    let mut folders = Folders::default();
    let told = match folders.has_column(storage, newest.first())? {
        None => folders.has_column(storage, &newest.others(storage.as_ref(), timeline)?)?,
        told => told,
    };
    Ok(told.unwrap_or(false))
}

/// Gives the snapshot's schema the column, in front, if rows have it.
pub(super) fn show(
    storage: &Arc<dyn Storage>,
    config: &TableConfig,
    timeline: &Timeline,
    snapshot: &mut Snapshot,
) -> Result<()> {
    let Some(text) = &snapshot.schema else { return Ok(()) };
    if !is_there(storage, config, timeline, snapshot)? {
        return Ok(());
    }
    let stated = timeline::arrow_schema(text)?;
    let column = Arc::new(Field::new(meta::OPERATION, DataType::Utf8, true));
    let others = stated.fields().iter().filter(|field| field.name() != meta::OPERATION).cloned();
    let fields: Vec<_> = std::iter::once(column).chain(others).collect();
    snapshot.schema = Some(avro_text(&Schema::new(fields), &config.name)?);
    Ok(())
}

/// Files that are left of folders in which one was not there to be asked.
#[derive(Debug, Default)]
struct Folders(BTreeMap<String, BTreeSet<String>>);

impl Folders {
    /// Asks one file after the other, until one says it; `None` if none does. Where one says nothing, a clean may have taken it,
    /// and others of its folder too: which of those are left is looked up once.
    fn has_column(&mut self, storage: &Arc<dyn Storage>, files: &[String]) -> Result<Option<bool>> {
        for path in files {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            if self.0.get(folder).is_some_and(|names| !names.contains(name)) {
                continue;
            }
            match has_column(storage, path) {
                Ok(None) => {}
                Ok(told) => return Ok(told),
                // Who reads the file will say what is wrong with it.
                Err(e) if e.kind() != ErrorKind::StorageFailure || storage.head(path)?.is_none() => {}
                Err(e) => return Err(e),
            }
            if !self.0.contains_key(folder) {
                self.0.insert(folder.to_owned(), file_names(storage.as_ref(), folder)?);
            }
        }
        Ok(None)
    }
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
    use arrow_array::{RecordBatch, StringArray};
    use hudini_format::action::{CommitMetadata, WriteStat};
    use parquet::arrow::ArrowWriter;

    use super::*;
    use crate::context::ManualClock;
    use crate::storage::faulty::{FaultPlan, Faulty};
    use crate::storage::memory::Memory;
    use crate::timeline::Until;

    #[test]
    fn files_that_were_cleaned_away_are_looked_up_by_the_folder() {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        let name = |partition: &str, number: u32| format!("{partition}/f-{number}_0-1-2_20261121090000000.parquet");
        let files: Vec<_> = (0..200).map(|number| name(if number < 100 { "p" } else { "q" }, number)).collect();
        let (left, junk) = (name("q", 150), b"no Parquet file".as_slice());
        memory.replace(&left, junk).unwrap();
        let counted = Arc::new(Faulty::new(Arc::new(memory), FaultPlan::none()));
        let storage: Arc<dyn Storage> = counted.clone();
        assert_eq!(Folders::default().has_column(&storage, &files).unwrap(), None);
        let log = counted.log();
        assert!(log.iter().any(|call| call.path == left), "what is left is asked");
        assert!(log.len() < 20, "{} calls for two folders", log.len());
    }

    #[test]
    fn the_last_of_many_files_is_asked_where_no_other_is_left() {
        let memory = Memory::new("t", Arc::new(ManualClock::new(0)));
        memory
            .replace(
                ".hoodie/hoodie.properties",
                b"hoodie.table.name=t\nhoodie.table.version=9\n\
              hoodie.table.create.schema={\"type\":\"record\",\"name\":\"t\",\"fields\":[]}\n",
            )
            .unwrap();
        let path = |number: u32| format!("f-{number}_0-1-2_20261121090000000.parquet");
        let stat = |number| WriteStat { path: Some(path(number)), num_inserts: Some(1), ..WriteStat::zeroed() };
        let stats = BTreeMap::from([(String::new(), (0..2_000).map(stat).collect())]);
        let commit = CommitMetadata { partition_to_write_stats: Some(stats), ..CommitMetadata::default() };
        let told = ".hoodie/timeline/20261121090000000_20261121090001000.commit";
        memory.replace(told, &commit.encode().unwrap()).unwrap();
        let column: StringArray = [Some("I")].into_iter().collect();
        let batch = RecordBatch::try_from_iter([(meta::OPERATION, Arc::new(column) as _)]).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        memory.replace(&path(1_999), &writer.into_inner().unwrap()).unwrap();

        let config = TableConfig::load(&memory).unwrap();
        let timeline = Timeline::load(&memory, &config).unwrap();
        let snapshot = Snapshot::pin(&memory, &config, &timeline, Until::Now).unwrap();
        let storage: Arc<dyn Storage> = Arc::new(memory);
        assert!(is_there(&storage, &config, &timeline, &snapshot).unwrap());
        storage.delete(&path(1_999)).unwrap();
        assert!(!is_there(&storage, &config, &timeline, &snapshot).unwrap());
    }
}
