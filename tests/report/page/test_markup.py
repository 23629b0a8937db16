"""Strings, numbers and JSON in the page."""

from __future__ import annotations

import json
import math

from hypothesis import given, strategies as st

from streameval.report.page.markup import formatted, label_strings, safe_json


@given(
    st.recursive(
        st.text() | st.integers() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_embedded_json_reads_back_and_holds_no_mark_of_html(value: object):
    text = safe_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_integer_labels_and_strings_of_digits_are_distinguished():
    assert label_strings([7, "7", "x"]) == ["7", "'7'", "x"]
    assert label_strings(["7", "x"]) == ["7", "x"]
    assert label_strings(["", "a" * 3000]) == ["''", "a" * 199 + "…"]


def test_numbers_are_written_for_people():
    assert formatted(math.nan) == "\N{EN DASH}"
    assert formatted(-math.inf) == "\N{MINUS SIGN}∞"
    assert formatted(-0.25, "fraction") == "\N{MINUS SIGN}0.2500"
    assert [formatted(value, "count") for value in (1234.0, 1234.56, 0.125)] == ["1,234", "1,234.6", "0.125"]
