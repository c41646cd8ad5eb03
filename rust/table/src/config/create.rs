//! Making a table: its folders, then its properties as Apache Hudi 1.2 writes them.

use arrow_schema::{FieldRef, Schema};
use hudini_format::key::Generator;
use hudini_format::properties::{Properties, table_checksum};
use hudini_format::schema;
use hudini_format::schema::fit::repeated;
use hudini_format::schema::meta;

use super::store::{read_properties, write_properties};
use super::{Buckets, FIRST_WITHOUT_PAYLOADS, HOODIE, NEWEST_VERSION, WRITABLE_VERSIONS, keys};
use crate::context::Context;
use crate::index::Index;
use crate::merge;
use crate::options::{self, IndexType, MergeMode, Opt, Options, TableType};
use crate::storage::{Entry, Storage, walk};
use crate::{Error, ErrorKind, Result};

/// What a new table shall be.
#[derive(Debug, Clone)]
pub struct NewTable {
    pub name: String,
    /// Of a catalogue.
    pub database: Option<String>,
    /// Of the table format.
    pub version: u32,
    pub table_type: TableType,
    /// Of the rows, in any Arrow types that a table can hold.
    pub schema: Schema,
    pub record_key: Vec<String>,
    pub partition_by: Vec<String>,
    /// Not given: by the number of fields.
    pub key_generator: Option<Generator>,
    pub ordering: Vec<String>,
    pub merge_mode: Option<MergeMode>,
    pub hive_style: bool,
    pub url_encode: bool,
    pub index: Index,
}

/// What a caller says of a new table; what is left out comes from the options, or from the rules.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    pub name: Option<String>,
    pub table_type: Option<TableType>,
    pub record_key: Vec<String>,
    pub partition_by: Vec<String>,
    pub ordering: Vec<String>,
    pub merge_mode: Option<String>,
    pub key_generator: Option<String>,
    pub version: Option<u32>,
}

impl Wishes {
    /// Settles what the table shall be. `url` names it where nothing else does.
    pub fn settle(self, schema: Schema, options: &Options, url: &str) -> Result<NewTable> {
        let some = |given: Vec<String>| Some(given).filter(|given| !given.is_empty());
        let fields = |given, option| Ok::<_, Error>(told(some(given), options, option)?.unwrap_or_default());
        let version = told(self.version, options, &options::TABLE_VERSION)?.unwrap_or(NEWEST_VERSION);
        if !WRITABLE_VERSIONS.contains(&version) {
            return Err(Error::unsupported(format!("creating a table of version {version}"))
                .with_hint("hudini writes versions 8 and 9"));
        }
        let index = options.get_or_default(&options::INDEX_TYPE)?;
        index.require_writable()?;
        options.get(&options::BUCKET_ENGINE)?;
        let record_key = fields(self.record_key, &options::RECORD_KEY)?;
        let name = options.name_of(&options::PARTITION_FIELDS);
        let partition_by = agreed(some(self.partition_by), options.partition_fields()?, name)?;
        let partition_by = partition_by.unwrap_or_default();
        let merge_mode = self.merge_mode.map(|word| options::MERGE_MODE.read(&word)).transpose()?;
        let merge_mode = told(merge_mode, options, &options::MERGE_MODE)?;
        let generator = self.key_generator.map(|word| options::KEY_GENERATOR.read(&word)).transpose()?;
        let generator = told(generator, options, &options::KEY_GENERATOR)?;
        let fitting = Generator::infer(record_key.len(), partition_by.len());
        // It takes single fields too, and then names them in the keys: since version 9, in which all do alike.
        let fits = |generator: Generator| {
            generator == fitting
                || (generator == Generator::Complex
                    && fitting == Generator::Simple
                    && version >= FIRST_WITHOUT_PAYLOADS)
        };
        if let Some(generator) = generator.filter(|g| !fits(*g)) {
            return Err(Error::option(format!(
                "the key generator {} does not fit {} key and {} partition fields",
                generator.type_name(),
                record_key.len(),
                partition_by.len()
            ))
            .with_hint(format!("{} does, or other fields", fitting.type_name())));
        }
        let hash_fields = options.get(&options::HASH_FIELDS)?.unwrap_or_default();
        Ok(NewTable {
            name: told(self.name, options, &options::TABLE_NAME)?.unwrap_or_else(|| last_part(url).to_owned()),
            database: options.get(&options::DATABASE)?,
            table_type: match told(self.table_type, options, &options::TABLE_TYPE)? {
                Some(table_type) => table_type,
                None => options.get_or_default(&options::TABLE_TYPE)?,
            },
            version,
            schema,
            ordering: fields(self.ordering, &options::ORDERING_FIELDS)?,
            merge_mode,
            hive_style: options.get_or_default(&options::HIVE_STYLE)?,
            url_encode: options.get_or_default(&options::URL_ENCODE)?,
            index: match index {
                IndexType::Bucket => Index::Buckets(Buckets::new(
                    options.get_or_default(&options::BUCKET_COUNT)?,
                    if hash_fields.is_empty() { record_key.clone() } else { hash_fields },
                )),
                IndexType::GlobalRecordLevel => Index::Records,
                index => Index::Files { by_bloom: index == IndexType::Bloom },
            },
            record_key,
            partition_by,
            key_generator: generator,
        })
    }
}

/// What the caller or the option says, who may say the same.
fn told<T: PartialEq>(given: Option<T>, options: &Options, option: &Opt<T>) -> Result<Option<T>> {
    agreed(given, options.get(option)?, options.name_of(option))
}

fn agreed<T: PartialEq>(given: Option<T>, said: Option<T>, name: &str) -> Result<Option<T>> {
    match (given, said) {
        (Some(given), Some(other)) if given != other => {
            let message = format!("the option {name} and the argument say different things");
            Err(Error::option(message).with_hint("leave one of the two out"))
        }
        (given, other) => Ok(given.or(other)),
    }
}

/// Refuses new columns that differ from Hudi's own in case alone.
pub(crate) fn refuse_look_alikes<'f>(fields: impl IntoIterator<Item = &'f FieldRef>) -> Result<()> {
    let alike = |field: &'f FieldRef| Some((field.name(), meta::looks_like(field.name())?));
    match fields.into_iter().find_map(alike) {
        Some((name, own)) => Err(Error::schema(format!("a column '{name}' beside the column '{own}'"))
            .with_hint("Spark does not tell them apart; rename it")),
        None => Ok(()),
    }
}

fn last_part(url: &str) -> &str {
    url.trim_end_matches('/').rsplit('/').next().unwrap_or(url)
}

/// Makes the table; `false` if there is one already, which stays as it is.
pub fn create(storage: &dyn Storage, context: &Context, table: &NewTable) -> Result<bool> {
    let properties = table.properties()?;
    match read_properties(storage) {
        Ok(_) => return Ok(false),
        Err(e) if e.kind() == ErrorKind::TableNotFound => {}
        Err(e) => return Err(e),
    }
    refuse_tables_within(storage)?;
    for dir in ["timeline/history", ".temp", ".schema", ".aux/.bootstrap/.partitions", ".aux/.bootstrap/.fileids"] {
        storage.make_dir(&format!("{HOODIE}/{dir}"))?;
    }
    write_properties(storage, context, &properties)
}

/// The partitions of tables below would be partitions of the new one, too.
fn refuse_tables_within(storage: &dyn Storage) -> Result<()> {
    walk(storage, "", |dir, entry| match entry {
        Entry::Dir { name } if name == HOODIE && !dir.is_empty() => {
            Err(Error::option("a table in a folder that has tables within").at_path(dir))
        }
        entry => Ok(entry.name() != HOODIE),
    })
}

impl NewTable {
    /// The mode by which rows are merged: as told, or by whether there is something to order by.
    pub fn effective_merge_mode(&self) -> MergeMode {
        let by_ordering = if self.ordering.is_empty() { MergeMode::CommitTime } else { MergeMode::EventTime };
        self.merge_mode.unwrap_or(by_ordering)
    }

    fn hash_fields(&self) -> Vec<String> {
        self.index.buckets().map(|buckets| buckets.hash_fields.clone()).unwrap_or_default()
    }

    fn properties(&self) -> Result<Properties> {
        let table_schema = schema::table_schema(&self.schema)?;
        self.check(&table_schema)?;
        let inferred = || Generator::infer(self.record_key.len(), self.partition_by.len());
        let generator = self.key_generator.unwrap_or_else(inferred);
        let version = self.version.to_string();
        let is_older = self.version < FIRST_WITHOUT_PAYLOADS;
        let mut properties = Properties::new();
        let mut set = |key: &str, value: &str| properties.set(key, value);
        set(keys::NAME, &self.name);
        if let Some(database) = &self.database {
            set(options::DATABASE.key(), database);
        }
        set(keys::TYPE, self.table_type.word());
        set(keys::VERSION, &version);
        set(keys::INITIAL_VERSION, &version);
        set(keys::LAYOUT, "2");
        set(keys::TIMELINE_PATH, "timeline");
        set(keys::HISTORY_PATH, "history");
        set(keys::ARCHIVE_FOLDER, "history");
        set(keys::TIMEZONE, "UTC");
        set(keys::RECORD_KEY, &self.record_key.join(","));
        if !self.partition_by.is_empty() {
            set(keys::PARTITION, &self.partition_by.join(","));
        }
        if !self.ordering.is_empty() {
            // Under its newer name release 1.0 does not find it, and merges by commit time without a word.
            set(if is_older { keys::PRECOMBINE } else { keys::ORDERING }, &self.ordering.join(","));
        }
        let mode = self.effective_merge_mode();
        set(keys::MERGE_MODE, mode.word());
        if is_older {
            set(keys::MERGE_STRATEGY, mode.strategy_id());
            set(keys::PAYLOAD, mode.payload_class());
        }
        set(keys::KEY_GENERATOR_TYPE, generator.type_name());
        set(keys::HIVE_STYLE, bool_text(self.hive_style));
        set(keys::URL_ENCODE, bool_text(self.url_encode));
        set(keys::DROP_PARTITION_COLUMNS, "false");
        set(keys::META_FIELDS, "true");
        set(keys::BASE_FORMAT, "PARQUET");
        if !is_older {
            set(keys::TABLE_FORMAT, "native");
        }
        set(keys::CDC, "false");
        set("hoodie.partition.metafile.use.base.format", "false");
        set("hoodie.table.multiple.base.file.formats.enable", "false");
        set(keys::CREATE_SCHEMA, &schema::avro_text(&table_schema, &self.name)?);
        // The others are a matter of each write, and stored, Apache Hudi would refuse a job that names another one.
        if let Index::Buckets(buckets) = &self.index {
            set(keys::INDEX_TYPE, IndexType::Bucket.word());
            set(keys::BUCKET_ENGINE, "SIMPLE");
            set(keys::BUCKET_COUNT, &buckets.count.to_string());
            // Apache Hudi's services take the index from here. Their check of a bucket index looks for the key under the
            // writer's name and fails without it.
            set(keys::HASH_FIELDS, &buckets.hash_fields.join(","));
            set(options::RECORD_KEY.key(), &self.record_key.join(","));
        }
        set(keys::CHECKSUM, &table_checksum(self.database.as_deref(), &self.name).to_string());
        Ok(properties)
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        if self.name.trim().is_empty() {
            return Err(Error::option("a table needs a name"));
        }
        if self.record_key.is_empty() {
            return Err(Error::unsupported("a table without record key fields")
                .with_hint("name the columns that identify a row: record_key=\"id\""));
        }
        merge::refuse_changelog(schema)?;
        refuse_look_alikes(schema.fields())?;
        for (what, fields) in [
            ("record key", &self.record_key),
            ("partition", &self.partition_by),
            ("ordering", &self.ordering),
            ("hash", &self.hash_fields()),
        ] {
            for name in fields {
                let Ok(field) = schema.field_with_name(name) else {
                    return Err(Error::schema(format!("the {what} column '{name}' is not in the schema"))
                        .with_hint(format!("columns: {}", column_names(schema))));
                };
                if field.data_type().is_nested() {
                    return Err(Error::schema(format!("the {what} column '{name}' is no single value")));
                }
            }
            if let Some(name) = repeated(fields.iter().map(String::as_str)) {
                return Err(Error::option(format!("the {what} column '{name}' is named twice")));
            }
        }
        if let Some(field) = self.hash_fields().iter().find(|f| !self.record_key.contains(f)) {
            return Err(Error::option(format!("the bucket hash field '{field}' is not part of the record key")));
        }
        let one_key = self.record_key.len() == 1 && self.partition_by.len() > 1;
        if self.version < FIRST_WITHOUT_PAYLOADS && (self.ordering.len() > 1 || one_key) {
            let what = if one_key { "one key and several partition fields" } else { "several ordering fields" };
            return Err(Error::unsupported(format!("a table of version {} with {what}", self.version))
                .with_hint("releases of Apache Hudi do not agree on it; create a table of version 9"));
        }
        if self.merge_mode == Some(MergeMode::EventTime) && self.ordering.is_empty() {
            return Err(Error::option("EVENT_TIME_ORDERING needs an ordering column"));
        }
        Ok(())
    }
}

fn bool_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn column_names(schema: &Schema) -> String {
    let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    names.join(", ")
}
