"""Imports go only downward, and the core needs numpy alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import streameval

PACKAGE = Path(streameval.__file__).parent

LAYERS = (
    "errors", "kernel", "schema", "inputs", "states", "metrics", "wire", "report", "evaluation", "slices", "windows",
    "plots", "delivery", "testing", "tabular", "progressive", "", "adapters", "cli", "__main__",
)  # fmt: skip
"""From the ground up; "" is the package itself. A folder imports from those before it, or from itself."""

OPTIONAL = {
    ("streameval.inputs.arrow", "polars"),
    ("streameval.tabular.arrow", "pyarrow"),
    ("streameval.tabular.evaluate", "pyarrow"),
    ("streameval.tabular.evaluate", "tqdm"),
    ("streameval.report.frames", "pandas"),
    ("streameval.report.frames", "polars"),
    ("streameval.plots.confusion", "matplotlib"),
    ("streameval.plots.curves", "matplotlib"),
    ("streameval.plots.style", "matplotlib"),
    ("streameval.plots.streams", "matplotlib"),
    ("streameval.progressive.trace", "matplotlib"),
    ("streameval.progressive.evaluate", "tqdm"),
}
"""Which libraries a module of the core may use once they are needed: within a function, or for types alone."""

FOREIGN = {
    "apache_beam", "dask", "distributed", "duckdb", "matplotlib", "mlflow", "orjson", "pandas", "polars",
    "prometheus_client", "pyarrow", "pyspark", "ray", "rich", "river", "scipy", "sklearn", "torch", "tqdm", "typer",
}  # fmt: skip


def layer_of(module: str) -> str:
    return module.removeprefix("streameval").removeprefix(".").split(".")[0]


def imports() -> list[tuple[str, str]]:
    """All (importing module, imported module) pairs of the package and of what it imports."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(("streameval", *(part for part in parts if part != "__init__")))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found += [(module, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module} imports relatively; write the whole name"
                name = str(node.module)
                found += [(module, f"{name}.{alias.name}" if name == "streameval" else name) for alias in node.names]
    return found


def test_every_module_belongs_to_a_layer():
    modules = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert modules - {"__init__", "__pycache__"} == set(LAYERS) - {""}


def test_imports_go_only_downward():
    upward = [
        (module, name)
        for module, name in imports()
        if name.startswith("streameval") and LAYERS.index(layer_of(name)) > LAYERS.index(layer_of(module))
    ]
    assert upward == []


def test_modules_of_one_layer_do_not_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}
    for module, name in imports():
        if name.startswith("streameval.") and layer_of(name) == layer_of(module) and name != module:
            graph.setdefault(module, set()).add(name)

    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        return any(
            step == goal or (step not in seen and reaches(step, goal, seen | {step})) for step in graph.get(start, ())
        )

    assert [module for module in graph if reaches(module, module, set())] == []


def test_outside_adapters_plots_and_the_command_line_only_numpy_and_the_standard_library_are_imported():
    allowed = {*sys.stdlib_module_names, "numpy", "streameval"}
    foreign = {
        (module, name.split(".")[0])
        for module, name in imports()
        if layer_of(module) not in ("adapters", "cli") and name.split(".")[0] not in allowed
    }
    assert foreign == OPTIONAL


def test_importing_the_package_loads_no_other_library():
    parts = "streameval, streameval.plots.streams, streameval.plots.curves, streameval.report.page"
    program = f"import sys, {parts}; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not {name.split(".")[0] for name in loaded} & FOREIGN
    assert "streameval.adapters" not in loaded


def test_no_module_reads_pickles():
    assert [pair for pair in imports() if pair[1].split(".")[0] in {"pickle", "marshal", "shelve", "dill"}] == []
