"""Every key generator, with and without meta columns, and tables that drop their partition columns."""

from __future__ import annotations

from ..case import scene
from ..table import WRITE, Table

V6, V8, V9 = "0.15.0", "1.0.2", "1.2.0"
KEYGEN = "org.apache.hudi.keygen."
TIME = "hoodie.keygen.timebased."
# 0.15 knows the settings of its timestamp key generator under older names only.
OLD_TIME = "hoodie.deltastreamer.keygen.timebased."
VIRTUAL = {"hoodie.populate.meta.fields": "false"}


def generator(name: str, key: str, partition: str) -> dict[str, str]:
    return {
        WRITE + "keygenerator.class": KEYGEN + name,
        WRITE + "recordkey.field": key,
        WRITE + "partitionpath.field": partition,
    }


def timestamps(t: Table, **settings: str) -> dict[str, str]:
    prefix = OLD_TIME if t.release == V6 else TIME
    return {prefix + key.replace("_", "."): value for key, value in settings.items()}


def rounds(t: Table, row, schema: str, delete: bool = True) -> None:
    """An insert, an upsert of some rows and a delete of others; `row(n, ts, tag)` makes a row."""
    t.write([row(n, 1, "a") for n in range(24)], "insert", schema=schema)
    t.write([row(n, 2, "b") for n in range(0, 24, 3)], schema=schema)
    if delete:
        t.write([row(n, 3, "d") for n in range(1, 24, 8)], "delete", schema=schema)
    t.ask("snapshot")


@scene(
    "mor_timestamp_keygen_millis",
    [V6, V9],
    "mor timestamp_keygen EPOCHMILLISECONDS nested_folders",
    "Partitions by the day of a time in milliseconds, as folders inside folders (yyyy/MM/dd), also before 1970.",
)
def mor_timestamp_keygen_millis(t: Table) -> None:
    t.begin("mor", options=generator("TimestampBasedKeyGenerator", "id", "ev"))
    t.options |= timestamps(t, timestamp_type="EPOCHMILLISECONDS", output_dateformat="yyyy/MM/dd", timezone="UTC")
    day = 86_400_000
    rounds(
        t,
        lambda n, ts, tag: (f"k{n:03d}", f"{tag}{n}", ts, (n % 4 - 1) * day + 1_700_000_000_000 * (n % 2)),
        "id string, name string, ts bigint, ev bigint",
    )


@scene(
    "cow_timestamp_keygen_unix",
    [V9],
    "cow timestamp_keygen UNIX_TIMESTAMP hive_style_partitioning timezone",
    "Partitions by the hour of a time in seconds, in the time zone of New York, hive style.",
)
def cow_timestamp_keygen_unix(t: Table) -> None:
    hive = {WRITE + "hive_style_partitioning": "true"}
    t.begin("cow", options=generator("TimestampBasedKeyGenerator", "id", "ev") | hive)
    t.options |= timestamps(
        t, timestamp_type="UNIX_TIMESTAMP", output_dateformat="yyyy-MM-dd-HH", timezone="America/New_York"
    )
    rounds(
        t,
        lambda n, ts, tag: (f"k{n:03d}", f"{tag}{n}", ts, 1_709_000_000 + (n % 3) * 3600),
        "id string, name string, ts bigint, ev bigint",
    )


@scene(
    "cow_timestamp_keygen_scalar",
    [V9],
    "cow timestamp_keygen SCALAR",
    "Partitions by the month of a count of days (SCALAR with the unit DAYS).",
)
def cow_timestamp_keygen_scalar(t: Table) -> None:
    t.begin("cow", options=generator("TimestampBasedKeyGenerator", "id", "ev"))
    t.options |= timestamps(t, timestamp_type="SCALAR", output_dateformat="yyyyMM", timezone="UTC")
    t.options[TIME + "timestamp.scalar.time.unit"] = "DAYS"
    rounds(
        t,
        lambda n, ts, tag: (f"k{n:03d}", f"{tag}{n}", ts, 19_700 + 31 * (n % 3)),
        "id string, name string, ts bigint, ev bigint",
    )


@scene(
    "cow_timestamp_keygen_datestring_formats",
    [V6, V9],
    "cow timestamp_keygen DATE_STRING several_input_formats",
    "Partitions by the day of a text in one of two formats, with an offset from UTC in one of them.",
)
def cow_timestamp_keygen_datestring_formats(t: Table) -> None:
    t.begin("cow", options=generator("TimestampBasedKeyGenerator", "id", "ev"))
    t.options |= timestamps(
        t,
        timestamp_type="DATE_STRING",
        input_dateformat="yyyy-MM-dd'T'HH:mm:ssZ,yyyyMMdd",
        output_dateformat="yyyy-MM-dd",
        timezone="UTC",
    )
    prefix = OLD_TIME if t.release == V6 else TIME
    t.options[prefix + "input.dateformat.list.delimiter.regex"] = ","
    words = ["2024-02-29T23:30:00-0500", "20240301", "2024-03-01T00:00:00Z"]
    rounds(
        t,
        lambda n, ts, tag: (f"k{n:03d}", f"{tag}{n}", ts, words[n % 3]),
        "id string, name string, ts bigint, ev string",
    )


@scene(
    "mor_custom_keygen",
    [V6, V9],
    "mor custom_keygen complex_key hive_style_partitioning",
    "CustomKeyGenerator: two key fields, partitions by city (simple) and ev (milliseconds to yyyyMMdd), hive style.",
)
def mor_custom_keygen(t: Table) -> None:
    t.begin("mor", options=generator("CustomKeyGenerator", "id,no", "city:simple,ev:timestamp"))
    t.options |= {WRITE + "hive_style_partitioning": "true"}
    t.options |= timestamps(t, timestamp_type="EPOCHMILLISECONDS", output_dateformat="yyyyMMdd", timezone="UTC")
    rounds(
        t,
        lambda n, ts, tag: (
            f"k{n % 5}",
            n,
            f"{tag}{n}",
            ts,
            ("sf", "la")[n % 2],
            1_700_000_000_000 + n % 3 * 90_000_000,
        ),
        "id string, no int, name string, ts bigint, city string, ev bigint",
    )


@scene(
    "cow_custom_keygen_nonpartitioned",
    [V9],
    "cow custom_keygen nonpartitioned",
    "CustomKeyGenerator without a partition field.",
)
def cow_custom_keygen_nonpartitioned(t: Table) -> None:
    t.begin("cow", options=generator("CustomKeyGenerator", "id", ""))
    rounds(t, lambda n, ts, tag: (f"k{n:03d}", f"{tag}{n}", ts), "id string, name string, ts bigint")


@scene(
    "mor_complex_keygen_multi_partition",
    [V8, V9],
    "mor complex_key multi_field_partition key_types",
    "ComplexKeyGenerator with keys of int and date, partitions by an int, a boolean and a date.",
)
def mor_complex_keygen_multi_partition(t: Table) -> None:
    import datetime as dt

    t.begin("mor", options=generator("ComplexKeyGenerator", "kd,ki", "yr,flag,dy"))
    first = dt.date(1969, 12, 30)
    rounds(
        t,
        lambda n, ts, tag: (
            first + dt.timedelta(days=n),
            n - 5,
            f"{tag}{n}",
            ts,
            2020 + n % 2,
            n % 3 == 0,
            first + dt.timedelta(days=n % 2 * 400),
        ),
        "kd date, ki int, name string, ts bigint, yr int, flag boolean, dy date",
    )


@scene(
    "cow_global_delete_keygen",
    [V9],
    "cow global_delete_keygen complex_key nonpartitioned",
    "GlobalDeleteKeyGenerator with two key fields: no row has a partition, whatever its columns say.",
)
def cow_global_delete_keygen(t: Table) -> None:
    t.begin("cow", options=generator("GlobalDeleteKeyGenerator", "id,no", ""))
    rounds(
        t,
        lambda n, ts, tag: (f"k{n % 5}", n, f"{tag}{n}", ts, ("sf", "la")[n % 2]),
        "id string, no int, name string, ts bigint, city string",
    )


@scene(
    "mor_global_index",
    [V9],
    "mor global_simple_index partition_change",
    "A global index: rows deleted by key alone, and rows that an update moved to another partition.",
)
def mor_global_index(t: Table) -> None:
    t.begin("mor", options={"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"})
    t.insert(range(24))
    t.write([(f"k{n:05d}", f"moved{n}", 1.0, 2, "oslo") for n in range(0, 24, 5)])
    t.write([(f"k{n:05d}", None, None, 3, "nowhere") for n in range(1, 24, 6)], "delete")
    t.ask_usual(incremental=False)


@scene(
    "mor_keyless",
    [V8, V9],
    "mor auto_generated_keys",
    "No record key field: keys are made by the writer; inserts, then SQL UPDATE and DELETE into logs.",
)
def mor_keyless(t: Table) -> None:
    t.begin("mor")
    for key in ("recordkey.field", "precombine.field"):
        t.options.pop(WRITE + key)
    t.insert(range(12))
    t.insert(range(8, 20), ts=2)
    with t.settings({"hoodie.compact.inline": "false"}):
        name = t.register()
        t.sql(f"update {name} set v = -1 where id = 'k00003'")
        t.sql(f"delete from {name} where id in ('k00005', 'k00009')")
    t.ask_usual(incremental=False, time_travel=False)


@scene(
    "cow_virtual_keys_complex",
    [V6, V9],
    "cow virtual_keys complex_key populate_meta_fields_false",
    "No meta columns, ComplexKeyGenerator with two key fields and a partition field.",
)
def cow_virtual_keys_complex(t: Table) -> None:
    t.begin("cow", options=generator("ComplexKeyGenerator", "id,no", "city") | VIRTUAL)
    virtual(t)


@scene(
    "cow_virtual_keys_nonpartitioned",
    [V9],
    "cow virtual_keys nonpartitioned populate_meta_fields_false",
    "No meta columns and no partitions.",
)
def cow_virtual_keys_nonpartitioned(t: Table) -> None:
    t.begin("cow", partitioned=False, options=VIRTUAL)
    virtual(t)


@scene(
    "mor_virtual_keys",
    [V8],
    "mor virtual_keys nonpartitioned populate_meta_fields_false",
    "A merge-on-read table without meta columns, one key field, with updates and deletes in logs.",
)
def mor_virtual_keys(t: Table) -> None:
    t.begin("mor", partitioned=False, options=VIRTUAL)
    virtual(t)


def virtual(t: Table) -> None:
    rounds(
        t,
        lambda n, ts, tag: (
            f"k{n:03d}",
            n,
            f"{tag}{n}",
            ts,
            ("sf", "la")[n % 2],
            1_700_000_000_000 + n % 2 * 90_000_000,
        ),
        "id string, no int, name string, ts bigint, city string, ev bigint",
    )


@scene(
    "mor_drop_partition_columns",
    [V9],
    "mor drop_partition_columns hive_style_partitioning",
    "Drop of partition columns on a merge-on-read table: base files and logs lack the column.",
)
def mor_drop_partition_columns(t: Table) -> None:
    t.begin("mor", options={WRITE + "drop.partition.columns": "true", WRITE + "hive_style_partitioning": "true"})
    t.insert(range(24))
    t.upsert(range(0, 24, 3), ts=2)
    t.ask("snapshot")
    t.ask("by_partition", filter="city = 'ny'")
