"""A reader of the byte format, written from ``docs/format.md`` alone: no streameval, no numpy."""

import struct
import zlib
from datetime import datetime, timedelta, timezone
from typing import Any

KEYS, SUMS = (4, 3, 4, 2, 7, 3, 2), (3, 1, 6, 1, 3, 0, 0)  # columns of ranking tables; 0 means sums of any size


def read(data: bytes) -> dict[str, Any]:
    """Read the bytes of any holder, and check that no byte is left and that the checksums agree."""
    assert data[:7] == b"\x89SEV\r\n\x02", "magic and version"
    assert zlib.crc32(data[:-4]) == struct.unpack("<I", data[-4:])[0], "checksum"
    holder, reader = data[7], Reader(data[8:-4])
    contents = {48: reader.ledger, 49: reader.checkpoint, 64: reader.pending, 65: reader.trace}
    content = contents[holder]() if holder in contents else reader.counted(holder)
    assert reader.at == len(reader.data), "bytes left"
    return {"holder": holder, **content}


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.known = data, 0, {}

    def raw(self, size: int) -> bytes:
        assert size <= len(self.data) - self.at, "too short"
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self) -> int:
        return self.raw(1)[0]

    def varint(self) -> int:
        value, shift, part = 0, 0, 128
        while part & 128:
            part = self.byte()
            value, shift = value | (part & 127) << shift, shift + 7
        assert value < 2**64 and (part or shift == 7)  # noqa: PT018
        return value

    def many(self, form: Any) -> list[Any]:
        return [form() for _ in range(self.varint())]

    def zigzag(self) -> int:
        return (value := self.varint()) >> 1 ^ -(value & 1)

    def bytes(self) -> bytes:
        return self.raw(self.varint())

    def integer(self) -> int:
        raw = self.bytes()
        assert not raw or raw[-1]
        return int.from_bytes(raw, "little")

    def float(self, form: str = "<d") -> Any:
        return struct.unpack(form, self.raw(struct.calcsize(form)))[0]

    def string(self) -> str:
        return self.bytes().decode()

    def label(self) -> str | int:
        raw = self.raw((size := self.varint()) >> 1)
        value = int.from_bytes(raw, "little", signed=True)
        assert not size & 1 or len(raw) == abs(value).bit_length() // 8 + 1
        return value if size & 1 else raw.decode()

    def numbers(self) -> dict[str | int, Any]:
        return dict(self.many(lambda: (self.label(), self.float())))

    def column(self, length: int, least: int = 0) -> list[int]:
        width = self.byte()
        values = [int.from_bytes(self.raw(width), "little") for _ in range(length)] if width else [0] * length
        assert width == max(least, (max(values, default=0).bit_length() + 7) // 8)
        return values

    def columns(self, length: int, count: int, least: int = 0) -> list[list[int]]:
        return [self.column(length, least) for _ in range(count)]

    def wide(self, length: int) -> list[int]:
        width, zeros = self.raw(2)
        return [int.from_bytes(self.raw(width), "little") << zeros for _ in range(length)]

    def weights(self, size: int) -> dict[str, Any]:
        return {"scale": self.varint(), "weights": [self.integer() for _ in range(size)]} if self.byte() else {}

    def head(self) -> dict[str, Any]:
        bits = self.varint()
        assert bits & 1 and not bits & ~sum(1 << bit for bit in (0, *SECTIONS))  # noqa: PT018
        options = self.many(lambda: (number := self.varint(), FORMS[number](self)))
        assert options == sorted(options, key=lambda pair: pair[0])
        return {"bits": bits, "options": dict(options), "metrics": self.many(self.string)}

    def counted(self, holder: int) -> dict[str, Any]:
        assert holder in (1, 2) or self.byte() in (1, 2)
        head = self.head()
        if holder < 3:
            return head | {"states": self.states(head)}
        return head | (self.slices(head) if holder == 32 else self.window(head, holder))

    def states(self, head: dict[str, Any], least: int = 0) -> dict[str, Any]:
        states = {"decisions": self.decisions(declared := head["options"].get(1, []), least)}
        for bit, (name, section) in sorted(SECTIONS.items()):
            if head["bits"] >> bit & 1:
                labels, missing = states["decisions"]["labels"], self.column(self.varint())
                own = [label for place, label in enumerate(labels) if place - len(declared) not in missing]
                states[name] = section(self, len(own), len(declared), head["options"]) | {"labels": own}
        return states

    def decisions(self, declared: list[Any], least: int) -> dict[str, Any]:
        examples, labels = self.varint(), declared + self.many(self.label)
        cells, size = self.columns(len(labels), 5, least), self.varint()
        content = {"examples": examples, "labels": labels, "cells": cells, "keys": self.columns(size, 4)}
        return content | {"times": self.column(size)} | self.weights(4 * len(labels) + size)

    def rankings(self, size: int, declared: int, options: dict[int, Any]) -> dict[str, Any]:
        mentions, tables = [0] * declared + self.column(size - declared), []
        for keys, sums in zip(KEYS, (*SUMS[:3], 1 + (options.get(65) == 2**40), *SUMS[4:]), strict=True):
            key = self.columns(length := self.varint(), keys)
            tables.append((key, self.columns(length, sums) or [[self.integer() for _ in range(length)]]))
        content = {"mentions": mentions, "tables": tables, "gain_scale": self.varint()}
        return content | self.weights(sum(bool(n) for _, sums in tables for part in sums for n in part))

    def curves(self, size: int, declared: int, _: dict[int, Any]) -> dict[str, Any]:
        sides = [[0] * declared + self.column(size - declared), *self.columns(size, 2)]
        lengths, bins, sums = self.column(size), list[int](), []
        filled = sum(map(bool, lengths))
        firsts, steps = iter(self.column(filled, 1)), iter(self.column(sum(lengths) - filled))
        for length in lengths:
            for place in range(length):
                bins.append(bins[-1] + next(steps) if place else next(firsts))
        for column in self.columns(len(bins), 2):
            totals, squares = (iter(self.wide(sum(n > least for n in column))) for least in (0, 1))
            moments = [(n, next(totals) if n else 0) for n in column]
            sums.append([(n, total, next(squares) if n > 1 else total * total) for n, total in moments])
        content = {"sides": sides, "lengths": lengths, "bins": bins, "sums": sums}
        if self.byte():
            content |= {"scale": self.varint(), "weight": self.integer()}
            content["side_weights"] = [[self.integer(), self.integer()] for _ in range(size)]
            moments = (one for pair in zip(*sums, strict=True) for one in pair)
            counts = [0 if not n else 1 if n * squares == total * total else 3 for n, total, squares in moments]
            content["bin_weights"] = [[self.integer() for _ in range(count)] for count in counts]
        return content

    def pairs(self, _size: int, _declared: int, options: dict[int, Any]) -> dict[str, Any]:
        pairs, parts = list[tuple[int, ...]](), options.get(96, 5)
        for kind, bit in ((1, 1), (2, 2), (3, 4), (4, 4), (5, 4)):
            if parts & bit:
                size = self.varint()
                row, column = ([place - 1 for place in self.column(size)] for _ in range(2))
                num, den = (self.column(size) if written else [1] * size for written in (kind == 2, kind < 3))
                pairs += zip([kind] * size, row, column, num, den, self.column(size), strict=True)
        lengths = self.column(self.varint()) if (listed := parts & 8) else []
        members = iter(self.column(sum(lengths)) if listed else ())
        sets = [tuple(next(members) - 1 for _ in range(length)) for length in lengths]
        content = {"pairs": pairs, "sets": sets, "times": self.column(len(sets)) if listed else []}
        return content | self.weights(len(pairs) + len(sets))

    def window(self, head: dict[str, Any], holder: int) -> dict[str, Any]:
        numbers = self.many(self.zigzag)
        if holder in (18, 19):
            return {"numbers": numbers, "blocks": self.many(lambda: (self.zigzag(), self.states(head, 1)))}
        labels, lengths = head["options"].get(1, []) + self.many(self.label), self.column(self.varint())
        content = {"numbers": numbers, "labels": labels, "lengths": [length - 1 for length in lengths]}
        content["cells"] = [divmod(cell - 1, 5) for cell in self.column(self.varint())]
        content["weights"] = [self.float() for _ in lengths] if self.byte() else [1.0] * len(lengths)
        content["times"] = [self.float("<q") for _ in lengths] if holder == 17 else None
        if head["bits"] & 6:
            scored, columns, width = self.column(len(lengths)), self.column(self.varint()), self.byte()
            content |= {"scored": scored, "scores": [(c, self.float({4: "<f", 8: "<d"}[width])) for c in columns]}
        return content

    def value(self) -> Any:
        if (kind := self.byte()) < 3:
            return (None, False, True)[kind]
        plain = {3: self.label, 4: self.bytes, 5: lambda: tuple(self.many(self.value)), 6: self.float}
        if kind in plain:
            return plain[kind]()
        number: Any = self.label()
        assert kind < 11 and isinstance(number, int)  # noqa: PT018
        zone = timezone.utc if kind == 8 else None  # noqa: UP017
        since = timedelta(days=number) if kind == 9 else timedelta(microseconds=number)
        return since if kind == 10 else datetime(1970, 1, 1, tzinfo=zone) + since

    def values(self) -> list[Any]:
        size, form = self.varint(), self.byte()
        return [(self.value, lambda: (False, True)[self.byte()], self.float)[form]() for _ in range(size)]

    def names(self, form: int) -> list[Any]:
        if self.byte():
            self.known[form] = self.many(self.value)
        return self.known[form]

    def held(self) -> list[Any]:
        return self.many(lambda: (self.string(), read(self.bytes())))

    def pending(self) -> dict[str, Any]:
        content = {"parameters": [self.value() for _ in range(3)], "held": self.held(), "now": self.value()}
        content["counts"] = [self.varint() for _ in range(3)]
        return content | {"waiting": self.many(lambda: (self.value(), self.value(), self.prediction()))}

    def prediction(self) -> Any:
        if (form := self.byte()) < 2:
            names = self.names(form)
            return dict(zip(names, self.values(), strict=True)) if form else set(names)
        if form < 4:
            return self.values()
        kind = "?bhiqBHIQefd"[self.byte()]
        return [value for (value,) in struct.iter_unpack("<" + kind, self.bytes())]

    def trace(self) -> dict[str, Any]:
        content = {"every": self.value(), "held": self.held(), "metrics": self.value()}
        one = lambda: (self.varint(), self.value(), dict(zip(self.names(0), self.values(), strict=True)))  # noqa: E731
        return content | {"rows": self.many(one), "examples": self.varint(), "moment": self.value()}

    def slices(self, head: dict[str, Any]) -> dict[str, Any]:
        content = {"max_slices": self.varint(), "names": self.many(lambda: (self.string(), self.byte())[0])}
        content["crosses"] = self.many(lambda: self.many(self.varint))
        one = lambda width: ([self.value() for _ in range(width)], self.states(head, 1))  # noqa: E731
        widths = [1] * len(content["names"]) + [len(cross) for cross in content["crosses"]]
        axes = [(self.many(lambda width=width: one(width)), self.states(head, 1)) for width in widths]
        return content | {"axes": axes}

    def ledger(self) -> dict[str, Any]:
        empty = read(raw) if (raw := self.bytes()) else None
        return {"empty": empty, "sums": self.many(lambda: (self.shards(), read(self.bytes())))}

    def shards(self) -> list[Any]:
        size = self.varint()
        return [(self.label(), self.varint(), self.varint(), self.raw(16 * (size > 1))) for _ in range(size)]

    def checkpoint(self) -> dict[str, Any]:
        return {"position": self.varint(), "state": read(self.bytes())}


SECTIONS = {1: ("rankings", Reader.rankings), 2: ("curves", Reader.curves), 3: ("pairs", Reader.pairs)}
FORMS: dict[int, Any] = {
    **dict.fromkeys((2, 4, 64), Reader.byte), **dict.fromkeys((5, 96), Reader.varint), 68: Reader.numbers,
    **dict.fromkeys((65, 67), Reader.integer), 66: lambda reader: reader.many(reader.integer),
    1: lambda reader: reader.many(reader.label),
    3: lambda reader: reader.numbers() if reader.byte() else reader.float(),
}  # fmt: skip
