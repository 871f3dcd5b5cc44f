"""Joint counts of two systems judged on the same examples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.saving import Saved
from bayesperf.data.count_arrays import checked_counts
from bayesperf.data.cross_tabulation import cross_tabulate, encode_columns
from bayesperf.data.frames import count_rows, encode_totals
from bayesperf.data.joint_outcomes import JointOutcomes, of_pair
from bayesperf.data.label_encoding import encode, positive_label
from bayesperf.data.matrix import ConfusionMatrix

_DIMS = ("actual", "predicted_a", "predicted_b")


@dataclass(frozen=True, eq=False)
class PairedConfusionMatrix(Saved):
    """Joint counts of what two systems predicted for the same examples.

    Parameters
    ----------
    counts : xarray.DataArray
        Whole numbers with dims ``(actual, predicted_a, predicted_b)``.
    names : tuple of two str
        What systems a and b are called.
    pos_label : label, optional
        The positive class of a binary problem.
    """

    counts: xr.DataArray
    names: tuple[str, str] = ("a", "b")
    pos_label: Any = None

    def __post_init__(self) -> None:
        counts = checked_counts(self.counts, _DIMS)
        if counts.ndim > len(_DIMS):
            raise InputError(
                "counts",
                f"must have no dims but {', '.join(_DIMS)}; it has {counts.dims[0]!r}.",
                "Systems judged on the same examples of several data sets: "
                "ConfusionMatrix.from_predictions(..., by=, example=).",
            )
        if isinstance(self.names, str):
            raise InputTypeError("names", f"must be two names; it is the text {self.names!r}.")
        checks.two_names(self.names, different=True)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "pos_label", positive_label(counts["actual"].values.tolist(), self.pos_label))

    @classmethod
    @checked
    def from_predictions(
        cls,
        y_true: Any,
        y_pred_a: Any,
        y_pred_b: Any,
        *,
        names: tuple[str, str] = ("a", "b"),
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
    ) -> PairedConfusionMatrix:
        """Count triples of labels; the arguments are those of `ConfusionMatrix.from_predictions`.

        Examples
        --------
        >>> import bayesperf as bp
        >>> pair = bp.PairedConfusionMatrix.from_predictions([1, 1, 0], [1, 0, 0], [1, 1, 1], names=("old", "new"))
        >>> pair.margins().sel(model="new").counts.values
        array([[0, 1], [0, 2]])
        """
        columns = {"y_true": y_true, "y_pred_a": y_pred_a, "y_pred_b": y_pred_b}
        encoded = {name: encode(values, name) for name, values in columns.items()}
        return cls(cross_tabulate(encode_columns(encoded, {}, labels, _DIMS)), names, pos_label)

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Any,
        *,
        actual: str,
        predicted_a: str,
        predicted_b: str,
        names: tuple[str, str] | None = None,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
    ) -> PairedConfusionMatrix:
        """Count triples of labels in a data frame, a row an example, in its own engine.

        Parameters
        ----------
        frame : native frame
            As of `ConfusionMatrix.from_frame`.
        actual, predicted_a, predicted_b : str
            Columns of labels.
        names : tuple of two str, optional
            What the systems are called; by default as their columns.
        labels, pos_label
            As of `ConfusionMatrix.from_frame`.

        Examples
        --------
        >>> import bayesperf as bp
        >>> import pandas as pd
        >>> frame = {"truth": [1, 1, 0], "old": [1, 0, 0], "new": [1, 1, 1]}
        >>> pair = bp.PairedConfusionMatrix.from_frame(pd.DataFrame(frame), actual="truth", predicted_a="old",
        ...                                            predicted_b="new")
        >>> pair.margins().sel(model="new").counts.values
        array([[0, 1], [0, 2]])
        """
        columns = [actual, predicted_a, predicted_b]
        values, rows = count_rows(frame, columns)
        counts = cross_tabulate(encode_totals(values, rows, columns, (), labels, _DIMS), rows)
        return cls(counts, (predicted_a, predicted_b) if names is None else names, pos_label)

    @property
    def labels(self) -> list[Any]:
        """The K class labels."""
        labels: list[Any] = self.counts["actual"].values.tolist()
        return labels

    def margins(self) -> ConfusionMatrix:
        """Return each system's own confusion matrix, with leading dim ``model``."""
        joint = self.counts.values
        of_one = self.counts.isel(predicted_b=0, drop=True).rename(predicted_a="predicted")
        coords = {**of_one.coords, "model": pd.Index(self.names, name="model")}
        counts = xr.DataArray(np.stack([joint.sum(-1), joint.sum(-2)]), coords, ("model", *of_one.dims))
        return ConfusionMatrix(counts, self.pos_label, self.outcomes())

    def outcomes(self) -> JointOutcomes:
        """Return the outcomes that occurred, in the form that is used for any number of systems."""
        return of_pair(self.counts, self.names, self.pos_label)
