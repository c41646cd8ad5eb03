"""What a command answers, as a table for people or in a form for programs.

| form          | many rows                                   | one record                    |
|---------------|---------------------------------------------|-------------------------------|
| (none)        | a table, at most `SHOWN` rows of it         | two columns                   |
| `--json`      | an array, one row a line                    | one object                    |
| `--csv`       | a header, one row a line                    | header `name,value`           |
| `--arrow F`   | an Arrow IPC file, `-` for a stream on standard output          | the same      |

Data goes to standard output, all else to standard error.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import datetime
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hudini._optional import need
from hudini._values import FarTime
from hudini.progress import watching
from hudini.streams import ArrowRows, Rows

SHOWN = 1000

Json = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel="Output")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.", rich_help_panel="Output")]
Arrow = Annotated[
    str | None,
    typer.Option("--arrow", metavar="FILE", help="Write an Arrow IPC file; - for a stream.", rich_help_panel="Output"),
]


class Form:
    """Which form the caller asked for; at most one."""

    def __init__(self, as_json: bool, as_csv: bool, arrow: str | None) -> None:
        if as_json + as_csv + (arrow is not None) > 1:
            raise typer.BadParameter("--json, --csv and --arrow exclude each other")
        self.json, self.csv, self.arrow = as_json, as_csv, arrow


def show_rows(rows: Iterable[Mapping[str, Any]], columns: list[str], arrow: ArrowRows, form: Form) -> None:
    """Shows many rows. `arrow` is the same as an Arrow stream, for the form that wants types."""
    if form.arrow is not None:
        _write_arrow(arrow, form.arrow)
    elif form.json:
        write_lines(_json_array(rows))
    elif form.csv:
        write_lines(_csv_lines(columns, ([row[name] for name in columns] for row in rows)))
    else:
        _show_table(rows, columns)


def show_record(record: Mapping[str, Any], form: Form) -> None:
    """Shows one thing with named values."""
    if form.arrow is not None:
        pairs = [{"name": name, "value": plain_text(value)} for name, value in record.items()]
        _write_arrow(Rows(pairs, {"name": "string not null", "value": "string"}), form.arrow)
    elif form.json:
        write_lines([json.dumps(_json_value(record), ensure_ascii=False, indent=2)])
    elif form.csv:
        write_lines(_csv_lines(["name", "value"], record.items()))
    else:
        _write(record_text(record))


def note(text: str) -> None:
    """Says something to the person, not to the program."""
    print(text, file=sys.stderr)


def table_text(rows: Iterable[Mapping[str, Any]], columns: list[str]) -> str:
    """A table for people."""
    table = Table(header_style="bold")
    shown = list(rows)
    for name in columns:
        numbers = all(_is_number(row[name]) or row[name] is None for row in shown)
        table.add_column(name, justify="right" if numbers and shown else "left", overflow="fold")
    for row in shown:
        table.add_row(*(Text(plain_text(row[name])) for name in columns))
    return _rendered(table)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, FarTime)


def record_text(record: Mapping[str, Any]) -> str:
    """Named values for people."""
    grid = Table.grid(padding=(0, 2))
    for name, value in record.items():
        grid.add_row(Text(name, style="bold"), Text(plain_text(value)))
    return _rendered(grid)


def plain_text(value: Any) -> str:
    """A value for people and CSV."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return format(value, ".6g") if math.isfinite(value) and abs(value) < 1e-4 else repr(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    if isinstance(value, (list, Mapping)):
        return json.dumps(_json_value(value), ensure_ascii=False)
    return str(value)


def _show_table(rows: Iterable[Mapping[str, Any]], columns: list[str]) -> None:
    shown: list[Mapping[str, Any]] = []
    more = False
    for row in rows:
        more = len(shown) == SHOWN
        if more:
            break
        shown.append(row)
    _write(table_text(shown, columns))
    note(f"the first {SHOWN} rows; --json, --csv and --arrow give all" if more else counted(len(shown), "row"))


def counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _rendered(renderable: Any) -> str:
    """As text: rich would end the program by itself when the reader closes the pipe."""
    terminal = sys.stdout.isatty()
    # A file or a pipe has no width: nothing is folded or cut there.
    target = Console(file=io.StringIO(), force_terminal=terminal, width=None if terminal else 10_000)
    target.print(renderable, crop=False)
    text = target.file.getvalue()  # type: ignore[attr-defined]
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


@contextlib.contextmanager
def _output() -> Iterator[TextIO]:
    """Standard output, whose reader may leave when it has seen enough: that ends the command, and is no error."""
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left in the buffer would fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


def _write(text: str) -> None:
    with _output() as out:
        out.write(text)


def write_lines(lines: Iterable[str]) -> None:
    """Writes lines as they come."""
    with _output() as out:
        for line in lines:
            out.write(line + "\n")


def _json_array(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    before: str | None = None
    for row in rows:
        yield "[" if before is None else before + ","
        before = json.dumps(_json_value(row), ensure_ascii=False)
    if before is None:
        yield "[]"
    else:
        yield before
        yield "]"


def _json_value(value: Any) -> Any:
    """JSON's values; what JSON can't say exactly becomes text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or (isinstance(value, (str, int, float)) and not isinstance(value, FarTime)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)


def _csv_lines(header: list[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    writer.writerow(header)
    yield buffer.getvalue()
    for values in rows:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([repr(value) if isinstance(value, float) else plain_text(value) for value in values])
        yield buffer.getvalue()


def _write_arrow(rows: ArrowRows, target: str) -> None:
    ipc = need("pyarrow.ipc", "--arrow")
    if target == "-":
        reader = rows.reader()
        with _output() as out, ipc.new_stream(out.buffer, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        return
    count = 0
    with watching(True) as listener:
        reader = rows._reader(listener)
        with ipc.new_file(target, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
                count += batch.num_rows
    note(f"{counted(count, 'row')} written to {target}")
