"""What a caller says of a new table, held against one that is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hudini import _core
from hudini._arguments import SMALL, name_list, whole_number
from hudini.errors import InvalidOption

if TYPE_CHECKING:
    from hudini.table import Table

# Two names of one option: the core knows which of its words mean the same, and takes both names if they do.
_WORDS = {
    "table_type": ("hoodie.datasource.write.table.type", "hoodie.table.type"),
    "merge_mode": ("hoodie.write.record.merge.mode", "hoodie.record.merge.mode"),
    "key_generator": ("hoodie.datasource.write.keygenerator.type", "hoodie.table.keygenerator.type"),
}


def check_same(table: Table, wishes: Mapping[str, Any]) -> None:
    """Refuses arguments of `hudini.create` that say another thing of the table than the table does.

    Whoever gives them expects them to hold. Those that say nothing are passed over, and so are those of no property.
    """
    for argument in ("record_key", "ordering", "partition_by"):
        told = name_list(wishes.get(argument), argument)
        stored: list[str] = getattr(table, argument) if told else []
        if told != stored:
            raise _another(table, argument, ",".join(told), ",".join(stored))
    name = wishes.get("name")
    if name is not None and name != table.name:
        raise _another(table, "name", name, table.name)
    version = whole_number(wishes.get("table_version"), "table_version", SMALL)
    if version is not None and version != table.version:
        raise _another(table, "table_version", version, table.version)
    for argument in _WORDS:
        word = wishes.get(argument)
        said = None if word is None else _stored_word(table, argument)
        if said is not None and not _mean_the_same(argument, said, word):
            raise _another(table, argument, word, said)


def _stored_word(table: Table, argument: str) -> str | None:
    if argument != "key_generator":
        word: str = getattr(table, argument)
        return word
    # A table need not say it, and then contradicts nobody.
    said = table.properties
    return said.get("hoodie.table.keygenerator.type") or said.get("hoodie.table.keygenerator.class")


def _mean_the_same(argument: str, stored: str, told: Any) -> bool:
    one, other = _WORDS[argument]
    try:
        _core.asked(None, {one: stored, other: str(told)}, False)
    except InvalidOption:
        return False
    return True


def _another(table: Table, argument: str, told: object, stored: object) -> InvalidOption:
    return InvalidOption(
        f"{argument} is '{told}', and '{stored}' in the table",
        path=table.path,
        hint="leave the argument out, or write to another path: a table keeps what it was created with",
    )
