"""Files of text, plain or compressed by gzip, in blocks of whole rows: CSV by pyarrow, JSON by pyarrow or orjson."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from itertools import groupby, islice
from pathlib import PurePath
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv, json as arrow_json

from streameval.errors import InputError, imported, warn, wording
from streameval.schema.text import number_of, quoted
from streameval.tabular.cells import NO_JSON, STRICT
from streameval.tabular.columns import Columns
from streameval.tabular.rows import Block, EmptyError, RowError
from streameval.wire.envelope import MAGIC

BLOCK = 2**22  # bytes read at a time: so many that the cost of a call is negligible
STDIN = "standard input"
SEP = "|"
_LONGEST = 2**26
_PART = 2**21  # bytes that Arrow parses at a time
_PATIENCE = 2
_MARK = b"\xef\xbb\xbf"  # the byte order mark, with which some programs begin UTF-8
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson", ".json")
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_WHOLE = (
    "Parquet or Arrow, but only JSON Lines, CSV and TSV can be read as a stream, compressed or while they grow; "
    "evaluate the path of a complete file"
)
_ICONV = "{0}; save it as UTF-8, for example with iconv -f {0} -t UTF-8"
_REFUSED = {
    **dict.fromkeys((b"PAR1", b"ARRO", b"\xff\xff\xff\xff"), _WHOLE),
    MAGIC: "a saved state; read it with streameval.load, or in a shell with streameval show",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; give zstdcat{0} | streameval evaluate - ..., or the file that it holds",
    b"BZh": "compressed by bzip2; give bzcat{0} | streameval evaluate - ..., or the file that it holds",
    b"\xfd7zX": "compressed by xz; give xzcat{0} | streameval evaluate - ..., or the file that it holds",
    b"PK\x03\x04": "an Excel file or an archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel file; save the table as CSV",
    **dict.fromkeys((b"\xff\xfe\0\0", b"\0\0\xfe\xff"), _ICONV.format("UTF-32")),
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), _ICONV.format("UTF-16")),
    b"\x93NUMPY": "an array of numpy; load it with numpy.load and give the array to streameval.score",
    b"\x80": "a pickle; save the table as CSV or Parquet",
}  # fmt: skip

Keys: TypeAlias = Mapping[str, str | None]  # columns that names of folders state, such as region=eu
_Rows: TypeAlias = tuple[Any, Callable[[int], int], int]  # rows, the line of each, and bytes read

_KINDS = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
_BETWEEN = re.compile(r"[\s,]*")
_EXCEL = re.compile(rb"\Asep=.(?=\r?\n)")  # a line that names the delimiter, which is detected anyway
_RULE = re.compile(rb"(?<=\n)[ |]*:?-{3,}:?( *\| *:?-{3,}:?)+[ |]*(?=\r?\n|\Z)")  # below a header of Markdown
_ESCAPED = re.compile(rb'(?<!\\)\\"')  # a quotation mark as Spark writes it in a quoted cell
# What Arrow accepts although it is not JSON. The byte is searched for first, which is ten times as fast as the word.
_NO_JSON = ((b"\\", b"\\ud"), (b"\\", b"\\uD"), (b"N", b"NaN"), (b"I", b"Inf"))
_CONSTANT = re.compile(r"[^-]?(NaN|-?Infinity)")


def read_text(stream: Any, name: str, columns: Columns, keys: Keys, suffix: str | None = None) -> Iterator[Block]:
    """The rows of a file, and the columns ``keys`` that it lacks; ``suffix``, by default of its name, is the format."""
    suffix = PurePath(name).suffix.lower() if suffix is None else suffix
    start = stream.peek(16)
    if start.startswith(b"\x1f\x8b"):
        inner: Any = gzip.GzipFile(fileobj=stream, mode="rb")
        try:
            suffix = PurePath(name.lower()).with_suffix("").suffix
            yield from sized(stream, read_text(inner, name, columns, keys, suffix))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{name} cannot be read: {error}; it may be damaged or incomplete") from None
        return
    if not start:
        raise EmptyError(f"{name} is empty{wording('; leave it out: [*filter(os.path.getsize, paths)]', '')}")
    for magic, kind in _REFUSED.items():
        if start.startswith(magic):
            raise InputError(f"{name} is {kind.format(f' {name}' * (name != STDIN))}")
    if b"\0" in start:
        raise InputError(f"{name} is binary, and neither Parquet nor Arrow; save the table as CSV or Parquet")
    first = b"".join(start.removeprefix(_MARK).split())[:2]
    is_json = first in (b'{"', b"[{") or (suffix not in _DELIMITERS and first[:1] in (b"{", b"[", b""))
    if suffix in _JSON or is_json:  # no header of CSV begins like JSON
        blocks = _read_array(stream, name) if first[:1] == b"[" else _read_lines(stream, name, columns)
        sep = None
    else:
        blocks, sep = _read_csv(stream, name, columns, _DELIMITERS.get(suffix, ","), keys), SEP
    while (block := next(blocks, None)) is not None:
        joined = Block(with_keys(block[0], keys), partial(_place, name, block[1]), block[2], sep)
        del block  # frees the rows before the next are read
        yield joined
        del joined


def _place(name: str, line: Callable[[int], int], row: int) -> str:
    return f"{name}:{line(row)}"


def sized(stream: Any, blocks: Iterator[Block]) -> Iterator[Block]:
    """Blocks with the bytes that they take in their file, which may be compressed."""
    seekable, before = stream.seekable(), 0
    for block in blocks:
        now = stream.tell() if seekable else 0
        yield Block(block.rows, block.place, now - before, block.sep)
        before = now


def with_keys(rows: Any, keys: Keys) -> Any:
    """Rows with the columns that names of folders state; a column of the file itself has priority."""
    if isinstance(rows, list):
        return [row if isinstance(row, RowError) else {**keys, **row} for row in rows] if keys else rows
    for key, value in keys.items():
        if key not in rows.schema.names:
            rows = rows.append_column(key, pa.repeat(pa.scalar(value, pa.string()), len(rows)))
    return rows


def _lines(
    stream: Any, name: str, complete: Callable[[bytes], bool] = lambda _: True
) -> Iterator[tuple[int, bytes, int]]:
    """Parts of whole lines: the number of the first, the data, the bytes read; cut only where ``complete`` is true."""
    parts: list[bytes] = []
    waiting, line = 0, 1
    read = stream.read if isinstance(stream, gzip.GzipFile) else stream.read1  # read1 of gzip returns few bytes
    while chunk := read(BLOCK):
        end = chunk.rfind(b"\n") + 1
        waiting += len(chunk)
        if end and complete(data := b"".join([*parts, memoryview(chunk)[:end]])):
            yield line, data.removeprefix(_MARK) if line == 1 else data, waiting
            line += data.count(b"\n")
            parts, waiting = [chunk[end:]], 0
        else:
            parts.append(chunk)
            if waiting > _LONGEST:
                most = f"is longer than {_LONGEST >> 20} MiB"
                raise InputError(f"{name}:{line}: this row {most}; is a quotation mark or a line break missing?")
    if data := b"".join(parts):
        yield line, data.removeprefix(_MARK) if line == 1 else data, waiting


# -- JSON -------------------------------------------------------------------------------------------------------------


def _read_lines(stream: Any, name: str, columns: Columns) -> Iterator[_Rows]:
    parser = _Json(columns, name)
    for first, data, size in _lines(stream, name):
        rows = parser.rows(data)
        if first == 1 and len(rows) == 1 and isinstance(rows, list) and _holds_columns(rows[0]):
            columnar = f"{name} holds columns, as DataFrame.to_json() writes them"
            raise InputError(f"{columnar}; write rows, with orient='records'")
        yield rows, partial(_line, first, data), size


def _holds_columns(row: Any) -> bool:
    """Whether an object is a whole data frame: its cells could be neither scores nor flags of labels."""
    columns = row if isinstance(row, dict) else {}
    numbered = all(isinstance(column, dict) and all(map(str.isdigit, column)) for column in columns.values())
    cells = (cell for column in columns.values() for cell in column.values()) if numbered else ()
    return any(isinstance(cell, list | dict | str) for cell in cells) or columns.keys() == {"columns", "index", "data"}


def _line(first: int, data: bytes, row: int) -> int:
    """The number of the line that holds a row; blank lines hold none."""
    lines = (number for number, line in enumerate(data.split(b"\n"), first) if line.strip())
    return next(islice(lines, row, None))


def _read_array(stream: Any, name: str) -> Iterator[_Rows]:
    """The objects of a JSON array; the whole file is read at once."""
    data = stream.read()
    rows, starts = list[Any](), list[int]()

    def line(row: int) -> int:
        return 1 + text.count("\n", 0, starts[row])

    try:
        text: str = data.decode("utf-8-sig")
        at = text.index("[") + 1
        while (start := _BETWEEN.match(text, at).end()) < len(text) and text[start] != "]":  # type: ignore[union-attr]  # it matches anything
            starts.append(start)
            value, at = STRICT.raw_decode(text, start)
            rows.append(_object(value))
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: {_not_utf8(error)}") from None
    except ValueError as error:
        raise InputError(f"{name}:{line(-1)}: {error}") from None
    if text[start + 1 :].strip() or start == len(text):
        last = 1 + text.count("\n", 0, at)
        raise InputError(f"{name}:{last}: this array has no end, or something follows it; write one object per line")
    yield rows, line, len(data)


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"the byte {error.object[error.start]:02x} is not UTF-8; convert the file"


def _object(value: Any) -> Any:
    if type(value) is dict:
        return value
    return RowError(f'a row is an object such as {{"actual": ["cat"], "predicted": ["dog"]}}, not {quoted(value)}')


class _Json:
    """Parses lines: by Arrow if all columns are lists of one type, which takes half of the time, else by orjson."""

    def __init__(self, columns: Columns, name: str) -> None:
        self.columns, self.orjson = columns, imported("orjson", "reading JSON Lines")
        self.way = "" if ".csv" in name.lower() else "; if this is CSV, rename the file to end in .csv"
        plain = columns.scores is columns.sep is columns.example is None and not getattr(columns, "optional", None)
        self.failures = 0 if plain else _PATIENCE
        self.parsing: Any = None

    def rows(self, data: bytes) -> Any:
        """A table of the objects on some lines, or a list of them."""
        if self.failures < _PATIENCE and (table := self._table(data)) is not None:
            return table
        lines = [*filter(bytes.strip, data.split(b"\n"))]
        try:
            rows = list(map(self.orjson.loads, lines))
        except ValueError:
            return [*map(self._row, lines)]
        # orjson drops all but the last of equal keys, so that colons are missing, and makes floats of long integers.
        digits = data.translate(_DIGITS)
        plain = b"0" * 20 not in digits and not (b"-" in data and b"-" + b"0" * 19 in digits)
        plain = plain and not (b"\\" in data and b"\\u003" in data)  # one byte is found ten times as fast as five
        if plain and self.orjson.dumps(rows).count(b":") == data.count(b":"):
            return [*map(_object, rows)] if {*map(type, rows)} - {dict} else rows
        return [*map(self._row, lines)]

    def _table(self, data: bytes) -> Any:
        """A table of the objects, or None if Arrow could read anything in the lines differently from orjson."""
        if any(byte in data and word in data for byte, word in _NO_JSON):
            return None
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        if data[:1] != b"{" or data.count(b"\n{") + 1 != lines:  # a blank line would hide two objects on one line
            return None
        try:
            if not data.isascii():
                data.decode()
            parsing = self.parsing = self.parsing or self._types(data[: data.find(b"\n") + 1 or None])
            reading = arrow_json.ReadOptions(block_size=_PART)
            table = arrow_json.read_json(pa.BufferReader(data), read_options=reading, parse_options=parsing)
        except (pa.ArrowException, ValueError, KeyError, TypeError):
            self.failures += 1
            return None
        # Arrow writes null for a missing key too.
        nulls = any(table.column(name).null_count for name in table.column_names)
        return None if nulls or len(table) != lines else table

    def _types(self, line: bytes) -> Any:
        """The types of columns that Arrow is to read, from the first line; `KeyError` if lines are not for Arrow."""
        row, kinds = self.orjson.loads(line), dict[str, Any]()
        for name, role in self.columns.roles:
            value = row[name]
            parts = {*map(type, value if isinstance(value, list) else (value,))} or {str}
            kinds[name] = pa.float64() if role == "weight" else _KINDS[parts.pop()]
            if parts or isinstance(value, list) == (role in ("weight", "by")):
                raise KeyError(name)
            kinds[name] = pa.list_(kinds[name]) if isinstance(value, list) else kinds[name]
        schema = pa.schema(kinds.items())
        return arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")

    def _row(self, line: bytes) -> Any:
        try:
            text = line.decode()
            self.orjson.loads(line)
            return _object(STRICT.decode(text.strip()))
        except UnicodeDecodeError as wrong:
            return RowError(_not_utf8(wrong), len(line[: wrong.start].decode()) + 1)
        except self.orjson.JSONDecodeError as error:
            word = _CONSTANT.match(line.decode(), max(0, error.colno - 2))
            why = NO_JSON.format(word[1]) if word else f"not JSON: {error.msg}"
            why += "; write each object on one line" * (line.strip() == b"{")
            why += self.way * (b":" not in line and b"," in line)
            return RowError(why, error.colno)
        except InputError as error:
            return RowError(str(error))


# -- CSV --------------------------------------------------------------------------------------------------------------


def _read_csv(stream: Any, name: str, columns: Columns, delimiter: str, keys: Keys) -> Iterator[_Rows]:
    parser = _Csv(columns, delimiter)
    for first, data, size in _lines(stream, name, lambda data: data.count(b'"') % 2 == 0):
        if first == 1:
            data = _EXCEL.sub(b"", data)
            data = _RULE.sub(b"", data, 1) if _RULE.match(data, data.find(b"\n") + 1) else data
            parser.read_header(data, name, keys)
        if b'\\"' in data and parser.is_broken(data):
            doubled = parser.quoted.sub(lambda cell: _ESCAPED.sub(b'""', cell[0]), data)
            data = data if parser.is_broken(doubled) else doubled
        table = parser.table(data, header=first == 1)
        runs = [] if table is not None else [*parser.runs(data, first)]
        count = sum(len(lines) for _, lines in runs) if table is None else len(table)
        parser.look_for_rows_in_cells(data, name, first, count)
        parser.look_for_empty_rows(data, name, first)
        if table is not None:
            yield table, partial(parser.line, first, data), size
            continue
        for rows, lines in runs:
            yield rows, lines.__getitem__, 0
        yield [], lambda row: row, size


class _Csv:
    def __init__(self, columns: Columns, delimiter: str) -> None:
        self.columns, self.delimiter, self.warned = columns, delimiter, False
        self.header, self.width, self.places = list[str](), 0, dict[str, int]()  # places of the columns that are read

    def records(self, data: bytes, delimiter: str) -> Iterator[tuple[int, list[str] | csv.Error]]:
        """For each row, how many lines come before it, and its cells, or the error of reading it."""
        lines = io.StringIO(data.decode(errors="surrogateescape"), newline="")
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        while True:
            before = reader.line_num
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield before, error
                continue
            if cells:
                yield before, cells

    def read_header(self, data: bytes, name: str, keys: Keys) -> None:
        """Look for the columns in the first row; if one is missing, with other delimiters, and without spaces."""
        wrong = dict[int, str]()  # messages, by the number of cells
        for delimiter in dict.fromkeys((self.delimiter, *",;\t|")):
            before, cells = next(self.records(data, delimiter), (0, []))
            if isinstance(cells, csv.Error):
                wrong.setdefault(1, f"{name}:{1 + before}: not CSV: {cells}")
                continue
            for names in (cells, [*map(str.strip, cells)]):
                try:
                    read = self.columns.check_names([*names, *(key for key in keys if key not in names)])
                except InputError as error:
                    wrong.setdefault(len(cells), f"{name}:{1 + before}: {error}")
                else:
                    self.delimiter, self.header, self.width = delimiter, cells, len(names)
                    ends = re.escape(delimiter).encode() + rb"\r\n"
                    self.loose = re.compile(rb'"(?<!\A")(?<![%s]")(?![%s]|\Z)' % (ends, ends))
                    self.quoted = re.compile(rb'(?<![^%s])"(?:[^"\\]++|\\.|"")*+"' % ends, re.DOTALL)
                    self.places = {name: names.index(name) for name in read if name in names}
                    return
        try:
            data.partition(b"\n")[0].decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{name}:1: {_not_utf8(error)}") from None
        raise InputError(wrong[max(wrong)])

    def is_broken(self, data: bytes) -> bool:
        """Whether a quotation mark has no partner, or stands within a cell."""
        return data.count(b'"') % 2 == 1 or self.loose.search(data.replace(b'""', b"")) is not None

    def table(self, data: bytes, *, header: bool) -> Any:
        """All rows, read by Arrow; None if one of them needs a closer look."""
        if self.is_broken(data):
            return None
        try:
            read = arrow_csv.read_csv(
                pa.BufferReader(data.lstrip(b"\r\n") if header else data),
                arrow_csv.ReadOptions(
                    column_names=[*map(str, range(self.width))], skip_rows_after_names=int(header),
                    block_size=len(data) + 1, use_threads=False,
                ),
                arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in data),
                arrow_csv.ConvertOptions(
                    column_types={str(place): pa.string() for place in self.places.values()},
                    include_columns=[*map(str, self.places.values())], strings_can_be_null=False,
                ),
            )  # fmt: skip
        except pa.ArrowException:
            return None
        heads = ([self.header[place], _MARK.decode() + self.header[place]] for place in self.places.values())
        same = (pc.is_in(column, pa.array(head)) for column, head in zip(read, heads, strict=True))
        again = pc.any(reduce(pc.and_, same)).as_py()  # a repeated header, perhaps
        return None if again else read.rename_columns([*self.places])

    def look_for_rows_in_cells(self, data: bytes, name: str, line: int, rows: int) -> None:
        """Warn once of a cell whose lines look like rows: its closing quotation mark may be missing."""
        if self.warned or self.width < 2 or b'"' not in data or data.count(b"\n") - rows < 3:
            return
        for number, part in enumerate(data.replace(b'""', b"").split(b'"')):
            inner = part.split(b"\n")[1:-1] if number % 2 else []
            if len(inner) > 1 and {each.count(self.delimiter.encode()) for each in inner} == {self.width - 1}:
                self.warned = True
                some = f"a quoted cell holds {len(inner)} lines that look like rows"
                warn(f"{name}:{line}: {some}; is a quotation mark missing?")
                return
            line += part.count(b"\n")

    def look_for_empty_rows(self, data: bytes, name: str, line: int) -> None:
        """Warn once of a row of empty cells, as spreadsheets leave below a table, unless all columns are labels."""
        row = self.delimiter.encode() * (self.width - 1)
        labels = {*self.places} - {name for name, role in self.columns.roles if role in ("by", "weight")}
        if self.warned or self.width <= len(labels) or not (data.startswith(row) or b"\n" + row in data):
            return
        rest = re.escape(row) + rb"\r?(\n|\Z)"
        empty = re.match(rest, data) or re.search(rb"\n" + rest, data)
        if empty is not None and data.count(b'"', 0, empty.start()) % 2 == 0:
            self.warned, line = True, line + data.count(b"\n", 0, empty.start() + 1)
            warn(f"{name}:{line}: all cells of this row are empty, so it counts as one without labels; remove it")

    def line(self, first: int, data: bytes, row: int) -> int:
        return first + next(islice(self.records(data, self.delimiter), row + (first == 1), None))[0]

    def runs(self, data: bytes, first: int) -> Iterator[tuple[Any, list[int]]]:
        """Runs of rows with their lines: readable rows as a table, bad ones as a list of `RowError`."""
        records = islice(self.records(data, self.delimiter), int(first == 1), None)
        checked = [(self._error(cells), cells, first + before) for before, cells in records]
        for is_good, group in groupby(checked, lambda record: record[0] is None):
            errors, rows, lines = map(list, zip(*group, strict=True))
            cells = {name: [row[place] for row in rows] for name, place in self.places.items()} if is_good else {}
            yield pa.table(cells) if is_good else errors, lines

    def _error(self, cells: list[str] | csv.Error) -> RowError | None:
        if isinstance(cells, csv.Error):
            return RowError(f"not CSV: {cells}")
        if [cells[0].removeprefix(_MARK.decode()), *cells[1:]] == self.header:
            return RowError("this line repeats the header; remove it")
        if len(cells) != self.width:
            return RowError(f"{number_of(len(cells), 'cell')} where the header has {self.width}")
        for place in self.places.values():
            if not cells[place].isascii() and any("\udc80" <= mark <= "\udcff" for mark in cells[place]):
                return RowError(f"cell {place + 1} is not UTF-8; convert the file")
        return None
