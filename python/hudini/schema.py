"""Schemas as people write them, and as they see them.

Where hudini takes a schema it takes anything with `__arrow_c_schema__` (pyarrow, polars, nanoarrow), a table-like
object that has one, a dict of name to type, or a list of (name, type). A type is a string in Spark SQL's words:

    boolean  int  long  float  double  string  binary  date
    timestamp          an instant, in microseconds and UTC        timestamp_ntz   the same without a zone
    decimal(p,s)       array<t>                map<string,t>      struct<a:t, b:t>
    and ` not null` behind any of them

`int` is 32 bits wide, `long` 64; the names of Arrow (`int32`, `int64`, `float64`, `utf8`, `bool`, …) do as well. A new
table holds microseconds and binary of any length: `timestamp_ms`, `timestamp_ntz_ms` and `fixed(n)` are read too, and
become `timestamp`, `timestamp_ntz` and `binary` in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hudini import _html
from hudini._optional import is_instance, need
from hudini.errors import SchemaMismatch

if TYPE_CHECKING:
    import pyarrow


class Schema:
    """The columns of a table or of a result. Goes wherever Arrow takes a schema: `pyarrow.schema(table.schema)`."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_schema__(self) -> object:
        return self._source.__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Schema:
        """As a `pyarrow.Schema`."""
        return need("pyarrow", "looking into a schema").schema(self._source)

    @property
    def names(self) -> list[str]:
        """The column names, in order."""
        return list(self.to_arrow().names)

    def __iter__(self) -> Iterator[pyarrow.Field]:
        return iter(self.to_arrow())

    def __len__(self) -> int:
        return len(self.to_arrow())

    def __getitem__(self, key: int | str) -> pyarrow.Field:
        return self.to_arrow().field(key)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __eq__(self, other: object) -> bool:
        if not hasattr(other, "__arrow_c_schema__"):
            return NotImplemented
        return bool(self.to_arrow().equals(need("pyarrow", "comparing schemas").schema(other)))

    def __hash__(self) -> int:
        return hash(tuple(self.names))

    def __repr__(self) -> str:
        try:
            fields = list(self)
        except ModuleNotFoundError:
            return "Schema(install pyarrow to see the columns)"
        lines = "".join(f"\n  {f.name}: {f.type}{'' if f.nullable else ' not null'}" for f in fields)
        return f"Schema({lines}\n)"

    def _repr_html_(self) -> str:
        try:
            return _html.fields(self)
        except ModuleNotFoundError:
            return _html.titled(repr(self))


def as_schema(schema: Any) -> Any:
    """`schema` as an object with `__arrow_c_schema__`."""
    if hasattr(schema, "__arrow_c_schema__"):
        return schema
    if is_instance(schema, "pandas", "DataFrame"):
        return pandas_schema(schema)
    if hasattr(getattr(schema, "schema", None), "__arrow_c_schema__"):
        return schema.schema
    if isinstance(schema, Mapping):
        return _from_pairs(list(schema.items()))
    if isinstance(schema, (list, tuple)) and schema and all(isinstance(p, tuple) and len(p) == 2 for p in schema):
        return _from_pairs(list(schema))
    raise TypeError(
        "a schema is an object with __arrow_c_schema__ (such as pyarrow.Schema), a dict of name to type, "
        f"or a list of (name, type), not {type(schema).__name__}"
    )


def pandas_schema(frame: Any) -> pyarrow.Schema:
    """The schema that a DataFrame's columns have as Arrow, its index left out and nanoseconds as microseconds."""
    pyarrow = need("pyarrow", "taking a pandas DataFrame")
    return without_nanoseconds(pyarrow.Schema.from_pandas(frame, preserve_index=False).remove_metadata())


def without_nanoseconds(schema: pyarrow.Schema) -> pyarrow.Schema:
    """pandas holds nanoseconds whatever the source had; Hudi's tables hold microseconds."""
    pyarrow = need("pyarrow", "taking a pandas DataFrame")
    fields = []
    for field in schema:
        if pyarrow.types.is_timestamp(field.type) and field.type.unit == "ns":
            field = field.with_type(pyarrow.timestamp("us", tz=field.type.tz))
        fields.append(field)
    return pyarrow.schema(fields, metadata=schema.metadata)


def _from_pairs(pairs: list[tuple[Any, Any]]) -> pyarrow.Schema:
    pyarrow = need("pyarrow", "a schema made of names and types")
    fields = []
    for name, kind in pairs:
        if not isinstance(name, str):
            raise TypeError(f"a column name is a string, not {type(name).__name__}")
        if isinstance(kind, pyarrow.DataType):
            fields.append(pyarrow.field(name, kind))
        elif isinstance(kind, str):
            parsed, nullable = _TypeText(kind, name).whole()
            fields.append(pyarrow.field(name, parsed, nullable=nullable))
        else:
            raise TypeError(f"the type of column {name} is a string or a pyarrow type, not {type(kind).__name__}")
    return pyarrow.schema(fields)


_PLAIN = {
    **dict.fromkeys(("boolean", "bool"), "bool_"),
    **dict.fromkeys(("int", "integer", "int32"), "int32"),
    **dict.fromkeys(("long", "bigint", "int64"), "int64"),
    **dict.fromkeys(("float", "float32", "real"), "float32"),
    **dict.fromkeys(("double", "float64"), "float64"),
    **dict.fromkeys(("string", "utf8", "str"), "string"),
    **dict.fromkeys(("binary", "bytes"), "binary"),
    **dict.fromkeys(("date", "date32"), "date32"),
}
_TIMES = {
    **dict.fromkeys(("timestamp", "timestamp_us", "timestamp_ltz"), ("us", "UTC")),
    "timestamp_ms": ("ms", "UTC"),
    **dict.fromkeys(("timestamp_ntz", "timestamp_ntz_us"), ("us", None)),
    "timestamp_ntz_ms": ("ms", None),
}
_TOKEN = re.compile(r"\s*(`[^`]+`|[A-Za-z_0-9]+|[<>(),:])")


class _TypeText:
    """One type string, read from left to right."""

    def __init__(self, text: str, column: str) -> None:
        self.text = text
        self.column = column
        self.tokens: list[str] = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise self.wrong(f"unexpected {text[at:].strip()[0]!r}")
            self.tokens.append(match[1])
            at = match.end()
        self.arrow = need("pyarrow", "a schema made of names and types")

    def whole(self) -> tuple[pyarrow.DataType, bool]:
        kind = self.type()
        nullable = self.nullable()
        if self.tokens:
            raise self.wrong(f"unexpected {self.tokens[0]!r}")
        return kind, nullable

    def type(self) -> pyarrow.DataType:
        name = self.next().lower()
        if name in _PLAIN:
            return getattr(self.arrow, _PLAIN[name])()
        if name in _TIMES:
            unit, zone = _TIMES[name]
            return self.arrow.timestamp(unit, tz=zone)
        if name in ("decimal", "numeric"):
            precision, scale = self.numbers(2)
            return self.arrow.decimal128(precision, scale)
        if name == "fixed":
            return self.arrow.binary(*self.numbers(1))
        if name in ("array", "list"):
            self.expect("<")
            item = self.arrow.field("element", self.type(), nullable=self.nullable())
            self.expect(">")
            return self.arrow.list_(item)
        if name == "map":
            self.expect("<")
            key = self.type()
            self.expect(",")
            value = self.arrow.field("value", self.type(), nullable=self.nullable())
            self.expect(">")
            return self.arrow.map_(key, value)
        if name == "struct":
            return self.struct()
        raise self.wrong(f"unknown type {name!r}")

    def struct(self) -> pyarrow.DataType:
        self.expect("<")
        fields = []
        while True:
            name = self.next().strip("`")
            self.expect(":")
            fields.append(self.arrow.field(name, self.type(), nullable=self.nullable()))
            if self.next() == ">":
                return self.arrow.struct(fields)

    def nullable(self) -> bool:
        if [token.lower() for token in self.tokens[:2]] != ["not", "null"]:
            return True
        del self.tokens[:2]
        return False

    def numbers(self, count: int) -> list[int]:
        self.expect("(")
        found = []
        for position in range(count):
            if position:
                self.expect(",")
            token = self.next()
            if not token.isdecimal():
                raise self.wrong(f"{token!r} is no number")
            found.append(int(token))
        self.expect(")")
        return found

    def expect(self, wanted: str) -> None:
        token = self.next()
        if token != wanted:
            raise self.wrong(f"{token!r} where {wanted!r} was expected")

    def next(self) -> str:
        if not self.tokens:
            raise self.wrong("it ends too early")
        return self.tokens.pop(0)

    def wrong(self, what: str) -> SchemaMismatch:
        hint = "types are spelled as in Spark SQL: int, long, double, string, timestamp, decimal(10,2), array<int>, …"
        return SchemaMismatch(f"the type {self.text!r} of column {self.column} can't be read: {what}", hint=hint)
