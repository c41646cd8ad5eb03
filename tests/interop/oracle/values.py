"""Values of Java as plain JSON. What JSON lacks: bytes are text in hex, decimals are text, dates and times count from
their beginning."""

import base64
import json
import struct
import zlib
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext

EPOCH = datetime(1970, 1, 1)


def row_of(record):
    """An Avro record of Java: what its JSON text says, by its schema."""
    schema, names = json.loads(record.getSchema().toString()), {}
    collect_names(schema, "", names)
    return plain(json.loads(record.toString()), schema, "", names)


def collect_names(schema, namespace, names):
    """Named types by full name; a value that is null does not lead to its type."""
    if isinstance(schema, list):
        for branch in schema:
            collect_names(branch, namespace, names)
    elif isinstance(schema, dict):
        if "name" in schema:
            namespace = schema.get("namespace", namespace)
            names[f"{namespace}.{schema['name']}"] = schema
        for part in ("type", "items", "values"):
            collect_names(schema.get(part), namespace, names)
        for field in schema.get("fields", ()):
            collect_names(field["type"], namespace, names)


def plain(value, schema, namespace, names):
    if value is None:
        return None
    if isinstance(schema, list):
        schema, *others = [branch for branch in schema if branch != "null"]
        if others:
            return value  # the text does not tell which it is
    if isinstance(schema, str):
        schema = names.get(schema if "." in schema else f"{namespace}.{schema}", {"type": schema})
    kind, namespace = schema["type"], schema.get("namespace", namespace)
    if kind == "record":
        return {f["name"]: plain(value[f["name"]], f["type"], namespace, names) for f in schema["fields"]}
    if kind == "array":
        return [plain(item, schema["items"], namespace, names) for item in value]
    if kind == "map":
        return {key: plain(item, schema["values"], namespace, names) for key, item in value.items()}
    if kind in ("bytes", "fixed"):
        content = value.encode("latin-1") if kind == "bytes" else bytes(byte & 0xFF for byte in value)
        return decimal(content, schema["scale"]) if schema.get("logicalType") == "decimal" else content.hex()
    if kind == "float" and not isinstance(value, str):
        return single(value)
    return value


def single(value):
    """The number of 32 bits that stands for this text of one."""
    return struct.unpack("f", struct.pack("f", value))[0]


def decimal(content, scale):
    with localcontext() as context:
        context.prec = 60
        return f"{Decimal(int.from_bytes(content, 'big', signed=True)).scaleb(-scale):f}"


def ordering_of(value):
    """A value of a delete block, by the class that Apache Hudi compares it as. JSON tells some classes by itself."""
    if value is None:
        return None
    if not isinstance(value, list):
        name = {bool: "Bool", int: "Int", Decimal: "Double", str: "String"}[type(value)]
        return {name: float(value) if name == "Double" else value}
    kind, value = value
    match kind:
        case "java.lang.Long":
            return {"Long": value}
        case "java.lang.Float":
            return {"Float": single(float(value))}
        case "java.nio.HeapByteBuffer":
            return {"Bytes": base64.b64decode(value).hex()}
        case "java.math.BigDecimal":
            sign, digits, exponent = Decimal(value).as_tuple()
            unscaled = int("".join(map(str, digits)))
            return {"Decimal": [str(-unscaled if sign else unscaled), -exponent]}
        case "java.sql.Date":
            return {"Date": (date.fromisoformat(value) - EPOCH.date()).days}
        case "java.sql.Timestamp":
            return {"TimestampMicros": (datetime.fromisoformat(value) - EPOCH) // timedelta(microseconds=1)}
        case "java.time.LocalDate":
            return {"LocalDate": (date(*value) - EPOCH.date()).days}
        case "org.apache.hudi.common.util.collection.ArrayComparable":
            _, values = value["values"]
            return {"Array": [ordering_of(item) for item in values]}
    return {kind: value}


def bytes_of(buffer):
    """What is left of a ByteBuffer."""
    start = buffer.arrayOffset() + buffer.position()
    return buffer.array()[start : start + buffer.remaining()]


def checksum(content):
    return [len(content), zlib.crc32(content)]
