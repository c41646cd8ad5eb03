//! What the metadata table holds, as Arrow rows for people.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hudini_format::metadata_record::{MetadataRecord, Partition, Payload, RecordSchema};

use super::MetadataTable;
use crate::table::Table;
use crate::timeline::Timeline;
use crate::{Error, Result};

/// Of one batch; bloom filters are large, and so is the list of a partition's files.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: usize = 8 << 20;

/// The rows, and the columns that they have.
pub struct MetadataRows {
    pub schema: SchemaRef,
    pub rows: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
}

impl std::fmt::Debug for MetadataRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetadataRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// The records of one partition of the metadata table, or of all that readers may use, merged and without deleted ones.
pub fn rows(table: &Table, partition: Option<&str>) -> Result<MetadataRows> {
    let config = table.config()?;
    let timeline = Timeline::load(table.storage.as_ref(), &config)?;
    let open = MetadataTable::open(&table.storage, &config, &timeline)?;
    let metadata =
        open.ok_or_else(|| Error::option("the table has no metadata table").at_path(table.storage.root()))?;
    let names: Vec<String> = match partition {
        None => metadata.partitions().to_vec(),
        Some(name) if metadata.partitions().iter().any(|known| known == name) => vec![name.to_owned()],
        Some(name) => {
            return Err(Error::option(format!("the metadata table has no partition '{name}'"))
                .with_hint(format!("it has {}", metadata.partitions().join(", "))));
        }
    };
    let schema = RecordSchema::parse(metadata.schema()?)?;
    let columns = Arc::new(schema.to_arrow()?);
    let root = table.storage.root().to_owned();
    let records = names.into_iter().map(move |name| {
        let partition = Partition::parse(&name).ok_or_else(|| {
            Error::unsupported(format!("the metadata table's partition {name}")).at_path(root.as_str())
        })?;
        metadata.all(&partition)
    });
    let records = records.flat_map(|records| {
        let (records, error) = match records {
            Ok(records) => (Some(records), None),
            Err(error) => (None, Some(Err(error))),
        };
        records.into_iter().flatten().chain(error)
    });
    Ok(MetadataRows { schema: columns, rows: Box::new(Batches { records, schema, is_over: false }) })
}

/// Gathers records into batches. Nothing follows an error.
struct Batches<I> {
    records: I,
    schema: RecordSchema,
    is_over: bool,
}

impl<I: Iterator<Item = Result<MetadataRecord>>> Batches<I> {
    fn gather(&mut self) -> Result<Vec<MetadataRecord>> {
        let (mut gathered, mut bytes) = (Vec::new(), 0);
        while gathered.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some(record) = self.records.next().transpose()? else { break };
            bytes += weight(&record);
            gathered.push(record);
        }
        Ok(gathered)
    }
}

impl<I: Iterator<Item = Result<MetadataRecord>>> Iterator for Batches<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let batch = match self.gather() {
            Ok(records) if records.is_empty() => None,
            Ok(records) => Some(self.schema.rows(&records)),
            Err(error) => Some(Err(error)),
        };
        self.is_over = !matches!(batch, Some(Ok(_)));
        batch
    }
}

/// About how much memory a record takes.
fn weight(record: &MetadataRecord) -> usize {
    let payload = match &record.payload {
        Payload::Partitions(files) | Payload::Files(files) => files.keys().map(|name| name.len() + 64).sum(),
        Payload::BloomFilter(entry) => entry.filter.len(),
        Payload::ColumnStats(_) | Payload::PartitionStats(_) => 1024,
        Payload::RecordIndex(_) | Payload::SecondaryIndex { .. } => 128,
    };
    record.key.len() + payload
}
