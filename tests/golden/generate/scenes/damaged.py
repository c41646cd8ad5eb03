"""Log files broken by `damage`: what Apache Hudi makes of each is the answer."""

from __future__ import annotations

from .. import damage
from ..case import scene
from ..table import Table

V6, V8, V9 = "0.15.0", "1.0.2", "1.2.0"


def three_logs(t: Table, partitions: list[str]) -> None:
    """Each partition: one base file of eight rows and three logs. Without a metadata table, which knows sizes."""
    t.options["hoodie.metadata.enable"] = "false"
    t.begin("mor")

    def rows(numbers, ts):
        return [(f"{city}-{n}", f"r{ts}-{n}", 1.0 * n, ts, city) for city in partitions for n in numbers]

    t.write(rows(range(8), 1), "insert")
    for ts in (2, 3, 4):
        t.write(rows(range(0, 8, ts), ts))


def break_logs(t: Table, damages: dict[str, damage.Damage]) -> None:
    """Breaks the logs of each partition in the way that its name says."""
    for city, change in damages.items():
        logs = t.files(f"{city}/.*.log.*")
        assert len(logs) == 3, logs
        left = change([log.read_bytes() for log in logs])
        for log, content in zip(logs, left, strict=False):
            t.rewrite(log, content)
        for log in logs[len(left) :]:
            t.remove(log)


@scene(
    "mor_log_damages",
    [V6, V8, V9],
    "mor damaged_log",
    "22 ways in which a log breaks and that a reader must get past, each in a partition named after it.",
)
def mor_log_damages(t: Table) -> None:
    three_logs(t, list(damage.TOLERATED))
    break_logs(t, damage.TOLERATED)
    t.ask("snapshot")


def refused(name: str) -> None:
    """A table with one log that a reader must refuse."""

    @scene(
        f"mor_log_{name}",
        [V9],
        "mor damaged_log refusal",
        f"The damage {name} (generate/damage.py) in one log of three.",
    )
    def play(t: Table) -> None:
        change, error = damage.REFUSED[name]
        three_logs(t, [name])
        break_logs(t, {name: change})
        t.ask("snapshot", error=error)


for name in damage.REFUSED:
    refused(name)
