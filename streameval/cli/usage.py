"""Commands with their help pages, and what is wrong with a command line, in our words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from streameval.cli.arguments import described
from streameval.cli.settings import COLOR, DIGITS, QUIET, Color
from streameval.schema.text import suggestion

_STATUS = "0 success; 1 a check failed; 2 wrong usage or input; 130 interrupted by Ctrl-C"

_MEANT = {
    "--actual": ("--true", "--truths", "--target", "--targets", "--gold", "--reference"),
    "--predicted": ("--pred", "--preds", "--prediction", "--guess"),
    "--scores": ("--score", "--prob", "--probability", "--logits"),
    "--sep": ("--separator", "--delimiter"),
    "--metrics": ("--average",),
    "--format": ("--json", "--csv", "--markdown"),
}
"""Options by other names that people expect them to have."""


class Command(TyperCommand):
    """A command whose help page has groups of options, and examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page."""
        words = [str(each.metavar) for each in self.params if each.param_type_name == "argument"]
        panels: dict[str, list[tuple[str, str]]] = {"Input": [], "Columns": [], "Metrics": [], "Output": []}
        for each in self.get_params(ctx):
            panels[getattr(each, "rich_help_panel", None) or "Output"].append(_described(each))
        _write_help(self, ctx, formatter, " ".join([*words, "[OPTIONS]"]), panels)


class Group(TyperGroup):
    """The whole command line, whose help page lists the commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help page."""
        commands = [(name, each.help or "") for name, each in self.commands.items()]
        sections = {"Commands": commands, "Options": [*map(_described, self.get_params(ctx))]}
        _write_help(self, ctx, formatter, "COMMAND [OPTIONS]", sections)


def _described(param: Any) -> tuple[str, str]:
    """The names of a parameter with its metavariable, and its help."""
    names = [", ".join(sorted(param.opts, key=len))] if param.param_type_name == "option" else []
    return " ".join([*names, *filter(None, [param.metavar])]), param.help or ""


def _write_help(command: Any, ctx: Any, formatter: Any, usage: str, sections: dict[str, list[tuple[str, str]]]) -> None:
    formatter.write_usage(ctx.command_path, usage)
    formatter.write_paragraph()
    formatter.write_text(command.help)
    for name, rows in sections.items():
        if rows:
            with formatter.section(name):
                formatter.write_dl(rows, col_max=26)
    for name, text in (("Examples", inspect.cleandoc(command.epilog)), ("Exit status", _STATUS)):
        with formatter.section(name):
            formatter.write("".join(f"  {line}\n" for line in text.splitlines()))


def command(app: typer.Typer, name: str | None = None) -> Callable[[Any], Any]:
    """A command, whose ``**options: Unpack[SomeTypedDict]`` are options, and whose docstring has its examples."""

    def register(function: Any) -> Any:
        def run(quiet: bool = False, color: Color = Color.auto, digits: int = DIGITS.get(), **rest: Any) -> Any:
            QUIET.set(quiet)
            COLOR.set(color)
            DIGITS.set(digits)
            return function(**rest)

        parameters = [*_parameters(run), *_parameters(function)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        sentence, _, examples = inspect.cleandoc(function.__doc__).partition("\n\n")
        app.command(name or function.__name__, cls=Command, help=sentence, epilog=examples)(run)
        return function

    return register


def _parameters(function: Any) -> Iterator[inspect.Parameter]:
    """Those of a function, and the items of its typed dictionary, with what typer has to know of them."""
    hints = get_type_hints(function)
    for own in inspect.signature(function).parameters.values():
        kind = hints[own.name]
        if own.kind is not own.VAR_KEYWORD:
            yield own.replace(kind=own.KEYWORD_ONLY, annotation=described(own.name, kind))
        elif get_origin(kind) is Unpack:
            for name, each in get_type_hints(*get_args(kind)).items():
                default = {bool: False, int: 20}.get(each)  # of switches, and of --top
                yield inspect.Parameter(name, own.KEYWORD_ONLY, default=default, annotation=described(name, each))


_WORDS = {
    r"^Value error, ": "",
    r"Input should be a valid number.*": "must be a number",
    r"Input should be a valid integer.*": "must be an integer",
    r"Input should be greater than or equal to (\S+)": r"must be at least \1",
    r"Input should be less than or equal to (\S+)": r"must be at most \1",
    r"^\S+ is not in the range x>=(\S+?)\.?$": r"must be at least \1",
    r"^\S+ is not in the range (\S+?)<=x<=(\S+?)\.?$": r"must be at least \1 and at most \2",
    r"'(.*)' is not a valid (float|integer)\.?": r"must be a number, not '\1'",
    r"^'(.*)' is not one of (.*?)\.?$": r"must be one of \2, not '\1'",
}
"""What the libraries that parse options say, and what we say."""


def usage_error(error: Any) -> str:
    """What is wrong with a command line."""
    text = str(error.format_message() if hasattr(error, "format_message") else error).rstrip(".")
    command, path = (None, "streameval") if error.ctx is None else (error.ctx.command, error.ctx.command_path)
    if (unknown := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
        options = [name for each in command.params for name in each.opts] if command else []
        meant = next((name for name, words in _MEANT.items() if unknown in words and name in options), None)
        hint = f"; did you mean {meant!r}?" if meant else suggestion(unknown, options, cutoff=0.7)
        return f"there is no option {unknown}{hint or f'; see {path} --help'}"
    if (param := getattr(error, "param", None)) is not None:
        option = f"{max(param.opts, key=len)} " if param.param_type_name == "option" else ""
        if not (option and error.message):
            return f"{option}{param.metavar} is missing; see {path} --help"
        said = error.message
        for theirs, ours in _WORDS.items():
            said = re.sub(theirs, ours, said)
        return f"{option}{said}"
    if command and (name := re.match("No such command '(.*?)'", text)):
        hint = suggestion(name[1], command.commands) or "; see streameval --help"
        return f"there is no command {name[1]!r}{hint}"
    return f"{text[:1].lower()}{text[1:]}; see {path} --help"
