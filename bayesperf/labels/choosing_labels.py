"""Which examples to verify next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Counts
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.words import format_value, metric_title
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.verifying import Verified
from bayesperf.labels.worth_of_labels import LabelValue, label_value
from bayesperf.metrics.metric import Metric
from bayesperf.metrics.registry import single_valued
from bayesperf.posteriors.posterior import Posterior


@dataclass(frozen=True, eq=False, repr=False)
class NextLabels(Answer):
    """Number of examples of each stratum to verify next. Made by `bayesperf.labels.next_labels`.

    Attributes
    ----------
    sample : VerifiedSample
        The partly verified sample.
    advised : numpy.ndarray (S,)
        The number of labels to add in each of its strata.
    rows : numpy.ndarray or None
        The positions of the examples to verify, chosen at random in each stratum; None if examples were given as
        counts.
    metric : str
        The metric to make more certain.
    sd, sd_advised, sd_by_chance : float
        Standard deviation of the metric's posterior, and its expected value after the advised labels, or after the same
        number chosen at random.
    """

    sample: VerifiedSample
    advised: Counts
    rows: NDArray[np.intp] | None
    metric: str
    sd: float
    sd_advised: float
    sd_by_chance: float

    drawn_by = "next_labels"

    def in_words(self) -> str:
        """Return a sentence on the expected gain from the labels."""
        n = int(self.advised.sum())
        return (
            f"The standard deviation of {metric_title(self.metric)} is {format_value(self.sd)}. After {n:,} more "
            f"labels as advised it will be about {format_value(self.sd_advised)}; chosen at random, about "
            f"{format_value(self.sd_by_chance)}."
        )

    def summary(self) -> pd.DataFrame:
        """Return the table of the strata, with the number of labels to add in the column ``advised``."""
        return self.sample.table().assign(advised=self.advised)

    def __repr__(self) -> str:
        return f"{self.summary().to_string(index=False)}\n{self.in_words()}"


@checked
def next_labels(posterior: Posterior, n: int, *, metric: str | Metric, random_seed: int = 0) -> NextLabels:
    """Return how to divide the next n labels among the strata so that a metric becomes most certain.

    Parameters
    ----------
    posterior : Posterior
        The posterior of one system, as `bayesperf.labels.verify` returns it; or of two, and the labels then serve their
        difference.
    n : int
        Number of labels to spend.
    metric : str or Metric
        A metric with a single value.
    random_seed : int
        Seed of the choice of examples within strata.

    Returns
    -------
    NextLabels

    Raises
    ------
    TypeError
        If the posterior is of another kind.
    ValueError
        If there are fewer examples without a label, more than two systems, or leading dims.

    Notes
    -----
    Labels go where p_c s_c is large relative to the number of labels there already: p_c is the proportion of examples
    in a stratum and s_c the standard deviation of what one of its labels tells about the metric (Neyman's allocation,
    for a metric linearised at the posterior mean). If you verify again after every batch, the advice follows the
    results.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesperf import labels
    >>> rng = np.random.default_rng(0)
    >>> truth = (rng.random(2000) < 0.1).astype(int)
    >>> judge, predicted = (np.where(rng.random(2000) < error, 1 - truth, truth) for error in (0.1, 0.1))
    >>> verified = np.where(np.arange(2000) < 100, truth, np.nan)
    >>> post = labels.verify(verified, predicted, judge=judge)
    >>> advice = labels.next_labels(post, 100, metric="f1")
    >>> advice.summary()
       judge  predicted  examples  verified  truth 0  truth 1  advised
    0      0          0      1434        69       69        0        0
    1      0          1       203        10        8        2       67
    2      1          0       188        14       13        1       11
    3      1          1       175         7        0        7       22
    >>> round(advice.sd, 2), round(advice.sd_advised, 2), round(advice.sd_by_chance, 2)
    (0.06, 0.03, 0.05)
    """
    value, metric = value_of(posterior, metric)
    sample = verified_of(posterior).sample
    n, left = checks.count("n", n), int(value.available.sum())
    if n > left:
        raise InputError("n", f"{n} labels asked for, and {left} examples are without one.")
    advised = value.allocation(n)
    sd, chosen, chance = (
        float(np.sqrt(value.variance(labels))) for labels in (0 * advised, advised, value.by_chance(n))
    )
    rows = _rows(sample, advised, checks.seed(random_seed))
    return NextLabels(sample, advised, rows, metric.name, sd, chosen, chance)


def value_of(posterior: Posterior, metric: str | Metric) -> tuple[LabelValue, Metric]:
    """Return the value of labels for the posterior of a partly verified sample, and the metric alone."""
    source = verified_of(posterior)
    sample = source.sample
    if sample.counts.ndim > 1 or len(sample.positions) > 2:
        raise InputError(
            "posterior",
            "it must be of one system, or of two whose difference is asked for, without `by`; "
            f"its leading dims are {posterior.dims}.",
            "Take the posterior of one part.",
        )
    source.refuse_other_prevalence("posterior")
    if sample.clusters is not None:
        raise InputError(
            "posterior", "its examples come in clusters, and advice is for independent ones.",
            "Verify without `cluster` for it.",
        )  # fmt: skip
    metric = single_valued(metric, posterior.labels, posterior.positive)
    return label_value(source, metric), metric


def verified_of(posterior: Posterior) -> Verified:
    """Return the source of the posterior of a partly verified sample; raise if it has another."""
    source = getattr(posterior, "source", None)
    if not isinstance(source, Verified):
        kind = type(posterior if source is None else source).__name__
        raise InputTypeError("", f"posterior must be one of a partly verified sample, of labels.verify; it is {kind}.")
    return source


def _rows(sample: VerifiedSample, advised: Counts, random_seed: int) -> NDArray[np.intp] | None:
    """Return positions of examples chosen at random, the advised number from each stratum."""
    if sample.rows is None:
        return None
    rng = np.random.default_rng(random_seed)
    mixed = rng.permutation(len(sample.rows))
    mixed = mixed[np.argsort(sample.rows[mixed], kind="stable")]
    stratum = sample.rows[mixed]
    place = np.arange(len(mixed)) - np.searchsorted(stratum, stratum)
    return np.sort(mixed[(stratum >= 0) & (place < advised[np.maximum(stratum, 0)])])
