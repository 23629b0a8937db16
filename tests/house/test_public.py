"""Public names, and code that is generated from the catalogue."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pickle
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import streameval as se
from streameval.testing import BrokenLawError
from tests.support.each import with_each

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(("streameval", *path.relative_to(ROOT / "streameval").with_suffix("").parts)).removesuffix(".__init__")
    for path in (ROOT / "streameval").rglob("*.py")
)


GENERATE = runpy.run_path(str(ROOT / "docs" / "generate.py"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
ADAPTERS = sorted({name.split(".")[2] for name in MODULES if name.startswith("streameval.adapters.")} & {*EXTRAS})


def test_every_adapter_has_an_extra_tests_and_a_page():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    missing = []
    for name in {path.stem for path in (ROOT / "streameval" / "adapters").glob("[!_]*")} - {"engine"}:
        missing += [] if name in EXTRAS else [f"{name} is no extra in pyproject.toml"]
        missing += [] if any((ROOT / "tests" / "adapters" / name).glob("test_*.py")) else [f"no tests/adapters/{name}"]
        missing += [] if f"streameval.adapters.{name}" in pages else [f"no page names streameval.adapters.{name}"]
    assert missing == []


def test_an_adapter_without_its_library_says_which_extra_brings_it():
    program = f"""
import importlib, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in {{*sys.stdlib_module_names, "numpy", "streameval"}}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Nothing())
import streameval
for adapter in {ADAPTERS}:
    try:
        importlib.import_module(f"streameval.adapters.{{adapter}}")
    except streameval.DependencyError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    needy = [adapter for adapter in ADAPTERS if EXTRAS[adapter]]  # the rest need only the standard library
    for adapter, said in zip(needy, done.stdout.splitlines(), strict=True):
        assert re.fullmatch(
            rf"streameval.adapters.{adapter} needs \w+, which is not installed; pip install 'streameval\[{adapter}\]'",
            said,
        )


@with_each("name", MODULES)
def test_every_public_name_can_be_imported(name: str):
    try:
        module = importlib.import_module(name)
    except se.DependencyError as error:
        assert name.startswith("streameval.adapters."), error  # noqa: PT017  # tests/adapters has its library
        return
    for public in getattr(module, "__all__", ()):
        assert getattr(module, public) is not None


def test_every_metric_class_is_public():
    assert {entry.class_name for entry in se.catalogue()} <= set(se.__all__)


def test_public_classes_are_named_as_they_are_imported():
    for name in se.__all__:
        thing = getattr(se, name)
        if inspect.isclass(thing):
            assert (thing.__module__, thing.__qualname__) == ("streameval", name)
            assert pickle.loads(pickle.dumps(thing)) is thing


def test_errors_survive_pickling_between_processes():
    def kinds(kind: type) -> Iterator[type]:
        yield kind
        for each in kind.__subclasses__():
            yield from kinds(each)

    for kind in kinds(se.StreamevalError):
        error = kind(*["zero", "it is not"][: 1 + (kind is BrokenLawError)])
        copied = pickle.loads(pickle.dumps(error))
        assert (type(copied), str(copied), vars(copied)) == (kind, str(error), vars(error))


def test_the_examples_of_public_classes_hold():
    """Doctests of modules skip the public classes, because the ``__module__`` of these is ``streameval``."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    names = {name: getattr(se, name) for name in se.__all__}
    for name in sorted({*se.__all__} - {entry.class_name for entry in se.catalogue()}):
        for test in doctest.DocTestFinder().find(names[name], name, module=False, globs=names):
            failures, _ = runner.run(test)
            assert not failures, name
    assert runner.tries > 90


def test_every_public_name_is_listed_once():
    assert len(se.__all__) == len(set(se.__all__))
    assert dir(se) == sorted([*se.__all__, "__version__"])


def test_every_public_object_is_documented():
    for name in se.__all__:
        thing = getattr(se, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and callable(value):
                    assert inspect.getdoc(value), f"{name}.{member}"


@with_each("entry", se.catalogue())
def test_a_metric_class_has_the_signature_and_the_docstring_of_its_entry(entry: se.MetricInfo):
    made = getattr(se, entry.class_name)
    names = ["average", *(parameter.name for parameter in entry.parameters)]
    assert list(inspect.signature(made).parameters)[: len(names)] == names
    assert made.__doc__.startswith(entry.summary)
    for part in (entry.formula, f"Range [{entry.low:g}, {entry.high:g}]; {entry.direction}", f"Source: {entry.source}"):
        assert part in made.__doc__
    options = {name: {"a": 2.0} for name in entry.arguments}
    assert made(**options).spec.average == entry.default


def test_the_version_is_the_one_in_pyproject_and_heads_the_change_log():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert se.__version__ == project["version"]
    assert f"## {se.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_only_a_numpy_with_64_bit_integers_is_required_at_run_time(system):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = map(Requirement, project["dependencies"])
    needed = [one for one in needed if one.marker is None or one.marker.evaluate({"sys_platform": system})]
    assert {one.name for one in needed} == {"numpy"}
    assert all("1.26" in one.specifier for one in needed) == (system != "win32")
    assert all("2.0" in one.specifier for one in needed)


def test_files_generated_from_the_catalogue_are_up_to_date():
    for path, write in GENERATE["FILES"].items():
        assert path.read_text(encoding="utf-8") == write(), f"run python docs/generate.py to renew {path.name}"


def test_every_error_is_of_one_family():
    for name in se.__all__:
        thing = getattr(se, name)
        if inspect.isclass(thing) and issubclass(thing, Exception) and not issubclass(thing, Warning):
            assert issubclass(thing, se.StreamevalError)


# -- the page of public names -----------------------------------------------------------------------------------------

NAMES = re.findall(r"^\| `([\w.]+)` \|", (ROOT / "docs" / "public.md").read_text(encoding="utf-8"), re.MULTILINE)


@with_each("name", sorted({*NAMES}))
def test_every_name_of_the_page_can_be_used_and_is_documented_with_its_members(name: str):
    module, _, last = f"streameval.{name}".rpartition(".")
    thing = getattr(importlib.import_module(module), last)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert inspect.getdoc(thing)
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for member in GENERATE["members_of"](thing):
            text = inspect.getdoc(getattr(thing, member, thing))  # a field is documented in the docstring of its class
            assert text or re.search(rf"\b{member}\b", inspect.getdoc(thing) or ""), f"{name}.{member}"


def test_the_page_names_every_attribute_that_objects_have():
    ev = se.Evaluator(["roc_auc_macro"], labels=[0], threshold=0.5)
    objects = [ev, se.F1(), se.Rolling(ev, 2), se.Tumbling(ev, size=1), se.Fading(ev, half_life=2), se.Pending(ev)]
    objects += [se.TimeRolling(ev, 2.0), se.Sliced(ev, by="x"), se.Trace(ev), se.Ledger(ev), se.Checkpoint(ev, 1)]
    objects += [se.TopK([[0]]), se.PackedRows([[0]], 1), ev.per_label(), ev.bounds("roc_auc_macro"), ev.metrics[0]]
    for thing in (*objects, se.Columns("a", "b"), se.catalogue()[0]):
        public = {name for name in dir(thing) if name[0] != "_"} - set(dir(type(thing)))
        assert public <= {*GENERATE["members_of"](type(thing))}, type(thing)


# -- calls with arguments in another order, and wrong names ------------------------------------------------------------


def test_calls_with_arguments_in_another_order_are_answered_with_advice():
    with pytest.raises(se.InputError, match=r"for arrays write streameval\.score"):
        se.evaluate_table([[1, 0]], [[1, 1]])
    with pytest.raises(se.InputError, match=r"reads one table; write actual=\.\.\. and predicted=\.\.\.$"):
        se.evaluate_table("rows.csv", "truth", "guess")
    with pytest.raises(se.InputError, match=r"reads one table; write metrics=\.\.\.$"):
        se.evaluate_table("rows.csv", ["f1_micro"], actual="truth", predicted="guess")
    with pytest.raises(se.InputError, match="needs actual="):
        se.evaluate_table([{"a": ["x"]}])

    class Model:
        def predict_one(self, x: object) -> None: ...

    for call in (se.progressive_evaluate, se.iter_progressive_evaluate):
        with pytest.raises(se.InputError, match="the order is River's: dataset, model, metric"):
            call(Model(), [({}, {"a"})], se.F1())
    with pytest.raises(AttributeError, match=r"'MicroF1'; classes for River are in streameval\.adapters\.river"):
        _ = se.MicroF1
    with pytest.raises(AttributeError, match="'NDCG'; write NormalizedDiscountedCumulativeGain"):
        _ = se.NDCG


@pytest.mark.parametrize(("name", "advice"), [
    ("compare", "; save_html({"), ("evaluate", "; score(y_true"), ("Interval", "; Evaluator.bounds returns"),
    ("accuracy_score", "; call score(y_true, y_pred, ['subset_accuracy'])"),
    ("f1_micro", "; call score(y_true, y_pred, ['f1_micro'])"), ("accuracy", "; 'accuracy' has more than one meaning"),
    ("multilabel_confusion_matrix", "; Evaluator.per_label() returns"), ("merge", "; it is a method, "),
    ("from_bytes", "; it is a method, as of an Evaluator: Evaluator.from_bytes(...)"), ("zzz", ""),
    ("RiverMetric", "; classes for River are in "), ("compute", ""), ("MultilabelF1Score", "; write F1"),
    ("multilabel_f1_score", "; call score(y_true, y_pred, ['f1_macro'])"),
    ("MultilabelJaccardIndex", "; write Jaccard"), ("AUROC", "; write RocAuc"), ("MAP", "; 'MAP' has more than one"),
    ("scorer", "; run: from streameval.adapters.sklearn import scorer"),
    ("rcut", "; run: from streameval.metrics.thresholds import rcut"), ("Zzz", ""),
])  # fmt: skip
def test_a_missing_name_of_the_package_is_answered_with_the_right_one(name: str, advice: str):
    with pytest.raises(AttributeError) as refused:
        getattr(se, name)
    message = f"module 'streameval' has no attribute {name!r}{advice}"
    assert str(refused.value).startswith(message)
    assert advice or str(refused.value) == message


@pytest.mark.parametrize("holder", [se.Pending(se.Evaluator()), se.ClosedWindow(0, 0, 1, se.Evaluator())])
def test_an_object_without_get_says_which_of_its_attributes_has_it(holder: object):
    assert not hasattr(holder, "get")
    with pytest.raises(AttributeError, match=r"has no attribute 'get'; call evaluator\.get\(\)"):
        _ = holder.get


ANY = {
    "Evaluator.get": "each overload says more",
    "Evaluator.to_dict": "parts of several types, as of JSON",
    "MetricSpec.parameter": "a number, a string, a boolean or None, as the parameter is",
    "Trace.evaluators": "those that were passed, of several classes",
    "load": "of a Checkpoint, which class it holds",
    "Columns.scores_of": "columns of Arrow, which has no types",
}
"""The public signatures that contain Any, each with the reason; the reason for `PerLabel` is in its own code."""


def test_public_signatures_have_precise_types():
    loose = set()
    for name in se.__all__:
        value = getattr(se, name)
        members = {f"{name}.{key}": part for key, part in vars(value).items()} if isinstance(value, type) else {}
        for key, part in {name: value, **members}.items():
            call = getattr(part, "fget", None) or getattr(part, "__func__", part)
            if inspect.isroutine(call) and "._" not in key.replace(".__init__", ""):
                parts = inspect.signature(call)
                notes = [one.annotation for one in parts.parameters.values()] + [parts.return_annotation]
                loose |= {key} if any(re.search(r"\bAny\b", str(note)) for note in notes) else set()
    assert loose == {*ANY}
