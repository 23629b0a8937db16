"""Tests and adapter modules that need an extra are not collected if this extra is not installed.

If the command line names them, a missing extra is an error, so that the tests of an engine cannot pass without it.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import sys
import tomllib
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest

for library in ("OMP", "OPENBLAS"):  # threads of a library would compete with the tests, which use all cores
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "Agg"  # opens no windows
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise each of about 100 child processes compiles the package
sys.dont_write_bytecode = False  # otherwise each worker rewrites the assertions of all test modules
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # background jobs of a script inherit this
    signal.signal(signal.SIGINT, signal.default_int_handler)

with suppress(ImportError):  # some environments of engines have no hypothesis
    from hypothesis import HealthCheck, settings

    slow = [HealthCheck.too_slow]  # on a busy machine any test may be slow
    settings.register_profile("untimed", settings(), deadline=None, suppress_health_check=slow)
    settings.load_profile("untimed")

ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


@cache
def is_installed(extra: str) -> bool:
    """Whether all requirements of an extra are installed."""
    try:
        for requirement in EXTRAS[extra]:
            distribution(re.split(r"[\[<>=]", requirement)[0])
    except PackageNotFoundError:
        return False
    return True


def extra_of(path: Path) -> str | None:
    """The extra that a file or folder of tests or adapters is named after."""
    parts = path.relative_to(ROOT).with_suffix("").parts if path.is_relative_to(ROOT) else ()
    return next((part for part in parts[1:] if parts[0] in ("tests", "streameval") and part in EXTRAS), None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many cases were tried by the tests that try as many as time allows."""
    for report in terminalreporter.getreports("passed"):
        for name, text in report.user_properties:
            if name == "tried":
                terminalreporter.write_line(f"{report.nodeid}: {text}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection: with 10,000 tests in memory, each full collection takes a quarter of a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)  # with 700, a collection of all objects that are not frozen runs every second
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Do not treat `DataWarning` as an error in tests with random streams, because such streams may cause it."""
    for item in items:
        if "laws" in item.path.parts or getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.filterwarnings("always::streameval.DataWarning"))


@pytest.fixture(autouse=True)
def _pages_write_to_a_folder_of_their_own(request: pytest.FixtureRequest) -> None:
    """Run the code of pages in a new folder that has only the data of ``streameval demo --write demo``."""
    if request.node.path.suffix == ".md":
        folder = request.getfixturevalue("tmp_path")
        shutil.copytree(ROOT / "streameval" / "cli" / "sample", folder / "demo")
        request.getfixturevalue("monkeypatch").chdir(folder)


@pytest.fixture(autouse=True)
def _figures_are_closed() -> Iterator[None]:
    """Close all figures after each test, because matplotlib warns when more than 20 are open."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    extra = extra_of(collection_path)
    return None if extra is None or is_installed(extra) else True
