"""How many examples do we need? Plans for the next test set, from the evidence so far and its uncertainty.

`sample_size` asks when a requirement will be shown met (or settled either way), `comparison` when one system will be
shown better than another, and `interval_width` when an interval will be narrow enough. `labels` is for examples that
exist but have no true label yet. `decision` asks what more examples are worth to a decision at a threshold. `attempts`
asks whether a pass rate needs more attempts at each question or more questions. `next_pairs` says which systems to
compare next, `next_items` which items tell most, and `best_system` how many votes or items would show which system is
best. `more_studies` simulates further studies of a test. `area`, `calibration` and `net_benefit` plan the validation of
scores.

A plan is for one look, at its end. If you look as examples come in, use the confidence sequence of `bayesperf.monitor`,
which is valid however often you look; ``sample_size(look_every=…)`` says how many more examples that takes.
"""

from bayesperf.plan.deciding import decision
from bayesperf.plan.further_studies import more_studies
from bayesperf.plan.monitoring import Monitor
from bayesperf.plan.next_outcomes import best_system, next_items, next_pairs
from bayesperf.plan.numbers_of_labels import labels
from bayesperf.plan.plan_result import Plan, UnreachableError
from bayesperf.plan.reruns import AttemptsPlan, attempts
from bayesperf.plan.sample_sizes import comparison, interval_width, sample_size
from bayesperf.plan.validating import area, calibration, net_benefit

__all__ = [
    "AttemptsPlan",
    "Monitor",
    "Plan",
    "UnreachableError",
    "area",
    "attempts",
    "best_system",
    "calibration",
    "comparison",
    "decision",
    "interval_width",
    "labels",
    "more_studies",
    "net_benefit",
    "next_items",
    "next_pairs",
    "sample_size",
]


def __dir__() -> list[str]:
    return __all__
