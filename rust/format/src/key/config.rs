//! What a table's properties say about its keys.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::properties::Properties;
use crate::{Error, Result};

use super::path::PathStyle;
use super::time::TimePartition;

const TABLE_VERSION: &str = "hoodie.table.version";
const GENERATOR_TYPE: &str = "hoodie.table.keygenerator.type";
const GENERATOR_CLASS: &str = "hoodie.table.keygenerator.class";
const KEY_FIELDS: &str = "hoodie.table.recordkey.fields";
const PARTITION_FIELDS: &str = "hoodie.table.partition.fields";
const HIVE_STYLE: &str = "hoodie.datasource.write.hive_style_partitioning";
const URL_ENCODE: &str = "hoodie.datasource.write.partitionpath.urlencode";
const SLASHED_DATES: &str = "hoodie.datasource.write.slash.separated.date.partitioning";
const DATED_TIMESTAMPS: &str = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled";
const BARE_COMPLEX_KEYS: &str = "hoodie.write.complex.keygen.new.encoding";
/// From this version on a complex key names its field even if it is the only one, whatever the option says.
const FIRST_STRICT_VERSION: u32 = 9;

/// The generators of Apache Hudi, as `hoodie.table.keygenerator.type` names them. Each has a twin for Avro rows that makes
/// the same texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Generator {
    Simple,
    Complex,
    NonPartition,
    GlobalDelete,
    Timestamp,
    Custom,
}

impl Generator {
    const ALL: [Self; 6] =
        [Self::Simple, Self::Complex, Self::NonPartition, Self::GlobalDelete, Self::Timestamp, Self::Custom];

    /// The one that fits the fields, by the rule of Apache Hudi.
    pub fn infer(key_fields: usize, partition_fields: usize) -> Self {
        match (key_fields, partition_fields) {
            (_, 0) => Self::NonPartition,
            (0 | 1, 1) => Self::Simple,
            _ => Self::Complex,
        }
    }

    pub fn type_name(self) -> &'static str {
        match self {
            Self::Simple => "SIMPLE",
            Self::Complex => "COMPLEX",
            Self::NonPartition => "NON_PARTITION",
            Self::GlobalDelete => "GLOBAL_DELETE",
            Self::Timestamp => "TIMESTAMP",
            Self::Custom => "CUSTOM",
        }
    }

    /// Its classes, without the package.
    fn class_names(self) -> [&'static str; 2] {
        match self {
            Self::Simple => ["SimpleKeyGenerator", "SimpleAvroKeyGenerator"],
            Self::Complex => ["ComplexKeyGenerator", "ComplexAvroKeyGenerator"],
            Self::NonPartition => ["NonpartitionedKeyGenerator", "NonpartitionedAvroKeyGenerator"],
            Self::GlobalDelete => ["GlobalDeleteKeyGenerator", "GlobalAvroDeleteKeyGenerator"],
            Self::Timestamp => ["TimestampBasedKeyGenerator", "TimestampBasedAvroKeyGenerator"],
            Self::Custom => ["CustomKeyGenerator", "CustomAvroKeyGenerator"],
        }
    }

    /// By type name (with or without the `_AVRO` of its twin) or by class name.
    pub fn parse(name: &str) -> Result<Self> {
        let short = name.rsplit('.').next().unwrap_or(name);
        let upper = short.to_ascii_uppercase();
        let kind = upper.strip_suffix("_AVRO").unwrap_or(&upper);
        let is_named = |generator: &Self| {
            generator.type_name() == kind
                || generator.class_names().iter().any(|class| class.eq_ignore_ascii_case(short))
        };
        Self::ALL.into_iter().find(is_named).ok_or_else(|| {
            Error::unsupported(format!("the key generator '{name}'"))
                .with_hint("known are SIMPLE, COMPLEX, NON_PARTITION, GLOBAL_DELETE, TIMESTAMP and CUSTOM")
        })
    }

    fn is_partitioned(self) -> bool {
        !matches!(self, Self::NonPartition | Self::GlobalDelete)
    }
}

/// A column that makes a level of partition paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionField {
    /// Dots lead into structs.
    pub name: String,
    /// How its directories are named after a time; otherwise they are named after the value as it is.
    pub time: Option<Arc<TimePartition>>,
}

/// How a table names its rows and their directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyConfig {
    pub generator: Generator,
    /// None: keys are made of the write, not of the row.
    pub key_fields: Vec<String>,
    /// None in a table without partitions.
    pub partition_fields: Vec<PartitionField>,
    pub path_style: PathStyle,
    /// Whether the key of a single field starts with its name.
    pub names_single_key: bool,
    /// Whether timestamps with a zone are printed as dates, not as numbers.
    pub dated_timestamps: bool,
}

impl KeyConfig {
    /// For a generator without settings of its own, in a table of version 9.
    pub fn new(
        generator: Generator,
        key_fields: Vec<String>,
        partition_fields: Vec<String>,
        path_style: PathStyle,
    ) -> Self {
        let plain = |name| PartitionField { name, time: None };
        let partitioned = partition_fields.into_iter().filter(|_| generator.is_partitioned());
        Self {
            generator,
            key_fields,
            partition_fields: partitioned.map(plain).collect(),
            path_style,
            names_single_key: matches!(generator, Generator::Complex | Generator::GlobalDelete),
            dated_timestamps: false,
        }
    }

    /// What `hoodie.properties` says, and two options of writers that tables do not store: `hoodie.write.complex.keygen…`
    /// and `….consistent.logical.timestamp.enabled`.
    pub fn from_properties(properties: &Properties) -> Result<Self> {
        let get = |key: &str| properties.get(key).map(str::trim).filter(|value| !value.is_empty());
        let is_true = |key: &str| get(key).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let key_fields = split_fields(get(KEY_FIELDS).unwrap_or_default());
        let partition_fields = split_fields(get(PARTITION_FIELDS).unwrap_or_default());
        let generator = match get(GENERATOR_TYPE).or_else(|| get(GENERATOR_CLASS)) {
            Some(name) => Generator::parse(name)?,
            None if partition_fields.iter().any(|field| field.contains(':')) => Generator::Custom,
            None => Generator::infer(key_fields.len(), partition_fields.len()),
        };
        let path_style = PathStyle {
            hive: is_true(HIVE_STYLE),
            url_encoded: is_true(URL_ENCODE),
            slashed_dates: is_true(SLASHED_DATES),
        };
        let mut config = Self::new(generator, key_fields, Vec::new(), path_style);
        if generator.is_partitioned() {
            // Of all fields together: a list of fields is not to multiply what the settings say.
            let time = OnceCell::new();
            let field = |text: &String| partition_field(generator, text, properties, &time);
            config.partition_fields = partition_fields.iter().map(field).collect::<Result<_>>()?;
        }
        config.dated_timestamps = is_true(DATED_TIMESTAMPS);
        let version: Option<u32> = get(TABLE_VERSION).and_then(|version| version.parse().ok());
        let strict = version.is_none_or(|version| version >= FIRST_STRICT_VERSION);
        if generator == Generator::Complex && !strict && is_true(BARE_COMPLEX_KEYS) {
            config.names_single_key = false;
        }
        config.check_field_counts()?;
        Ok(config)
    }

    fn check_field_counts(&self) -> Result<()> {
        let single = matches!(self.generator, Generator::Simple | Generator::Timestamp);
        if single && (self.key_fields.len() > 1 || self.partition_fields.len() != 1) {
            return Err(Error::option(format!(
                "{} takes one key field and one partition field, not {} and {}",
                self.generator.type_name(),
                self.key_fields.len(),
                self.partition_fields.len()
            )));
        }
        Ok(())
    }
}

fn partition_field(
    generator: Generator,
    text: &str,
    properties: &Properties,
    settings: &OnceCell<Arc<TimePartition>>,
) -> Result<PartitionField> {
    let (name, kind) = match text.split_once(':') {
        Some((name, kind)) if generator == Generator::Custom => (name, kind),
        None if generator == Generator::Custom => {
            let message = format!("the partition field '{text}' of a CUSTOM key generator has no type");
            return Err(Error::option(message).with_hint("name fields like city:SIMPLE,ts:TIMESTAMP"));
        }
        // A table that was CUSTOM once keeps the types.
        Some((name, _)) => (name, generator.type_name()),
        None => (text, generator.type_name()),
    };
    let time = match kind.to_ascii_uppercase().as_str() {
        "TIMESTAMP" => Some(time_settings(properties, settings)?),
        "SIMPLE" | "COMPLEX" => None,
        _ => return Err(Error::option(format!("the partition field '{text}' is neither SIMPLE nor TIMESTAMP"))),
    };
    Ok(PartitionField { name: name.to_owned(), time })
}

fn time_settings(properties: &Properties, settings: &OnceCell<Arc<TimePartition>>) -> Result<Arc<TimePartition>> {
    if let Some(known) = settings.get() {
        return Ok(Arc::clone(known));
    }
    let read = Arc::new(TimePartition::from_properties(properties)?);
    Ok(Arc::clone(settings.get_or_init(|| read)))
}

fn split_fields(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|field| !field.is_empty()).map(str::to_owned).collect()
}
