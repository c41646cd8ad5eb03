//! Random schemas and rows: what `apache-avro` writes is what hudini reads, and the other way round.

use std::collections::HashMap;
use std::sync::Arc;

use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use apache_avro::writer::datum::GenericDatumWriter;
use apache_avro::{Decimal, Duration};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time32MillisecondType,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use hudini_format::avro::{RowDecoder, RowEncoder};
use hudini_format::schema::{Record, decimal_bytes};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// Numbers from a seed, which proptest prints when a case fails.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Of every length that a varint can have.
    fn long(&mut self) -> i64 {
        self.next().cast_signed() >> self.below(64)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Where null stands in the union around a type, if there is one.
#[derive(Debug, Clone, Copy)]
enum Around {
    Nothing,
    NullFirst,
    NullSecond,
    OnlyOne,
}

#[derive(Debug)]
struct Type {
    around: Around,
    kind: Kind,
}

/// The type, and for fixeds and the like their JSON, because names must differ.
#[derive(Debug)]
enum Kind {
    Plain(&'static str),
    Logical(&'static str, &'static str),
    Fixed(usize, String),
    Duration(String),
    Enum(String),
    Decimal { precision: u8, scale: u8, fixed: Option<(usize, String)> },
    Array(Box<Type>),
    Map(Box<Type>),
    Record(String, Vec<(String, Type)>),
}

const SYMBOLS: [&str; 3] = ["RED", "GREEN_AND_BLUE", "x"];

struct Maker {
    dice: Dice,
    names: usize,
}

impl Maker {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn a_type(&mut self, depth: usize) -> Type {
        let around = match self.dice.below(6) {
            0 => Around::Nothing,
            1 => Around::NullSecond,
            2 => Around::OnlyOne,
            _ => Around::NullFirst,
        };
        Type { around, kind: self.kind(depth) }
    }

    fn kind(&mut self, depth: usize) -> Kind {
        const PLAIN: [&str; 7] = ["boolean", "int", "long", "float", "double", "bytes", "string"];
        const LOGICAL: [(&str, &str); 9] = [
            ("int", "date"),
            ("int", "time-millis"),
            ("long", "time-micros"),
            ("long", "timestamp-millis"),
            ("long", "timestamp-micros"),
            ("long", "timestamp-nanos"),
            ("long", "local-timestamp-millis"),
            ("long", "local-timestamp-micros"),
            ("long", "local-timestamp-nanos"),
        ];
        match self.dice.below(if depth < 3 { 24 } else { 20 }) {
            at @ 0..7 => Kind::Plain(PLAIN[at]),
            at @ 7..16 => Kind::Logical(LOGICAL[at - 7].0, LOGICAL[at - 7].1),
            16 => Kind::Fixed(1 + self.dice.below(40), self.name()),
            17 if self.dice.below(2) == 0 => Kind::Duration(self.name()),
            17 => Kind::Enum(self.name()),
            18 | 19 => {
                let precision = 1 + self.dice.below(38) as u8;
                let scale = self.dice.below(usize::from(precision) + 1) as u8;
                let size = (decimal_bytes(precision) + self.dice.below(3)).min(16);
                let fixed = (self.dice.below(2) == 0).then(|| (size, self.name()));
                Kind::Decimal { precision, scale, fixed }
            }
            20 => Kind::Array(Box::new(self.a_type(depth + 1))),
            21 => Kind::Map(Box::new(self.a_type(depth + 1))),
            _ => {
                let name = self.name();
                let fields = (0..1 + self.dice.below(4)).map(|_| (self.name(), self.a_type(depth + 1))).collect();
                Kind::Record(name, fields)
            }
        }
    }

    fn value(&mut self, t: &Type) -> Value {
        let null = self.dice.below(4) == 0;
        match t.around {
            Around::Nothing => self.bare(&t.kind),
            Around::OnlyOne => Value::Union(0, Box::new(self.bare(&t.kind))),
            Around::NullFirst if null => Value::Union(0, Box::new(Value::Null)),
            Around::NullSecond if null => Value::Union(1, Box::new(Value::Null)),
            Around::NullFirst => Value::Union(1, Box::new(self.bare(&t.kind))),
            Around::NullSecond => Value::Union(0, Box::new(self.bare(&t.kind))),
        }
    }

    fn bare(&mut self, kind: &Kind) -> Value {
        let dice = &mut self.dice;
        let int = (dice.long() >> 32) as i32;
        match kind {
            Kind::Plain("boolean") => Value::Boolean(dice.below(2) == 0),
            Kind::Plain("int") => Value::Int(int),
            Kind::Plain("long") => Value::Long(dice.long()),
            Kind::Plain("float") => Value::Float(int as f32 / 7.0),
            Kind::Plain("double") => Value::Double(dice.long() as f64 / 7.0),
            Kind::Plain("bytes") => {
                let length = dice.below(70);
                Value::Bytes(dice.bytes(length))
            }
            Kind::Plain(_) => {
                let length = dice.below(70);
                Value::String((0..length).map(|_| ['a', 'z', 'ü', '日', '🦀'][dice.below(5)]).collect())
            }
            Kind::Logical(_, name) => logical(name, int, dice.long()),
            Kind::Fixed(size, _) => Value::Fixed(*size, dice.bytes(*size)),
            Kind::Duration(_) => Value::Duration(Duration::from(<[u8; 12]>::try_from(dice.bytes(12)).unwrap())),
            Kind::Enum(_) => {
                let at = dice.below(SYMBOLS.len());
                Value::Enum(at as u32, SYMBOLS[at].to_owned())
            }
            Kind::Decimal { precision, fixed, .. } => {
                let limit = 10_i128.pow(u32::from(*precision));
                let wide = (i128::from(dice.long()) << 64) | i128::from(dice.next());
                let bytes = (wide % limit).to_be_bytes();
                let size = fixed.as_ref().map_or(decimal_bytes(*precision), |(size, _)| *size);
                Value::Decimal(Decimal::from(&bytes[16 - size..]))
            }
            Kind::Array(item) => Value::Array((0..dice.below(5)).map(|_| self.value(item)).collect()),
            Kind::Map(item) => {
                Value::Map((0..dice.below(5)).map(|at| (format!("k{at}"), self.value(item))).collect::<HashMap<_, _>>())
            }
            Kind::Record(_, fields) => {
                Value::Record(fields.iter().map(|(name, t)| (name.clone(), self.value(t))).collect())
            }
        }
    }
}

fn logical(name: &str, int: i32, long: i64) -> Value {
    match name {
        "date" => Value::Date(int),
        "time-millis" => Value::TimeMillis(int),
        "time-micros" => Value::TimeMicros(long),
        "timestamp-millis" => Value::TimestampMillis(long),
        "timestamp-micros" => Value::TimestampMicros(long),
        "timestamp-nanos" => Value::TimestampNanos(long),
        "local-timestamp-millis" => Value::LocalTimestampMillis(long),
        "local-timestamp-micros" => Value::LocalTimestampMicros(long),
        _ => Value::LocalTimestampNanos(long),
    }
}

/// `alone`: how a union of one type is written, as such or as the type.
fn json_of(t: &Type, alone: &dyn Fn(Json) -> Json) -> Json {
    let bare = match &t.kind {
        Kind::Plain(name) => json!(name),
        Kind::Logical(base, logical) => json!({"type": base, "logicalType": logical}),
        Kind::Fixed(size, name) => json!({"type": "fixed", "name": name, "size": size}),
        Kind::Duration(name) => json!({"type": "fixed", "name": name, "size": 12, "logicalType": "duration"}),
        Kind::Enum(name) => json!({"type": "enum", "name": name, "symbols": SYMBOLS}),
        Kind::Decimal { precision, scale, fixed: None } => {
            json!({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale})
        }
        Kind::Decimal { precision, scale, fixed: Some((size, name)) } => json!({
            "type": "fixed", "name": name, "size": size, "logicalType": "decimal", "precision": precision, "scale": scale
        }),
        Kind::Array(item) => json!({"type": "array", "items": json_of(item, alone)}),
        Kind::Map(item) => json!({"type": "map", "values": json_of(item, alone)}),
        Kind::Record(name, fields) => {
            let fields: Vec<_> = fields.iter().map(|(n, t)| json!({"name": n, "type": json_of(t, alone)})).collect();
            json!({"type": "record", "name": name, "fields": fields})
        }
    };
    match t.around {
        Around::Nothing => bare,
        Around::NullFirst => json!(["null", bare]),
        Around::NullSecond => json!([bare, "null"]),
        Around::OnlyOne => alone(bare),
    }
}

/// A value of a column, as the library would have read it.
fn shown(t: &Type, array: &dyn Array, row: usize) -> Value {
    let bare = || Box::new(shown_bare(&t.kind, array, row));
    match (t.around, array.is_null(row)) {
        (Around::NullFirst, true) => Value::Union(0, Box::new(Value::Null)),
        (Around::NullSecond, true) => Value::Union(1, Box::new(Value::Null)),
        (_, true) => panic!("a null where none may be"),
        (Around::Nothing, false) => *bare(),
        (Around::NullFirst, false) => Value::Union(1, bare()),
        (Around::NullSecond | Around::OnlyOne, false) => Value::Union(0, bare()),
    }
}

fn shown_bare(kind: &Kind, array: &dyn Array, row: usize) -> Value {
    match kind {
        Kind::Plain("boolean") => Value::Boolean(array.as_boolean().value(row)),
        Kind::Plain("int") => Value::Int(array.as_primitive::<Int32Type>().value(row)),
        Kind::Plain("long") => Value::Long(array.as_primitive::<Int64Type>().value(row)),
        Kind::Plain("float") => Value::Float(array.as_primitive::<Float32Type>().value(row)),
        Kind::Plain("double") => Value::Double(array.as_primitive::<Float64Type>().value(row)),
        Kind::Plain("bytes") => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        Kind::Plain(_) => Value::String(array.as_string::<i32>().value(row).to_owned()),
        Kind::Logical(_, name) => match *name {
            "date" => logical(name, array.as_primitive::<Date32Type>().value(row), 0),
            "time-millis" => logical(name, array.as_primitive::<Time32MillisecondType>().value(row), 0),
            "time-micros" => logical(name, 0, array.as_primitive::<Time64MicrosecondType>().value(row)),
            _ if name.ends_with("millis") => {
                logical(name, 0, array.as_primitive::<TimestampMillisecondType>().value(row))
            }
            _ if name.ends_with("micros") => {
                logical(name, 0, array.as_primitive::<TimestampMicrosecondType>().value(row))
            }
            _ => logical(name, 0, array.as_primitive::<TimestampNanosecondType>().value(row)),
        },
        Kind::Fixed(size, _) => Value::Fixed(*size, array.as_fixed_size_binary().value(row).to_vec()),
        Kind::Duration(_) => {
            let bytes = <[u8; 12]>::try_from(array.as_fixed_size_binary().value(row)).unwrap();
            Value::Duration(Duration::from(bytes))
        }
        Kind::Enum(_) => {
            let symbol = array.as_string::<i32>().value(row);
            let at = SYMBOLS.iter().position(|s| *s == symbol).unwrap();
            Value::Enum(at as u32, symbol.to_owned())
        }
        Kind::Decimal { .. } => {
            Value::Decimal(Decimal::from(array.as_primitive::<Decimal128Type>().value(row).to_be_bytes()))
        }
        Kind::Array(item) => {
            let items = array.as_list::<i32>().value(row);
            Value::Array((0..items.len()).map(|at| shown(item, &items, at)).collect())
        }
        Kind::Map(item) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0).as_string::<i32>(), entries.column(1));
            Value::Map((0..keys.len()).map(|at| (keys.value(at).to_owned(), shown(item, values, at))).collect())
        }
        Kind::Record(_, fields) => {
            let columns = array.as_struct().columns();
            Value::Record(fields.iter().zip(columns).map(|((n, t), c)| (n.clone(), shown(t, c, row))).collect())
        }
    }
}

/// A schema, rows of it, and how the library writes them.
struct Case {
    row: Type,
    record: Record,
    columns: SchemaRef,
    library: apache_avro::Schema,
    values: Vec<Value>,
    datums: Vec<Vec<u8>>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut maker = Maker { dice: Dice(seed), names: 0 };
        let fields = (0..1 + maker.dice.below(12)).map(|_| (maker.name(), maker.a_type(0))).collect();
        let row = Type { around: Around::Nothing, kind: Kind::Record("row".to_owned(), fields) };
        let text = json_of(&row, &|bare| json!([bare])).to_string();
        let library = apache_avro::Schema::parse_str(&text).unwrap();
        let values: Vec<_> = (0..maker.dice.below(20)).map(|_| maker.value(&row)).collect();
        let writer = GenericDatumWriter::builder(&library).build().unwrap();
        let datums = values.iter().map(|value| writer.write_value_to_vec(value.clone()).unwrap()).collect();
        let columns = Record::parse(&json_of(&row, &|bare| bare).to_string()).unwrap().to_arrow().unwrap();
        Self { row, record: Record::parse(&text).unwrap(), columns: Arc::new(columns), library, values, datums }
    }

    fn fields(&self) -> &[(String, Type)] {
        match &self.row.kind {
            Kind::Record(_, fields) => fields,
            _ => panic!("rows are records"),
        }
    }

    fn decode(&self, wanted: &SchemaRef) -> RecordBatch {
        let mut decoder = RowDecoder::new(&self.record, wanted.clone()).unwrap();
        self.datums.iter().for_each(|datum| decoder.decode(datum).unwrap());
        decoder.flush().unwrap()
    }
}

proptest! {
    #[test]
    fn what_the_library_writes_is_read(seed in any::<u64>()) {
        let case = Case::new(seed);
        let batch = case.decode(&case.columns);
        prop_assert_eq!(batch.num_rows(), case.values.len());
        for (row, value) in case.values.iter().enumerate() {
            let columns = case.fields().iter().zip(batch.columns());
            let read = Value::Record(columns.map(|((n, t), column)| (n.clone(), shown(t, column, row))).collect());
            prop_assert_eq!(&read, value);
        }
    }

    #[test]
    fn what_hudini_writes_the_library_reads(seed in any::<u64>()) {
        let case = Case::new(seed);
        let batch = case.decode(&case.columns);
        let encoder = RowEncoder::new(&case.record, &batch).unwrap();
        let reader = GenericDatumReader::builder(&case.library).build().unwrap();
        for (row, value) in case.values.iter().enumerate() {
            let mut datum = Vec::new();
            encoder.encode(row, &mut datum).unwrap();
            prop_assert_eq!(&reader.read_value(&mut datum.as_slice()).unwrap(), value);
        }
    }

    #[test]
    fn a_projection_is_a_choice_of_columns(seed in any::<u64>(), order in any::<u64>()) {
        let case = Case::new(seed);
        let all = case.decode(&case.columns);
        let mut dice = Dice(order);
        let mut chosen: Vec<usize> = (0..all.num_columns()).filter(|_| dice.below(3) == 0).collect();
        (1..chosen.len()).for_each(|at| chosen.swap(at, dice.below(at + 1)));
        let some = case.decode(&Arc::new(all.schema().project(&chosen).unwrap()));
        prop_assert_eq!(some, all.project(&chosen).unwrap());
    }

    #[test]
    fn batches_may_end_anywhere(seed in any::<u64>()) {
        let case = Case::new(seed);
        let all = case.decode(&case.columns);
        let mut decoder = RowDecoder::new(&case.record, all.schema()).unwrap();
        for (row, datum) in case.datums.iter().enumerate() {
            decoder.decode(datum).unwrap();
            prop_assert_eq!(decoder.flush().unwrap(), all.slice(row, 1));
        }
    }

    #[test]
    fn a_row_cut_short_is_an_error(seed in any::<u64>(), at in any::<prop::sample::Index>()) {
        let case = Case::new(seed);
        for datum in case.datums.iter().filter(|datum| !datum.is_empty()) {
            let mut decoder = RowDecoder::new(&case.record, case.columns.clone()).unwrap();
            prop_assert!(decoder.decode(&datum[..at.index(datum.len())]).is_err());
            let mut decoder = RowDecoder::new(&case.record, case.columns.clone()).unwrap();
            prop_assert!(decoder.decode(&[datum.as_slice(), &[0]].concat()).is_err());
        }
    }

    #[test]
    fn a_damaged_row_is_an_error_or_a_row(seed in any::<u64>(), damage in any::<u64>()) {
        let case = Case::new(seed);
        let mut dice = Dice(damage);
        for datum in case.datums.iter().filter(|datum| !datum.is_empty()) {
            let mut damaged = datum.clone();
            for _ in 0..1 + dice.below(3) {
                let at = dice.below(damaged.len());
                damaged[at] = dice.next() as u8;
            }
            let mut decoder = RowDecoder::new(&case.record, case.columns.clone()).unwrap();
            if decoder.decode(&damaged).is_ok() && let Ok(batch) = decoder.flush() {
                prop_assert_eq!(batch.num_rows(), 1);
                prop_assert!(batch.get_array_memory_size() <= 16 * datum.len() + (1 << 20));
            }
        }
    }
}
