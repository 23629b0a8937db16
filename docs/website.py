"""Parts of the site that are not pages in this folder: navigation, reference, pages of examples, pictures.

This is a hook of MkDocs, see ``mkdocs.yml``. Add a new page to `NAVIGATION`, a new module with public names to
`REFERENCE`, and a link to a new example on some page. Tests check all three.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # import this tree, not an installed package

import streameval as se
from streameval.errors import HOMES

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": ("index.md", "arrays.md", "stream.md", "shell.md", "choosing.md"),
    "Guides": (
        "guides.md", "inputs.md", "tables.md", "cli.md", "progressive.md", "windows.md", "slices.md", "curves.md",
        "rankings.md", "pairs.md", "reports.md", "plots.md", "reliability.md",
    ),
    "Integrations": ("river.md", "sklearn.md", "monitoring.md", "engines.md", "engines/*.md"),
    "Explanation": ("explanation.md", "conventions.md", "names.md", "performance.md"),
    "Reference": ("public.md", "metrics.md", "forms.md", "limits.md", "format.md"),
    "Project": ("contributing.md", "changelog.md"),
}  # fmt: skip
"""Pages by section, in order. Missing pages are left out; pages of the reference and of examples are added."""

REFERENCE: dict[str, tuple[str, ...]] = {
    "Evaluators": ("evaluation", "report.label_table", "metrics.bounds"),
    "Many examples and files": ("tabular", "inputs"),
    "Windows": ("windows",),
    "Slices": ("slices",),
    "Loops": ("progressive",),
    "Reliability": ("delivery", "testing"),
    "Catalogue": ("metrics.catalogue", "metrics.spec", "metrics.rankings_at"),
    "Curves and thresholds": ("metrics.curves", "metrics.calibration", "metrics.thresholds"),
    "Pairs of labels": ("metrics.pairs",),
    "Plots": ("plots",),
    "Adapters": ("adapters",),
    "Errors": ("errors",),
}
"""Pages of the reference, each with the modules below `streameval` whose public names it documents."""

ALSO_PUBLIC = (
    "tabular.job", "metrics.thresholds", "plots", "metrics.curves", "metrics.calibration", "metrics.pairs", "testing",
)  # fmt: skip
"""Modules that users import from besides `streameval` itself and its adapters."""

RIVER = "adapters.river.classes"
PICTURES = "pictures"


def slug(text: str) -> str:
    """The anchor of a heading, equal to that on GitHub and on the site."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


# -- navigation -------------------------------------------------------------------------------------------------------


def pages_of(section: str) -> list[str]:
    """The existing pages of a section."""
    pages = []
    for pattern in NAVIGATION[section]:
        own = pattern in project_pages()
        pages += [pattern] if own else sorted(p.relative_to(DOCS).as_posix() for p in DOCS.glob(pattern))
    return pages


def navigation() -> list[dict[str, Any]]:
    nav: list[dict[str, Any]] = [{section: pages_of(section)} for section in NAVIGATION]
    nav[1]["Guides"] += [{"Examples": sorted(example_pages())}]
    nav[4]["Reference"] += list(reference_pages())
    return nav


# -- generated pages --------------------------------------------------------------------------------------------------


def example_pages() -> dict[str, str]:
    """A page for each example, with its docstring and its source."""
    made = {}
    for path in sorted((ROOT / "examples").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        text = inspect.cleandoc(source.split('"""')[1])
        text = re.sub(r"\[(?![^\]]*\]\()", r"\\[", text)  # [path] in a usage line is no link
        code = source.split('"""', 2)[2].strip()
        made[f"examples/{path.stem}.md"] = (
            f"# {path.stem}\n\n{text}\n\n```bash\npython examples/{path.name}\n```\n\n```python\n{code}\n```\n"
        )
    return made


def public_objects() -> dict[str, object]:
    """Every public object, by the path below `streameval` that users write."""
    objects = {name: getattr(se, name) for name in se.__all__}
    for module in ALSO_PUBLIC:
        if not _public_of(module):
            raise LookupError(f"streameval.{module} has public names, and no __all__ that lists them")
    adapters = sorted(f"adapters.{each.name}" for each in iter_modules([str(ROOT / "streameval" / "adapters")]))
    for module in (*ALSO_PUBLIC, *adapters):
        objects |= {f"{module}.{name}": thing for name, thing in _public_of(module).items()}
    return objects


def _public_of(module: str) -> dict[str, object]:
    """The objects in ``__all__``; if the library of an adapter is not installed, the names are read from its source."""
    try:
        loaded = importlib.import_module(f"streameval.{module}")
    except ImportError:
        base = ROOT.joinpath("streameval", *module.split("."))
        path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        names = re.search(r"^__all__ = (\[.*?\])", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        return dict.fromkeys(ast.literal_eval(names[1])) if names else {}
    return {name: getattr(loaded, name) for name in getattr(loaded, "__all__", ())}


def home_of(path: str, thing: object) -> str:
    """The module below `streameval` that defines a public object."""
    module = HOMES[thing] if isinstance(thing, type) and thing in HOMES else getattr(thing, "__module__", None) or ""
    if module.startswith("streameval."):
        return module.removeprefix("streameval.")
    return path.rpartition(".")[0] or path


def group_of(path: str, thing: object) -> str | None:
    """The page of the reference for a public object; the longest module path that matches decides."""
    homes = (path.rpartition(".")[0], home_of(path, thing))
    best, chosen = -1, None
    for group, modules in REFERENCE.items():
        for module in modules:
            if any(home == module or home.startswith(f"{module}.") for home in homes) and len(module) > best:
                best, chosen = len(module), group
    return chosen


def reference_pages() -> dict[str, str]:
    """Pages of the reference: one for the metric classes, and one for each group of other public objects."""
    groups: dict[str, list[str]] = {group: [] for group in REFERENCE}
    seen: set[str] = set()
    for path, thing in public_objects().items():
        made = isinstance(thing, type) and issubclass(thing, se.Metric) and thing is not se.Metric
        if made or home_of(path, thing) == RIVER:
            continue
        name = path.rpartition(".")[2]
        target = f"{home_of(path, thing)}.{name}"
        if target in seen:
            continue
        seen.add(target)
        group = group_of(path, thing)
        if group is None:
            raise LookupError(f"streameval.{path} is on no page: add its module to REFERENCE in docs/website.py")
        lines = [f"::: streameval.{target}"]
        if inspect.isclass(thing) and issubclass(thing, Exception):
            lines += ["    options:", "      inherited_members: false"]
        groups[group].append("\n".join(lines))
    made = {
        f"reference/{slug(group)}.md": f"# {group}\n\n" + "\n\n".join(blocks) + "\n"
        for group, blocks in groups.items()
        if blocks
    }
    adapters = made.get("reference/adapters.md", "# Adapters\n")
    made["reference/adapters.md"] = adapters + "\n" + river_classes()
    return {"reference/metric-classes.md": metric_classes(), **made}


def metric_classes() -> str:
    """The page of metric classes, which are created from the catalogue when the package is imported."""
    lines = [
        "# Metric classes",
        "",
        "One class for each entry of the [catalogue](../metrics.md), with the methods of a",
        "[`Metric`](evaluators.md#streameval.evaluation.metric.Metric): `update`, `update_many`, `revert`, `merge`,",
        "`get` and so on.",
    ]
    for state in dict.fromkeys(entry.state for entry in se.catalogue()):
        lines += ["", f"## {state.capitalize()}", ""]
        for entry in (entry for entry in se.catalogue() if entry.state == state):
            made = getattr(se, entry.class_name)
            parameters = inspect.signature(made).parameters.values()
            options = ",\n".join(f"    {p.name}={p.default!r}" for p in parameters if p.default is not p.empty)
            lines += [
                f"### {entry.class_name}",
                "",
                f"```python\nstreameval.{entry.class_name}(\n    *,\n{options},\n)\n```",
            ]
            lines += ["", from_numpydoc(inspect.getdoc(made) or ""), ""]
    return "\n".join(lines) + "\n"


def from_numpydoc(text: str) -> str:
    """A docstring as Markdown; the indented entries of a section become a list."""
    lines, out, section = text.split("\n"), [], False
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            out += [f"**{line}**", ""]
            section = True
        elif line and set(line) == {"-"}:
            continue
        elif section and line and not line.startswith(" "):
            out.append("- `" + "`, `".join(line.split(", ")) + "`:")
        else:
            out.append(line)
    return "\n".join(out)


def river_classes() -> str:
    """A table of the classes for River, each with the first line of its docstring."""
    classes = _public_of("adapters.river")
    if not classes:
        return ""
    rows = []
    for name, made in classes.items():
        if getattr(made, "__module__", "") == f"streameval.{RIVER}":
            summary = (inspect.getdoc(made) or "").split("\n")[0]
            rows.append(f"| `{name}` | {summary} |")
    head = "## River metrics\n\nOf `streameval.adapters.river`; see [Coming from River](../river.md).\n\n"
    return head + "| class | what it is |\n|---|---|\n" + "\n".join(rows) + "\n"


def engine_list() -> str:
    """The pages of engines, each with its first sentence."""
    lines = []
    for path in sorted((DOCS / "engines").glob("*.md")):
        title, text = path.read_text(encoding="utf-8").removeprefix("# ").split("\n\n")[:3:2]
        lines.append(f"- [{title}](engines/{path.name}): {re.split(r'(?<=[.]) ', ' '.join(text.split()))[0]}")
    return "\n".join(lines)


def project_pages() -> dict[str, str]:
    return {
        f"{name.lower()}.md": (ROOT / f"{name}.md").read_text(encoding="utf-8")
        for name in ("CONTRIBUTING", "CHANGELOG")
    }


def pictures() -> Iterator[tuple[str, str]]:
    """The address and the SVG text of each picture, drawn from real computations."""
    spec = importlib.util.spec_from_file_location("streameval_pictures", DOCS / "pictures.py")
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, draw in module.PICTURES.items():
        yield f"{PICTURES}/{name}.svg", module.svg(draw)


# -- text -------------------------------------------------------------------------------------------------------------


def for_site(markdown: str, uri: str, source: Path) -> str:
    """A page for the site, in which links to examples and to files outside this folder lead to pages of the site."""

    def link(match: re.Match[str]) -> str:
        text, address = match[1], match[2]
        if re.match(r"[a-z]+:|#", address):
            return match[0]
        place, _, anchor = address.partition("#")
        target = (source.parent / place).resolve()
        for folder, made in ((ROOT / "examples", lambda p: f"examples/{p.stem}.md"), (ROOT, lambda p: p.name.lower())):
            if target.parent == folder and target.suffix in {".py", ".md"}:
                page = "index.md" if target.name == "README.md" else made(target)
                address = posixpath.relpath(page, posixpath.dirname(uri) or ".") + ("#" + anchor if anchor else "")
                return f"[{text}]({address})"
        if target.is_relative_to(DOCS) and not source.is_relative_to(DOCS):
            page = target.relative_to(DOCS).as_posix()
            return f"[{text}]({posixpath.relpath(page, posixpath.dirname(uri) or '.')}{'#' + anchor if anchor else ''})"
        return match[0]

    root = posixpath.relpath(".", posixpath.dirname(uri) or ".")
    named = {path.stem for path in (ROOT / "examples").glob("*.py")} if not uri.startswith("examples/") else set()

    def example(match: re.Match[str]) -> str:
        return f"[{match[0]}]({root}/examples/{match[1]}.md)" if match[1] in named else match[0]

    markdown = re.sub(r"(?<!\[)`examples/(\w+)\.py`", example, markdown)
    text = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", link, markdown)
    text = re.sub(r"`[^`\n]+`", lambda code: code[0].replace("\\|", "|"), text)  # only GitHub needs | escaped in tables
    text = re.sub(r"^```python\n(?=>>> )", "```pycon\n", text, flags=re.MULTILINE)
    text = re.sub(r"\n\n```$", "\n```", text, flags=re.MULTILINE)  # drops the blank line that ends a doctest
    return re.sub(r"^<BLANKLINE>$", "", re.sub(r" *# doctest: .*$", "", text, flags=re.MULTILINE), flags=re.MULTILINE)


# -- the hook ---------------------------------------------------------------------------------------------------------


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = navigation()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    made: Iterable[tuple[str, str]] = {**example_pages(), **reference_pages(), **project_pages()}.items()
    for uri, content in (*made, *pictures()):
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    del config, files
    if page.file.src_uri == "metrics.md":
        page.meta["hide"] = ["toc"]  # its table is wide
        classes = re.compile(r"^(\| `\w+` \| )`(\w+)`", re.MULTILINE)
        markdown = classes.sub(
            lambda row: f"{row[1]}[`{row[2]}`](reference/metric-classes.md#{slug(row[2])})", markdown
        )
    uri = page.file.src_uri
    page.meta["search"] = {"boost": 0.3 if uri.startswith(("reference/", "changelog")) else 1}  # guides first
    if uri == "engines.md":
        markdown = markdown.replace("\n\n## ", f"\n\n{engine_list()}\n\n## ", 1)
    source = DOCS / uri if (DOCS / uri).exists() else ROOT / uri
    if uri in project_pages():
        source = ROOT / f"{Path(uri).stem.upper()}.md"
    return for_site(markdown, uri, source)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Prevent line breaks after hyphens in short code, and allow breaks between words of metric names in the table."""
    del config, files
    if page.file.src_uri == "metrics.md":
        parts = re.compile(r"<code>(\w+)</code>")
        html = parts.sub(
            lambda name: f'<code class="parts">{re.sub("(?<=_)|(?<=[a-z])(?=[A-Z])", "<wbr>", name[1])}</code>', html
        )
    return re.sub(r"<code>([^<]{1,40})</code>", r'<code class="short">\1</code>', html)


def on_post_build(config: MkDocsConfig) -> None:
    """Raise an error if a page would load anything from another host."""
    from mkdocs.exceptions import Abort

    loads = re.compile(
        r"""<(?:script|img|iframe|source)[^>]+\bsrc=["']?(?:https?:)?//|<link[^>]+\bhref=["']?(?:https?:)?//"""
    )
    for path in Path(config.site_dir).rglob("*.html"):
        if (match := loads.search(path.read_text(encoding="utf-8"))) is not None:
            raise Abort(f"{path} loads something from elsewhere: {match[0]}")
    for path in Path(config.site_dir).rglob("*.css"):
        if re.search(r"url\([\"']?(?:https?:)?//", path.read_text(encoding="utf-8")):
            raise Abort(f"{path} loads something from elsewhere")
