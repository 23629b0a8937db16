"""Imports go only downward, and the core needs only numpy."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import streameval
from streameval.kernel.backend import BACKEND
from tests.support.each import with_each

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(streameval.__file__).parent
MODULES = {
    ".".join(("streameval", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

FLOORS = (
    ("errors",),
    ("kernel",),
    ("schema",),
    ("inputs", "states"),
    ("metrics", "wire"),
    ("report",),
    ("evaluation",),
    ("windows", "slices", "plots"),
    ("progressive", "tabular"),
    ("delivery", "cli"),
    ("", "testing", "adapters", "__main__"),
)
""""" is the package itself. A folder imports only from itself and from the floors above it in this list."""

FLOOR_OF = {folder: number for number, floor in enumerate(FLOORS) for folder in floor}

TABLES = tuple(f"streameval.tabular.{name}" for name in ("arrow", "cells", "joining", "sources", "text"))
"""Modules of the core that import pyarrow, and that are imported only when a table is read."""


def folder_of(module: str) -> str:
    return module.removeprefix("streameval").removeprefix(".").split(".")[0]


def names_of(node: ast.AST) -> list[str]:
    """The modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{ast.unparse(node)} is relative; write the whole name"
        name = str(node.module)
        return [f"{name}.{alias.name}" if name == "streameval" else name for alias in node.names]
    return []


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def statements(block: list[ast.AST]) -> Iterator[ast.AST]:
    """All statements of a block, nested ones included; expressions are skipped because they import nothing."""
    for node in block:
        yield node
        for inner in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, inner, []))


@cache
def imports() -> list[tuple[str, str]]:
    """All pairs (importing module, imported module) for the modules of the package."""
    return [
        (module, name) for module in MODULES for node in statements(tree_of(module).body) for name in names_of(node)
    ]


def test_every_module_belongs_to_a_floor():
    modules = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert modules - {"__init__", "__pycache__"} == {*FLOOR_OF} - {""}


def test_imports_go_only_downward():
    upward = [
        (module, name)
        for module, name in imports()
        if name.startswith("streameval")
        and folder_of(name) != folder_of(module)
        and FLOOR_OF[folder_of(name)] >= FLOOR_OF[folder_of(module)]
    ]
    assert upward == []


def test_there_are_at_most_eleven_floors_and_few_files_at_the_top():
    assert len(FLOORS) <= 11
    top = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    assert top == {"__init__.py", "__main__.py", "errors.py", "testing.py", "py.typed"}


def test_modules_of_one_folder_do_not_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}
    for module, name in imports():
        if name.startswith("streameval.") and folder_of(name) == folder_of(module) and name != module:
            graph.setdefault(module, set()).add(name)

    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        return any(
            step == goal or (step not in seen and reaches(step, goal, seen | {step})) for step in graph.get(start, ())
        )

    assert [module for module in graph if reaches(module, module, set())] == []


def foreign(names: Iterable[str]) -> set[str]:
    """The imported libraries that the core does not require."""
    return {name.split(".")[0] for name in names} - {*sys.stdlib_module_names, "numpy", "streameval"}


def test_the_core_imports_other_libraries_only_in_functions_or_for_types():
    """The imports are within functions or for types only; a test below imports the package."""
    outside = [path for path in MODULES if folder_of(path) not in ("adapters", "cli") and path not in TABLES]
    at_the_top = {
        (module, name) for module in outside for node in tree_of(module).body for name in foreign(names_of(node))
    }
    assert at_the_top == set()


def test_every_optional_library_of_the_core_belongs_to_an_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = {re.split(r"[\[<>=]", one)[0] for extra in project["optional-dependencies"].values() for one in extra}
    used = foreign(name for module, name in imports() if folder_of(module) not in ("adapters", "cli"))
    assert used - brought == set()


def loaded_by(modules: str) -> set[str]:
    """The modules that are loaded after an import of these modules."""
    program = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_that_only_reports_and_bytes_need():
    late = {"streameval.report", "streameval.wire", "streameval.evaluation.encoding"}
    late |= {"decimal", "fractions", "html", "json", "zlib"} - loaded_by("numpy")
    assert loaded_by("streameval") & late == set()


def test_counting_and_reading_import_no_further_modules():
    """Otherwise a signal handler that reads could see a partly imported module, or import it while it is imported."""
    program = """if True:
        import sys
        import streameval as se
        ev = se.Evaluator(["f1_macro"], keep=["rankings", "curves", "pairs"], threshold=0.5)
        before = {*sys.modules}
        for _ in range(210):
            ev.update({"a"}, {"a": 0.75, "b": 0.25})
        print(ev.get(), {*sys.modules} - before)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "streameval.metrics" not in done.stdout


def test_importing_the_package_loads_no_other_library():
    loaded = loaded_by("streameval, streameval.plots.curves, streameval.plots.bars, streameval.report.page")
    assert not {name.split(".")[0] for name in loaded} & foreign(name for _, name in imports())
    assert "streameval.adapters" not in loaded


def test_the_package_works_from_a_zip_file_and_says_that_it_is_slower_there(tmp_path):
    with zipfile.PyZipFile(str(tmp_path / "package.zip"), "w") as file:
        file.writepy(str(PACKAGE))
    program = """if True:
        import streameval as se
        f1 = se.F1(average="micro")
        f1.update({"a"}, {"a", "b"})
        print(f1.get(), *(entry.name for entry in se.catalogue()))
    """
    path = os.pathsep.join([str(tmp_path / "package.zip"), *sys.path])
    env = {**os.environ, "PYTHONPATH": path, "STREAMEVAL_KERNEL": "auto"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=env, cwd=tmp_path
    )
    assert "imported from a zip file, from which no compiled kernel can be loaded; install it with pip" in done.stderr
    assert done.stdout.split() == ["0.6666666666666666", *(entry.name for entry in streameval.catalogue())]


@pytest.mark.skipif(BACKEND == "numpy", reason="the compiled kernel relies on the lock")
def test_a_free_threaded_interpreter_causes_a_warning():
    program = "import sys; sys._is_gil_enabled = bool; import streameval"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "RuntimeWarning: the kernel requires the GIL" in done.stderr
    assert "leave out PYTHON_GIL=0" in done.stderr


@with_each("flags", ["-bb", "-OO"])
def test_the_package_works_whatever_the_flags_of_python(flags: str, tmp_path):
    program = """if True:
        import sys
        import streameval as se
        from streameval.cli import main
        ev = se.Evaluator(["f1_micro", "roc_auc_macro"], threshold=0.5)
        ev.update({"cat": 1, "dog": 0}, {"cat": 0.75, "dog": 0.25})
        for wrong in (b"cat", "[1]", [b"0"], {"cat": b"0"}, {b"cat"}):
            try:
                ev.update(wrong, {"cat": 0.75})
            except se.StreamevalError as error:
                print(error)
        print(se.Evaluator.from_bytes(ev.to_bytes()).get(), ev.report())
        main(["demo", "--write", "demo"])
        main(["evaluate", "demo/photos.jsonl", "--actual", "true", "--predicted", "predicted", "--report", "page.html"])
    """
    command = [sys.executable, flags, "-W", "error::ResourceWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr, (tmp_path / "page.html").exists()) == (0, "", True)


def test_no_module_reads_pickles():
    assert [pair for pair in imports() if pair[1].split(".")[0] in {"pickle", "marshal", "shelve", "dill"}] == []


def test_lists_of_the_compiled_kernel_are_built_without_comprehensions():
    """Comprehensions of Cython 3.3.1 release an item twice if the list cannot allocate memory."""
    sources = [path for path in (ROOT / "streameval/kernel").rglob("*.p[yx][xd]") if path.suffix in (".pyx", ".pxd")]
    assert len(sources) > 10
    assert not [path.name for path in sources if re.search(r"\[[^\]\"\n]*\sfor\s[^\]\n]*\sin\s", path.read_text())]
