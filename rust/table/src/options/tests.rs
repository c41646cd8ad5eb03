use std::collections::{BTreeMap, BTreeSet};

use hudini_format::ErrorKind;
use proptest::prelude::*;
use rstest::rstest;

use super::honoured::HONOURED;
use super::known::{KNOWN, Meaning, lines, meaning, nearest};
use super::*;

fn parse(given: &[(&str, &str)]) -> Result<Options> {
    Options::parse(given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())))
}

fn refused(given: &[(&str, &str)]) -> Error {
    parse(given).expect_err("must be refused")
}

#[test]
fn every_default_can_be_read() {
    for option in HONOURED {
        if let Some(default) = option.default() {
            assert_eq!(option.check(default), Ok(()), "{}", option.key());
        }
    }
    let none = Options::default();
    assert_eq!(none.get_or_default(&BUCKET_COUNT).unwrap(), 4);
    assert_eq!(none.get_or_default(&PARQUET_CODEC).unwrap(), Codec::Zstd);
    assert_eq!(none.get(&BUCKET_COUNT).unwrap(), None);
    assert!(!none.is_set(&BUCKET_COUNT));
    assert_eq!(none.get_or_default(&TABLE_NAME).unwrap_err().kind(), ErrorKind::InvalidOption);
}

#[test]
fn every_line_of_the_list_is_read() {
    assert_eq!(lines().count(), KNOWN.len());
    assert!(KNOWN.len() > 600, "the list of Apache Hudi 1.2 has {} lines", KNOWN.len());
}

#[test]
fn every_name_is_classed_once() {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let honoured = HONOURED.iter().map(|option| (option.key(), option.names()));
    let known = KNOWN.iter().map(|known| {
        assert_ne!(known.class, Class::Honoured);
        (known.key, std::iter::once(known.key).chain(known.other_names.iter().copied()).collect::<Vec<_>>())
    });
    for (key, names) in honoured.chain(known) {
        for name in names {
            if let Some(other) = seen.insert(name.to_ascii_lowercase(), key) {
                panic!("{name} belongs to {other} and to {key}");
            }
        }
    }
}

/// The order makes the list's differences readable.
#[test]
fn the_list_is_sorted_and_a_tuning_key_needs_no_harmless_value() {
    let keys: Vec<&str> = KNOWN.iter().map(|known| known.key).collect();
    assert!(keys.is_sorted());
    for known in KNOWN.iter().filter(|known| known.class == Class::Tuning) {
        assert!(known.harmless.is_empty(), "{}", known.key);
    }
}

#[test]
fn every_known_name_is_accepted_or_refused_as_its_class_says() {
    for known in KNOWN.iter().filter(|known| !known.key.ends_with('*')) {
        for name in std::iter::once(&known.key).chain(&known.other_names) {
            let answer = parse(&[(name, "\u{1}something")]);
            match known.class {
                Class::Tuning => assert_eq!(answer.unwrap().without_effect(), [*name]),
                _ => assert_eq!(answer.unwrap_err().kind(), ErrorKind::UnsupportedFeature, "{name}"),
            }
            let warned = parse(&[(name, "\u{1}something"), ("hudini.unsupported", "warn")]);
            assert_eq!(warned.is_err(), known.class == Class::Refused, "{name}");
            for harmless in &known.harmless {
                assert!(parse(&[(name, harmless)]).is_ok(), "{name}={harmless}");
            }
        }
    }
}

#[rstest]
#[case("hoodie.datasource.hive_sync.enable", "false")]
#[case("hoodie.metrics.on", "FALSE")]
#[case("hoodie.clustering.inline", "false")]
#[case("hoodie.storage.layout.partitioner.class", "org.apache.hudi.table.action.commit.SparkBucketIndexPartitioner")]
#[case("hoodie.compact.inline", " false ")]
#[case("hoodie.table.base.file.format", "parquet")]
#[case("hoodie.precommit.validators", "")]
fn a_refused_key_may_ask_for_nothing(#[case] key: &str, #[case] value: &str) {
    let options = parse(&[(key, value)]).unwrap();
    assert_eq!((options.warnings(), options.without_effect()), (&[][..], &[][..]));
}

#[rstest]
#[case("hoodie.clustering.inline", "true")]
#[case("hoodie.datasource.hive_sync.enable", "true")]
#[case("hoodie.write.commit.callback.on", "true")]
#[case("hoodie.metrics.on", "true")]
fn what_changes_no_row_can_be_a_warning(#[case] key: &str, #[case] value: &str) {
    let e = refused(&[(key, value)]);
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
    assert!(e.hint().unwrap().contains("hudini.unsupported=warn"), "{e}");

    let options = parse(&[(key, value), ("hudini.unsupported", "warn")]).unwrap();
    assert_eq!(options.warnings().len(), 1);
    assert!(options.warnings()[0].contains(key));
}

/// When and where work is done, how it is laid out, and what hudini does anyway.
#[rstest]
#[case("hoodie.clean.async")]
#[case("hoodie.archive.async")]
#[case("hoodie.datasource.compaction.async.enable")]
#[case("hoodie.metadata.index.async")]
#[case("hoodie.metadata.index.partition.stats.enable")]
#[case("hoodie.write.set.null.for.missing.columns")]
#[case("hoodie.datasource.write.reconcile.schema")]
fn what_only_says_when_or_asks_for_what_is_done_is_taken(#[case] key: &str) {
    assert_eq!(parse(&[(key, "true")]).unwrap().without_effect(), [key]);
    assert_eq!(parse(&[("hoodie.bulkinsert.sort.mode", "GLOBAL_SORT")]).unwrap().warnings(), [""; 0]);
}

#[test]
fn messages_can_name_an_option_as_it_was_given() {
    let options = parse(&[("hoodie.datasource.write.precombine.field", "ts")]).unwrap();
    assert_eq!(options.name_of(&ORDERING_FIELDS), "hoodie.datasource.write.precombine.field");
    assert_eq!(options.name_of(&RECORD_KEY), RECORD_KEY.key());
}

#[test]
fn all_soft_refusals_make_one_warning_and_hard_ones_stay_errors() {
    let soft = [("hoodie.metrics.on", "true"), ("hoodie.clustering.inline", "true"), ("hudini.unsupported", "warn")];
    assert_eq!(
        parse(&soft).unwrap().warnings(),
        ["hudini does not do what these options ask for; no row changes: hoodie.clustering.inline, hoodie.metrics.on"]
    );
    let hard = [soft[0], soft[2], ("hoodie.table.cdc.enabled", "true")];
    let e = refused(&hard);
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
    assert!(!e.message().contains("hoodie.metrics.on"), "{e}");
}

#[test]
fn all_that_is_wrong_comes_in_one_error() {
    let mut given = vec![
        ("hoodie.datasource.hive_sync.enable", "true"),
        ("hoodie.table.cdc.enabled", "true"),
        ("hoodie.datasource.write.operation", "cluster"),
        ("hoodie.bucket.index.num.buckets", "8"),
    ];
    let e = refused(&given);
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
    for key in ["hive_sync.enable", "cdc.enabled", "write.operation"] {
        assert!(e.message().contains(key), "{key}: {e}");
    }
    assert!(!e.message().contains("num.buckets"), "{e}");

    given.push(("hoodie.parquet.page.size", "many"));
    let e = refused(&given);
    assert_eq!(e.kind(), ErrorKind::InvalidOption);
    assert!(e.message().starts_with("4 options cannot be followed"), "{e}");
}

#[test]
fn a_refused_value_is_not_repeated() {
    let e = refused(&[("hoodie.index.class", "s3cret")]);
    assert!(!e.to_string().contains("s3cret"), "{e}");
}

#[rstest]
#[case("hoodie.tabel.name", "hoodie.table.name")]
#[case("hoodie.datasource.write.recordkey.fields", "hoodie.datasource.write.recordkey.field")]
#[case("HOODIE.BUCKET.INDEX.NUM.BUCKET", "hoodie.bucket.index.num.buckets")]
#[case("hudini.unsuported", "hudini.unsupported")]
#[case("hoodie.upsert.shuffle.paralelism", "hoodie.upsert.shuffle.parallelism")]
fn an_unknown_key_names_the_nearest(#[case] key: &str, #[case] near: &str) {
    let e = refused(&[(key, "1")]);
    assert_eq!(e.kind(), ErrorKind::InvalidOption);
    assert_eq!(e.hint(), Some(format!("did you mean {near} instead of {key}?").as_str()));
}

#[test]
fn nothing_is_near_to_nonsense() {
    assert_eq!(nearest("zzzz"), None);
    assert_eq!(refused(&[("zzzz", "1")]).hint(), None);
}

#[test]
fn case_of_keys_tells_nothing() {
    for option in HONOURED {
        for name in option.names() {
            let Some(Meaning::Honoured(found)) = meaning(&name.to_ascii_lowercase()) else { panic!("{name}") };
            assert_eq!(found.key(), option.key(), "{name}");
        }
    }
    let options = parse(&[("precombinefield", "ts"), ("hoodie.fileindex.dataskippingfailuremode", "strict")]).unwrap();
    assert_eq!(options.get(&ORDERING_FIELDS).unwrap(), Some(vec!["ts".to_owned()]));
    assert_eq!(options.without_effect(), ["hoodie.fileindex.dataskippingfailuremode"]);
}

#[test]
fn families_take_open_ended_keys() {
    let given = [("hoodie.metrics.somewhere.port", "1"), ("fs.s3a.endpoint", "x"), ("spark.executor.cores", "2")];
    assert_eq!(
        parse(&given).unwrap().without_effect(),
        ["fs.s3a.endpoint", "hoodie.metrics.somewhere.port", "spark.executor.cores"]
    );
    let e = refused(&[("hoodie.record.merge.property.hoodie.payload.delete.field", "Op")]);
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
    let different = [("hoodie.metrics.a.port", "1"), ("hoodie.metrics.b.port", "2")];
    assert!(parse(&different).is_ok(), "two keys of a family are two options");
}

#[rstest]
#[case("hoodie.datasource.write.precombine.field", "hoodie.table.ordering.fields", "a , b", "a,b")]
#[case("hoodie.datasource.write.table.type", "type", "MERGE_ON_READ", "mor")]
#[case(
    "hoodie.datasource.write.keygenerator.class",
    "hoodie.table.keygenerator.type",
    "org.apache.hudi.keygen.SimpleKeyGenerator",
    "SIMPLE"
)]
#[case(
    "hoodie.datasource.write.payload.class",
    "hoodie.record.merge.mode",
    "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
    "commit_time_ordering"
)]
#[case("hoodie.cleaner.policy", "hoodie.clean.policy", "keep_latest_commits", "KEEP_LATEST_COMMITS")]
fn two_names_with_one_value_agree(#[case] one: &str, #[case] other: &str, #[case] value: &str, #[case] again: &str) {
    parse(&[(one, value), (other, again)]).unwrap();
}

#[rstest]
#[case("hoodie.datasource.write.precombine.field", "hoodie.table.ordering.fields", "a", "b")]
#[case("hoodie.table.name", "Hoodie.Table.Name", "a", "b")]
#[case("hoodie.cleaner.policy", "hoodie.clean.policy", "KEEP_LATEST_COMMITS", "KEEP_LATEST_FILE_VERSIONS")]
#[case(
    "hoodie.datasource.write.payload.class",
    "hoodie.record.merge.mode",
    "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
    "EVENT_TIME_ORDERING"
)]
fn two_names_with_two_values_contradict(#[case] one: &str, #[case] other: &str, #[case] a: &str, #[case] b: &str) {
    let e = refused(&[(one, a), (other, b)]);
    assert_eq!(e.kind(), ErrorKind::InvalidOption);
    assert!(e.message().contains(one) && e.message().contains(other), "{e}");
}

#[rstest]
#[case("hoodie.bucket.index.num.buckets", "0", ErrorKind::InvalidOption)]
#[case("hoodie.bucket.index.num.buckets", "100000000", ErrorKind::InvalidOption)]
#[case("hoodie.client.heartbeat.interval_in_ms", "999", ErrorKind::InvalidOption)]
#[case("hoodie.write.lock.wait_time_ms", "-1", ErrorKind::InvalidOption)]
#[case("hoodie.datasource.write.recordkey.field", "a,,b", ErrorKind::InvalidOption)]
#[case("hoodie.datasource.write.recordkey.field", "a,b,a", ErrorKind::InvalidOption)]
#[case("hoodie.datasource.write.hive_style_partitioning", "yes", ErrorKind::InvalidOption)]
#[case("hoodie.datasource.write.commitmeta.key.prefix", "", ErrorKind::InvalidOption)]
#[case("hoodie.datasource.write.operation", "upsurt", ErrorKind::InvalidOption)]
#[case("hudini.unsupported", "perhaps", ErrorKind::InvalidOption)]
#[case("hoodie.datasource.query.type", "incremental", ErrorKind::UnsupportedFeature)]
#[case("hoodie.index.bucket.engine", "CONSISTENT_HASHING", ErrorKind::UnsupportedFeature)]
#[case("hoodie.write.concurrency.mode", "NON_BLOCKING_CONCURRENCY_CONTROL", ErrorKind::UnsupportedFeature)]
#[case("hoodie.logfile.data.block.format", "hfile", ErrorKind::UnsupportedFeature)]
#[case("hoodie.write.table.version", "6", ErrorKind::UnsupportedFeature)]
#[case("hoodie.write.table.version", "nine", ErrorKind::InvalidOption)]
#[case("hoodie.parquet.compression.codec", "brotli", ErrorKind::UnsupportedFeature)]
#[case(
    "hoodie.datasource.write.keygenerator.class",
    "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
    ErrorKind::UnsupportedFeature
)]
#[case("hoodie.datasource.write.payload.class", "com.acme.OurPayload", ErrorKind::UnsupportedFeature)]
#[case("hoodie.write.record.merge.mode", "CUSTOM", ErrorKind::UnsupportedFeature)]
fn bad_values_are_refused(#[case] key: &str, #[case] value: &str, #[case] kind: ErrorKind) {
    let e = refused(&[(key, value)]);
    assert_eq!(e.kind(), kind, "{e}");
    assert!(e.message().contains(key), "{e}");
}

#[test]
fn an_empty_list_of_fields_is_a_list() {
    let options = parse(&[("hoodie.datasource.write.partitionpath.field", "")]).unwrap();
    assert_eq!(options.get(&PARTITION_FIELDS).unwrap(), Some(Vec::new()));
}

#[rstest]
#[case("org.apache.hudi.keygen.NonpartitionedKeyGenerator", &[])]
#[case("SIMPLE", &["city"])]
fn partition_fields_count_for_nothing_where_the_key_generator_makes_no_partitions(
    #[case] generator: &str,
    #[case] fields: &[&str],
) {
    let generator = ("hoodie.datasource.write.keygenerator.class", generator);
    let options = parse(&[generator, ("hoodie.datasource.write.partitionpath.field", "city")]).unwrap();
    assert_eq!(options.partition_fields().unwrap().unwrap(), fields);
}

#[test]
fn an_index_is_refused_where_it_would_be_used() {
    let options = parse(&[("hoodie.index.type", "bloom")]).unwrap();
    let index = options.get_or_default(&INDEX_TYPE).unwrap();
    assert_eq!(index, IndexType::Bloom);
    assert!(index.require_writable().is_ok());
    let global = parse(&[("hoodie.index.type", "global_bloom")]).unwrap().get_or_default(&INDEX_TYPE).unwrap();
    assert_eq!(global.require_writable().unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn keys_with_the_prefix_go_into_the_commit() {
    let options = parse(&[("_job", "nightly"), ("_hoodie.time.generator.reuse.enable", "true")]).unwrap();
    assert_eq!(options.commit_metadata(), &BTreeMap::from([("_job".to_owned(), "nightly".to_owned())]));
    assert_eq!(options.without_effect(), ["_hoodie.time.generator.reuse.enable"]);

    let own = [("hoodie.datasource.write.commitmeta.key.prefix", "my."), ("my.job", "nightly")];
    assert_eq!(parse(&own).unwrap().commit_metadata().len(), 1);
    assert_eq!(refused(&[own[0], ("_job", "nightly")]).kind(), ErrorKind::InvalidOption);
}

#[test]
fn explicit_options_go_before_the_tables() {
    let stored = [
        ("hoodie.table.type", "MERGE_ON_READ"),
        ("hoodie.table.ordering.fields", "ts"),
        ("hoodie.bucket.index.num.buckets", "4"),
        ("hoodie.table.keygenerator.type", "TIMESTAMP"),
        ("hoodie.table.checksum", "1"),
    ];
    let table = Options::of_table(stored);
    let options = parse(&[("hoodie.bucket.index.num.buckets", "8")]).unwrap().with(&table);
    assert_eq!(options.get(&BUCKET_COUNT).unwrap(), Some(8));
    assert_eq!(table.get(&BUCKET_COUNT).unwrap(), Some(4));
    assert_eq!(options.get(&TABLE_TYPE).unwrap(), Some(TableType::MergeOnRead));
    assert_eq!(options.get(&ORDERING_FIELDS).unwrap(), Some(vec!["ts".to_owned()]));
    assert_eq!(options.get(&KEY_GENERATOR).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

/// Jobs name it beside a merge mode that says the same.
#[test]
fn a_merger_that_merges_as_all_do_is_asked_for_in_vain() {
    let key = "hoodie.datasource.write.record.merger.impls";
    parse(&[(key, "org.apache.hudi.DefaultSparkRecordMerger")]).unwrap();
    assert_eq!(refused(&[(key, "com.acme.Merger")]).kind(), ErrorKind::UnsupportedFeature);
}

/// Apache Hudi, on version 6: the strategy id says nothing, the payload class does.
#[test]
fn a_version_6_tables_payload_goes_before_its_strategy() {
    let table = Options::of_table([
        ("hoodie.compaction.record.merger.strategy", "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"),
        ("hoodie.compaction.payload.class", "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"),
    ]);
    assert_eq!(table.get(&MERGE_MODE).unwrap(), Some(MergeMode::CommitTime));
}

#[test]
fn merging_keeps_what_has_to_be_told_once() {
    let warn = ("hudini.unsupported", "warn");
    let handle = parse(&[("hoodie.metrics.on", "true"), ("hoodie.upsert.shuffle.parallelism", "2"), warn]).unwrap();
    let write = parse(&[("hoodie.metrics.on", "true"), ("hoodie.insert.shuffle.parallelism", "2"), warn]).unwrap();
    let both = write.with(&handle);
    assert_eq!(both.warnings().len(), 1);
    assert_eq!(both.without_effect(), ["hoodie.insert.shuffle.parallelism", "hoodie.upsert.shuffle.parallelism"]);
}

#[test]
fn what_was_given_can_be_given_again() {
    let options = parse(&[("type", "mor"), ("as_of", "20260101"), ("_job", "x")]).unwrap();
    let again = Options::parse(options.iter().map(|(key, value)| (key.to_owned(), value.to_owned()))).unwrap();
    assert!(again.iter().eq(options.iter()), "{again:?}");
}

#[test]
fn descriptions_cover_every_option() {
    let keys: BTreeSet<&str> = Options::describe().map(|description| description.key).collect();
    assert_eq!(keys.len(), HONOURED.len() + KNOWN.len());
    for description in Options::describe() {
        assert!(!description.help.is_empty(), "{}", description.key);
        assert!(!description.help.contains('|') && !description.values.contains('|'), "{}", description.key);
    }
}

/// `HUDINI_BLESS=1` writes the page instead of comparing it.
#[test]
#[expect(clippy::disallowed_methods, reason = "the page is a file of the project, not of a table")]
fn the_reference_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md");
    if std::env::var_os("HUDINI_BLESS").is_some() {
        std::fs::write(path, reference_markdown()).unwrap();
    }
    let page = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    assert!(page == reference_markdown(), "docs/options.md is out of date: run this test with HUDINI_BLESS=1");
}

proptest! {
    // Looking for the nearest name of each nonsense key takes its time.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_options_make_it_panic(given in prop::collection::vec((".{0,40}", ".{0,20}"), 0..6)) {
        let _ = Options::parse(given);
    }

    #[test]
    fn numbers_and_lists_come_back(buckets in 1u32..=99_999_999, names in prop::collection::btree_set("[a-z]{1,8}", 1..4)) {
        let list: Vec<String> = names.into_iter().collect();
        let options = Options::parse([
            (BUCKET_COUNT.key().to_owned(), buckets.to_string()),
            (RECORD_KEY.key().to_owned(), list.join(", ")),
        ]).unwrap();
        prop_assert_eq!(options.get(&BUCKET_COUNT).unwrap(), Some(buckets));
        prop_assert_eq!(options.get(&RECORD_KEY).unwrap(), Some(list));
    }
}
