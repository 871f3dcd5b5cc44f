"""The contract of all curves: points over a dim, joint draws of them, and what follows from both."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.curves.scored_systems import NAMELESS, have_names
from bayesperf.data.axis_names import MODEL
from bayesperf.distributions.draws import rank_envelope


class Curve(Answer):
    """A curve of one system or of several: points over a dim, and joint draws of them.

    The kinds (`ThresholdCurve`, `DecisionCurve`, `ReliabilityCurve`, `ExpectedPerformanceCurve`) define their points
    and draws; all else is here. Several systems lie along the dim ``model``.
    """

    # The dim along which the curve runs, and the band that is drawn unless another is asked for.
    over: ClassVar[str]
    usual_band: ClassVar[str] = "pointwise"

    @property
    @abstractmethod
    def dataset(self) -> xr.Dataset:
        """The points of the curve."""

    @abstractmethod
    def joint_draws(self) -> xr.Dataset:
        """Return joint draws of the whole curve, with last dim ``draw``."""

    @abstractmethod
    def in_words(self, *, ci_prob: float = 0.95) -> str:
        """Return sentences on the curve."""

    @property
    @abstractmethod
    def _subject(self) -> str:
        """The subject of the curve, in a few words."""

    @property
    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """The attributes of its bands."""

    @property
    def _band_names(self) -> list[str]:
        """The names of what has a band."""
        return list(map(str, self.dataset.data_vars))

    @property
    def _points_of_band(self) -> xr.Dataset:
        """The points of the curve where its band is."""
        return self.dataset

    def at(self, x: ArrayLike) -> xr.Dataset:
        """Return points of the curve.

        Parameters
        ----------
        x : float or array-like (k,)
            Values of the dim of the curve.

        Returns
        -------
        xarray.Dataset
            The points of `dataset` at these values, over that dim if there are several.

        Raises
        ------
        ValueError
            If the curve has no point at a value.
        """
        values = np.asarray(x) if np.ndim(x) else x
        try:
            return self.dataset.sel({self.over: values}, method="nearest", tolerance=1e-9)
        except KeyError:
            places = self.dataset[self.over].values
            raise InputError(
                "at", f"must be one of the {self.over}s, {places.min():g} to {places.max():g}; it is {x!r}."
            ) from None

    def band(self, ci_prob: float = 0.95, kind: str | None = None) -> xr.Dataset:
        """Return the band of the curve, with last dim ``ci_bound`` = lower, upper.

        Parameters
        ----------
        ci_prob : float
            Probability of the band.
        kind : {"pointwise", "simultaneous"}
            "pointwise": at each single place the band contains the curve with that probability. "simultaneous": it does
            so everywhere at once. The default is "pointwise", for reliability curves "simultaneous".

        Returns
        -------
        xarray.Dataset
            Equal-tailed bounds. A simultaneous band contains a proportion `ci_prob` of the drawn curves entirely. The
            notes on each kind of curve say where the bounds are, and how often they cover.

        Raises
        ------
        ValueError
            If the curve has no such band.
        """
        prob = checks.probability("ci_prob", ci_prob)
        by = checks.one_of("kind", self.usual_band if kind is None else kind, KINDS)
        return self._bounds(prob, by).assign_attrs(self._facts | {"ci_prob": prob, "kind": by})

    def _bounds(self, prob: float, kind: str) -> xr.Dataset:
        drawn = self.joint_draws()
        return xr.Dataset({name: band_of_draws(drawn[name], prob, kind) for name in self._band_names})

    def _widened_bounds(self, bounds: xr.Dataset) -> xr.Dataset:
        """Return bounds widened, where need be, to hold the points."""
        return bounds.map(lambda each: each.copy(data=widened(each.values, self._points_of_band[each.name].values)))

    def summary(self, ci_prob: float = 0.95, kind: str | None = None) -> pd.DataFrame:
        """Return the curve and its band as a table, with a row for each place of the band.

        Parameters
        ----------
        ci_prob, kind
            As in `band`.

        Returns
        -------
        pandas.DataFrame
            The dims first; then for each figure its value, ``…_lower`` and ``…_upper``.
        """
        band, points = self.band(ci_prob, kind), self._points_of_band
        columns: dict[str, xr.DataArray] = {}
        for name, bounds in band.items():
            of_bounds = {f"{name}_{end}": bounds.sel(ci_bound=end, drop=True) for end in ("lower", "upper")}
            columns |= {str(name): points[name], **of_bounds}
        dims = max((each.dims for each in columns.values()), key=len)
        return xr.Dataset(columns).to_dataframe(list(dims)).reset_index()

    def table_below(self, **_: Any) -> pd.DataFrame:
        """Return an empty table."""
        # A curve has hundreds of rows, and its band may take seconds.
        return pd.DataFrame()

    def __repr__(self) -> str:
        return f"<bayesperf.curves.{type(self).__name__}: {self._subject}>"


class CurveOfParts(Curve):
    """A curve with a part for each system, by name: `NAMELESS` for a system without one."""

    parts: Mapping[Any, Any]

    @property
    def names(self) -> list[Any]:
        """The names of the systems; empty for one without a name."""
        return [*self.parts] if have_names(self.parts) else []

    def sel(self, *, model: Any) -> Self:
        """Return the curve of one system by its name, or of some by a list of names.

        Raises
        ------
        ValueError
            If there is no such system.
        """
        several = isinstance(model, list | tuple | np.ndarray)
        for name in (wanted := list(model) if several else [model]):
            if name not in self.parts:
                raise InputError("model", f"must be one of {self.names}; it is {name!r}.")
        parts = {name if several else NAMELESS: self.parts[name] for name in wanted}
        return replace(self, parts=parts)  # type: ignore[type-var]

    def each(self) -> dict[Any, Self]:
        """Return the curve of each system by its name."""
        return {name: self.sel(model=name) for name in self.parts}

    def _over_systems[T: (xr.Dataset, xr.DataArray)](self, values: Iterable[T]) -> T:
        """Return the values of each system along ``model``, or unchanged for the only system."""
        parts = list(values)
        if not self.names:
            return parts[0]
        index = pd.Index(self.names, dtype=object, name=MODEL)
        return xr.concat(parts, index, join="outer", combine_attrs="drop_conflicts")


# ── Bands ──


def pointwise(curves: Array, prob: float) -> Array:
    """Return the equal-tailed intervals of curves (draws, k) at each place, (k, 2), from the draws that are defined."""
    quantile = np.nanquantile if np.isnan(curves).any() else np.quantile
    # Between infinite draws nothing is interpolated.
    method: Any = "inverted_cdf" if np.isinf(curves).any() else "linear"
    return np.asarray(quantile(curves, [(1 - prob) / 2, (1 + prob) / 2], axis=0, method=method)).T


def simultaneous(curves: Array, prob: float) -> Array:
    """Return the rank envelope that entirely contains at least a proportion `prob` of curves (draws, k), (k, 2).

    It uses the draws in which the curve is defined everywhere.
    """
    undefined = np.isnan(curves).any(1)
    whole = curves[~undefined] if undefined.any() else curves
    if not len(whole):
        raise InputError("kind", "in no draw is the metric defined along the whole curve.", "Take 'pointwise'.")
    return rank_envelope(whole, outside=int(np.floor((1 - prob) * len(whole) + 1e-9)))


BANDS = {"pointwise": pointwise, "simultaneous": simultaneous}
KINDS = tuple(BANDS)


def band_of_draws(drawn: xr.DataArray, prob: float, kind: str) -> xr.DataArray:
    """Return the band of drawn curves, whose last dims are the curve's dim and ``draw``; other dims lead."""
    *leading, places, draws = drawn.shape
    curves = drawn.values.reshape(-1, places, draws)
    if np.isnan(curves).all(-1).any():
        raise InputError("metric", f"{drawn.name!r} is undefined (0/0) in every draw at some point of the curve.")
    bounds = np.stack([BANDS[kind](each.T, prob) for each in curves]).reshape(*leading, places, 2)
    coords = dict(drawn.drop_vars("draw", errors="ignore").coords) | {"ci_bound": ["lower", "upper"]}
    return xr.DataArray(bounds, coords, (*drawn.dims[:-1], "ci_bound"), name=drawn.name)


def widened(bounds: Array, observed: Array) -> Array:
    """Return intervals (…, 2), widened if necessary to contain the observed values (…,)."""
    return np.stack([np.minimum(bounds[..., 0], observed), np.maximum(bounds[..., 1], observed)], axis=-1)
