"""The page as a browser shows it: Chromium opens the file from disk, and its script sorts, filters and announces.

Not part of the ordinary tests: it needs the package ``playwright`` and a Chromium on the path, and is run by name,
``python -m pytest tests/browser``.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

import streameval as se
from streameval.schema.text import label_text
from tests.support.report_cases import HOSTILE, TITLE, few, hostile, hostile_trace, many

CASES = {
    "few": lambda path: few().save_html(path, slices={"a": few(), "b": se.Evaluator()}),
    "many": lambda path: many(250).save_html(path),
    "hostile": lambda path: hostile().save_html(
        path, title=TITLE, trace=hostile_trace(), slices={"</script><b>": hostile()}
    ),
    "empty": lambda path: se.Evaluator(threshold=0.5, keep=["pairs", "curves", "rankings"]).save_html(path),
    "huge": lambda path: many(10_000, 60).save_html(path),
    "sliced": lambda path: measured().save_html(path, slices={"part one": measured(), "part two": measured()}),
    "weighted": lambda path: se.save_html({"old": weighted(0.0), "new": weighted(0.02)}, path),
    "wide": lambda path: measured(12, 1234.56).save_html(path, slices=dict.fromkeys("ab", measured(12))),
    "seven runs": lambda path: se.save_html({f"model {name}": measured(12) for name in "abcdefg"}, path),
}


def measured(metrics: int = 8, weight: float = 1.0) -> se.Evaluator:
    """An evaluator with metrics of wide names and with confusions."""
    names = ["f1_micro", "hamming_loss", "label_ranking_average_precision", "expected_calibration_error_micro"]
    names += ["average_precision_macro", "average_precision_micro", "average_precision_weighted", "roc_auc_weighted"]
    names += ["subset_accuracy", "jaccard_samples", "balanced_accuracy_macro", "predicted_cardinality"]
    ev = se.Evaluator(names[:metrics], labels=["category/one", "category/two"], threshold=0.5, keep=["pairs"])
    for number in range(32):
        ev.update({ev.labels[number % 2]}, {"category/one": number / 32, "category/two": 0.4}, weight=weight)
    return ev


def weighted(wrong: float) -> se.Evaluator:
    """Supports that are ties when rounded or need an exponent; a false positive of weight ``wrong`` lowers F1."""
    ev = se.Evaluator()
    for label, weight in {"cat": 1234.25, "dog": 2.0625, "fly": 0.00005, "fox": 2.0**60, "pig": 9999.5}.items():
        ev.update({label}, {label}, weight=weight)
    ev.update(set(), {"cat"}, weight=wrong)
    return ev


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, save in CASES.items():
        save(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in CASES}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path is not None, "no Chromium on the path; on Debian: apt-get install chromium"
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield made
        made.close()


class Watched:
    """An open page, with its errors, console messages and requests."""

    def __init__(self, browser: Browser, file: Path, **options: object) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    def first(self, table: str, column: int) -> list[str]:
        return self.page.locator(f"[data-table={table}] tbody tr:visible > :nth-child({column + 1})").all_inner_texts()


@pytest.fixture
def opened(browser: Browser, files: dict[str, Path]) -> Iterator[object]:
    made: list[tuple[Watched, str]] = []

    def opening(name: str, **options: object) -> Watched:
        watched = Watched(browser, files[name], **options)
        made.append((watched, files[name].as_uri()))
        return watched

    yield opening
    for watched, address in made:
        assert watched.wrong == []
        assert watched.asked == [address]
        watched.context.close()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [1280, 768, 420, 320])
def test_pages_open_without_an_error_and_only_tables_scroll_sideways_with_a_hint(opened, name: str, width: int):
    page = opened(name, viewport={"width": width, "height": 800}).page
    for box in page.locator(".scroll").all():
        scrolls = box.evaluate("box => box.scrollWidth > box.clientWidth")
        hint = box.evaluate("box => getComputedStyle(box.querySelector('caption'), '::after').content")
        assert scrolls == ("scrolls" in hint), box.get_attribute("aria-labelledby")
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide == 0
    assert page.evaluate("window.hurt") is None


def test_hostile_names_are_displayed_as_they_are(opened):
    watched = opened("hostile")
    names = watched.page.locator("[data-table=labels] tbody th").all_text_contents()
    assert {label_text(HOSTILE[0]), label_text(HOSTILE[2])} <= {*names}
    assert watched.page.title() == TITLE.replace("\u202e", "\\u202e")
    assert watched.page.locator("img, b:has-text('</script>')").count() == 0


@pytest.mark.parametrize("name", ["few", "many", "hostile", "weighted"])
def test_without_the_script_all_rows_are_visible_and_with_it_the_first_ones(opened, name: str):
    plain, alive = opened(name, java_script_enabled=False), opened(name)
    for table in ("labels", "slices", "confusions"):
        rows = [watched.page.locator(f"[data-table={table}] tbody tr:visible") for watched in (plain, alive)]
        every, first = (row.all_inner_texts() for row in rows)
        assert every[: len(first)] == first
        assert plain.page.locator(f"[data-table={table}] tbody tr").count() == len(every)
    if name == "many":
        assert plain.page.locator("[data-table=labels] tbody tr:visible").count() == 250
    if name == "few":
        assert "0.0312" in plain.page.locator("[data-table=labels] tbody").first.inner_text()
    if name == "weighted":
        cells = plain.page.locator("[data-table=labels] tbody td").all_inner_texts()
        assert cells[2:4] == ["\u22128e-06", "1,234.2"]
        assert cells[7::4] == ["2.062", "5e-05", "1.153e+18", "9,999.5"]
    assert plain.page.locator("form:visible, button:visible, select:visible").count() == 0


def test_a_click_sorts_and_a_second_click_reverses_the_order(opened):
    watched = opened("many")
    head = watched.page.locator("[data-table=labels] thead th").nth(1)
    assert head.get_attribute("aria-sort") is None
    for direction, reverse in (("descending", True), ("ascending", False)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == direction
        values = [float(text) for text in watched.first("labels", 1)]
        assert values == sorted(values, reverse=reverse)
    assert watched.page.locator("[data-table=labels] [aria-sort]").count() == 1


def test_the_keyboard_sorts_names_in_the_order_of_their_numbers(opened):
    watched = opened("many")
    button = watched.page.locator("[data-table=labels] thead th").first.locator("button")
    button.focus()
    watched.page.keyboard.press("Enter")
    assert watched.first("labels", 0)[:3] == ["topic 00000", "topic 00001", "topic 00002"]
    watched.page.keyboard.press("Space")
    assert watched.first("labels", 0)[0] == "topic 00249"


def test_a_filter_leaves_the_rows_that_match_and_says_how_many(opened):
    watched = opened("many")
    page = watched.page
    page.get_by_label("Find a label").fill("TOPIC 0001")
    assert sorted(watched.first("labels", 0)) == [f"topic 0001{digit}" for digit in range(10)]
    assert page.locator("output").inner_text() == "10 of 250 labels"
    page.get_by_label("Find a label").fill("")
    page.get_by_label("Support at least").fill("20")
    assert all(int(text.replace(",", "")) >= 20 for text in watched.first("labels", 4))
    page.get_by_label("Find a label").fill("no such label")
    assert watched.first("labels", 0) == []
    assert "No row fits." in page.locator("#labels").inner_text()


def test_buttons_display_more_rows_or_all(opened):
    watched = opened("many")
    assert len(watched.first("labels", 0)) == 100
    watched.page.get_by_role("button", name="Show 100 more").click()
    assert len(watched.first("labels", 0)) == 200
    watched.page.get_by_role("button", name="Show all").click()
    assert len(watched.first("labels", 0)) == 250
    assert watched.page.get_by_role("button", name="Show all").count() == 0


def test_where_a_server_forbids_scripts_all_rows_are_visible(browser: Browser, files: dict[str, Path]):
    context = browser.new_context()
    page = context.new_page()
    headers = {"Content-Type": "text/html", "Content-Security-Policy": "script-src 'none'"}
    page.route("http://reports.test/", lambda route: route.fulfill(path=files["many"], headers=headers))
    page.goto("http://reports.test/")
    assert page.locator("[data-table=labels] tbody tr:visible").count() == 250
    context.close()


def test_a_sorted_page_that_a_browser_saved_opens_with_all_of_its_rows(opened, files: dict[str, Path]):
    page = opened("many").page
    page.locator("[data-table=labels] thead th").nth(1).locator("button").click()
    page.get_by_label("Find a label").fill("TOPIC 0001")
    files["saved"] = files["many"].with_name("saved.html")
    files["saved"].write_text(page.content(), encoding="utf-8")
    again, buttons = opened("saved"), [*opened("many").page.get_by_role("button").all_inner_texts()]
    assert again.page.get_by_role("button").all_inner_texts() == buttons
    again.page.locator("[data-table=labels] thead th").first.locator("button").click()
    again.page.get_by_role("button", name="Show all").first.click()
    assert again.first("labels", 0) == [f"topic {place:05}" for place in range(250)]


def test_a_filter_finds_a_label_among_ten_thousand(opened):
    watched = opened("huge")
    watched.page.get_by_label("Find a label").fill("09999")
    assert watched.first("labels", 0) == ["topic 09999"]


def test_a_dot_displays_its_label_under_the_pointer(opened):
    page = opened("many").page
    area = page.locator("#labels .area")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    place = page.evaluate(
        """() => document.querySelector('#labels path[data-of]').getAttribute('d').match(/M(\\d+) (\\d+)/).slice(1)"""
    )
    at = box["x"] + int(place[0]) / 1000 * box["width"], box["y"] + int(place[1]) / 1000 * box["height"]
    page.mouse.move(*at)
    name = page.locator("#labels .tip b").inner_text()
    assert name.startswith("topic ")
    assert "support" in page.locator("#labels .tip").inner_text()
    page.mouse.move(0, 0)
    assert page.locator("#labels .tip:visible").count() == 0


def test_a_chosen_label_stands_out_among_the_curves(opened):
    page = opened("few").page
    page.locator("#curves select").select_option(label="dog")
    assert page.locator("path.faint.on").count() == 2
    names = page.locator("path.faint.on").evaluate_all("paths => paths.map(path => path.dataset.name)")
    assert all(name.startswith("dog, ") for name in names)
    assert page.locator("#curves output").inner_text() == "; ".join(names)
    area = page.locator("#curves .area").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.move(box["x"] + box["width"], box["y"] + 1)
    assert "threshold" in page.locator("#curves .tip").first.inner_text()


def test_a_table_is_copied_as_sorted_and_filtered_and_the_copy_is_announced(opened):
    watched = opened("many")
    page = watched.page
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_label("Find a label").fill("TOPIC 0001")
    page.locator("[data-table=labels] thead th").first.locator("button").click()
    status = page.locator("[data-table=labels] [role=status]")
    assert status.inner_text() == ""
    take = page.locator("[data-table=labels] caption").get_by_role("button", name="Copy")
    take.click()
    status.get_by_text("copied", exact=True).wait_for()
    assert take.evaluate("button => document.activeElement === button")
    head, *rows = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert head.split("\t")[:3] == ["label", "f1", "precision"]
    assert [row.split("\t")[0] for row in rows] == watched.first("labels", 0) == [f"topic 0001{n}" for n in range(10)]
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
    take.click()  # without a clipboard, as on a page that is served without encryption
    status.get_by_text("not copied", exact=False).wait_for()


def test_a_download_contains_what_a_copy_contains(opened):
    watched = opened("hostile")
    page = watched.page
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    caption = page.locator("[data-table=labels] caption")
    with page.expect_download() as download:
        caption.get_by_role("button", name="CSV").click()
    saved = list(csv.reader(download.value.path().read_text(encoding="utf-8").splitlines(keepends=True)))
    caption.get_by_role("button", name="Copy").click()
    caption.get_by_text("copied", exact=True).wait_for()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines(keepends=True)
    assert list(csv.reader(copied, delimiter="\t")) == saved
    assert len(saved) == len(HOSTILE) + 1


LUMINANCE = """name => {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const parts = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(part => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  probe.remove();
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_have_enough_contrast_with_the_background(opened, scheme: str):
    page = opened("few", color_scheme=scheme).page
    ground = page.evaluate(LUMINANCE, "ground")
    assert (ground > 0.5) == (scheme == "light")

    def contrast(name: str) -> float:
        one, two = sorted((page.evaluate(LUMINANCE, name), ground))
        return (two + 0.05) / (one + 0.05)

    assert min(contrast("ink"), contrast("muted")) >= 4.5
    assert min(contrast(tone) for tone in "abcdefgh") >= 3


def test_headings_break_after_underscores_so_that_a_table_of_many_metrics_fits(opened):
    box = opened("sliced").page.locator(".scroll:has([data-table=slices])")
    assert box.evaluate("box => box.scrollWidth - box.clientWidth") == 0


def test_lines_of_a_picture_can_be_distinguished_in_grey(opened):
    page = opened("few").page
    dashes = """tone => {
      const path = document.querySelector('path.line').cloneNode();
      path.setAttribute('class', `line ${tone}`);
      document.querySelector('svg').append(path);
      return getComputedStyle(path).strokeDasharray;
    }"""
    tones: dict[str, list[float]] = {}
    for tone in "abcdefgh":
        tones.setdefault(page.evaluate(dashes, tone), []).append(page.evaluate(LUMINANCE, tone))
    for alike in tones.values():
        assert all((light + 0.05) / (dark + 0.05) > 1.3 for dark, light in pairwise(sorted(alike)))


def test_on_paper_the_page_is_light_and_has_no_controls(opened):
    page = opened("few", color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(LUMINANCE, "ground") == 1
    assert page.locator("form:visible, nav:visible, select:visible").count() == 0
    assert page.pdf(format="A4")[:5] == b"%PDF-"


@pytest.mark.parametrize("name", ["few", "hostile", "sliced", "wide", "seven runs"])
def test_on_paper_no_table_is_wider_than_the_page(opened, name: str):
    page = opened(name, viewport={"width": 688, "height": 900}).page  # the width of A4 without margins
    page.emulate_media(media="print")
    wide = "table => table.offsetWidth > table.parentElement.clientWidth + 1"
    assert page.evaluate(f"[...document.querySelectorAll('table')].filter({wide}).map(t => t.dataset.table)") == []
