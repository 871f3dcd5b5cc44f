"""The posterior of a system's cells if only some true labels are known.

Examples of a stratum have the same labels from the judge and the system. If the verified ones were chosen at random
within strata, the likelihood separates over the strata, without any assumption on how judge and system depend on each
other (Begg & Greenes 1983, Biometrics 39, 207–215; see `bayesperf.labels.voter_cells`). With everything verified, this
is Dirichlet(α + counts). With more than two classes, or with `strata`, most strata have no verified example, so they
share a model of how accurate each vote is (`bayesperf.labels.votes`), drawn by importance sampling; Monte Carlo errors
account for it. Each of several systems has the figures that it has alone; `bayesperf.compare` takes them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.axis_names import MODEL
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.distributions.drawing import dirichlet_shares
from bayesperf.labels.cells import PartlyVerified, described, joint_cells, labelled_cells, resolved
from bayesperf.labels.judges import JUDGE
from bayesperf.labels.pairs_of_systems import marginal_of_verified_systems
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.verified_in_words import verified_in_words, warn_of_selection, warn_of_unknown, worth_in_words
from bayesperf.labels.verified_outcomes import VerifiedOutcomes, sample_of_outcomes
from bayesperf.labels.voter_cells import Strata, agreement
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.metrics.registry import applicable
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.sources.stored_draws import StoredDraws


@checked
def verify(
    y_true: Any,
    y_pred: Any = None,
    *,
    judge: Any = None,
    strata: Any = None,
    cluster: Any = None,
    prior: str | priors.Prior | None = None,
    labels: Iterable[Any] | None = None,
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
    draws: int | None = None,
    random_seed: Any = 0,
) -> Posterior:
    """Return the posterior of systems if only some predictions were verified, with or without judges of all of them.

    It is right whatever the judges' errors, if the verified examples were chosen at random among examples with the same
    labels from judges and system and the same level of `strata`: from all, by quotas, or only where judge and system
    disagree. A good judge makes it more precise than the verified examples alone; a bad one costs little.

    Parameters
    ----------
    y_true : array-like (n,) or VerifiedSample
        True labels; None, NaN or NA if unknown. Or counts, from `VerifiedSample.from_frame`.
    y_pred : array-like (n,) or mapping, optional
        Predicted labels; a mapping from names of systems to their columns becomes the dim ``model``. Without them,
        `y_true` and `judge` hold outcomes: right or wrong, or grades as numbers, of systems that `by` tells apart.
    judge : array-like (n,) or mapping or frame or array (n, J), optional
        What a source cheaper than the truth says of every example, or several sources, by name: labels, or a score
        that is higher where the positive class is likelier, which is cut into bins.
    strata : array-like (n,), optional
        The property that decided which examples to verify, or that predicts errors: a bin of the score, a source.
    cluster : array-like (n,) or mapping, optional
        Ids of clusters of examples that are alike, or a mapping that names them: as in `bayesperf.pool`.
    prior : str or Prior, optional
        Prior of the cells of each system. By default Jeffreys', spread evenly over one judge's labels, for two classes
        without `strata`; otherwise, and of several judges or scores, the strata share one (`bayesperf.labels.votes`).
    labels, pos_label, by
        As in `ConfusionMatrix.from_predictions`; of outcomes `labels` are all grades.
    draws : int, optional
        By default 10,000 for up to five classes, and fewer for more: 2,500 for ten, at least 1,000.
    random_seed : int or numpy.random.Generator
        Seed of the draws.

    Returns
    -------
    Posterior
        Its source is `Verified`. Of outcomes it has "pass_rate" or "mean_grade". See docs/coverage.md on coverage.

    Raises
    ------
    TypeError, ValueError
        If no example is verified, or in fewer than 3 clusters; of an improper prior, or one of rates.

    Warns
    -----
    SelectionWarning, DependenceWarning
        If examples on which systems differ were verified more often; if clusters with verified ones are few.
    PriorWarning
        If the prior decides: no example was verified of a level, of an answer of judge or system, or like 1 % of all.
    ConvergenceWarning
        If the draws of the shared model are worth fewer than 100 independent ones.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesperf import labels
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 200)
    >>> judge, predicted = (np.where(rng.random(200) < error, 1 - truth, truth) for error in (0.1, 0.2))
    >>> verified = np.where(np.arange(200) % 5 == 0, truth, np.nan)
    >>> post = labels.verify(verified, predicted, judge=judge)
    >>> post["accuracy"].hdi().values.round(2)
    array([0.67, 0.85])
    """
    if isinstance(y_true, VerifiedSample):
        given = {"y_pred": y_pred, "judge": judge, "strata": strata, "cluster": cluster, "labels": labels,
                 "pos_label": pos_label, "by": by}  # fmt: skip
        checks.none_given("the VerifiedSample has its own.", **given)
        sample = y_true
    elif y_pred is None and judge is None:
        raise InputTypeError(
            "y_pred",
            "give the predicted labels, or outcomes by a judge, or a VerifiedSample alone.",
            "Labels of a judge that are themselves tested are predictions: verify(y_true, judge).",
        )
    elif y_pred is None:
        if pos_label is not None:
            raise InputTypeError("pos_label", "outcomes have no classes.", "Remove `pos_label`, or give `y_pred`.")
        sample = sample_of_outcomes(y_true, judge, strata, cluster, labels, by)
        return VerifiedOutcomes.posterior_of(sample, prior, draws, random_seed)
    else:
        sample = VerifiedSample.from_predictions(
            y_true, y_pred, judge=judge, strata=strata, cluster=cluster, labels=labels, pos_label=pos_label, by=by
        )
    post = Verified.posterior_of(sample, prior, draws, random_seed)
    if isinstance(post.source, Verified):
        warn_of_unknown(post.source)
        warn_of_selection(sample)
    return post


@dataclass(frozen=True, eq=False)
class Verified(PartlyVerified):
    """Draws of the cells of systems with some verified predictions. Made by `bayesperf.labels.verify`.

    The source has the sample, with its verified examples, the named prior of each system, and the seed of the draws.
    """

    systems_dim: str = MODEL
    counted_together = "labels.verify(y_true, {'a': y_pred_a, 'b': y_pred_b}, judge=...)"

    @staticmethod
    def drawn_cells(sample: VerifiedSample, prior: priors.Prior, draws: int, random_seed: int) -> xr.DataArray:
        each = [joint_cells(sample, prior, [system], draws, random_seed)[:, -1] for system in sample.positions]
        return labelled_cells(sample, np.stack(each, 1), sample.systems)

    @staticmethod
    def verified_part(sample: VerifiedSample) -> ConfusionMatrix:
        return sample.verified_only()

    def of_systems(
        self, post: Posterior, metric: str | Metric, dim: str, draws: int, random_seed: int
    ) -> tuple[Marginal, str]:
        if dim != MODEL:
            return super().of_systems(post, metric, dim, draws, random_seed)
        prior_text = described(resolved(self.prior, self.sample, systems=2), self.sample)
        return marginal_of_verified_systems(self, post, post.applicable(metric), draws, random_seed), prior_text

    # ── What the figures rest on ──

    @property
    def judge(self) -> Posterior:
        """The posterior of the judge's own confusion matrix, by the strata of the judge and the (first) system.

        Of several judges it has the dim ``judge``, with those who give labels.
        """
        labelling = [place for place, cuts in enumerate(self.sample.cuts) if not cuts]
        if not labelling:
            raise InputError("judge", "there is none who gives labels.", "Give its labels to labels.verify.")
        first, prior = self.sample.positions[:1], resolved(self.prior, self.sample)
        cells = joint_cells(self.sample, prior, first, self.cells.sizes["draw"], self.random_seed)
        names = [self.sample.judges[place] for place in labelling] if len(self.sample.judges) > 1 else []
        source = StoredDraws(labelled_cells(self.sample, cells[:, labelling], names, JUDGE), self.independent)
        return replace(self.posterior, source=source, learned_from=None)

    @cached_property
    def unknown(self) -> xr.DataArray:
        """Proportion of the examples with no verified example like them, over the leading dims.

        If each stratum has its own prior, these are the examples of strata without a verified one. If strata share a
        prior, they are the examples of a level, or of a class that the judge or the system gives, without a verified
        one; and if two of judges and system never agree, or never differ, in a verified example, the examples on which
        they do.
        """
        judge, prior = range(len(self.sample.judges)), resolved(self.prior, self.sample)
        shares = [[_unmatched_share(each, prior.shared_by_classes) for each in self.sample.strata_of([*judge, system])]
                  for system in self.sample.positions]  # fmt: skip
        leading = xr.zeros_like(self.template.isel(actual=0, predicted=0, drop=True))
        return leading.copy(data=np.transpose(shares).reshape(leading.shape)).rename("unknown")

    def effective_number(self, metric: str | Metric) -> xr.DataArray:
        """Return the number of randomly verified examples that, alone, would tell as much about a metric.

        It is the number of verified examples times the ratio of two posterior variances: without and with the
        information about the other examples. It is below the number of verified examples if these were chosen badly for
        this metric.

        Parameters
        ----------
        metric : str or Metric
            A metric with a single value.

        Returns
        -------
        xarray.DataArray
            Over the leading dims.
        """
        dims, positive = self.template.dims[:-2], self.sample.positive
        metric = applicable(metric, self.sample.labels, positive, dims)
        self.refuse_other_prevalence("effective_number")
        verified = self.sample.verified.sum(("stratum", "actual"))
        shares, n = self.cells.mean(("chain", "draw")), self.cells.sizes["draw"]
        cm = self.sample.verified_only()
        prior = priors.resolve_dirichlet(None, len(self.sample.labels), "verified examples alone")
        weights = (shares * verified + cm.counts.copy(data=prior.concentration(cm))).transpose(*dims, *CELL_DIMS)
        rng = np.random.default_rng([self.random_seed, 1])
        shape = (*weights.shape[:-2], n, *weights.shape[-2:])
        alone = dirichlet_shares(rng, weights.values[..., None, :, :], shape, axis=(-2, -1))
        known = evaluate(metric, self.cells, positive).var(("chain", "draw")).transpose(*dims)
        without = known.copy(data=np.nanvar(metric.evaluate(alone, positive), axis=-1))
        return (verified * without / known).transpose(*dims).rename("effective_number")

    def strata(self) -> pd.DataFrame:
        """Return the strata: names, numbers of examples, and verified examples by their true class."""
        return self.sample.table()

    # ── In words ──

    def preface(self) -> list[str]:
        return [verified_in_words(self.sample)]

    def remarks(self, post: Posterior, metric: Metric) -> list[str]:
        return worth_in_words(self, metric)


def _unmatched_share(strata: Strata, shared: bool) -> float:
    """Return the proportion of examples with no verified example like them."""
    of_labels = [votes for votes, bins in zip(strata.votes.T, strata.bins, strict=True) if not bins]
    of_pairs = [agreement(np.stack(pair, 1)) for pair in combinations(of_labels, 2)]
    alike = [*of_pairs, strata.levels, *strata.votes.T] if shared else [np.arange(len(strata.votes))]
    seen = strata.verified.sum(1)
    known = np.all([np.bincount(codes, seen)[codes] > 0 for codes in alike], 0)
    return float(strata.counts[~known].sum() / max(int(strata.counts.sum()), 1))
