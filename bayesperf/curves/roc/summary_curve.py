"""The summary ROC curve of several studies of one test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import NO_DIMS, Array
from bayesperf.core.words import estimate, plural, sentence
from bayesperf.curves.curve import Curve
from bayesperf.distributions.draws import Draws
from bayesperf.groups.accuracy_over_studies import MetaAnalysis
from bayesperf.posteriors import tree_attributes as attributes
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity, Scope

# Where the curve has points, and logits over which its area is integrated.
_FPR = np.arange(1, 200) / 200
_LOGITS = np.linspace(-18, 18, 361)
# The false positive rate at which sentences tell the recall, if studies were there.
_USUAL = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class SummaryCurve(Curve):
    """The summary ROC curve of several studies. Made by `bayesperf.curves.summary_roc`.

    Attributes
    ----------
    studies : MetaAnalysis
        The studies, and the posterior of their mean, spread and correlation.

    Notes
    -----
    The curve goes through the median study, and its slope on the logit scale is τ₁/τ₂, the ratio of the spreads of
    recall and specificity: logit recall = μ₁ + (τ₁/τ₂) (μ₂ + logit fpr). This is the curve of Rutter & Gatsonis in the
    parameters of the bivariate model (Harbord et al. 2007, equation 5 and section 3). It describes studies that differ
    in their threshold above all; the regression line of one logit on the other is another curve.
    """

    studies: MetaAnalysis

    over: ClassVar[str] = "fpr"
    drawn_by = "summary_roc"

    @cached_property
    def dataset(self) -> xr.Dataset:
        """The median of ``recall`` over ``fpr``; the coordinate ``observed`` is True where studies were."""
        recall = self._drawn_curves["recall"].median("draw")
        low, high = self.observed_range
        observed = (low <= _FPR) & (high >= _FPR)
        return recall.to_dataset().assign_coords(observed=("fpr", observed))

    @property
    def observed_range(self) -> tuple[float, float]:
        """The smallest and largest false positive rate that a study with negatives observed."""
        rates = 1 - self.studies.by_group.observed_score("specificity")
        return float(rates.min()), float(rates.max())

    def joint_draws(self) -> xr.Dataset:
        """Return joint draws of ``recall`` over ``fpr`` and ``draw``."""
        return self._drawn_curves

    @cached_property
    def _drawn_curves(self) -> xr.Dataset:
        values = self._recall(logit(_FPR))
        return xr.Dataset({"recall": (("fpr", "draw"), values.T)}, {"fpr": _FPR})

    def _recall(self, logits: Array) -> Array:
        """Return draws of the recall at logits (k,) of the false positive rate, (draws, k)."""
        drawn = self.studies.drawn
        mean, spread = (drawn[name].transpose("chain", "draw", "rate").values.reshape(-1, 2)
                        for name in ("location", "spread"))  # fmt: skip
        slope = spread[:, :1] / spread[:, 1:]
        return np.asarray(expit(mean[:, :1] + slope * (mean[:, 1:] + logits)))

    @property
    def area(self) -> Marginal:
        """Distribution of the area under the whole curve, beyond the observed range too, where it is extrapolated."""
        fpr = expit(_LOGITS)
        values = np.trapezoid(self._recall(_LOGITS) * fpr * (1 - fpr), _LOGITS, axis=1)
        drawn = self.studies.drawn
        shaped = values.reshape(1, drawn.sizes["chain"], drawn.sizes["draw"])
        area = Draws.of("roc_auc", shaped, (0.0, 1.0), bool(drawn.attrs[attributes.INDEPENDENT_DRAWS]))
        of = Scope("own", detail=f"the area under the summary ROC curve of these {plural(self.studies.dim)}")
        quantity = Quantity("roc_auc", of, greater_is_better=True, words="AUC", bounds=(0.0, 1.0))
        return Marginal(quantity, area, NO_DIMS, None, "Posterior")

    def in_words(self, *, ci_prob: float = 0.95) -> str:
        """Return sentences on the recall at a false positive rate, and on the area.

        Parameters
        ----------
        ci_prob : float
            Probability of the equal-tailed intervals.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cells = {"tp": [25, 17, 88, 16], "fn": [8, 4, 16, 10], "fp": [1, 3, 16, 3], "tn": [25, 11, 31, 80]}
        >>> studies = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**cells, dims={"study": list("abcd")}))
        >>> bp.curves.summary_roc(studies).in_words().split(". ")[0]
        'The studies have false positive rates from 0.036 to 0.340'
        """
        checks.probability("ci_prob", ci_prob)
        low, high = self.observed_range
        fpr = min(max(_USUAL, low), high)
        place = self.dataset.sel(fpr=fpr, method="nearest")
        bounds = self.band(ci_prob)["recall"].sel(fpr=place["fpr"]).values
        recall = estimate(place["recall"].item(), bounds[0], bounds[1], ci_prob, "eti")
        lower, upper = self.area.eti(ci_prob).values
        area = estimate(self.area.mean().item(), lower, upper, ci_prob, "eti")
        said = [
            f"the {plural(self.studies.dim)} have false positive rates from {low:.3f} to {high:.3f}",
            f"at a rate of {place['fpr'].item():.3g} the summary ROC curve has a recall of {recall}",
            f"the area under the whole curve, extrapolated beyond these rates, is {area}",
        ]
        return " ".join(map(sentence, said))

    @property
    def _subject(self) -> str:
        return f"summary ROC curve of {self.studies.counts.sizes[self.studies.dim]} {plural(self.studies.dim)}"

    @property
    def _facts(self) -> dict[str, Any]:
        return {"ci_kind": "eti", "estimand": f"Posterior of the {self._subject}"}


@checked
def summary_roc(studies: MetaAnalysis) -> SummaryCurve:
    """Return the summary ROC curve of several studies of one test.

    Parameters
    ----------
    studies : MetaAnalysis
        The result of `bayesperf.groups.meta_analysis`.

    Returns
    -------
    SummaryCurve
        With a band, and the area under the curve.

    Raises
    ------
    TypeError
        If `studies` are something else.

    References
    ----------
    Rutter & Gatsonis (2001), Statistics in Medicine 20; Harbord et al. (2007), Biostatistics 8.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cells = {"tp": [25, 17, 88, 16], "fn": [8, 4, 16, 10], "fp": [1, 3, 16, 3], "tn": [25, 11, 31, 80]}
    >>> studies = bp.groups.meta_analysis(bp.ConfusionMatrix.from_counts(**cells, dims={"study": list("abcd")}))
    >>> bp.curves.summary_roc(studies).at(0.1)["recall"].round(1).item()
    0.7
    """
    checks.instance("studies", studies, MetaAnalysis, advice="Call bayesperf.groups.meta_analysis(cm).")
    return SummaryCurve(studies)
