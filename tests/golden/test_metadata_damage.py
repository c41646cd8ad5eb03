"""A file of the metadata table that is gone, or has lost its end, costs a warning and no row."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import hudini
from tests.support.compare import difference

from . import catalogue

Damage = Callable[[Path], object]


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def shortened(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


CONDITIONS = {
    "cow_core_v6": (None,),
    "mor_core_v8": (None,),
    "mor_record_index_v9": (None, "ts = 4"),
    "mor_metadata_all_indexes_v6": (None, "ts = 4", "id = 'k00101'"),
    "mor_metadata_all_indexes_v9": (None, "ts = 4", "id = 'k00101'"),
    "mor_secondary_index_v9": (None, "name = 'n1'"),
}


def data_files(table: Path) -> list[Path]:
    folders = (folder for folder in (table / ".hoodie" / "metadata").iterdir() if folder.name != ".hoodie")
    files = (file for folder in folders for file in folder.iterdir() if not file.name.endswith(".crc"))
    return sorted(file for file in files if file.suffix == ".hfile" or ".log." in file.name)


@pytest.mark.parametrize("damage", [Path.unlink, emptied, shortened])
@pytest.mark.parametrize("case", CONDITIONS)
def test_no_row_is_lost_with_a_file_of_the_metadata_table(case: str, damage: Damage, tmp_path: Path) -> None:
    path = catalogue.unpack(case, tmp_path)
    bypassed = hudini.open(path, options={"hoodie.metadata.enable": "false"})
    expected = {condition: bypassed.read(filter=condition).to_arrow() for condition in CONDITIONS[case]}
    warned = set()
    for file in data_files(path):
        whole = file.read_bytes()
        damage(file)
        for condition, rows in expected.items():
            scan = hudini.open(path).read(filter=condition)
            assert difference(scan.to_arrow(), rows) is None, (file, condition)
            if scan.explain()["warnings"]:
                warned.add(file.parent.name)
        file.write_bytes(whole)
    assert "files" in warned
    assert len(warned) >= min(2, len(expected)), "an index that is not whole was believed or not asked"


def test_a_table_whose_timeline_is_gone_is_not_empty(tmp_path: Path) -> None:
    path = catalogue.unpack("cow_core_v8", tmp_path)
    shutil.rmtree(path / ".hoodie" / "timeline")
    for read in (lambda table: table.read().to_arrow(), lambda table: table.history()):
        with pytest.raises(hudini.CorruptFile, match="the timeline is empty or gone") as gone:
            read(hudini.open(path))
        assert str(gone.value.path).endswith("timeline")
