"""Ways in which a log file breaks. A damage takes the log files of a file slice, oldest first, and gives what is left.

A block is `#HUDI#`, its length (8 bytes, big-endian, of all that follows), a version and a type (4 bytes each), a
header (number of entries; each a 4-byte key, a 4-byte length and text), content behind its 8-byte length, a footer like
the header, and the length once more, which counts the magic too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

MAGIC = b"#HUDI#"
LENGTH = slice(len(MAGIC), len(MAGIC) + 8)
VERSION = slice(LENGTH.stop, LENGTH.stop + 4)
FIRST_KEY = slice(VERSION.stop + 8, VERSION.stop + 12)
GARBAGE = bytes(range(1, 48))

Damage = Callable[[list[bytes]], list[bytes]]


def put(block: bytes, where: slice, value: bytes) -> bytes:
    return block[: where.start] + value + block[where.stop :]


def last(change: Callable[[bytes], bytes]) -> Damage:
    """The damage that changes only the newest file."""
    return lambda files: [*files[:-1], change(files[-1])]


def middle(change: Callable[[bytes], bytes]) -> Damage:
    """The damage that changes only the file before the newest."""
    return lambda files: [*files[:-2], change(files[-2]), files[-1]]


def longer(by: int) -> Callable[[bytes], bytes]:
    """A block whose first length is wrong by so many bytes."""
    return lambda block: put(block, LENGTH, struct.pack(">q", struct.unpack(">q", block[LENGTH])[0] + by))


def joined(between: bytes = b"", first: Callable[[bytes], bytes] = bytes) -> Damage:
    """All blocks in one file, the oldest, with something after the first of them. The others are there, and empty."""
    return lambda files: [first(files[0]) + between + b"".join(files[1:]), *([b""] * (len(files) - 1))]


# What Apache Hudi reads past, one way or the other. Each plays in a partition of its own.
TOLERATED: dict[str, Damage] = {
    "cut_content": last(lambda block: block[:-40]),
    "cut_header": last(lambda block: block[: FIRST_KEY.stop + 6]),
    "cut_last_byte": last(lambda block: block[:-1]),
    "cut_after_length": last(lambda block: block[: LENGTH.stop]),
    "empty_file": last(lambda block: b""),
    "empty_middle": middle(lambda block: b""),
    "far_length": middle(longer(1 << 40)),
    "long_length": middle(longer(3)),
    "short_length": middle(longer(-5)),
    "wrong_trailer": middle(lambda block: block[:-8] + struct.pack(">q", 77)),
    "garbage_after": last(lambda block: block + GARBAGE),
    "garbage_between": joined(GARBAGE),
    "zeros_between": joined(bytes(64)),
    "torn_then_good": joined(first=lambda block: block[:-25]),
    "torn_in_header_then_good": joined(first=lambda block: block[: FIRST_KEY.stop + 6]),
    "together": joined(),
    "twice": last(lambda block: block + block),
    "negative_length": middle(lambda block: put(block, LENGTH, struct.pack(">q", -1))),
    "cut_in_magic": last(lambda block: block[:3]),
    "only_magic": last(lambda block: block[: len(MAGIC)]),
    "cut_in_length": last(lambda block: block[: LENGTH.start + 4]),
    "magic_inside_garbage": joined(GARBAGE + MAGIC + GARBAGE),
}

# What it refuses, and the class of error that is due for it.
REFUSED: dict[str, tuple[Damage, str]] = {
    "unknown_header_key": (last(lambda block: put(block, FIRST_KEY, struct.pack(">i", 99))), "UnsupportedFeature"),
    "unknown_log_version": (last(lambda block: put(block, VERSION, struct.pack(">i", 9))), "UnsupportedFeature"),
    "no_magic": (last(lambda block: GARBAGE + block), "CorruptFile"),
}
