use rstest::rstest;

use super::*;
use crate::ErrorKind;

#[test]
fn logical_types_and_names() {
    let text = r#"{"type":"record","name":"r","namespace":"n","fields":[
        {"name":"a","type":["null",{"type":"fixed","name":"fixed","namespace":"n.r.a","size":5,
            "logicalType":"decimal","precision":10,"scale":2}],"default":null},
        {"name":"b","type":{"type":"record","name":"b","fields":[{"name":"x","type":"int"}]}},
        {"name":"c","type":{"type":"array","items":"b"}},
        {"name":"d","type":{"type":"string","avro.java.string":"String"}},
        {"name":"e","type":{"type":"long","logicalType":"local-timestamp-micros"}},
        {"name":"f","type":{"type":"int","logicalType":"timestamp-micros"}},
        {"name":"g","type":{"fields":[],"name":"g","type":"record"}}]}"#;
    let record = Record::parse(text).unwrap();
    assert_eq!(record.name, "n.r");
    let nodes: Vec<_> = record.fields.iter().map(|f| f.node.clone()).collect();
    let b = Node::Record(Record { name: "n.b".into(), fields: vec![Field { name: "x".into(), node: Node::Int }] });
    assert_eq!(
        nodes,
        vec![
            Node::Union(vec![Node::Null, Node::Decimal { precision: 10, scale: 2, size: Some(5) }]),
            b.clone(),
            Node::Array(Box::new(b)),
            Node::String,
            Node::Timestamp { unit: TimeUnit::Micros, utc: false },
            Node::Int,
            Node::Record(Record { name: "n.g".into(), fields: vec![] }),
        ]
    );
}

fn row(field: &str) -> String {
    format!(r#"{{"type":"record","name":"r","fields":[{{"name":"a","type":{field}}}]}}"#)
}

/// Apache Avro for Java takes them as their base types.
#[rstest]
#[case(r#"{"type":"fixed","name":"x","size":2,"logicalType":"decimal","precision":38,"scale":2}"#, Node::Fixed(2))]
#[case(r#"{"type":"bytes","logicalType":"decimal","precision":3,"scale":5}"#, Node::Bytes)]
#[case(r#"{"type":"bytes","logicalType":"decimal","scale":5}"#, Node::Bytes)]
#[case(r#"{"type":"bytes","logicalType":"decimal","precision":5,"scale":-1}"#, Node::Bytes)]
#[case(r#"{"type":"string","logicalType":"date"}"#, Node::String)]
#[case(r#"{"type":"string","logicalType":"uuid"}"#, Node::String)]
#[case(r#"{"type":"fixed","name":"x","size":12,"logicalType":"duration"}"#, Node::Fixed(12))]
#[case(r#"{"type":"long","logicalType":7}"#, Node::Long)]
fn logical_types_that_do_not_fit(#[case] field: &str, #[case] node: Node) {
    assert_eq!(Record::parse(&row(field)).unwrap().fields[0].node, node);
}

#[test]
fn the_widest_decimal_of_a_fixed() {
    let of = |size: usize, precision: u8| {
        let text = format!(
            r#"{{"type":"fixed","name":"x","size":{size},"logicalType":"decimal","precision":{precision},"scale":0}}"#
        );
        matches!(Record::parse(&row(&text)).unwrap().fields[0].node, Node::Decimal { .. })
    };
    for (size, precision) in [(1, 2), (2, 4), (4, 9), (5, 11), (8, 18), (9, 21), (16, 38)] {
        assert!(of(size, precision) && !of(size, precision + 1) || size == 16, "{size} bytes");
    }
}

/// Java refuses these too, in other words.
#[rstest]
#[case("\"int\"", "must be a record")]
#[case("[1]", "not an Avro type")]
#[case("{}", "without 'type'")]
#[case("", "not JSON")]
#[case(r#"{"type":"record","name":"r","fields":{}}"#, "'fields' in a schema is not a list")]
#[case(r#"{"type":"record","name":"r","fields":[{"name":"x","type":"y"}]}"#, "'y' is mentioned before it is defined")]
#[case(
    r#"{"type":"record","name":"r","fields":[{"name":"x","type":"int"},{"name":"x","type":"int"}]}"#,
    "two fields 'x'"
)]
#[case(r#"{"type":"record","name":"r","fields":[{"name":"a-b","type":"int"}]}"#, "'a-b' is not an Avro name")]
#[case(r#"{"type":"record","name":"r","fields":[{"name":"a","type":["int","int"]}]}"#, "two branches of type int")]
#[case(r#"{"type":"record","name":"r","fields":[{"name":"a","type":[["int"],"null"]}]}"#, "right inside a union")]
#[case(
    r#"{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"enum","name":"e","symbols":["A","A"]}}]}"#,
    "'A' stands twice"
)]
#[case(
    r#"{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"fixed","name":"x","size":2}},
        {"name":"b","type":{"type":"fixed","name":"x","size":2}}]}"#,
    "'x' is defined twice"
)]
#[case(
    r#"{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"record","name":"r","fields":[]}}]}"#,
    "'r' is defined twice"
)]
fn what_is_no_schema(#[case] text: &str, #[case] message: &str) {
    let e = Record::parse(text).unwrap_err();
    assert!(e.to_string().contains(message), "{e}");
    assert_eq!(e.kind(), ErrorKind::CorruptFile);
}

#[rstest]
#[case(r#"["null","r"]"#, "recursive Avro type 'r'")]
#[case(r#"{"type":"bytes","logicalType":"decimal","precision":60,"scale":5}"#, "a decimal of 60 digits")]
#[case(r#"{"type":"fixed","name":"x","size":20,"logicalType":"decimal","precision":30}"#, "30 digits in 20 bytes")]
#[case(r#"{"type":"fixed","name":"x","size":70000}"#, "an Avro fixed")]
#[case(
    r#"{"type":"fixed","name":"x","size":12,"logicalType":"vector","dimension":3,"elementType":"HALF"}"#,
    "VECTOR of 3 HALF"
)]
#[case(
    r#"{"type":"fixed","name":"x","size":12,"logicalType":"vector","dimension":3}"#,
    "VECTOR of 3 nothing in 12 bytes"
)]
#[case(
    r#"{"type":"fixed","name":"x","size":8,"logicalType":"vector","dimension":3,"elementType":"FLOAT"}"#,
    "VECTOR of 3 FLOAT in 8 bytes"
)]
fn what_cannot_be_read_is_named(#[case] field: &str, #[case] message: &str) {
    let e = Record::parse(&row(field)).unwrap_err();
    assert!(e.to_string().contains(message), "{e}");
    assert_eq!(e.kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn a_short_text_cannot_mean_too_much() {
    let mut inner = r#""int""#.to_owned();
    for level in 0..40 {
        inner = format!(
            r#"{{"type":"record","name":"r{level}","fields":[{{"name":"a","type":{inner}}},{{"name":"b","type":{}}}]}}"#,
            if level == 0 { r#""int""#.to_owned() } else { format!(r#""r{}""#, level - 1) }
        );
    }
    assert_eq!(Record::parse(&inner).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn a_long_definition_is_not_read_over_and_over() {
    let long = format!(r#"{{"type":"fixed","name":"f","size":1,"doc":"{}"}}"#, "x".repeat(10_000));
    let fields: Vec<_> = (0..10_000).map(|i| format!(r#"{{"name":"a{i}","type":"f"}}"#)).collect();
    let text =
        format!(r#"{{"type":"record","name":"r","fields":[{{"name":"f","type":{long}}},{}]}}"#, fields.join(","));
    assert_eq!(Record::parse(&text).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
}

#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| {
        row(&(0..levels).fold(r#""int""#.to_owned(), |t, _| format!(r#"{{"type":"array","items":{t}}}"#)))
    };
    assert!(Record::parse(&nested(120)).is_ok());
    assert_eq!(Record::parse(&nested(130)).unwrap_err().kind(), ErrorKind::UnsupportedFeature);
    assert!(Record::parse(&"[".repeat(1_000_000)).is_err());
    assert!(Record::parse(&row(&nested(100_000))).is_err());
}

#[test]
fn many_columns_are_fine() {
    let fields: Vec<_> =
        (0..20_000).map(|i| format!(r#"{{"name":"c{i}","type":["null","long"],"default":null}}"#)).collect();
    let text = format!(r#"{{"type":"record","name":"r","fields":[{}]}}"#, fields.join(","));
    assert_eq!(Record::parse(&text).unwrap().fields.len(), 20_000);
}
