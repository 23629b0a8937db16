"""Identifiers are nouns for values and verbs for functions, in the words of the field."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NO_NAMES = {"alone", "beside", "found", "given", "hear", "here", "kept", "meet", "others", "shown", "texts", "told"}
"""Words that are not allowed as names."""

_ANY = re.compile(rf"\b_*(?:{'|'.join(NO_NAMES)})_*\b", re.IGNORECASE)

_HIDDEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)

_SILENT = re.compile(
    r"#[^\n]*|([a-z]*)(?:\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')",
    re.DOTALL | re.IGNORECASE,
)


def may_name(source: str) -> bool:
    """Whether one of the words occurs outside of comments and strings; a fast filter, because parsing takes seconds."""
    code = _SILENT.sub(lambda match: match[0] if "f" in (match[1] or "").lower() else "''", source)
    return bool(_ANY.search(code))


def names_made_in(path: Path) -> Iterator[str]:
    """The names that a Python file assigns, or every identifier of another file; not words in comments and strings."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in (".h", ".js"):
        yield from re.findall(r"[A-Za-z_]\w*", _HIDDEN.sub("", source))
    elif path.suffix in (".pyx", ".pxd"):
        yield from (token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == 1)
    else:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield node.id if isinstance(node, ast.Name) else node.attr
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.alias | ast.ExceptHandler):
                yield (node.asname if isinstance(node, ast.alias) else node.name) or ""


def test_names_say_what_a_value_is_or_what_a_function_does():
    paths = [path for folder in ("streameval", "tests", "docs", "examples") for path in (ROOT / folder).rglob("*.*")]
    paths = [path for path in paths if path.suffix in (".py", ".pyi", ".pyx", ".pxd", ".h", ".js")]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        if path.suffix in (".h", ".js", ".pyx", ".pxd") or may_name(path.read_text(encoding="utf-8"))
        for name in sorted({*names_made_in(path)})
        if name.strip("_").lower() in NO_NAMES
    ]
    assert len(paths) > 400
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", "kept = 1"), ("a.py", "a.kept = 1"), ("a.py", "def kept(): pass"), ("a.py", "class Kept: pass"),
        ("a.py", "def f(*, kept): pass"), ("a.py", "lambda kept: 1"), ("a.py", "import a as kept"),
        ("a.py", "for _, (kept, *_) in a: pass"), ("a.pyx", "cdef int* kept  # why"), ("a.h", "int *kept; /* why */"),
        ("a.js", "let kept = 'a';"),
    ],
)  # fmt: skip
def test_every_kind_of_name_is_checked(name, source, tmp_path):
    (tmp_path / name).write_text(source + "\n", encoding="utf-8")
    assert may_name(source)
    assert "kept" in {each.lower() for each in names_made_in(tmp_path / name)}


def test_comments_strings_and_attributes_of_other_objects_do_not_count_as_names(tmp_path):
    for name, source in (("a.py", "a = b.kept('kept')  # kept\n"), ("a.js", "a = 'kept' // kept\n")):
        (tmp_path / name).write_text(source, encoding="utf-8")
        assert {*names_made_in(tmp_path / name)} == {"a"}
