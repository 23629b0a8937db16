"""No module uses underscore names of other classes; objects use each other through a few members of base classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tests.house.test_layers import MODULES, tree_of

ALLOWED = {
    "streameval.adapters.dask": {"_meta": "of a Dask data frame, which says its columns no other way"},
    "streameval.errors": {"_getframe": "of Python"},
    "streameval.kernel.commit.numpy": {"_getframe": "of Python"},
    "streameval.adapters.river.metric": {
        "_change": "a collection makes the changes of what it counts with in one step"
    },
    "streameval.evaluation.core": {"_core": "what `core_of` hands out, to all others"},
    "streameval.progressive.target": {"_change": "in one step with what `Pending` and `Trace` have of their own"},
    "streameval.report.page.runs": {"_lines": "of a `Trace`, which is above; `HasLines` declares it"},
}
"""The exceptions: by module, the underscore names of other classes that it uses, each with the reason."""


def _defined(node: ast.ClassDef) -> set[str]:
    """The names that a class defines: methods, class attributes, slots, and attributes that it sets on itself."""
    names: set[str] = set()
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            names.add(part.name)
        elif isinstance(part, ast.Assign | ast.AnnAssign):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            names |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
            if "__slots__" in names and part.value is not None:
                names |= {str(each.value) for each in ast.walk(part.value) if isinstance(each, ast.Constant)}
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and _is_own(each.value):
            names.add(each.attr)
    return names


def _is_own(value: ast.expr) -> bool:
    """Whether the expression before an attribute's dot is the object or the class itself."""
    is_super = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super"
    return is_super or (isinstance(value, ast.Name) and value.id in ("self", "cls"))


@cache
def _classes() -> dict[str, tuple[set[str], list[str]]]:
    """The names that each class of the package defines, and its base classes, by class name."""
    classes: dict[str, tuple[set[str], list[str]]] = {}
    for module in MODULES:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.ClassDef):
                names, bases = classes.setdefault(node.name, (set(), []))
                names |= _defined(node)
                bases += [ast.unparse(base).split("[")[0] for base in node.bases]
    return classes


def _inherited(name: str) -> set[str]:
    names, bases = _classes().get(name, (set(), []))
    return names.union(*map(_inherited, bases))


def _foreign(tree: ast.Module) -> Iterator[ast.Attribute]:
    """The places where a module uses an underscore name that none of its classes defines or inherits."""
    own = {"_replace"}.union(*(_inherited(node.name) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)))
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and not _is_own(node.value))
    for node in attributes:
        if node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in own:
            yield node


def test_nobody_reaches_into_another_underscore_names():
    used: dict[str, set[str]] = {}
    for module in MODULES:
        for node in _foreign(tree_of(module)):
            used.setdefault(module, set()).add(node.attr)
    assert used == {module: {*names} for module, names in ALLOWED.items()}
