//! Base files that a bootstrap made of files elsewhere: theirs are the meta columns, all others lie in the source file, row
//! by row.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use hudini_format::action::BootstrapFile;
use hudini_format::hfile::Reader;
use hudini_format::schema::evolve::Mapping;
use hudini_format::schema::meta;
use serde::{Deserialize, Serialize};

use crate::base_file;
use crate::config::{TableConfig, keys};
use crate::merge::Batches;
use crate::options;
use crate::storage::{Entry, Storage};
use crate::table::{Location, Table};
use crate::view::FileSlice;
use crate::{Error, Result};

/// The instant of a bootstrap that leaves the columns where they are; one that copies rows has another.
const METADATA_BOOTSTRAP: &str = "00000000000001";
const INDEX: &str = ".hoodie/.aux/.bootstrap/.fileids";

/// Where the columns of a scan's base files are that have the meta columns alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sources {
    location: Location,
    /// By path of the base file: the path of its source.
    files: BTreeMap<String, String>,
}

impl Sources {
    pub(super) fn of(
        table: &Table,
        config: &TableConfig,
        slices: &[&FileSlice],
        evolved: bool,
    ) -> Result<Option<Self>> {
        let Some(stored) = config.get(keys::BOOTSTRAP_PATH) else { return Ok(None) };
        let bare = |slice: &&FileSlice| slice.base_instant == METADATA_BOOTSTRAP && slice.base.is_some();
        let bare: Vec<_> = slices.iter().copied().filter(bare).collect();
        if bare.is_empty() {
            return Ok(None);
        }
        if evolved {
            return Err(Error::unsupported("a bootstrapped table whose columns have ids (schema on read)"));
        }
        let given = table.options.get(&options::BOOTSTRAP_PATH)?;
        let url = given.unwrap_or_else(|| stored.to_owned());
        let location = Location { url, storage_options: table.location.storage_options.clone() };
        let mut files = BTreeMap::new();
        let index = read_index(table.storage.as_ref())?;
        let index = Reader::open(&index).map_err(|e| e.at_path(INDEX))?;
        for slice in bare {
            let Some(base) = &slice.base else { continue };
            let entry = index.get(BootstrapFile::key(&slice.partition, &slice.file_id).as_bytes());
            let entry = entry.map_err(|e| e.at_path(INDEX))?.ok_or_else(|| {
                Error::corrupt("the bootstrap index does not know a base file of the bootstrap")
                    .at_path(slice.path(base))
            })?;
            let source = BootstrapFile::decode(&entry).and_then(|file| file.relative_path());
            files.insert(slice.path(base), source.map_err(|e| e.at_path(INDEX))?);
        }
        Ok(Some(Self { location, files }))
    }

    /// Those of some slices; `None` if they need none.
    pub(super) fn of_slices<'f>(&self, slices: impl Iterator<Item = &'f FileSlice>) -> Option<Self> {
        let paths = slices.filter_map(|slice| Some(slice.path(slice.base.as_ref()?)));
        let files: BTreeMap<_, _> =
            paths.filter_map(|path| Some((path.clone(), self.files.get(&path)?.clone()))).collect();
        (!files.is_empty()).then(|| Self { location: self.location.clone(), files })
    }

    /// Whether the columns of a base file are elsewhere.
    pub(super) fn have(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The rows of a base file, if its columns are elsewhere.
    pub(super) fn rows(
        &self,
        storage: &Arc<dyn Storage>,
        path: &str,
        schema: &SchemaRef,
        batch_size: usize,
    ) -> Result<Option<Batches>> {
        let Some(source) = self.files.get(path) else { return Ok(None) };
        let part = |of_meta: bool| {
            let fields = schema.fields().iter().filter(|f| meta::is_meta(f.name()) == of_meta);
            Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
        };
        let (own, elsewhere) = (part(true), part(false));
        let own_rows = base_file::read(storage, path, &own, &Mapping::default(), batch_size)?;
        if elsewhere.fields().is_empty() {
            return Ok(Some(own_rows));
        }
        let hint =
            "the files of a bootstrap must stay where they were; hoodie.bootstrap.base.path says where they are now";
        let opened = self
            .location
            .open()
            .and_then(|storage| base_file::read(&storage, source, &elsewhere, &Mapping::default(), batch_size));
        let rows = Stitched {
            own: Side::new(own_rows),
            source: Side::new(opened.map_err(|e| e.with_hint(hint))?),
            schema: Arc::clone(schema),
            path: path.to_owned(),
        };
        Ok(Some(Box::new(rows)))
    }
}

fn read_index(storage: &dyn Storage) -> Result<Vec<u8>> {
    let files = storage.list(INDEX)?.into_iter().filter_map(|entry| match entry {
        Entry::File { name, .. } if name.ends_with(".hfile") => Some(format!("{INDEX}/{name}")),
        _ => None,
    });
    // A bootstrap writes one.
    let path = files.max().ok_or_else(|| Error::corrupt("a bootstrapped table without its index").at_path(INDEX))?;
    let bytes = storage.read(&path)?;
    Ok(bytes.ok_or_else(|| Error::storage("the bootstrap index vanished").at_path(path))?.to_vec())
}

/// One of two files, whose batches need not end at the same rows.
struct Side {
    batches: Batches,
    at_hand: Option<RecordBatch>,
}

impl Side {
    fn new(batches: Batches) -> Self {
        Self { batches, at_hand: None }
    }

    /// Rows at hand; 0 at the end.
    fn ready(&mut self) -> Result<usize> {
        loop {
            if let Some(batch) = self.at_hand.as_ref().filter(|batch| batch.num_rows() > 0) {
                return Ok(batch.num_rows());
            }
            match self.batches.next() {
                Some(batch) => self.at_hand = Some(batch?),
                None => return Ok(0),
            }
        }
    }

    fn take(&mut self, rows: usize) -> Option<RecordBatch> {
        let batch = self.at_hand.take()?;
        let rest = batch.num_rows().saturating_sub(rows);
        self.at_hand = Some(batch.slice(rows, rest));
        Some(batch.slice(0, rows))
    }
}

/// Rows of two files side by side.
struct Stitched {
    own: Side,
    source: Side,
    schema: SchemaRef,
    path: String,
}

impl Stitched {
    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let rows = match (self.own.ready()?, self.source.ready()?) {
            (0, 0) => return Ok(None),
            (own, source) if own == 0 || source == 0 => {
                let message = "a base file of a bootstrap and its source have different numbers of rows";
                return Err(Error::corrupt(message).at_path(&self.path));
            }
            (own, source) => own.min(source),
        };
        let (own, source) = (self.own.take(rows), self.source.take(rows));
        let column = |name: &String| {
            let side = if meta::is_meta(name) { &own } else { &source };
            let column = side.as_ref().and_then(|batch| batch.column_by_name(name)).cloned();
            column.ok_or_else(|| Error::internal(format!("column '{name}' was not read")))
        };
        let columns = self.schema.fields().iter().map(|f| column(f.name())).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?))
    }
}

impl Iterator for Stitched {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}
