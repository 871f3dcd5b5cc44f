"""How many examples do we need? Plans for the next test set, from the evidence so far and its uncertainty.

`sample_size` asks when a requirement will be shown to be met (or settled either way), `comparison` when one system will
be shown to be better than another, `interval_width` when an interval will be narrow enough. `labels` is for examples
that are there and whose true labels are not. `decision` asks what more examples are worth to a decision at a threshold.
`attempts` says of questions that were asked several times whether more attempts or more questions are needed.

A plan is for one look, at its end. Whoever looks as examples come in goes by the confidence sequence of
`bayesperf.monitor`, which holds however often one looks; ``sample_size(look_every=…)`` says how many more that takes.
"""

from bayesperf.plan.deciding import decision
from bayesperf.plan.monitoring import Monitor
from bayesperf.plan.numbers_of_labels import labels
from bayesperf.plan.plan_result import Plan, UnreachableError
from bayesperf.plan.reruns import AttemptsPlan, attempts
from bayesperf.plan.sample_sizes import comparison, interval_width, sample_size

__all__ = [
    "AttemptsPlan",
    "Monitor",
    "Plan",
    "UnreachableError",
    "attempts",
    "comparison",
    "decision",
    "interval_width",
    "labels",
    "sample_size",
]


def __dir__() -> list[str]:
    return __all__
