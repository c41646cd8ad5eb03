//! What a table says of itself in `.hoodie/hoodie.properties`, checked for what hudini understands.

mod buckets;
mod create;
mod merge_rule;
mod store;

use std::collections::BTreeMap;

use hudini_format::instant::Layout;
use hudini_format::key::{Generator, KeyConfig};
use hudini_format::properties::Properties;

use crate::merge::{MergeRule, VirtualKeys};
use crate::options::{self, TableType};
use crate::storage::Storage;
use crate::{Error, Result};

pub use buckets::Buckets;
pub(crate) use create::refuse_look_alikes;
pub use create::{NewTable, Wishes, create};
pub(crate) use store::{PROPERTIES_FILES, announce_metadata_table, no_table, write_properties};
pub use store::{clear_metadata_table, read_properties};

/// The folder of everything that is not data.
pub const HOODIE: &str = ".hoodie";

/// Property keys of `hoodie.properties` that are read in more than one place.
pub mod keys {
    pub const NAME: &str = "hoodie.table.name";
    pub const DATABASE: &str = "hoodie.database.name";
    pub const TYPE: &str = "hoodie.table.type";
    pub const VERSION: &str = "hoodie.table.version";
    pub const INITIAL_VERSION: &str = "hoodie.table.initial.version";
    pub const LAYOUT: &str = "hoodie.timeline.layout.version";
    pub const TIMELINE_PATH: &str = "hoodie.timeline.path";
    pub const HISTORY_PATH: &str = "hoodie.timeline.history.path";
    pub const ARCHIVE_FOLDER: &str = "hoodie.archivelog.folder";
    pub const TIMEZONE: &str = "hoodie.table.timeline.timezone";
    pub const RECORD_KEY: &str = "hoodie.table.recordkey.fields";
    pub const PARTITION: &str = "hoodie.table.partition.fields";
    pub const ORDERING: &str = "hoodie.table.ordering.fields";
    pub const PRECOMBINE: &str = "hoodie.table.precombine.field";
    pub const MERGE_MODE: &str = "hoodie.record.merge.mode";
    pub const MERGE_STRATEGY: &str = "hoodie.record.merge.strategy.id";
    pub const MERGE_STRATEGY_OLD: &str = "hoodie.compaction.record.merger.strategy";
    pub const PAYLOAD: &str = "hoodie.compaction.payload.class";
    pub const PARTIAL_UPDATE: &str = "hoodie.table.partial.update.mode";
    pub const KEY_GENERATOR_TYPE: &str = "hoodie.table.keygenerator.type";
    pub const KEY_GENERATOR_CLASS: &str = "hoodie.table.keygenerator.class";
    pub const HIVE_STYLE: &str = "hoodie.datasource.write.hive_style_partitioning";
    pub const URL_ENCODE: &str = "hoodie.datasource.write.partitionpath.urlencode";
    pub const SLASHED_DATES: &str = "hoodie.datasource.write.slash.separated.date.partitioning";
    pub const DROP_PARTITION_COLUMNS: &str = "hoodie.datasource.write.drop.partition.columns";
    pub const META_FIELDS: &str = "hoodie.populate.meta.fields";
    pub const BASE_FORMAT: &str = "hoodie.table.base.file.format";
    pub const TABLE_FORMAT: &str = "hoodie.table.format";
    pub const BOOTSTRAP_PATH: &str = "hoodie.bootstrap.base.path";
    pub const CDC: &str = "hoodie.table.cdc.enabled";
    pub const CREATE_SCHEMA: &str = "hoodie.table.create.schema";
    pub const METADATA_PARTITIONS: &str = "hoodie.table.metadata.partitions";
    pub const METADATA_INFLIGHT: &str = "hoodie.table.metadata.partitions.inflight";
    pub const INDEX_DEFINITIONS: &str = "hoodie.table.index.defs.path";
    pub const INDEX_TYPE: &str = "hoodie.index.type";
    pub const BUCKET_ENGINE: &str = "hoodie.index.bucket.engine";
    pub const BUCKET_COUNT: &str = "hoodie.bucket.index.num.buckets";
    pub const HASH_FIELDS: &str = "hoodie.bucket.index.hash.field";
    pub const CHECKSUM: &str = "hoodie.table.checksum";
    /// Prefix of properties that a custom merge needs.
    pub const MERGE_PROPERTY_PREFIX: &str = "hoodie.record.merge.property.";
}

/// One reading of a table's properties.
#[derive(Debug, Clone)]
pub struct TableConfig {
    pub properties: Properties,
    pub name: String,
    pub version: u32,
    pub layout: Layout,
    pub table_type: TableType,
    pub record_key: Vec<String>,
    pub partition_by: Vec<String>,
    pub ordering: Vec<String>,
}

impl TableConfig {
    /// Reads and checks the properties of the table at the root of `storage`.
    pub fn load(storage: &dyn Storage) -> Result<Self> {
        Self::of(read_properties(storage)?).map_err(|e| e.at_path(storage.root()))
    }

    fn of(properties: Properties) -> Result<Self> {
        let text = |key: &str| properties.get(key).map(str::trim).filter(|v| !v.is_empty());
        let name = text(keys::NAME).unwrap_or_default().to_owned();
        let version = match text(keys::VERSION) {
            Some(version) => version.parse().map_err(|_| unknown(keys::VERSION, version))?,
            None => return Err(Error::unsupported("a table that does not say its hoodie.table.version")),
        };
        let layout = layout_of(version, text(keys::LAYOUT))?;
        let table_type = match text(keys::TYPE) {
            None => TableType::CopyOnWrite,
            Some(word) => TableType::parse(word).map_err(|_| unknown(keys::TYPE, word))?,
        };
        let fields = |key: &str| split_fields(text(key).unwrap_or_default());
        let ordering = Some(fields(keys::ORDERING)).filter(|f| !f.is_empty());
        let ordering = ordering.unwrap_or_else(|| fields(keys::PRECOMBINE));
        // Custom key generators write `field:TYPE`.
        let plain = |f: String| f.split(':').next().unwrap_or_default().to_owned();
        let partition_by = fields(keys::PARTITION).into_iter().map(plain).collect();
        let record_key = fields(keys::RECORD_KEY);
        Ok(Self { name, version, layout, table_type, record_key, partition_by, ordering, properties })
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.properties.get(key).map(str::trim).filter(|v| !v.is_empty())
    }

    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|v| v.eq_ignore_ascii_case("true"))
    }

    pub fn is_mor(&self) -> bool {
        self.table_type == TableType::MergeOnRead
    }

    /// Whether instants are in UTC; otherwise they are in the zone of the machines that write.
    pub fn utc(&self) -> bool {
        self.get(keys::TIMEZONE).is_some_and(|zone| zone.eq_ignore_ascii_case("UTC"))
    }

    /// The folder of the active timeline.
    pub fn timeline_dir(&self) -> String {
        match self.layout {
            Layout::One => HOODIE.to_owned(),
            Layout::Two => format!("{HOODIE}/{}", self.get(keys::TIMELINE_PATH).unwrap_or("timeline")),
        }
    }

    /// How versions of a row are merged.
    pub fn merge_rule(&self) -> Result<MergeRule> {
        merge_rule::of(self)
    }

    /// The merge mode, in Apache Hudi's word.
    pub fn merge_mode(&self) -> Result<&'static str> {
        merge_rule::word(self)
    }

    /// Whether the meta columns of files mean nothing, and keys are made of the rows.
    pub fn has_virtual_keys(&self) -> bool {
        self.get(keys::META_FIELDS).is_some_and(|v| v.eq_ignore_ascii_case("false"))
    }

    /// How the keys of its rows are made, where files have none.
    pub(crate) fn virtual_keys(&self) -> Result<Option<VirtualKeys>> {
        merge_rule::virtual_keys(self)
    }

    /// Whether files lack the partition columns.
    pub fn drops_partition_columns(&self) -> bool {
        self.is_true(keys::DROP_PARTITION_COLUMNS)
    }

    /// How rows are named; refuses what hudini does not write with.
    pub fn key_config(&self) -> Result<KeyConfig> {
        let keys = KeyConfig::from_properties(&self.properties)?;
        let plain = !keys.path_style.slashed_dates && !keys.dated_timestamps;
        if plain && options::WRITTEN_GENERATORS.contains(&keys.generator) {
            return Ok(keys);
        }
        let generator = keys.generator.type_name();
        let settings = if plain { "" } else { " with slash-separated dates or consistent timestamps" };
        Err(Error::unsupported(format!("writing with the key generator {generator}{settings}")))
    }

    /// Partitions of the metadata table that readers trust, built or being built.
    pub fn metadata_partitions(&self) -> Vec<String> {
        let of = |key: &str| split_fields(self.get(key).unwrap_or_default());
        of(keys::METADATA_PARTITIONS).into_iter().chain(of(keys::METADATA_INFLIGHT)).collect()
    }

    /// Refuses tables whose rows hudini would read wrong.
    pub fn check_readable(&self) -> Result<()> {
        if let Some(format) = self.get(keys::BASE_FORMAT).filter(|f| !f.eq_ignore_ascii_case("parquet")) {
            return Err(Error::unsupported(format!("base files of format {format}")));
        }
        if let Some(format) = self.get(keys::TABLE_FORMAT).filter(|f| !f.eq_ignore_ascii_case("native")) {
            return Err(Error::unsupported(format!("the table format '{format}'")));
        }
        Ok(())
    }

    /// Refuses tables that hudini must not write to.
    pub fn check_writable(&self) -> Result<()> {
        self.check_readable()?;
        if !WRITABLE_VERSIONS.contains(&self.version) {
            return Err(Error::unsupported(format!("writing to a table of version {}", self.version))
                .with_hint("hudini writes versions 8 and 9; Apache Hudi 1.0 or newer can upgrade the table"));
        }
        if self.is_true(keys::CDC) {
            return Err(Error::unsupported("writing to a table with change data capture (hoodie.table.cdc.enabled)"));
        }
        if self.record_key.is_empty() {
            return Err(Error::unsupported("writing to a table without record key fields"));
        }
        if self.get(keys::BOOTSTRAP_PATH).is_some() {
            return Err(Error::unsupported("writing to a bootstrapped table"));
        }
        if self.has_virtual_keys() {
            return Err(Error::unsupported("writing to a table without meta fields (virtual keys)"));
        }
        if self.drops_partition_columns() {
            return Err(Error::unsupported("writing to a table that keeps no partition columns in its files"));
        }
        let keys = self.key_config()?;
        if keys.generator == Generator::Complex
            && keys.key_fields.len() == 1
            && !self.began_with(FIRST_WITHOUT_PAYLOADS)
        {
            // Release 1.0 leaves the field's name out of the key, later ones ask an option of the job; and an upgrade leaves
            // keys as they are, so that Apache Hudi writes them once more by their other name.
            return Err(Error::unsupported(
                "writing to a table that began before version 9 with the key generator COMPLEX and one key field",
            )
            .with_hint("releases spell its keys in two ways, and one of them would be written beside the other"));
        }
        merge_rule::check_writable(self)
    }

    /// Whether it never was of an older version; a table that does not tell may have been.
    fn began_with(&self, version: u32) -> bool {
        let began = self.get(keys::INITIAL_VERSION).and_then(|text| text.trim().parse::<u32>().ok());
        self.version >= version && began.is_some_and(|began| began >= version)
    }

    /// The properties as a map, as users see them.
    pub fn as_map(&self) -> BTreeMap<String, String> {
        self.properties.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    }
}

/// A bucket's number has eight digits in its file ids.
const MAX_BUCKETS: u32 = 99_999_999;

/// The table versions that hudini writes.
pub const WRITABLE_VERSIONS: [u32; 2] = [8, NEWEST_VERSION];
/// The table version of a new table.
pub const NEWEST_VERSION: u32 = 9;
/// From here on payload classes are stored as what they mean.
const FIRST_WITHOUT_PAYLOADS: u32 = 9;

fn layout_of(version: u32, stated: Option<&str>) -> Result<Layout> {
    let (layout, number) = match version {
        6 => (Layout::One, "1"),
        8 | 9 => (Layout::Two, "2"),
        other => {
            return Err(Error::unsupported(format!("a table of version {other}"))
                .with_hint("hudini reads table versions 6, 8 and 9"));
        }
    };
    match stated {
        Some(stated) if stated != number => Err(unknown(keys::LAYOUT, stated)),
        _ => Ok(layout),
    }
}

fn unknown(key: &str, value: &str) -> Error {
    Error::unsupported(format!("{key}={value}"))
}

/// A list between commas, as properties hold it.
pub fn split_fields(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|f| !f.is_empty()).map(str::to_owned).collect()
}
