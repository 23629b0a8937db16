"""The pages are consistent: navigation, links, reference, examples. Their code runs as doctests."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import streameval as se
from streameval.evaluation.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


@pytest.fixture(scope="module")
def website() -> ModuleType:
    spec = importlib.util.spec_from_file_location("website", DOCS / "website.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prose(path: Path) -> str:
    """A page without its code."""
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(website: ModuleType, path: Path) -> set[str]:
    plain = (
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    )
    return {website.slug(head) for head in plain}


def links(path: Path) -> list[str]:
    return [address for address in re.findall(r"\]\(([^)\s]+)\)", prose(path)) if not re.match(r"[a-z]+:", address)]


def test_every_page_is_in_the_navigation_once(website):
    listed = [page for section in website.NAVIGATION for page in website.pages_of(section)]
    pages = {p.relative_to(DOCS).as_posix() for p in PAGES}
    assert pages == {*listed} - {"contributing.md", "changelog.md"}, "list it in NAVIGATION of docs/website.py"
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(website, path):
    for address in links(path):
        place, _, anchor = address.partition("#")
        target = (path.parent / place).resolve() if place else path
        if target.parent == DOCS / website.PICTURES:
            assert f'"{target.stem}"' in (names := str(picture_names())).replace("'", '"'), (address, names)
            continue
        assert target.exists(), f"{path.name}: {address}"
        if anchor:
            assert anchor in anchors(website, target), f"{path.name}: {address}"


def picture_names() -> list[str]:
    """The functions that draw pictures in docs/pictures.py, read from its source without running it."""
    source = (DOCS / "pictures.py").read_text(encoding="utf-8")
    listed = re.search(r"for made in \(([^)]*)\)", source)
    assert listed is not None
    return re.findall(r"\w+", listed[1])


def test_every_picture_is_on_a_page():
    markdown = {Path(address).stem for path in PAGES for address in links(path) if "pictures/" in address}
    assert markdown == set(picture_names())


def test_every_example_is_named_on_a_page():
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    missing = [path.name for path in (ROOT / "examples").glob("*.py") if f"examples/{path.name}" not in text]
    assert missing == [], "name each on a page of docs, as `examples/NAME.py`"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if (DOCS / f"{kind}.md").exists()])
def test_the_page_of_a_kind_names_each_of_its_metrics(kind):
    text = (DOCS / f"{kind}.md").read_text(encoding="utf-8")
    missing = [entry.name for entry in se.catalogue() if entry.state == kind and f"`{entry.name}" not in text]
    assert missing == [], f"add them to docs/{kind}.md"


@pytest.mark.parametrize("page", sorted(DOCS.glob("engines/*.md")), ids=lambda page: page.stem)
def test_the_tests_of_an_engine_run_its_page_and_its_example(page):
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "adapters" / page.stem).glob("*.py"))
    programs = re.findall(r"examples/(\w+\.py)", page.read_text(encoding="utf-8"))
    assert programs, f"docs/engines/{page.name} names no `examples/NAME.py`"
    missing = [name for name in (page.name, *programs) if f'{name}"' not in tests]
    assert missing == [], f"run them in tests/adapters/{page.stem}; the last tests of tests/adapters/dask are to copy"


def test_every_public_name_is_in_the_reference(website):
    pages = website.reference_pages()
    text = "\n".join(pages.values())
    described = set(re.findall(r"^::: streameval\.(?:[\w.]+\.)?(\w+)$", text, re.MULTILINE))
    described |= set(re.findall(r"^### (\w+)$", pages["reference/metric-classes.md"], re.MULTILINE))
    described |= set(re.findall(r"^\| `(\w+)` \|", pages["reference/adapters.md"], re.MULTILINE))
    public = {path.rpartition(".")[2] for path in website.public_objects()}
    assert set(se.__all__) <= public
    assert sorted(public - described) == []


def test_every_full_name_in_docstrings_and_pages_exists():
    sources = [path for kind in ("*.py", "*.pyx", "*.pxd") for path in (ROOT / "streameval").rglob(kind)]
    text = "".join(path.read_text(encoding="utf-8") for path in [*DOCUMENTS, *sources])
    # Adapters are left out, because their libraries need not be installed.
    names = {name.rstrip(".") for name in re.findall(r"(?<=`)streameval\.(?!adapters)[\w.]+", text)}
    assert len(names) > 30
    for name in sorted(names):
        assert pkgutil.resolve_name(name) is not None, name


def test_a_module_on_no_page_of_the_reference_is_an_error(website, monkeypatch):
    monkeypatch.setattr(website, "REFERENCE", {"Errors": ("errors",)})
    with pytest.raises(LookupError, match=r"on no page: add its module to REFERENCE"):
        website.reference_pages()


def test_a_public_module_without_its_names_is_an_error(website, monkeypatch):
    monkeypatch.setattr(website, "ALSO_PUBLIC", ("metrics.spec",))
    with pytest.raises(LookupError, match=r"streameval.metrics.spec has public names, and no __all__"):
        website.public_objects()


def test_links_out_of_the_folder_lead_to_pages_of_the_site(website):
    text = "[a](../examples/slices.py), `examples/slices.py`, [b](../CONTRIBUTING.md#set-up), [c](tables.md), [d](https://e.f)"
    markdown = website.for_site(text, "x.md", DOCS / "x.md")
    assert "[a](examples/slices.md)" in markdown
    assert "[`examples/slices.py`](./examples/slices.md)" in markdown
    assert "[b](contributing.md#set-up), [c](tables.md), [d](https://e.f)" in markdown
    deep = website.for_site(
        "[a](../../examples/slices.py) `examples/slices.py`", "engines/x.md", DOCS / "engines" / "x.md"
    )
    assert deep == "[a](../examples/slices.md) [`examples/slices.py`](../examples/slices.md)"
    contributing = website.for_site("[a](docs/tables.md)", "contributing.md", ROOT / "CONTRIBUTING.md")
    assert contributing == "[a](tables.md)"
    assert website.for_site(r"| `a\|b` | \|*s*\| |", "x.md", DOCS / "x.md") == r"| `a|b` | \|*s*\| |"


def test_doctests_are_displayed_without_their_marks(website):
    text = "```python\n>>> f()    # doctest: +SKIP\n<BLANKLINE>\n1\n\n```\n"
    assert website.for_site(text, "x.md", DOCS / "x.md") == "```pycon\n>>> f()\n\n1\n```\n"


def test_sections_of_docstrings_become_markdown_lists(website):
    text = "Share.\n\n    a / b\n\nParameters\n----------\nlabels, unknown\n    As for `Evaluator`.\n"
    markdown = website.from_numpydoc(text)
    assert markdown == "Share.\n\n    a / b\n\n**Parameters**\n\n- `labels`, `unknown`:\n    As for `Evaluator`.\n"


@pytest.mark.parametrize("script", sorted(DOCS.glob("*.py")), ids=lambda path: path.stem)
def test_scripts_import_the_package_of_their_own_tree_even_if_another_is_installed(tmp_path, script):
    for module in ("matplotlib", "river") if script.stem == "pictures" else ():
        pytest.importorskip(module)
    (tmp_path / "streameval.py").write_text("raise ImportError('the installed one')", encoding="utf-8")
    code = f"import runpy; runpy.run_path({str(script)!r}); import streameval; print(streameval.__file__)"
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.stdout.strip()) == ("", str(ROOT / "streameval" / "__init__.py"))
