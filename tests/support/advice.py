"""Find the expressions that an error message recommends, and evaluate them on the argument that was refused."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

_LIBRARIES: dict[str, Any] = {"np": np, "numpy": np, "pd": pd, "pandas": pd, "scipy": scipy, "ast": ast}
_EACH = {"row", "string", "counter", "each", "example", "value"}  # names for one example or one of its values
_WHOLE = {"y", "rows", "y_true", "y_pred", "mask", "argument"}
_KINDS = (ast.Call, ast.Subscript, ast.ListComp, ast.List, ast.Compare)


@cache
def expressions(message: str) -> list[str]:
    """The longest expressions after words like "give"; one that begins with a dot is an attribute of the argument."""
    codes = []
    for opening in re.finditer(r"(?<= )(?=[\w\[(.])", message):
        if not re.search(r"\b(give|write|with|or|label|example|for \w+) $", message[: opening.start()]):
            continue
        part = message[opening.end() :]
        for end in range(len(part), 2, -1):
            code = "argument" * part.startswith(".") + part[:end].rstrip()
            try:
                tree = ast.parse(code, mode="eval").body
            except (SyntaxError, ValueError):
                continue
            if isinstance(tree, _KINDS) and "..." not in code and not names_in(code).isdisjoint(_WHOLE | _EACH):
                codes.append(code)
                break
    return codes


def names_in(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def evaluated(code: str, message: str, argument: Any, *, many: bool) -> Any:
    """The value of a recommended expression: for one example, or with ``many`` for all examples of a batch."""
    code = re.sub(r"y_(true|pred)\[\d+\]", "example", code)
    parts = names_in(code)
    definition = re.search(r", with y = (numpy[^;]*)", message)

    def made(part: Any) -> Any:
        names = dict.fromkeys(_WHOLE | _EACH, part)
        if definition is not None:
            names["y"] = eval(definition[1], {**_LIBRARIES, **names})  # noqa: S307  # code from our own message
        return eval(code, {**_LIBRARIES, **names})  # noqa: S307  # code from our own message

    def of_one(example: Any) -> Any:
        if "value" in parts and isinstance(example, dict):
            return {label: made(cell) for label, cell in example.items()}
        return made(example)

    of_each = not parts.isdisjoint(_EACH) or ("argument" in parts and isinstance(argument, list))
    return [of_one(example) for example in argument] if of_each or not many else made(argument)
