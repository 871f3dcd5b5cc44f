"""How a user asks for more, in the words of the shell and in those of Python."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

from bayesperf.core.words import printable


class WayIn(NamedTuple):
    """Advice in the words of one way in.

    Attributes
    ----------
    require : str
        How to state a requirement.
    pair : str
        How to have systems compared example by example.
    split : str
        How to have other examples choose the threshold.
    positive : callable
        Function that returns how to name a label as the positive class.
    """

    require: str
    pair: str
    split: str
    positive: Callable[[Any], str]


SHELL = WayIn(
    require="--require 'recall>=0.8'",
    pair="name the column that identifies the examples, as --id example",
    split="in rows that a column tells apart, as --split part",
    positive=lambda label: f"--pos-label {shlex.quote(printable(str(label)))}",
)
PYTHON = WayIn(
    require="requirements=['recall>=0.8']",
    pair="count them by ConfusionMatrix.from_predictions(..., example=ids)",
    split="by bp.curves.epc(dev=..., test=...)",
    positive=lambda label: f"pos_label={label!r}",
)
