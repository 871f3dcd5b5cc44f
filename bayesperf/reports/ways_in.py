"""How a user asks for more, in the words of the shell and in those of Python."""

from __future__ import annotations

from typing import NamedTuple


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
    """

    require: str
    pair: str
    split: str


SHELL = WayIn(
    require="--require 'recall>=0.8'",
    pair="name the column that identifies the examples, as --id example",
    split="in rows that a column tells apart, as --split part",
)
PYTHON = WayIn(
    require="requirements=['recall>=0.8']",
    pair="count them by ConfusionMatrix.from_predictions(..., example=ids)",
    split="by bp.epc(dev=..., test=...)",
)
