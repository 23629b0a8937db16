"""What holds for a whole run of the command: how much it says, in which words and colors, with how many decimals."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

Color = StrEnum("Color", ["auto", "always", "never"])

QUIET = ContextVar("QUIET", default=False)
COLOR = ContextVar("COLOR", default=Color.auto)
DIGITS = ContextVar("DIGITS", default=4)
WARNINGS: ContextVar[list[str]] = ContextVar("WARNINGS")
"""What was warned of, in the words of the command."""


def is_terminal(stream: object) -> bool:
    """Whether a stream, which may have nothing but ``write`` and ``flush``, is one."""
    return bool(getattr(stream, "isatty", bool)())


def say(text: str) -> None:
    """Write a line on standard error, if it is read: nobody who reads it ends a run or changes its status."""
    try:
        sys.stderr.write(f"{text}\n")
    except OSError:  # such as a pipe that is closed, or a disk that is full
        forget_output()


def note(text: str) -> None:
    """Say something that is neither a warning nor an error."""
    if not QUIET.get():
        say(text)


@contextmanager
def until_unread() -> Iterator[None]:
    """Let what is written end early where the reader of a pipe, such as head, has seen enough."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        cause = end.__context__ if isinstance(end, SystemExit) else end  # rich makes one of the other
        if not isinstance(cause, BrokenPipeError):
            raise
        forget_output()


def forget_output() -> None:
    """Let what could not be written not fail once more when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


_PHRASES = {
    r"np\.\w+\([^)]*\) or (?=rows=)|(?<=for labels )sets or (?=rows=)": "",
    r"\braise label_limit, or declare.*": "name a state with a higher limit, or with none, first",
    r"construct with threshold=0\.5": "evaluate, or show the state, with --threshold 0.5",
    r"\bconstruct with (?=(labels|unknown|threshold)=)": "give ",
    r"; for scores give threshold=0.5.*": "; for scores give --scores, not --predicted, and --threshold 0.5",
    r"""(?<!['"])\b(null|rows|sep|labels?|unknown|threshold|truth|join|mask|example)=(?:(['"])(\w+)\2)?""": r"--\1 \3",
    r"\b(?<!-)(sep|zero_division)(?= is| must)|^(labels|threshold)(?=:| holds?| must)": r"--\1\2",
    "--zero_division": "--zero-division",
    "give that of the integer, not (of the string .*)": (
        r"the file has that \1; write integers as in files of 'streameval thresholds --save'"
    ),
    r"^(best_thresholds|decisions_at)\(\) requires the .*": (
        "thresholds require scores, which the state does not hold; save one with --scores and --metrics roc_auc_macro"
    ),
    r"(\S+) requires the 'rankings' state; construct with keep=\S+": (  # scores may be held, as curves
        r"\1 requires ranked scores, which the state does not hold; save one with --scores and --metrics \1"
    ),
    r"(\S+) requires the 'curves' state; construct with keep=\S+": (
        r"\1 requires scores, which the state does not hold; save one with --scores and --metrics \1"
    ),
    '(?<=finite), or construct with nan="missing"': "; leave the label out, or skip the row with --skip-bad",
    r', or construct with nan="missing"': ", or skip the row with --skip-bad",
    r"is missing \(None\)": "is null",
    "(?<=cat) standard input(?= [|])": "",
    r"(\S+) requires the '\w+' state; construct with keep=.*": r"the state holds no \1; save one with --metrics \1",
    r"(column '[^']*') is (None|nan); .*": r"\1 is empty; fill it, or skip the row with --skip-bad",
    "is None (?=for label )": "is null ",
    "truth is 0, 1, or None or NaN where masked": "truth is 0 or 1, or null where masked",
    r"\b(are|in) y_true and y_pred\b": r"\1 --actual and --predicted",
    "no label of y_true is in y_pred, and none of y_pred in y_true": "no true label is a predicted one",
    r"(columns?) and y_pred has": r"\1 and the predictions have",
    r"(?<=\b[io][nf] )y_true\b": "the true labels",
    r"(?<=\b[io][nf] )y_pred\b": "the predictions",
    "for lists of many examples use update_many": "give one list of labels",
    r"must be a set, list or tuple of labels, .* 0/1 array, (not .*?)(; (?:for one label|give list).*)?$": (
        r"must be a list of labels, or an object label: true or false, \1; for a column for each label give 'true_*', "
        "for a row for each --example and --label"
    ),
    r": convert it, for example with str\(\)": ": write it as a string",
    r": convert strings, with .*": ": write it without quotes",
    r"\bgive (y|value) > 0(, with y = [^;]*)?": "write 0 and 1",
    r"\bgive (numpy\.where|None).*": "write null",
    r"labels give [^;]*\.tolist\(\)[^;]*": "labels write lists of them",
    r"convert labels with int\(\)": "write labels as strings or integers",
    r"a label must be a str or an int": "a label must be a string or an integer",
    r"(?<=an integer, not )None|(?<=booleans and )None": "null",
    "a mapping label -> number": "an object label: number",
    r"; write \w+\(label\), or for .*": "; write labels as strings or integers; scores by position are one list a row",
    "(?<=all are 0 or 1; for )indicators give": "a row for each label give --example and --label, for indicators",
    r"give np\.asarray\(rows\) == .*, for": "write true and false without quotes, for",
    r"give \[f'.* enumerate\(row\)\]": "write labels such as '0=3'",
    r"; for scores give these, for a ranking .*": "; give scores",
    r", or bound them with label_limit=|; see bounds\(\)": "",
    r"leave predicted out": "leave --predicted out",
    r"leave example and label, or truth out": "leave --example and --label, or --truth out",
    r"\b(no|two) (actual|predicted|scores|mask) (?=columns? )": r"\1 --\2 ",
    r"; Evaluator\.per_label\(\) returns (the counts of each label)": r"; results have \1, with --format csv too",
    r"(?<=is not a saved state): .* not a streameval state[^;]*(; they start with b(['\"]).*?\2)?": "",
    r"(\((\w+)\)); give a list: .*": r"\1; repeat --\2 for each column",
    "construct both with the same configuration": "evaluate both with the same options",
    r"; see streameval\.catalogue\(\)": "; 'streameval metrics' lists all",
    r"^([^']*column(?: matches)? '[^']*') \((\w+)\)": r"\1 (--\2)",
    r"^(\w+) (?=names a column twice)": r"--\1 ",
    r"^(actual|truth|example) and (predicted|scores|join|label) (?=both|go)": r"--\1 and --\2 ",
}
"""How messages of the library that name its arguments speak of the options of the command."""


def in_options(text: str) -> str:
    """A message in the words of the command, and in one line."""
    for argument, option in _PHRASES.items():
        text = re.sub(argument, option, text)
    return " ".join(text.split())
