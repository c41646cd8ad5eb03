//! Schemas of any shape: what is written reads back as the same, in each of their forms.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use hudini_format::schema::evolve::{Mapping, Projection, check_evolution};
use hudini_format::schema::on_read::{History, TableSchema};
use hudini_format::schema::{Record, avro_text, table_schema, text};
use proptest::prelude::*;

fn leaf() -> impl Strategy<Value = DataType> {
    use TimeUnit::{Microsecond, Millisecond};
    let utc = || Some("UTC".into());
    prop_oneof![
        Just(DataType::Boolean),
        Just(DataType::Int32),
        Just(DataType::Int64),
        Just(DataType::Float32),
        Just(DataType::Float64),
        Just(DataType::Utf8),
        Just(DataType::Binary),
        Just(DataType::Date32),
        Just(DataType::Time32(Millisecond)),
        Just(DataType::Time64(Microsecond)),
        Just(DataType::Timestamp(Millisecond, utc())),
        Just(DataType::Timestamp(Microsecond, utc())),
        Just(DataType::Timestamp(Millisecond, None)),
        Just(DataType::Timestamp(Microsecond, None)),
        (0..100).prop_map(DataType::FixedSizeBinary),
        (1_u8..=38, 0_i8..=38)
            .prop_map(|(precision, scale)| DataType::Decimal128(precision, scale % (precision as i8 + 1))),
    ]
}

fn data_type() -> impl Strategy<Value = DataType> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let field = |name: &'static str, inner: BoxedStrategy<DataType>| {
            (inner, any::<bool>()).prop_map(move |(t, null)| Field::new(name, t, null))
        };
        prop_oneof![
            field("element", inner.clone().boxed()).prop_map(|item| DataType::List(Arc::new(item))),
            field("value", inner.clone().boxed()).prop_map(|value| {
                let entries = Fields::from(vec![Field::new("key", DataType::Utf8, false), value]);
                DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entries), false)), false)
            }),
            fields(inner.boxed()).prop_map(DataType::Struct),
        ]
    })
}

fn fields(inner: BoxedStrategy<DataType>) -> impl Strategy<Value = Fields> {
    let field = ("[a-zß城_][a-z0-9_]{0,3}", inner, any::<bool>());
    proptest::collection::vec(field, 1..5).prop_map(|fields| {
        // A number at the end keeps names apart.
        let fields = fields.into_iter().enumerate();
        fields.map(|(at, (name, t, null))| Field::new(format!("{name}_{at}"), t, null)).collect()
    })
}

fn schema() -> impl Strategy<Value = Schema> {
    fields(data_type().boxed()).prop_map(Schema::new)
}

proptest! {
    #[test]
    fn arrow_to_text_and_back(schema in schema(), table in "[a-z0-9.-]{1,8}") {
        let written = avro_text(&schema, &table).unwrap();
        let record = Record::parse(&written).unwrap();
        prop_assert_eq!(&record, &Record::from_arrow(&schema, &table).unwrap());
        prop_assert_eq!(record.to_arrow().unwrap(), schema);
        prop_assert_eq!(text::canonical(&written).unwrap(), written.clone());
        let with_meta = text::with_meta_columns(&written).unwrap();
        prop_assert_eq!(text::without_meta_columns(&with_meta).unwrap(), written);
    }

    #[test]
    fn columns_with_ids_to_all_forms_and_back(schema in schema()) {
        let written = avro_text(&schema, "t").unwrap();
        let columns = TableSchema::first(&written).unwrap();
        prop_assert_eq!(columns.to_avro("hoodie.t.t_record").unwrap(), written);
        let decoded = TableSchema::decode(&columns.encode()).unwrap();
        prop_assert_eq!(&decoded, &columns);
        prop_assert_eq!(columns.names_in(&decoded), Mapping::default());
        let history = History { schemas: vec![columns] };
        prop_assert_eq!(History::decode(history.encode().as_bytes()).unwrap(), history);
    }

    #[test]
    fn a_schema_fits_itself(schema in schema()) {
        prop_assert!(check_evolution(&schema, &schema).is_ok());
        let wanted = Arc::new(schema.clone());
        let projection = Projection::new(&schema, &wanted, &Mapping::default()).unwrap();
        prop_assert_eq!(projection.columns().len(), schema.fields().len());
    }

    #[test]
    fn the_types_of_a_table_are_its_types(schema in schema()) {
        if let Ok(table) = table_schema(&schema) {
            prop_assert_eq!(table_schema(&table).unwrap(), table);
        }
    }

    #[test]
    fn any_text_is_a_schema_or_not(given in "\\PC{0,60}") {
        let _ = (Record::parse(&given), text::canonical(&given), History::decode(given.as_bytes()));
    }
}
