"""The posterior of a system's cells if only some true labels are known.

Examples of a stratum have the same labels from the judge and the system. If the verified ones were chosen at random
within strata, the likelihood separates over the strata, without any assumption on how judge and system depend on each
other (Begg & Greenes 1983, Biometrics 39, 207–215; see `bayesperf.labels.voter_cells`). With everything verified, this
is Dirichlet(α + counts). With more than two classes, or with `strata`, most strata have no verified example, so they
share a model of how accurate each vote is (`bayesperf.labels.votes`), drawn by importance sampling; Monte Carlo errors
account for it. Each of several systems has the figures that it has alone; `bayesperf.compare` takes them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array, Codes
from bayesperf.core.errors import InputError, InputTypeError, PriorWarning, SelectionWarning, warn
from bayesperf.core.weights import indicators
from bayesperf.core.words import chance, metric_title, plural
from bayesperf.data.axis_names import MODEL
from bayesperf.data.count_arrays import CELL_DIMS
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.response_patterns import distinct_patterns
from bayesperf.distributions.drawing import dirichlet_shares
from bayesperf.distributions.draws import DrawsBesidePairs
from bayesperf.labels.cells import PartlyVerified, described, joint_cells, labelled_cells, resolved
from bayesperf.labels.judges import JUDGE
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.verified_outcomes import VerifiedOutcomes, sample_of_outcomes
from bayesperf.labels.voter_cells import Strata, agreement
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.point_values import evaluate
from bayesperf.metrics.registry import applicable
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.prevalence import Prevalence
from bayesperf.posteriors.quantity import Quantity
from bayesperf.posteriors.ranks import rounded
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
    return Verified.posterior_of(sample, prior, draws, random_seed)


@dataclass(frozen=True, eq=False)
class Verified(PartlyVerified):
    """Draws of the cells of systems with some verified predictions. Made by `bayesperf.labels.verify`.

    The source has the sample, with its verified examples, the named prior of each system, and the seed of the draws.
    """

    systems_dim: str = MODEL
    counted_together = "labels.verify(y_true, {'a': y_pred_a, 'b': y_pred_b}, judge=...)"

    @staticmethod
    def drawn_cells(sample: VerifiedSample, prior: priors.Prior, draws: int, random_seed: int) -> xr.DataArray:
        each = [joint_cells(sample, prior, [system], draws, random_seed)[:, 0] for system in sample.positions]
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
        cells = joint_cells(self.sample, prior, first, self.cells.sizes["draw"], self.random_seed, of_judges=True)
        names = [self.sample.judges[place] for place in labelling] if len(self.sample.judges) > 1 else []
        source = StoredDraws(labelled_cells(self.sample, cells[:, labelling], names, JUDGE), self.independent_draws)
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

    def warn_of_doubts(self) -> None:
        if said := unknown_in_words(self):
            warn(PriorWarning, "BP204", f"{said} Verify some of them; `source.strata()` of the posterior lists them.")
        warn_of_selection(self.sample)

    def preface(self) -> list[str]:
        sample, known, n = self.sample, int(self.sample.verified.sum()), int(self.sample.counts.sum())
        of = f" of {sample.counts.size // len(sample.votes)} groups" if sample.counts.ndim > 1 else ""
        of += "" if sample.clusters is None else f" in {sample.clusters.size:,} {plural(sample.clusters.name)}"
        return [f"{known:,} of {n:,} examples{of} are verified."]

    def remarks(self, post: Posterior, metric: Metric) -> list[str]:
        sample, said = self.sample, []
        if self.template.ndim == 2 and not self.reweighted:
            known, worth = int(sample.verified.sum()), float(self.effective_number(metric))
            origin = ("What is predicted for the others", "What the judge says", "What the judges say")
            examples = "examples" if sample.clusters is None else "independent examples"
            if worth >= known:
                said.append(
                    f"{origin[min(len(sample.judges), 2)]} makes {metric_title(metric.name)} as certain as about "
                    f"{worth:,.0f} {examples} verified at random would by themselves."
                )
            else:
                number = f"about {worth:,.0f} {examples} verified at random"
                said.append(f"For {metric_title(metric.name)} they say as much as {number} would.")
        said += filter(None, [unknown_in_words(self)])
        rest = " and in each level of strata" if sample.levels.any() else ""
        assumed = f"among examples with the same {_alike(sample)}{rest}, the verified were chosen at random"
        return [*said, f"This assumes that, {assumed}."]

    def modelled(self, post: Posterior) -> str:
        weights = "" if self.sample.clusters is None else ", with weights on the clusters of examples"
        return (
            "the actual classes of unverified examples were drawn from those of verified examples with the same "
            f"{_alike(self.sample)}{weights} ({post.prior_text})"
        )


def _unmatched_share(strata: Strata, shared: bool) -> float:
    """Return the proportion of examples with no verified example like them."""
    of_labels = [votes for votes, bins in zip(strata.votes.T, strata.bins, strict=True) if not bins]
    of_pairs = [agreement(np.stack(pair, 1)) for pair in combinations(of_labels, 2)]
    alike = [*of_pairs, strata.levels, *strata.votes.T] if shared else [np.arange(len(strata.votes))]
    seen = strata.verified.sum(1)
    known = np.all([np.bincount(codes, seen)[codes] > 0 for codes in alike], 0)
    return float(strata.counts[~known].sum() / max(int(strata.counts.sum()), 1))


# ── Warnings, and in words ──

# From this proportion of the examples, and this number of names, on, the text says that no such example was verified.
_UNKNOWN_COUNTS, _NAMED = 0.01, 5
_ONE_JUDGE = "pair of labels from judge and system"
# Standard errors from which on it is said that examples on which systems differ were chosen.
_CHOSEN = 4


def _alike(sample: VerifiedSample) -> str:
    """Return what the examples of a stratum have in common, in words."""
    if not sample.judges:
        return "label from the system"
    scores, several = " or bins of a score" * any(sample.cuts), len(sample.judges) > 1
    return f"labels{scores} from judge{'s' * several} and system" if several or scores else _ONE_JUDGE


def unknown_in_words(source: Verified) -> str:
    """Return a sentence on examples with no verified one like them; empty if they are few and nameless."""
    most, names = float(source.unknown.max()), unverified(source.sample)
    if most < _UNKNOWN_COUNTS and not names:
        return ""
    named = f" ({', '.join(names[:_NAMED])}{', …' * (len(names) > _NAMED)})" if names else ""
    decides = "the prior alone says"
    if resolved(source.prior, source.sample).shared_by_classes:
        decides = "what was found elsewhere, carried over by the model, says"
    return f"None like {chance(most)} of the examples was verified{named}: {decides} what their true classes are."


def unverified(sample: VerifiedSample) -> list[str]:
    """Return the levels, and the classes that judge and systems give, without a verified example."""
    counts = sample.counts.values.reshape(-1, len(sample.votes))
    known = sample.verified.sum("actual").values.reshape(counts.shape)

    def names(codes: Codes, name: str, labels: Sequence[Any]) -> list[str]:
        into = np.eye(int(codes.max()) + 1, dtype=int)[codes]
        missing = ((counts @ into > 0) & (known @ into == 0)).any(0)
        return [f"{name} {labels[code]!r}" for code in np.flatnonzero(missing).tolist()]

    levels = names(sample.levels, "level", range(int(sample.levels.max()) + 1))
    votes = [(codes, str(name), sample.answers(vote))
             for vote, (codes, name) in enumerate(zip(sample.votes.T, sample.voters(), strict=True))]  # fmt: skip
    return [*levels, *(each for vote in votes for each in names(*vote))]


def warn_of_selection(sample: VerifiedSample) -> None:
    """Warn if examples on which the systems differ were verified more, or less, often than similar ones.

    A system's own strata do not distinguish these. The test is the Mantel–Haenszel test over its strata.
    """
    differ = (sample.votes[:, list(sample.positions)] != sample.votes[:, [sample.positions[0]]]).any(1)
    if not differ.any():
        return
    counts = sample.counts.values.reshape(-1, len(differ))
    verified = sample.verified.sum("actual").values.reshape(counts.shape)
    judge, most = range(len(sample.judges)), int(sample.votes.max()) + 1
    for system in sample.positions:
        which = distinct_patterns(sample.levels, sample.votes[:, [*judge, system]], most)[1]
        into = indicators(which, int(which.max()) + 1)
        n, known, apart, both = counts @ into, verified @ into, (counts * differ) @ into, (verified * differ) @ into
        share = known / np.maximum(n, 1)
        variance = share * (1 - share) * apart * (n - apart) / np.maximum(n - 1, 1)
        score = (both - share * apart).sum() / max(np.sqrt(variance.sum()), np.finfo(float).tiny)
        if abs(score) > _CHOSEN:
            warn(
                SelectionWarning,
                "BP601",
                f"examples on which the systems differ were verified {'more' if score > 0 else 'less'} often than "
                "others that the judge and a system call the same, and the figures of each system by itself take no "
                "notice. Tell them apart: strata= whether the systems differ.",
            )
            return


# ── Several systems, each pair by the strata of both systems and of the judge ──


def marginal_of_verified_systems(
    source: Verified, post: Posterior, metric: Metric, draws: int, random_seed: int
) -> Marginal:
    """Return a metric of all systems of a partly verified sample, along the dim ``model``, together.

    A stratum is a combination of labels from the two systems of a pair and the judge: for the difference of two systems
    it matters which of the two is right where they differ. The notes of `bayesperf.labels.verify` describe the default
    priors.
    """
    sides = _pairs(source, post, metric, draws, random_seed)
    joint = _joint_draws(source, post, metric, sides, random_seed).transpose(..., MODEL, "draw")
    first, second = (rounded(side.values.reshape(-1, *side.shape[-2:]), metric.bounds) for side in sides)
    distribution = DrawsBesidePairs(
        joint.values.reshape(-1, 1, joint.sizes["draw"]),
        metric.bounds,
        pairs=(first, second),
        independent_pairs=source.independent_draws,
    )
    leading = xr.zeros_like(joint.isel(draw=0, drop=True))
    return Marginal(Quantity.of(metric, post.scope), distribution, leading, joint=True)


def _pairs(
    source: Verified, post: Posterior, metric: Metric, draws: int, random_seed: int
) -> tuple[xr.DataArray, xr.DataArray]:
    """Return draws of the metric of the first and of the second system of each pair, (…, pair, chain, draw)."""
    sample, prior = source.sample, resolved(source.prior, source.sample, systems=2)
    pairs = list(combinations(range(len(sample.systems)), 2))
    sides: tuple[list[xr.DataArray], list[xr.DataArray]] = ([], [])
    for places in pairs:
        systems = [sample.positions[place] for place in places]
        cells = joint_cells(sample, prior, systems, draws, random_seed)
        cells = _at_prevalence(cells, post.stated_prevalence, source.random_seed)
        for side, values in enumerate(np.moveaxis(cells, 1, 0)):
            sides[side].append(evaluate(metric, labelled_cells(sample, values[:, None], ()), post.positive))
    names = xr.Variable("pair", [f"{sample.systems[i]} − {sample.systems[j]}" for i, j in pairs])
    first, second = (xr.concat(side, names).transpose(..., "pair", "chain", "draw") for side in sides)
    return first, second


def _at_prevalence(cells: Array, prevalence: Prevalence | None, random_seed: int) -> Array:
    """Return joint draws (m, 2, n, K, K) at a prevalence, which both systems share in each draw."""
    if prevalence is None:
        return cells
    shares = prevalence.draw(np.random.default_rng([random_seed, 2]), cells.shape[2])
    return np.asarray(cells / cells.sum(-1, keepdims=True) * shares[..., None])


def _joint_draws(
    source: Verified, post: Posterior, metric: Metric, sides: tuple[xr.DataArray, xr.DataArray], random_seed: int
) -> xr.DataArray:
    """Return joint draws of the metric of all systems, (…, draw, model).

    For two systems they are the pair's draws. For more, the draws of each system are reordered so that their ranks are
    those of normal variables with the correlations of the pairs (Iman & Conover 1982, Communications in Statistics B
    11, 311–334).
    """
    first, second = (side.isel(chain=0, drop=True) for side in sides)
    if first.sizes["pair"] == 1:
        pair = xr.concat([first, second], xr.Variable(MODEL, list(source.sample.systems))).isel(pair=0, drop=True)
        return pair.transpose(..., "draw", MODEL)
    alone = evaluate(metric, source.cells, post.positive).isel(chain=0, drop=True).transpose(..., "draw", MODEL)
    correlations = xr.corr(first, second, "draw").transpose(..., "pair").fillna(0).values
    values = alone.values.reshape(-1, *alone.shape[-2:])
    each = zip(values, correlations.reshape(len(values), -1), strict=True)
    rng = np.random.default_rng([random_seed, len(source.sample.systems)])
    return alone.copy(data=np.stack([_coupled(of_one, pairs, rng) for of_one, pairs in each]).reshape(alone.shape))


def _coupled(values: Array, correlations: Array, rng: np.random.Generator) -> Array:
    """Return draws (n, M) with the columns reordered to have given correlations of pairs."""
    from scipy import stats

    n, systems = values.shape
    matrix = np.eye(systems)
    matrix[np.triu_indices(systems, 1)] = correlations
    matrix = np.triu(matrix, 1).T + matrix
    # Correlations of pairs may not come from any joint distribution: their negative part is omitted.
    sizes, directions = np.linalg.eigh(matrix)
    scores = rng.standard_normal((n, systems)) @ (directions * np.sqrt(np.maximum(sizes, 0))).T
    ranks = stats.rankdata(scores, axis=0).astype(int) - 1
    return np.take_along_axis(np.sort(values, axis=0), ranks, axis=0)
