//! Positions, bloom filters, properties, definitions of indexes, bucket rings, schema-on-read.

use hudini_format::bloom::BloomFilter;
use hudini_format::hash::{Node, PartitionBuckets, Ring, RingFile};
use hudini_format::positions::Positions;
use hudini_format::properties::{
    IndexDefinition, IndexDefinitions, PARTITION_METADATA_FILE, PartitionMetadata, java_date,
};
use hudini_format::schema::on_read::{Column, History, Kind, TableSchema};
use hudini_format::schema::text::without_meta_columns;
use serde_json::{Map, Value, json};

use crate::folder::{Done, Folder};
use crate::rows::{INSTANT, SCHEMA};
use crate::table::{WRITTEN_AT, properties, put_properties};

pub(crate) fn write(folder: &mut Folder) -> Done {
    positions(folder)?;
    blooms(folder)?;
    table_properties(folder)?;
    partitions(folder)?;
    indexes(folder)?;
    rings(folder)?;
    partition_buckets(folder)?;
    schemas(folder)
}

fn positions(folder: &mut Folder) -> Done {
    let random = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let samples: [(&str, Vec<u64>); 8] = [
        ("empty", vec![]),
        ("zero", vec![0]),
        ("dense", (0..100_000).collect()),
        ("runs", (0..100_000).filter(|n| n % 1000 < 700).collect()),
        ("sparse", (0..2000).map(random).collect()),
        ("half", (0..200_000).filter(|n| random(*n) % 2 == 0).collect()),
        ("edges", vec![65_535, 65_536, u32::MAX.into(), 1 << 32, (1 << 32) + 65_536, i64::MAX.unsigned_abs()]),
        ("many_buckets", (0..50).map(|n| n << 31).collect()),
    ];
    for (sample, mut positions) in samples {
        let text = positions.iter().copied().collect::<Positions>().to_header();
        positions.sort_unstable();
        positions.dedup();
        folder.put("positions", sample, "header.txt", &text)?;
        folder.tell("positions", sample, json!({"positions": positions, "encoded_again": text}));
    }
    Ok(())
}

fn blooms(folder: &mut Folder) -> Done {
    let key = |n: usize| format!("{}{n}", ["", "key-", "größe:", "鍵,", "🔑 "][n % 5]);
    let samples: [(&str, BloomFilter, usize); 6] = [
        ("simple", BloomFilter::simple(500, 1e-3)?, 300),
        ("simple_empty", BloomFilter::simple(500, 1e-9)?, 0),
        ("simple_overfull", BloomFilter::simple(10, 0.1)?, 200),
        ("dynamic", BloomFilter::dynamic(60_000, 1e-9, 100_000)?, 100),
        ("dynamic_grown", BloomFilter::dynamic(40, 1e-2, 200)?, 150),
        ("dynamic_overfull", BloomFilter::dynamic(10, 0.1, 30)?, 300),
    ];
    for (sample, mut filter, keys) in samples {
        (0..keys).for_each(|n| filter.add(&key(n)));
        // Some that were added, some that were not, of which a full filter claims a part.
        let asked: Vec<String> = (0..keys).step_by(7).chain(1000..1100).map(key).collect();
        let answers: Vec<bool> = asked.iter().map(|key| filter.contains(key)).collect();
        let added = keys.div_ceil(7);
        if !answers[..added].iter().all(|answer| *answer) {
            return Err("a filter denies a key".into());
        }
        folder.put("bloom", sample, "filter.txt", filter.to_text())?;
        folder.put("bloom", sample, "type.txt", filter.kind().code())?;
        folder.put("bloom", sample, "keys.json", json!(asked).to_string())?;
        folder.tell("bloom", sample, json!({"answers": answers, "written_again": filter.to_text()}));
    }
    Ok(())
}

fn table_properties(folder: &mut Folder) -> Done {
    let awkward = [
        ("hoodie.database.name", "Datenbank µ"),
        ("hoodie.table.recordkey.fields", "id,größe"),
        ("hoodie.table.create.schema", SCHEMA),
        ("a key: with = signs#!", " leading and trailing \t\r\n\x0c"),
        ("\\back\\slash", "C:\\new\\u0041"),
        ("🔑", "é\u{7f}\u{80}\u{0}"),
        ("empty", ""),
        ("# no comment", "!no comment"),
    ];
    for (sample, more) in [("least", &awkward[..0]), ("awkward", &awkward[..])] {
        put_properties(folder, "properties", sample, more)?;
        let told: Map<String, Value> =
            properties(more).iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        folder.tell("properties", sample, json!({"properties": told, "is_checksum_right": true}));
    }
    Ok(())
}

fn partitions(folder: &mut Folder) -> Done {
    for (sample, partition) in [("none", ""), ("one_level", "Zürich"), ("deep", "a=1/b=ü ö/c=3")] {
        let metadata = PartitionMetadata::new(INSTANT, partition);
        folder.put("partition", sample, PARTITION_METADATA_FILE, metadata.to_bytes(&java_date(WRITTEN_AT)))?;
        let depth = partition.split('/').filter(|level| !level.is_empty()).count();
        folder.tell("partition", sample, json!({"commit_time": INSTANT, "depth": depth}));
    }
    Ok(())
}

fn indexes(folder: &mut Folder) -> Done {
    let definition = |name: &str, kind: &str, function: &str, field: &str, version: Option<&str>| IndexDefinition {
        index_name: name.to_owned(),
        index_type: kind.to_owned(),
        index_function: function.to_owned(),
        source_fields: vec![field.to_owned()],
        index_options: [("format".to_owned(), json!("yyyy \"µ\""))].into_iter().collect(),
        version: version.map(str::to_owned),
    };
    let mut definitions = IndexDefinitions::default();
    let secondary = definition("secondary_index_größe", "secondary_index", "identity", "größe", Some("V2"));
    let expression = definition("expr_index_day", "column_stats", "from_unixtime", "a.b", Some("V1"));
    definitions.set("secondary_index_größe", secondary.clone());
    definitions.set("expr_index_day", expression.clone());
    folder.put("indexes", "two", "index.json", definitions.encode()?)?;
    folder.tell("indexes", "two", json!({"secondary_index_größe": secondary, "expr_index_day": expression}));
    folder.put("indexes", "none", "index.json", IndexDefinitions::default().encode()?)?;
    folder.tell("indexes", "none", json!({}));
    Ok(())
}

fn rings(folder: &mut Folder) -> Done {
    let first = RingFile::first("city=Zürich/day=1", 7);
    let one = RingFile::first("", 1);
    let ring = Ring::new(&first, &[])?;
    let prefixes =
        ["11111111-1111-1111-1111-111111111111".to_owned(), "22222222-2222-2222-2222-222222222222".to_owned()];
    let split = ring.split(first.nodes[2].value, prefixes)?.ok_or("a wide bucket")?;
    let merged =
        ring.merge(&[first.nodes[4].value, first.nodes[5].value], "33333333-3333-3333-3333-333333333333".to_owned())?;
    let children: Vec<Node> = split.into_iter().chain(merged).collect();
    let resized = first.resized(INSTANT, &children)?;
    ring_file(folder, "first", &first, &[])?;
    ring_file(folder, "one_bucket", &one, &[])?;
    ring_file(folder, "resizing", &first, &children)?;
    ring_file(folder, "resized", &resized, &[])
}

/// The ring, the child nodes of a clustering under way, and which bucket keys belong to.
fn ring_file(folder: &mut Folder, sample: &str, file: &RingFile, children: &[Node]) -> Done {
    let keys: Vec<String> = (0..60).map(|n| format!("{}{n}", ["key-", "größe", "鍵", "🔑"][n % 4])).collect();
    let composed: Vec<String> = keys.iter().map(|key| format!("id:{key},ts:__null__,größe:{key}")).collect();
    let fields = ["größe", "ts"];
    let ring = Ring::new(file, children)?;
    let bucket = |key: &String, fields: &[&str]| ring.bucket_of_key(key, fields).map(|node| json!(node));
    let buckets: Vec<_> = keys.iter().map(|key| bucket(key, &["id"])).collect();
    let of_composed: Vec<_> = composed.iter().map(|key| bucket(key, &fields)).collect();
    folder.put("ring", sample, "ring.hashing_meta", file.encode()?)?;
    folder.put("ring", sample, "children.json", Node::encode_list(children)?)?;
    folder.put("ring", sample, "keys.json", json!([[keys, ["id"]], [composed, fields]]).to_string())?;
    folder.tell("ring", sample, json!({
        "version": file.version, "partition": file.partition_path, "instant": file.instant, "file": file.file_name(),
        "buckets": file.num_buckets, "sequence": file.seq_no, "nodes": file.nodes, "children": children,
        "buckets_of_keys": [buckets, of_composed],
    }));
    Ok(())
}

fn partition_buckets(folder: &mut Folder) -> Done {
    let file = PartitionBuckets {
        expressions: r#"city=Z.*\d{2},7;größe/"[a-z]",3"#.to_owned(),
        default_bucket_number: 11,
        rule: "regex".to_owned(),
        version: 1,
        instant: INSTANT.to_owned(),
    };
    folder.put("partition_buckets", "two_rules", "file.hashing_config", file.encode()?)?;
    folder.tell(
        "partition_buckets",
        "two_rules",
        json!({
            "expressions": file.expressions, "default": file.default_bucket_number, "rule": file.rule,
            "version": file.version, "instant": file.instant, "file": file.file_name(),
        }),
    );
    Ok(())
}

fn schemas(folder: &mut Folder) -> Done {
    let first = TableSchema::first(READABLE_SCHEMA)?;
    let mut second = first.clone();
    second.version = Some(INSTANT.parse()?);
    second.columns.remove(1);
    second.columns[1].name = "größer".to_owned();
    second.columns[1].doc = Some("\"renamed\" \\ é".to_owned());
    second.columns.swap(0, 2);
    let added = second.max_column_id.ok_or("a table has columns")? + 1;
    let uuid = Column { id: added, name: "extra".to_owned(), optional: true, kind: Kind::Uuid, doc: None };
    second.columns.push(uuid);
    second.max_column_id = Some(added);
    let history = History { schemas: vec![second.clone(), first.clone()] };
    let of_all_types = TableSchema::first(&without_meta_columns(READABLE_SCHEMA)?)?;
    schema_history(folder, "one_version", &History { schemas: vec![of_all_types] })?;
    schema_history(folder, "two_versions", &history)
}

/// All types that Apache Hudi reads again after it wrote them.
const READABLE_SCHEMA: &str = r#"{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[
{"name":"id","type":"string"},{"name":"flag","type":["null","boolean"],"doc":"a \"flag\"","default":null},
{"name":"größe","type":["null","int"],"default":null},{"name":"count","type":["null","long"],"default":null},
{"name":"ratio","type":["null","float"],"default":null},{"name":"weight","type":["null","double"],"default":null},
{"name":"raw","type":["null","bytes"],"default":null},{"name":"code","type":["null",{"type":"fixed","name":"code","size":3}],"default":null},
{"name":"price","type":["null",{"type":"fixed","name":"fixed","namespace":"hoodie.trips.trips_record.price","size":5,"logicalType":"decimal","precision":10,"scale":2}],"default":null},
{"name":"amount","type":["null",{"type":"bytes","logicalType":"decimal","precision":38,"scale":18}],"default":null},
{"name":"day","type":["null",{"type":"int","logicalType":"date"}],"default":null},
{"name":"at_time","type":["null",{"type":"long","logicalType":"time-micros"}],"default":null},
{"name":"at","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},
{"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null},
{"name":"counts","type":["null",{"type":"map","values":["null","long"]}],"default":null},
{"name":"place","type":["null",{"type":"record","name":"place","namespace":"hoodie.trips.trips_record","fields":[
{"name":"city","type":["null","string"],"default":null},{"name":"path","type":["null",{"type":"array","items":["null","double"]}],"default":null}]}],"default":null}]}"#;

fn schema_history(folder: &mut Folder, sample: &str, history: &History) -> Done {
    let text = history.encode();
    folder.put("schema_on_read", sample, "history.json", &text)?;
    let version = |schema: &TableSchema| -> Done<Value> {
        let ids =
            |columns: &[Column]| columns.iter().map(|c| json!([c.id, c.name, c.optional, c.doc])).collect::<Vec<_>>();
        Ok(json!({
            "version": schema.version, "max_id": schema.max_column_id, "columns": ids(&schema.columns),
            "avro": serde_json::from_str::<Value>(&schema.to_avro("hoodie.trips.trips_record")?)?, "text": schema.encode(),
        }))
    };
    let versions = history.schemas.iter().map(version).collect::<Done<Vec<_>>>()?;
    folder.tell("schema_on_read", sample, json!({"schemas": versions, "written_again": text}));
    Ok(())
}
