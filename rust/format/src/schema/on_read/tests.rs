use super::*;
use crate::ErrorKind;
use crate::schema::evolve::{Mapping, Source};
use crate::schema::node::Record;
use rstest::rstest;

/// Written by Apache Hudi 1.2.0: the newer of two versions comes from the older by renames, a move, an added field, one
/// dropped and added again, and changes of types.
const HISTORY: &str = concat!(
    r#"{"schemas":[{"max_column_id":11,"version_id":20200101000000000,"type":"record","fields":["#,
    r#"{"id":0,"name":"id","optional":true,"type":"int","doc":"the id"},"#,
    r#"{"id":3,"name":"arr","optional":false,"type":{"type":"array","element_id":7,"element":"long","#,
    r#""element_optional":true}},{"id":1,"name":"full","optional":true,"type":"string"},"#,
    r#"{"id":2,"name":"struct1","optional":true,"type":{"type":"record","fields":["#,
    r#"{"id":5,"name":"a","optional":true,"type":"int"},{"id":10,"name":"c","optional":true,"type":"long","doc":"cc"},"#,
    r#"{"id":11,"name":"b","optional":true,"type":"double"}]}},"#,
    r#"{"id":4,"name":"mp","optional":false,"type":{"type":"map","key_id":8,"key":"string","value_id":9,"#,
    r#""value":"double","value_optional":true}}]},"#,
    r#"{"max_column_id":9,"version_id":0,"type":"record","fields":["#,
    r#"{"id":0,"name":"id","optional":false,"type":"int"},{"id":1,"name":"name","optional":true,"type":"string"},"#,
    r#"{"id":2,"name":"st","optional":true,"type":{"type":"record","fields":["#,
    r#"{"id":5,"name":"a","optional":true,"type":"int"},{"id":6,"name":"b","optional":true,"type":"string"}]}},"#,
    r#"{"id":3,"name":"arr","optional":false,"type":{"type":"array","element_id":7,"element":"int","#,
    r#""element_optional":true}},{"id":4,"name":"mp","optional":false,"type":{"type":"map","key_id":8,"#,
    r#""key":"string","value_id":9,"value":"float","value_optional":true}}]}]}"#,
);

fn history() -> History {
    History::decode(HISTORY.as_bytes()).unwrap()
}

#[test]
fn history_is_read_and_written_to_the_letter() {
    let history = history();
    assert_eq!(history.schemas.len(), 2);
    assert_eq!(history.encode(), HISTORY);
    let newest = history.newest().unwrap();
    assert_eq!((newest.version, newest.max_column_id), (Some(20_200_101_000_000_000), Some(11)));
    assert_eq!(TableSchema::decode(&newest.encode()).unwrap(), *newest);
    assert_eq!(History::default().encode(), r#"{"schemas":[]}"#);
}

#[test]
fn versions_go_by_time() {
    let version = |time| history().at(time).map(|schema| schema.version.unwrap());
    assert_eq!(version(20_200_101_000_000_000), Some(20_200_101_000_000_000));
    assert_eq!(version(20_200_100_999_999_999), Some(0));
    assert_eq!(version(-1), None);
}

#[test]
fn columns_are_found_by_id() {
    let history = history();
    let [newest, oldest] = history.schemas.as_slice() else { panic!() };
    let named = |name: &str, within: Mapping| Source { name: Some(name.to_owned()), within };
    let mapping = |entries: Vec<(&str, Source)>| Mapping(entries.into_iter().map(|(n, s)| (n.to_owned(), s)).collect());
    let inside = mapping(vec![("c", Source::default()), ("b", Source::default())]);
    assert_eq!(
        newest.names_in(oldest),
        mapping(vec![("full", named("name", Mapping::default())), ("struct1", named("st", inside))])
    );
    assert_eq!(newest.names_in(newest), Mapping::default());
    let backwards = mapping(vec![("b", Source::default())]);
    assert_eq!(
        oldest.names_in(newest),
        mapping(vec![("name", named("full", Mapping::default())), ("st", named("struct1", backwards))])
    );
}

/// Avro text and columns that Apache Hudi 1.2.0 made of each other.
const AVRO: &str = concat!(
    r#"{"type":"record","name":"t_record","namespace":"hoodie.t","fields":[{"name":"m","type":["null",{"type":"map","#,
    r#""values":["null",{"type":"array","items":["null",{"type":"record","name":"m","namespace":"hoodie.t.t_record","#,
    r#""fields":[{"name":"x","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.m.x","#,
    r#""size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},"#,
    r#"{"name":"y","type":["null",{"type":"array","items":["null",{"type":"fixed","name":"fixed","#,
    r#""namespace":"hoodie.t.t_record.m.y","size":2,"logicalType":"decimal","precision":3,"scale":1}]}],"#,
    r#""default":null}]}]}]}],"default":null},{"name":"aa","type":["null",{"type":"array","items":["null","#,
    r#"{"type":"array","items":["null",{"type":"record","name":"aa","namespace":"hoodie.t.t_record","fields":["#,
    r#"{"name":"q","type":["null","int"],"default":null}]}]}]}],"default":null},"#,
    r#"{"name":"ts","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},"#,
    r#"{"name":"n","type":["null",{"type":"long","logicalType":"local-timestamp-micros"}],"default":null},"#,
    r#"{"name":"d","type":["null",{"type":"int","logicalType":"date"}],"default":null},"#,
    r#"{"name":"bin","type":["null","bytes"],"default":null},"#,
    r#"{"name":"st","type":["null",{"type":"record","name":"st","namespace":"hoodie.t.t_record","fields":["#,
    r#"{"name":"st","type":["null",{"type":"record","name":"st","namespace":"hoodie.t.t_record.st","fields":["#,
    r#"{"name":"st","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.t.t_record.st.st.st","size":16,"#,
    r#""logicalType":"decimal","precision":38,"scale":18}],"doc":"deep","default":null}]}],"doc":"mid","#,
    r#""default":null}]}],"doc":"top","default":null}]}"#,
);
const COLUMNS: &str = concat!(
    r#"{"max_column_id":17,"version_id":0,"type":"record","fields":[{"id":0,"name":"m","optional":true,"type":{"#,
    r#""type":"map","key_id":7,"key":"string","value_id":8,"value":{"type":"array","element_id":9,"element":{"#,
    r#""type":"record","fields":[{"id":10,"name":"x","optional":true,"type":"decimal_fixed(10, 2)[5]"},"#,
    r#"{"id":11,"name":"y","optional":true,"type":{"type":"array","element_id":12,"#,
    r#""element":"decimal_fixed(3, 1)[2]","element_optional":true}}]},"element_optional":true},"#,
    r#""value_optional":true}},{"id":1,"name":"aa","optional":true,"type":{"type":"array","element_id":13,"element":{"#,
    r#""type":"array","element_id":14,"element":{"type":"record","fields":[{"id":15,"name":"q","optional":true,"#,
    r#""type":"int"}]},"element_optional":true},"element_optional":true}},"#,
    r#"{"id":2,"name":"ts","optional":true,"type":"timestamp"},"#,
    r#"{"id":3,"name":"n","optional":true,"type":"local-timestamp-micros"},"#,
    r#"{"id":4,"name":"d","optional":true,"type":"date"},{"id":5,"name":"bin","optional":true,"type":"binary"},"#,
    r#"{"id":6,"name":"st","optional":true,"type":{"type":"record","fields":[{"id":16,"name":"st","optional":true,"#,
    r#""type":{"type":"record","fields":[{"id":17,"name":"st","optional":true,"type":"decimal_fixed(38, 18)[16]","#,
    r#""doc":"deep"}]},"doc":"mid"}]},"doc":"top"}]}"#,
);

#[test]
fn columns_to_avro() {
    let columns = TableSchema::decode(COLUMNS).unwrap();
    assert_eq!(columns.encode(), COLUMNS);
    assert_eq!(columns.to_avro("hoodie.t.t_record").unwrap(), AVRO);
    let record = columns.to_record("hoodie.t.t_record").unwrap();
    assert_eq!(record, Record::parse(AVRO).unwrap());
}

#[test]
fn avro_to_columns() {
    let columns = TableSchema::first(AVRO).unwrap();
    assert_eq!(columns.encode(), COLUMNS);
}

#[rstest]
#[case("time-millis")]
#[case("time")]
#[case("timestamp-millis")]
#[case("local-timestamp-millis")]
#[case("uuid")]
#[case("fixed[4]")]
#[case("decimal(10, 2)")]
#[case("decimal_bytes(7, 0)")]
#[case("boolean")]
#[case("float")]
fn names_of_types(#[case] name: &str) {
    let kind = Kind::parse(name).unwrap();
    assert_eq!(kind.to_string(), name);
    assert_eq!(Kind::parse(&name.to_uppercase()).unwrap(), kind);
}

#[test]
fn names_as_apache_hudi_reads_them() {
    for name in ["time_millis", "timestamp_millis", "local_timestamp_millis", "local_timestamp_micros"] {
        assert_eq!(Kind::parse(name).unwrap().to_string(), name.replace('_', "-"));
    }
    assert_eq!(Kind::parse("decimal_bytes(10,2)").unwrap(), Kind::parse("decimal_bytes(10, 2)").unwrap());
}

#[rstest]
#[case("vector[3]")]
#[case("decimal(39, 2)")]
#[case("decimal(3, 5)")]
#[case("decimal(3)")]
#[case("decimal_fixed(3, 1)")]
#[case("fixed[-1]")]
#[case("fixed[99999999999]")]
#[case("")]
fn other_names_are_refused(#[case] name: &str) {
    assert_eq!(Kind::parse(name).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

#[rstest]
#[case("")]
#[case("{}")]
#[case("[]")]
#[case(r#"{"schemas":{}}"#)]
#[case(r#"{"schemas":[{"type":"record"}]}"#)]
#[case(r#"{"schemas":[{"type":"array","fields":[]}]}"#)]
#[case(r#"{"schemas":[{"type":"record","version_id":"x","fields":[]}]}"#)]
#[case(r#"{"schemas":[{"type":"record","fields":[{"id":0,"name":"a","optional":true}]}]}"#)]
#[case(r#"{"schemas":[{"type":"record","fields":[{"id":99999999999,"name":"a","optional":true,"type":"int"}]}]}"#)]
#[case(r#"{"schemas":[{"type":"record","fields":[{"id":0,"name":"a","optional":true,"type":7}]}]}"#)]
#[case(r#"{"schemas":[],"more":1}"#)]
fn damage_is_an_error(#[case] text: &str) {
    assert_eq!(History::decode(text.as_bytes()).unwrap_err().kind(), ErrorKind::CorruptFile, "{text}");
}

#[test]
fn depth_is_bounded() {
    let nested = (0..200).fold(r#""int""#.to_owned(), |t, id| {
        format!(r#"{{"type":"array","element_id":{id},"element":{t},"element_optional":true}}"#)
    });
    let text = format!(r#"{{"type":"record","fields":[{{"id":0,"name":"a","optional":true,"type":{nested}}}]}}"#);
    assert_eq!(TableSchema::decode(&text).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    assert!(TableSchema::decode(&"[".repeat(100_000)).is_err());
    assert!(History::decode(&[0xff, 0xfe]).is_err());
}
