"""The prediction of a new test set by an exact posterior: its draws, and the exact distributions of proportions."""

from __future__ import annotations

from dataclasses import dataclass, field

from bayesperf.core.arrays import Array, Counts
from bayesperf.core.fields import Applied, applied
from bayesperf.distributions.draws import Draws
from bayesperf.distributions.predicted_proportion import PredictedProportion
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.posterior import SampledPosterior

# Number of examples (m,) and weights (m,) of successes, failures and the rest among them, with the metric as a function
# of the proportion of successes; None if it is not one.
ProportionWeights = tuple[Counts, Array, Array, Array, Applied]


@dataclass(frozen=True, eq=False, repr=False)
class PredictedPosterior(SampledPosterior):
    """Draws of new test sets, beside which the distributions of proportions of examples are known exactly.

    Attributes
    ----------
    proportion : Applied
        Function of a metric that returns its `ProportionWeights`, or None.
    """

    proportion: Applied = field(kw_only=True)

    def _marginal(self, metric: Metric) -> Marginal:
        drawn = super()._marginal(metric)
        found = self.proportion(metric)
        if found is None:
            return drawn
        assert isinstance(drawn.distribution, Draws)
        examples, success, failure, rest, forward = found
        exact = PredictedProportion(
            drawn.distribution.values,
            drawn.bounds,
            examples=examples,
            success=success,
            failure=failure,
            rest=rest,
            forward=forward,
        )
        return self.marginal_of(metric, exact, drawn.leading, applied(self._sample, metric))
