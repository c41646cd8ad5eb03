"""What a writing job says about a table that is not there yet, in Apache Hudi's own option names."""

from __future__ import annotations

from typing import Any

RETRIES = "hoodie.write.num.retries.on.conflict.failures"

_LISTS = {
    "record_key": ("hoodie.datasource.write.recordkey.field", "hoodie.table.recordkey.fields"),
    "ordering": (
        "hoodie.datasource.write.precombine.field",
        "hoodie.table.ordering.fields",
        "hoodie.table.precombine.field",
    ),
    "partition_by": ("hoodie.datasource.write.partitionpath.field", "hoodie.table.partition.fields"),
}
_TEXTS = {
    "name": ("hoodie.table.name", "hoodie.datasource.write.table.name"),
    "merge_mode": ("hoodie.write.record.merge.mode", "hoodie.record.merge.mode"),
    "key_generator": ("hoodie.datasource.write.keygenerator.type", "hoodie.table.keygenerator.type"),
}
_TABLE_TYPE = ("hoodie.datasource.write.table.type", "hoodie.table.type")
_TABLE_VERSION = ("hoodie.write.table.version", "hoodie.table.version")
_TABLE_TYPES = {"COPY_ON_WRITE": "cow", "MERGE_ON_READ": "mor"}
_ARGUMENTS = {*_LISTS, *_TEXTS, "table_type", "table_version", "storage_options"}


def create_arguments(options: dict[str, str], more: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of `hudini.create` that `options` and keywords hold, and all options."""
    create = {name: value for name, value in more.items() if name in _ARGUMENTS}
    rest = options | {name: value for name, value in more.items() if name not in _ARGUMENTS}
    for name, keys in _LISTS.items():
        text = _first(rest, keys)
        if text is not None:
            create.setdefault(name, [part.strip() for part in text.split(",") if part.strip()])
    for name, keys in _TEXTS.items():
        text = _first(rest, keys)
        if text is not None:
            create.setdefault(name, text)
    table_type = _first(rest, _TABLE_TYPE)
    if table_type is not None:
        create.setdefault("table_type", _TABLE_TYPES.get(table_type.upper(), table_type))
    table_version = _first(rest, _TABLE_VERSION)
    if table_version is not None and table_version.isdecimal():
        create.setdefault("table_version", int(table_version))
    return create, rest


def _first(options: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((str(options[key]) for key in keys if key in options), None)
