"""Checks that end a command with status 1, such as ``f1_micro < 0.7`` or ``f1_micro[region=us] < 0.6``."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from streameval.cli.reading import UserError
from streameval.cli.settings import note
from streameval.errors import MetricError
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.report.parts import Number, Part
from streameval.schema.text import printable

_TESTS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_CHECK = re.compile(
    r"\s*(?P<change>change\()?\s*(?P<metric>[^\[\]<>]+?)\s*(?(change)\)\s*)(\[(?P<scope>.+)\]\s*)?"
    r"(?P<test>[<>]=?)\s*(?P<limit>[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Check:
    """A check that fails where a metric of a part, or its change, is beyond a limit."""

    text: str
    metric: MetricSpec
    scope: str
    test: str
    limit: float

    def failed(self, parts: Sequence[Part]) -> str:
        """How it failed, or nothing."""
        chosen = [
            part
            for part in parts
            if self.scope == _tight(part.scope) or (part.where and self.scope == ",".join(part.where))
        ]
        if not chosen:
            known = ", ".join(part.scope for part in parts[:10])
            raise UserError(f"--fail-if '{self.text}': there are no rows [{self.scope}]; there are {known}")
        numbers: list[tuple[str, Number]] = []
        for part in chosen:
            for label, number in part.metrics[self.metric.key].items():
                words = ("" if part is parts[0] else part.scope, "" if label is None else f"label {printable(label)}")
                numbers.append((", ".join(filter(None, words)), number))
        values = [(number.value, place) for place, number in numbers if number.value is not None]
        unknown = [(place, number.reason) for place, number in numbers if number.value is None]
        if not values:
            reason = unknown[0][1] if unknown else "no labels"
            raise UserError(f"--fail-if '{self.text}' cannot be checked: {self.metric.key} is undefined ({reason})")
        if unknown:
            rest = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            note(f"--fail-if '{self.text}' was not checked for {unknown[0][0]}{rest}: {unknown[0][1]}")
        failing = [pair for pair in values if _TESTS[self.test](pair[0], self.limit)]
        if not failing:
            return ""
        value, place = (min if self.test[0] == "<" else max)(failing)
        more = f"; {len(failing)} of {len(values)} fail" if len(values) > 1 else ""
        return f"{place and place + ': '}{value:.10g}{more}"


def _tight(scope: str) -> str:
    return re.sub(r"\s*([=,])\s*", r"\1", scope.strip())


def checks_of(texts: list[str] | None, *, change: bool = False) -> list[Check]:
    """The checks that options name; of ``change`` of a metric, or of its value."""
    checks = []
    for text in texts or ():
        match = _CHECK.fullmatch(text)
        if match is None or bool(match["change"]) != change:
            forms = ("change(f1_micro) < -0.01",) if change else ("f1_micro < 0.7", "f1_micro[region=us] < 0.6")
            raise UserError(f"--fail-if '{text}' is not a check; write {' or '.join(map(repr, forms))}")
        try:
            metric = parse_spec(match["metric"])
        except MetricError as error:
            raise UserError(f"--fail-if '{text}': {error}") from None
        scope = "all" if match["scope"] is None else _tight(match["scope"])
        checks.append(Check(text, metric, scope, match["test"], float(match["limit"])))
    return checks


def status_of(checks: Sequence[Check], parts: Sequence[Part]) -> int:
    """The status that a command ends with: 1 if a check failed, which a line says."""
    failed = [(check.text, how) for check in checks if (how := check.failed(parts))]
    sys.stderr.writelines(f"failed: {text} ({how})\n" for text, how in failed)
    return 1 if failed else 0
