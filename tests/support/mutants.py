"""Mutants, formulas made wrong on purpose: each must disagree with the definition of its entry.

``python -m tests.support.mutants`` tries all and prints how many each family killed. It fails if a mutant survives that
is not in `EQUIVALENT`, or if all mutants of a change in `EQUIVALENT` are killed. Arguments select entries or modules.
A mutant of code that entries share is killed if any of these entries fails, because most use only a part of its result.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import resource
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import streameval as se
from streameval.metrics import catalogue
from streameval.metrics.catalogue import build_spec
from streameval.metrics.spec import as_float
from tests.support.definitions import Stream, bounds_of, cases_of, evaluator_of, expected, is_near
from tests.support.equivalents import EQUIVALENT

BINARY: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
NAMED = {
    "tp": "fp", "fp": "fn", "fn": "tn", "tn": "tp", "m": "l", "l": "m", "g": "t", "t": "g", "pos": "neg", "neg": "pos",
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "last": "missed", "missed": "last",
    "wrong": "last", "erring": "missed", "all": "any", "any": "all", "ones": "zeros", "floor": "ceil", "ceil": "floor",
    "least": "most", "most": "least", "sets": "labels", "repeats": "labels", "perm": "comb", "sum": "max",
}  # fmt: skip
"""Attributes, and the attributes that mutants read instead."""

CALLED = {"min": "max", "max": "min", "sum": "max", "any": "all", "all": "any", "nothing_true": "one_sided",
          "one_sided": "nothing_true", "precision": "recall", "recall": "precision", "_minus_log": "_minus_log_rest",
          "_minus_log_rest": "_minus_log", "groups_to": "all_groups"}  # fmt: skip
"""Functions, and the functions that mutants call instead."""

SYMMETRIC = {"min", "max", "minimum", "maximum", "lcm", "gcd", "partial", "replace", "zip", "range"}
"""Functions whose first two arguments mutants do not swap: their order has no effect, or one names a function."""

SHARED = {"_mean", "_minus_log", "_minus_log_rest", "_twice_atanh", "_rounded", "_at", "_mlcm", "_needs", "_hit_cutoff",
          "greatest", "rough_ratios"}  # fmt: skip
"""Helpers that are not formulas of an entry: means of bounds, arithmetic and registration, which have own tests."""

DECLARED = {"strict", "parameters", "needs", "averages", "default", "zero_division", "bigger_is_better", "high", "low",
            "aliases", "arguments", "bare", "reported", "state"}  # fmt: skip
"""Arguments that are not part of a formula: declarations of an entry, which have own tests, and ``strict``."""

HELPERS = {"rankings_at": "rankings", "label_sets": "pairs"}
"""Modules with parts of formulas, and the modules whose formulas use them."""

_ROOM = 1 << 28  # bytes that a mutant may allocate; it may compute 1 << 1000000

TOPS = ast.FunctionDef | ast.ClassDef | ast.Assign


@dataclass(frozen=True, eq=False)
class Mutant:
    """One change of one entry: a replaced syntax node in its formula or a helper, or an ignored parameter."""

    entry: se.MetricInfo
    change: str
    top: TOPS | None = None
    node: ast.AST | None = None
    other: ast.AST | None = None
    ignored: str | None = None

    def made(self) -> se.MetricInfo:
        """The entry with the change."""
        if self.ignored is not None:
            return replace(
                self.entry, read=lambda view, spec: self.entry.read(view, _ignoring(self.entry, spec, self.ignored))
            )
        parts = [(vars(module), _tops_of(self.entry, module)) for module in _modules_of(self.entry)]
        tables: dict[str, dict] = {"_ENTRIES": {}, "_BY_NAME": {}, "_BY_CLASS": {}}
        saved = {name: getattr(catalogue, name) for name in tables}
        made: dict[str, Any] = {}
        try:
            for name, empty in tables.items():
                setattr(catalogue, name, empty)
            for names, tops in parts:
                namespace = {**names, **{n: v for n, v in made.items() if n in names and not n.startswith("__")}}
                for top in tops:
                    exec(self._changed() if top is self.top else _code(top), namespace)  # noqa: S102
                made = namespace
        finally:
            for name, table in saved.items():
                setattr(catalogue, name, table)
        return tables["_BY_NAME"][self.entry.name]

    def _changed(self) -> CodeType:
        top = copy.deepcopy(self.top, {id(self.node): self.node})
        return _compiled(_Replaced(self.node, self.other).visit(top))


class _Replaced(ast.NodeTransformer):
    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self.node, self.other = node, other

    def visit(self, node: ast.AST) -> Any:
        return ast.copy_location(self.other, node) if node is self.node else self.generic_visit(node)


def _compiled(top: TOPS) -> CodeType:
    return compile(ast.fix_missing_locations(ast.Module([top], [])), "mutant", "exec")


@cache
def _code(top: TOPS) -> CodeType:
    return _compiled(top)


def _ignoring(entry: se.MetricInfo, spec: se.MetricSpec, name: str) -> se.MetricSpec:
    parameters = dict(spec.parameters)
    average = spec.average
    if name == "average":
        average = entry.default
    else:
        parameters[name] = next(p.default for p in entry.parameters if p.name == name)
    return build_spec(
        entry.name, average=average, zero_division=spec.zero_division, empty=spec.empty, parameters=parameters
    )


# -- the definitions that make up a formula ---------------------------------------------------------------------------


def _module(family: str) -> ModuleType:
    return importlib.import_module(f"streameval.metrics.{family}")


@cache
def _homes() -> dict[str, str]:
    """The module of each entry."""
    se.catalogue()
    homes = {module.rpartition(".")[2]: entries for module, entries in catalogue._ENTRIES.items()}
    return {entry.name: home for home, entries in homes.items() for entry in entries}


def place_of(mutant: Mutant) -> str:
    """The module that contains the change."""
    home = home_of(mutant.entry)
    helper = HELPERS.get(home)
    return helper if helper and mutant.top in _names_in(_module(helper)).values() else home


def home_of(entry: se.MetricInfo) -> str:
    """The module that contains the formula of an entry."""
    return _homes()[entry.name]


def _modules_of(entry: se.MetricInfo) -> list[ModuleType]:
    home = home_of(entry)
    return [_module(family) for family in (HELPERS.get(home), home) if family]


@cache
def _names_in(module: ModuleType) -> dict[str, TOPS]:
    """The functions, classes and assignments at the top level of a module, by name."""
    tops: dict[str, TOPS] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            tops[node.name] = node
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("partial("):
            tops[ast.unparse(node.targets[0])] = node
        elif isinstance(getattr(node, "value", None), ast.Call) and isinstance(node.value.func, ast.Call):
            entering, formula = node.value.func, node.value.args[0]
            name = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else entering.args[0].value
            if isinstance(formula, ast.Name):
                tops[formula.id].decorator_list.insert(0, entering)
            else:
                tops[name] = ast.FunctionDef(name, formula.args, [ast.Return(formula.body)], [entering], type_params=[])
    return tops


@cache
def _formula_of(entry: se.MetricInfo) -> dict[str, TOPS]:
    """The formula of an entry, followed by the definitions that it uses."""
    tops = {name: top for module in _modules_of(entry) for name, top in _names_in(module).items()}
    decorated = {name: top.decorator_list for name, top in tops.items() if isinstance(top, ast.FunctionDef)}
    order = [name for name, decorators in decorated.items() if any(_names_entry(each, entry) for each in decorators)]
    for name in order:
        used = dict.fromkeys(part.id for part in ast.walk(tops[name]) if isinstance(part, ast.Name))
        order += [each for each in used if each in tops and each not in order and not decorated.get(each)
                  and (each.startswith("_") or not isinstance(tops[each], ast.ClassDef))]  # fmt: skip
    return {name: tops[name] for name in order}


@cache
def _tops_of(entry: se.MetricInfo, module: ModuleType) -> list[TOPS]:
    """The definitions of a module to execute again, in order: the formula, its parts, and functions that call them."""
    formula = set(map(id, _formula_of(entry).values()))
    return [
        top for top in _names_in(module).values()
        if id(top) in formula or (isinstance(top, ast.FunctionDef) and not top.decorator_list)
    ]  # fmt: skip


def _names_entry(decorator: ast.expr, entry: se.MetricInfo) -> bool:
    if not isinstance(decorator, ast.Call) or not decorator.args or not isinstance(decorator.args[0], ast.Constant):
        return False
    return decorator.args[0].value in (entry.name, entry.name.removeprefix("mlcm_"))


# -- changes ----------------------------------------------------------------------------------------------------------


def _changes(top: TOPS, entry: se.MetricInfo) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    """Every node that a mutant replaces, a description of the change, and the node that takes its place."""
    for node in _walk(top, entry):
        for other in _alternatives(node):
            if ast.dump(other) != ast.dump(node):
                yield node, f"{ast.unparse(node)} -> {ast.unparse(other)}", other


def _walk(node: ast.AST, entry: se.MetricInfo) -> Iterator[ast.AST]:
    """The nodes that compute: no annotations, docstrings or refusals, which have own tests, and no other entries."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert | ast.arguments):
        return
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.keyword) and node.arg in DECLARED:
        return
    yield node
    if isinstance(node, ast.FunctionDef):
        decorators = [each for each in node.decorator_list if _names_entry(each, entry)]
        chosen = [word for each in decorators for word in each.keywords if word.arg in ("read", "certify", "usual")]
        parts: list[ast.AST] = [*(word.value for word in chosen), *node.body]
    elif isinstance(node, ast.AnnAssign):
        parts = [] if node.value is None else [node.value]
    else:
        parts = list(ast.iter_child_nodes(node))
    for part in parts:
        yield from _walk(part, entry)


def _alternatives(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp):
        if type(node.op) in BINARY:
            yield ast.BinOp(node.left, BINARY[type(node.op)](), node.right)
        if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.BitAnd | ast.BitOr):
            yield node.left
            yield node.right
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        yield ast.Compare(node.left, [COMPARED[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)
    elif isinstance(node, ast.Constant) and node.value in ("one", "zero"):
        yield ast.Constant("zero" if node.value == "one" else "one")
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Attribute) and node.attr in NAMED:
        yield ast.Attribute(node.value, NAMED[node.attr], node.ctx)
    elif isinstance(node, ast.Name) and node.id in CALLED and isinstance(node.ctx, ast.Load):
        yield ast.Name(CALLED[node.id], node.ctx)
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    """Calls with two arguments swapped, a length changed by one, or an argument in place of its absolute value."""
    name, arguments = ast.unparse(node.func).rpartition(".")[2], node.args
    if name == "len":
        yield ast.BinOp(node, ast.Add(), ast.Constant(1))
        yield ast.BinOp(node, ast.Sub(), ast.Constant(1))
    elif name == "abs":
        yield arguments[0]
    elif name == "where" and len(arguments) == 3:
        yield ast.Call(node.func, [arguments[0], arguments[2], arguments[1]], node.keywords)
    elif len(arguments) >= 2 and name not in SYMMETRIC and not any(isinstance(a, ast.Starred) for a in arguments[:2]):
        yield ast.Call(node.func, [arguments[1], arguments[0], *arguments[2:]], node.keywords)


def mutants_of(entry: se.MetricInfo) -> list[Mutant]:
    """All mutants of an entry."""
    mutants = [Mutant(entry, f"{p.name} ignored", ignored=p.name) for p in entry.parameters]
    if len(entry.averages) > 1:
        mutants.append(Mutant(entry, "average ignored", ignored="average"))
    for name, top in _formula_of(entry).items():
        if name in SHARED:
            continue
        times: Counter[str] = Counter()
        for node, change, other in _changes(top, entry):
            times[change] += 1
            place = f" ({times[change]})" if times[change] > 1 else ""
            mutants.append(Mutant(entry, f"{name}: {change}{place}", top, node, other))
    return mutants


# -- trying mutants ---------------------------------------------------------------------------------------------------


class _Case:
    """A stream with one spec: the view of the counts, and the value and bounds by definition."""

    def __init__(self, entry: se.MetricInfo, stream: Stream, specs: list[se.MetricSpec], spec: se.MetricSpec) -> None:
        self.entry, self.stream, self.specs, self.spec = entry, stream, specs, spec
        self.answer: tuple[Any, Any] | None = None
        self.view: Any = None

    def prepare(self) -> None:
        """Count the stream, and compute the value and the bounds by definition."""
        if self.answer is None:
            self.view = _views_of(self.entry, self.stream, tuple(self.specs)).of(self.spec)
            bounds = bounds_of(self.entry, self.stream, self.spec) if self.entry.certify else None
            self.answer = bounds, expected(self.entry, self.stream, self.spec)

    def tells(self, entry: se.MetricInfo, *, bounded: bool) -> bool:
        """Whether the value of an entry, or its bounds, differ from the definition."""
        if entry.state == "pairs":
            self.view._made.clear()
        view, (bounds, exact) = self.view, self.answer
        if bounded and bounds is not None:
            return not bounds(entry.certify(view, self.spec))
        ulps = 64 if entry.name == "log_loss" else 1
        return not is_near(_rounded(entry.read(view, self.spec)), exact, ulps=ulps)


@cache
def _views_of(entry: se.MetricInfo, stream: Stream, specs: tuple[se.MetricSpec, ...]) -> Any:
    return evaluator_of(entry, stream, list(specs))._core.views()


@cache
def _cases(entry: se.MetricInfo) -> list[_Case]:
    """The cases of an entry; a case that kills a mutant moves to the front, because it often kills the next one."""
    return [_Case(entry, stream, specs, spec) for stream, specs in reversed(cases_of(entry)) for spec in specs]


def is_killed(mutant: Mutant) -> bool:
    """Whether a value or bound differs from the definition, or exceeds the memory or time limit."""
    cases = _cases(mutant.entry)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGVTALRM, _stop)
        resource.setrlimit(resource.RLIMIT_AS, (_memory() + _ROOM, limits[1]))
        try:
            entry = mutant.made()
            for at, case in enumerate(cases):
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                case.prepare()
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.5)  # a mutant may loop without end
                if case.tells(entry, bounded=mutant.ignored is None):
                    cases.insert(0, cases.pop(at))
                    return True
        except Exception:
            return True
        finally:
            # A pending alarm raises at the next call, so `contextlib.suppress` could raise before it takes effect.
            try:  # noqa: SIM105
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            except TimeoutError:
                pass
            resource.setrlimit(resource.RLIMIT_AS, limits)
    return False


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _stop(*_: object) -> None:
    raise TimeoutError


def is_equivalent(mutant: Mutant) -> bool:
    """Whether a mutant is listed in `EQUIVALENT`."""
    return _key(mutant) in EQUIVALENT


def _key(mutant: Mutant) -> tuple[str, str]:
    return place_of(mutant), mutant.change


def is_shared(mutant: Mutant) -> bool:
    """Whether the change is in a helper that other entries may use, and not in the formula of this entry."""
    return isinstance(mutant.top, ast.Assign | ast.ClassDef) or bool(mutant.top and not mutant.top.decorator_list)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {label: _rounded(part) for label, part in value.items()}
    return as_float(value)


def main() -> int:
    """Try all mutants and print the table."""
    only, killed, alive = sys.argv[1:], set(), []
    families: dict[str, Counter[str]] = {}
    chosen = [entry for entry in se.catalogue() if not only or entry.name in only or home_of(entry) in only]
    for entry in chosen:
        if is_killed(Mutant(entry, "nothing")):
            print(f"{entry.name} fails its definition as it is; run pytest tests/metrics -k {entry.name}")  # noqa: T201
            return 1
        row = families.setdefault(home_of(entry), Counter())
        row["entries"] += 1
        for mutant in mutants_of(entry):
            row["mutants"] += 1
            if _key(mutant) in killed:
                row["killed by an entry that shares it"] += 1
            elif is_killed(mutant):
                row["killed"] += 1
                killed.add(_key(mutant))
            else:
                alive.append(mutant)
        _cases.cache_clear()
        _views_of.cache_clear()
    for mutant in (mutant for entry in se.catalogue() if entry not in chosen for mutant in mutants_of(entry)):
        if _key(mutant) in set(map(_key, alive)) - killed and is_killed(mutant):
            killed.add(_key(mutant))
    lost = []
    for mutant in alive:
        row = families[home_of(mutant.entry)]
        if _key(mutant) in killed:
            row["killed by an entry that shares it"] += 1
        elif is_equivalent(mutant):
            row["equivalent"] += 1
        else:
            row["survived"] += 1
            lost.append(mutant)
            print(f"survived: {place_of(mutant)} {mutant.entry.name}: {mutant.change}")  # noqa: T201
    families["all"] = sum(families.values(), Counter())
    columns = ("entries", "mutants", "killed", "killed by an entry that shares it", "equivalent", "survived")
    print(f"| family | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")  # noqa: T201
    for family, row in families.items():
        print(f"| {family} | {' | '.join(str(row[column]) for column in columns)} |")  # noqa: T201
    stale = [] if only else sorted(set(EQUIVALENT) - set(map(_key, alive)))
    for place, change in stale:
        print(f"killed by now: {place} {change}")  # noqa: T201
    return bool(lost or stale)


if __name__ == "__main__":
    sys.exit(main())
