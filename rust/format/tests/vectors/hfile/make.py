"""Writes the HFiles beside this script with the HBase classes inside Apache Hudi 0.15.0.

    python make.py hudi-spark3.5-bundle_2.12-0.15.0.jar

Needs PySpark 3.5. Bzip2 and Zstandard are not among the files: Hadoop writes them only with its native libraries.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

HBASE = "org.apache.hudi.org.apache.hadoop.hbase."
HERE = Path(__file__).resolve().parent

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.driver.extraClassPath", sys.argv[1])
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
jvm = spark._jvm
hbase = jvm.org.apache.hudi.org.apache.hadoop.hbase


def constant(enum: str, name: str) -> object:
    return next(c for c in jvm.java.lang.Class.forName(HBASE + enum).getEnumConstants() if c.toString() == name)


def write(name: str, codec: str, rows: list[tuple[bytes, bytes]], block: int, **settings: str) -> None:
    conf = jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    for key, value in settings.items():
        conf.set(key.replace("_", "."), value)
    builder = hbase.io.hfile.HFileContextBuilder().withBlockSize(block)
    builder = builder.withCompression(constant("io.compress.Compression$Algorithm", codec))
    context = builder.withCellComparator(jvm.org.apache.hudi.io.storage.HoodieHBaseKVComparator()).build()
    path = jvm.org.apache.hadoop.fs.Path(f"file://{HERE / name}.hfile")
    fs = path.getFileSystem(conf)
    factory = hbase.io.hfile.HFile.getWriterFactory(conf, hbase.io.hfile.CacheConfig(conf))
    writer = factory.withPath(fs, path).withFileContext(context).create()
    put, none = constant("KeyValue$Type", "Put"), bytearray()
    for key, value in rows:
        writer.append(hbase.KeyValue(bytearray(key), none, none, 0x7FFFFFFFFFFFFFFF, put, bytearray(value)))
    writer.appendFileInfo(bytearray(b"schema"), bytearray(b'"bytes"'))
    writer.close()


few = [(b"key-%05d" % i, b"v%d" % i) for i in range(5)]
some = [(b"key-%05d" % i, (b"value %d " % i) * (i % 7)) for i in range(60)]
large = [(b"k", b"abc" * 100_000)]

write("none", "NONE", few, 1 << 20)
write("empty", "NONE", [], 1 << 20)
for codec in ["GZ", "SNAPPY", "LZ4"]:
    write(codec.lower(), codec, some, 1000)
for codec in ["SNAPPY", "LZ4"]:
    write(f"{codec.lower()}-big", codec, large, 4096)
many = [(b"key-%05d" % i, b"v%d" % i) for i in range(260)]
write("deep", "GZ", many, 64, hfile_index_block_max_size="256", hfile_index_block_min_entries="4")
spark.stop()
