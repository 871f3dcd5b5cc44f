"""The assurance of a claim about one proportion by its confidence sequence, with repeated looks: exact sums.

n new trials of a proportion S ~ Beta(a, b) have k successes. Given these, the next trial succeeds with probability (a +
k)/(a + b + n). Runs that have shown nothing yet continue, and their distribution over k is carried from trial to trial.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from bayesperf.core.arrays import Array, Booleans, Counts
from bayesperf.core.fields import held
from bayesperf.intervals.confidence_sequences import confidence_sequence
from bayesperf.plan.one_count import OneCount
from bayesperf.plan.smallest_number import fewest_successes, smallest_of_all

# The greatest number of trials that is looked for; runs are followed from each to the next.
MOST = 2**17


@held
class LooksCost(NamedTuple):
    """The cost of repeated looks that stop as soon as the confidence sequence shows something.

    Attributes
    ----------
    every : int
        New trials between two looks.
    mean : float
        Mean number of new trials until the sequence shows that the requirement is met or that it is not, at most the
        plan's number.
    at_the_end : int or None
        Number of trials for one look, at their end, by the posterior probability; None if a million are not enough.
    """

    every: int
    mean: float
    at_the_end: int | None

    def in_words(self) -> str:
        """Return a sentence on both numbers."""
        once = "more than a million" if self.at_the_end is None else f"{self.at_the_end:,}"
        after = "each" if self.every == 1 else f"every {self.every:,}"
        return (
            f"If you look after {after} and stop once it is decided either way, you need {self.mean:,.0f} of them on "
            f"average; one look at the end, by the posterior probability, needs {once}."
        )


@dataclass(frozen=True, eq=False)
class Looks(OneCount):
    """The claim that S > x, for a proportion S ~ Beta(a, b), and how looks at more and more trials may show it.

    A confidence sequence of the given confidence shows S > x once its lower limit is x or more, and S < x once its
    upper limit is at most x; then looking ends.
    """

    # New trials between two looks.
    every: int
    # Those so far, at the first look.
    successes: int = 0
    trials: int = 0

    def smallest_n(self, assurance: float, either_way: bool) -> int | None:
        """Return the smallest n by which the assurance is reached; None if it is above `MOST`."""
        return smallest_of_all(lambda most: self.shown_up_to(most, either_way) >= assurance, MOST)

    def mean_trials(self, n: int) -> float:
        """Return the mean number of trials if looking stops as soon as either is shown, and after n at the latest."""
        return float((1 - self.shown_up_to(n, True)[:n]).sum())

    def shown_up_to(self, most: int, either_way: bool) -> Array:
        """Return the probability that the claim (or either) is shown at the latest by n trials, n = 0, 1, …, most."""
        met, missed = self._prob_shown(most)
        return np.asarray(met + missed if either_way else met)

    def _prob_shown(self, most: int) -> Array:
        """Return the probabilities that S > x and that S < x is shown by n = 0, 1, …, most trials, (2, most + 1)."""
        # Of so many new successes or more S > x is shown, and of so many or fewer S < x.
        total = self.trials + np.arange(0, most + 1, self.every)
        enough, failures = (
            fewest_successes(partial(_shows, bound, self.confidence), total) for bound in (self.x, 1 - self.x)
        )
        above, below = enough - self.successes, total - failures - self.successes
        shown, least, running = np.zeros((2, most + 1)), 0, np.ones(1)
        for n in range(most + 1):
            if n % self.every == 0:
                ends = below[n // self.every] + 1 - least, above[n // self.every] - least
                low, high = np.clip(ends, 0, len(running))
                shown[:, n] = running[high:].sum(), running[:low].sum()
                least, running = least + int(low), running[low:high]
                if not len(running):
                    break
            k = least + np.arange(len(running))
            more = np.zeros(len(running) + 1)
            more[1:] = running * (self.a + k)
            more[:-1] += running * (self.b + n - k)
            running = more / (self.a + self.b + n)
        return np.minimum(shown.cumsum(1), 1)


def _shows(bound: float, confidence: float, successes: Counts, trials: Counts) -> Booleans:
    """Return whether the confidence sequence shows that a rate is above a bound."""
    return np.asarray(confidence_sequence(successes, trials, confidence=confidence)[..., 0] >= bound)
