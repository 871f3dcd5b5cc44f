"""Answers show themselves in notebooks, and what stands in them is text there, never markup."""

from dataclasses import dataclass

import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.core.answer import Answer


@dataclass(frozen=True)
class Hostile(Answer):
    rows: int = 1

    def in_words(self):
        return "<b>a*b*</b>\nsecond"

    def summary(self):
        return pd.DataFrame({"a|b": ["<i>|`x`"], "figure": [0.123456], "none": [float("nan")]})[: self.rows]


def test_words_and_table_in_html():
    html = Hostile()._repr_html_()
    assert html.startswith("<p>&lt;b&gt;a*b*&lt;/b&gt;<br>second</p>")
    assert "&lt;i&gt;|`x`" in html


def test_words_and_table_in_markdown():
    words, table = Hostile()._repr_markdown_().split("\n\n")
    assert words == "\\<b\\>a\\*b\\*\\</b\\>\nsecond"
    assert table.splitlines() == [
        "| a\\|b | figure | none |", "| --- | --- | --- |", "| \\<i\\>\\|\\`x\\` | 0.1235 |  |"
    ]  # fmt: skip


def test_an_empty_table_is_left_out():
    assert Hostile(rows=0)._repr_markdown_() == "\\<b\\>a\\*b\\*\\</b\\>\nsecond"
    assert "<table" not in Hostile(rows=0)._repr_html_()


@pytest.mark.slow
def test_a_posterior_has_a_row_a_metric():
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5))
    assert post._repr_markdown_().count("\n| ") == len(post.summary()) + 2
