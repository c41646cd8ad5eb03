//! How versions of a row are merged, by what a table's properties say.
//!
//! Version 9 states the mode, and how values that a writer did not have look. Version 8 states the mode and may repeat it
//! as strategy and payload class. Version 6 has only the latter two, and there the payload class decides: its strategy id
//! says nothing unless it is somebody's own. A downgrade of a table that merges by commit time leaves no more than the id, and
//! from then on Apache Hudi, 1.0 to 1.2, merges the table by ordering values.

use hudini_format::key::KeyConfig;

use super::{FIRST_WITHOUT_PAYLOADS, TableConfig, keys};
use crate::merge::{self, DeleteMarker, DeleteOrder, MergeRule, Placeholder, VirtualKeys};
use crate::options::MergeMode;
use crate::{Error, Result};

/// The word for mergers of somebody's own, and for payload classes that are no merge mode.
const CUSTOM: &str = "CUSTOM";
/// The strategy of tables whose payload class decides.
const BY_PAYLOAD: &str = "00000000-0000-0000-0000-000000000000";
const DELETE_FIELD: &str = "hoodie.payload.delete.field";
const DELETE_TEXT: &str = "hoodie.payload.delete.marker";
/// Apache Hudi's documents and other readers of its tables do not agree on the key.
const UNAVAILABLE: [&str; 2] = ["hoodie.write.partial.update.unavailable.value", "partial.update.unavailable.value"];

/// Who decides between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Winner {
    Mode(MergeMode),
    /// A merger with this strategy id.
    Merger(String),
    Payload(Payload),
}

/// Payload classes that mean a merge mode and something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Payload {
    /// A merge mode, but in tables of which release 1.0 says that the class decides.
    EventTime,
    PartialUpdate,
    OverwriteNonDefaults,
    AwsDms,
    DebeziumOfMySql,
    DebeziumOfPostgres,
}

pub(super) fn of(config: &TableConfig) -> Result<MergeRule> {
    let mut rule = match winner(config)? {
        Winner::Mode(mode) => MergeRule::new(mode, &config.ordering),
        Winner::Merger(id) => {
            merge::check_merger(&id)?;
            MergeRule { merger: Some(id), ..MergeRule::new(MergeMode::EventTime, &config.ordering) }
        }
        Winner::Payload(payload) => payload.rule(&config.ordering),
    };
    if let Some(mode) = config.get(keys::PARTIAL_UPDATE) {
        rule.placeholder = Some(placeholder(config, mode)?);
    }
    if let Some(marker) = delete_marker(config)? {
        rule.delete_marker = Some(marker);
    }
    rule.virtual_keys = virtual_keys(config)?;
    Ok(rule)
}

/// Of a table that stores no keys.
pub(super) fn virtual_keys(config: &TableConfig) -> Result<Option<VirtualKeys>> {
    if !config.has_virtual_keys() {
        return Ok(None);
    }
    let keys = KeyConfig::from_properties(&config.properties)?;
    // The releases that wrote older tables left the name of a single field out.
    let names_single_key = keys.names_single_key && config.version >= FIRST_WITHOUT_PAYLOADS;
    Ok(Some(VirtualKeys::of(&keys, names_single_key)?))
}

/// The word for the mode, as users see it.
pub(super) fn word(config: &TableConfig) -> Result<&'static str> {
    Ok(match winner(config)? {
        Winner::Mode(mode) => mode.word(),
        Winner::Merger(_) => CUSTOM,
        Winner::Payload(payload) => payload.mode().word(),
    })
}

fn winner(config: &TableConfig) -> Result<Winner> {
    match config.get(keys::MERGE_MODE) {
        Some(word) if word.eq_ignore_ascii_case(CUSTOM) => custom(config),
        Some(word) => understood(keys::MERGE_MODE, word),
        None => inferred(config),
    }
}

/// A table whose mode says no more than that something else decides.
fn custom(config: &TableConfig) -> Result<Winner> {
    let payload = config.get(keys::PAYLOAD);
    match (config.get(keys::MERGE_STRATEGY), payload) {
        (Some(id), _) if id != BY_PAYLOAD => Ok(Winner::Merger(id.to_owned())),
        (_, Some(class)) if config.version < FIRST_WITHOUT_PAYLOADS => {
            Payload::of(class).map_or_else(|| understood(keys::PAYLOAD, class), |payload| Ok(Winner::Payload(payload)))
        }
        (_, Some(class)) => Err(unknown(keys::PAYLOAD, class)),
        (_, None) => Err(Error::unsupported(format!("{}={CUSTOM} without a strategy", keys::MERGE_MODE))),
    }
}

fn inferred(config: &TableConfig) -> Result<Winner> {
    let payload = config.get(keys::PAYLOAD).map(|class| understood(keys::PAYLOAD, class)).transpose()?;
    let strategy = |key: &'static str| config.get(key).filter(|id| *id != BY_PAYLOAD).map(by_strategy);
    let stated = if config.version >= 8 {
        strategy(keys::MERGE_STRATEGY).or(payload)
    } else {
        let somebodys = |winner: &Winner| matches!(winner, Winner::Merger(_));
        payload.or_else(|| strategy(keys::MERGE_STRATEGY_OLD).filter(somebodys))
    };
    let by_fields = if config.ordering.is_empty() { MergeMode::CommitTime } else { MergeMode::EventTime };
    Ok(stated.unwrap_or(Winner::Mode(by_fields)))
}

fn by_strategy(id: &str) -> Winner {
    MergeMode::parse(id).map_or_else(|_| Winner::Merger(id.to_owned()), Winner::Mode)
}

fn understood(key: &str, word: &str) -> Result<Winner> {
    let of_payload = || Payload::of(word).map(Winner::Payload).ok_or_else(|| unknown(key, word));
    MergeMode::parse(word).map(Winner::Mode).or_else(|_| of_payload())
}

fn unknown(key: &str, word: &str) -> Error {
    Error::unsupported(format!("{key}={word}"))
}

impl Payload {
    fn of(class: &str) -> Option<Self> {
        match class.strip_prefix("org.apache.hudi.")? {
            "common.model.EventTimeAvroPayload" => Some(Self::EventTime),
            "common.model.PartialUpdateAvroPayload" => Some(Self::PartialUpdate),
            "common.model.OverwriteNonDefaultsWithLatestAvroPayload" => Some(Self::OverwriteNonDefaults),
            "common.model.AWSDmsAvroPayload" | "payload.AWSDmsAvroPayload" => Some(Self::AwsDms),
            "common.model.debezium.MySqlDebeziumAvroPayload" => Some(Self::DebeziumOfMySql),
            "common.model.debezium.PostgresDebeziumAvroPayload" => Some(Self::DebeziumOfPostgres),
            _ => None,
        }
    }

    fn mode(self) -> MergeMode {
        match self {
            Self::EventTime | Self::PartialUpdate | Self::DebeziumOfMySql | Self::DebeziumOfPostgres => {
                MergeMode::EventTime
            }
            Self::OverwriteNonDefaults | Self::AwsDms => MergeMode::CommitTime,
        }
    }

    fn rule(self, ordering: &[String]) -> MergeRule {
        let rule = MergeRule::new(self.mode(), ordering);
        match self {
            Self::EventTime => MergeRule { deletes: DeleteOrder::AgainstRows, ..rule },
            Self::PartialUpdate => MergeRule {
                placeholder: Some(Placeholder::Default),
                deletes: DeleteOrder::Nothing,
                as_partial_payload: true,
                ..rule
            },
            Self::OverwriteNonDefaults => MergeRule { placeholder: Some(Placeholder::Default), ..rule },
            // The column and the letter with which AWS DMS says what happened.
            Self::AwsDms => {
                let marker = DeleteMarker { field: "Op".to_owned(), text: "D".to_owned() };
                MergeRule { delete_marker: Some(marker), ..rule }
            }
            Self::DebeziumOfMySql => MergeRule { by_binlog: true, ..by_event_of_debezium("_event_seq") },
            Self::DebeziumOfPostgres => by_event_of_debezium("_event_lsn"),
        }
    }
}

/// As Apache Hudi 1.2 reads tables of versions 6 and 8, whichever release wrote them and whatever field they order by. Deletes
/// have no place in the order, and values that Debezium did not have stay as it marked them; version 9 is otherwise.
fn by_event_of_debezium(field: &str) -> MergeRule {
    let marker = DeleteMarker { field: "_change_operation_type".to_owned(), text: "d".to_owned() };
    let rule = MergeRule::new(MergeMode::EventTime, &[field.to_owned()]);
    MergeRule { deletes: DeleteOrder::Nothing, delete_marker: Some(marker), ..rule }
}

/// What a value looks like that a writer did not have.
fn placeholder(config: &TableConfig, mode: &str) -> Result<Placeholder> {
    let property = |suffix: &&str| config.get(&format!("{}{suffix}", keys::MERGE_PROPERTY_PREFIX));
    match mode.to_ascii_uppercase().as_str() {
        "IGNORE_DEFAULTS" => Ok(Placeholder::Default),
        "FILL_UNAVAILABLE" => {
            let text = UNAVAILABLE.iter().find_map(property);
            let text =
                text.ok_or_else(|| Error::unsupported(format!("{}={mode} without its text", keys::PARTIAL_UPDATE)))?;
            Ok(Placeholder::Text(text.to_owned()))
        }
        _ => Err(unknown(keys::PARTIAL_UPDATE, mode)),
    }
}

/// The marker by which readers know deletes among rows. Under the prefix of merge properties it is the writers' affair, who
/// turn such rows into deletes: Apache Hudi's readers return those that they find.
fn delete_marker(config: &TableConfig) -> Result<Option<DeleteMarker>> {
    match (config.get(DELETE_FIELD), config.get(DELETE_TEXT)) {
        (None, None) => Ok(None),
        (Some(field), Some(text)) => Ok(Some(DeleteMarker { field: field.to_owned(), text: text.to_owned() })),
        _ => Err(Error::unsupported(format!("one of {DELETE_FIELD} and {DELETE_TEXT} without the other"))),
    }
}

/// Refuses rules by which hudini does not write.
pub(super) fn check_writable(config: &TableConfig) -> Result<()> {
    let rule = of(config)?;
    if let Some(id) = &rule.merger {
        return Err(Error::unsupported(format!("writing to a table with the merge strategy {id}")));
    }
    if rule.placeholder.is_some() || rule.delete_marker.is_some() || rule.deletes != DeleteOrder::AsRows {
        return Err(Error::unsupported(
            "writing to a table whose payload class merges column by column, marks deletes or orders them its own way",
        ));
    }
    if let Some(mode) = config.get(keys::PARTIAL_UPDATE) {
        return Err(Error::unsupported(format!("writing to a table with {}={mode}", keys::PARTIAL_UPDATE)));
    }
    let marker = config.properties.iter().find(|(key, _)| {
        let key = key.strip_prefix(keys::MERGE_PROPERTY_PREFIX).unwrap_or(key);
        key == DELETE_FIELD || key == DELETE_TEXT
    });
    match marker {
        Some((key, value)) => {
            Err(Error::unsupported(format!("writing to a table with deletes by a marker column ({key}={value})")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use hudini_format::properties::Properties;
    use rstest::rstest;

    fn config(version: u32, properties: &[(&str, &str)]) -> TableConfig {
        let mut text =
            format!("hoodie.table.name=t\nhoodie.table.version={version}\nhoodie.table.recordkey.fields=id\n");
        text += "hoodie.table.precombine.field=ts\n";
        properties.iter().for_each(|(key, value)| text += &format!("{key}={value}\n"));
        TableConfig::of(Properties::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn payload(version: u32, class: &str) -> Result<MergeRule> {
        of(&config(version, &[(keys::PAYLOAD, &format!("org.apache.hudi.common.model.{class}"))]))
    }

    fn by_event_time(placeholder: Option<Placeholder>) -> MergeRule {
        MergeRule { placeholder, ..MergeRule::new(MergeMode::EventTime, &["ts".to_owned()]) }
    }

    fn by_commit_time(placeholder: Option<Placeholder>) -> MergeRule {
        MergeRule { placeholder, ..MergeRule::new(MergeMode::CommitTime, &[]) }
    }

    #[rstest]
    #[case("DefaultHoodieRecordPayload", by_event_time(None))]
    #[case("EventTimeAvroPayload", by_event_time(None))]
    #[case("OverwriteWithLatestAvroPayload", by_commit_time(None))]
    #[case("PartialUpdateAvroPayload", MergeRule {
        deletes: DeleteOrder::Nothing, as_partial_payload: true, ..by_event_time(Some(Placeholder::Default))
    })]
    #[case("debezium.PostgresDebeziumAvroPayload", by_event_of_debezium("_event_lsn"))]
    #[case("debezium.MySqlDebeziumAvroPayload", MergeRule { by_binlog: true, ..by_event_of_debezium("_event_seq") })]
    #[case("OverwriteNonDefaultsWithLatestAvroPayload", by_commit_time(Some(Placeholder::Default)))]
    fn payload_classes_of_older_tables(#[case] class: &str, #[case] expected: MergeRule) {
        for version in [6, 8] {
            assert_eq!(payload(version, class).unwrap(), expected);
        }
        let class = format!("org.apache.hudi.common.model.{class}");
        let stated =
            [(keys::MERGE_MODE, "CUSTOM"), (keys::MERGE_STRATEGY, BY_PAYLOAD), (keys::PAYLOAD, class.as_str())];
        let written = of(&config(8, &stated));
        let expected = match class.ends_with(".EventTimeAvroPayload") {
            true => MergeRule { deletes: DeleteOrder::AgainstRows, ..expected },
            false => expected,
        };
        assert!(written.is_ok_and(|rule| rule == expected));
        assert!(of(&config(9, &stated)).is_err(), "there it is somebody's own");
    }

    #[test]
    fn aws_dms_marks_deletes() {
        let rule = payload(8, "AWSDmsAvroPayload").unwrap();
        assert_eq!(rule.delete_marker, Some(DeleteMarker { field: "Op".into(), text: "D".into() }));
        assert!(!rule.by_event_time);
    }

    #[rstest]
    #[case("debezium.OracleDebeziumAvroPayload")]
    #[case("SomethingNew")]
    fn other_payloads_are_refused_by_name(#[case] class: &str) {
        let e = payload(6, class).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
        assert!(e.message().contains(class), "{e}");
    }

    #[test]
    fn the_strategy_of_version_6_says_nothing_beside_a_payload() {
        let both = [
            (keys::PAYLOAD, "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
            (keys::MERGE_STRATEGY_OLD, "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"),
        ];
        assert_eq!(of(&config(6, &both)).unwrap(), by_commit_time(None));
        assert_eq!(of(&config(6, &both[1..])).unwrap(), by_event_time(None));
        let alone = [(keys::MERGE_STRATEGY_OLD, MergeMode::CommitTime.strategy_id())];
        assert_eq!(of(&config(6, &alone)).unwrap(), by_event_time(None), "what a downgrade leaves");
        let own = [(keys::MERGE_STRATEGY_OLD, "11111111-2222-3333-4444-555555555555")];
        assert!(of(&config(6, &own)).unwrap_err().message().contains("11111111"));
        assert_eq!(word(&config(6, &own)).unwrap(), CUSTOM);
    }

    #[test]
    fn markers_under_the_prefix_are_the_writers_affair() {
        let prefixed = [
            ("hoodie.record.merge.property.hoodie.payload.delete.field", "Op"),
            ("hoodie.record.merge.property.hoodie.payload.delete.marker", "D"),
        ];
        let config = config(9, &prefixed);
        assert_eq!(of(&config).unwrap().delete_marker, None);
        assert!(check_writable(&config).is_err());
    }

    #[test]
    fn virtual_keys_of_older_tables_are_bare() {
        let fields = [("hoodie.populate.meta.fields", "false"), ("hoodie.table.keygenerator.type", "COMPLEX")];
        let fields = [fields[0], fields[1], ("hoodie.table.partition.fields", "p")];
        let keys = |version| of(&config(version, &fields)).unwrap().virtual_keys;
        assert_ne!(keys(8), keys(9));
        assert_eq!(keys(8), keys(6));
    }

    #[test]
    fn tables_that_may_spell_keys_in_two_ways_are_not_written_to() {
        let complex = [("hoodie.table.keygenerator.type", "COMPLEX"), ("hoodie.table.partition.fields", "p,q")];
        let fields = |began| [complex[0], complex[1], began];
        let began = |version| ("hoodie.table.initial.version", version);
        for (began, is_written) in [(began("9"), true), (began("8"), false), (("x", "9"), false)] {
            let written = config(9, &fields(began)).check_writable();
            let refused = |error: Error| error.message().contains("COMPLEX and one key field");
            assert_eq!(written.map_err(refused), if is_written { Ok(()) } else { Err(true) }, "{began:?}");
        }
    }
}
