"""Words that outputs share."""

import numpy as np
from scipy import special, stats

from bayesperf.core import words


def test_intervals_are_named_in_full_and_briefly():
    assert words.interval_name(0.95, "hdi") == "95 % highest-density interval"
    assert words.interval_name(0.5, "eti") == "50 % equal-tailed interval"
    assert words.short_interval_name(0.995, "eti") == "99.5 % ETI"


def test_how_often_a_bound_is_reached_at_some_look():
    # Exactly: the distribution of the positives found, of those runs that have not reached the bound yet.
    running, reached = np.ones(1), 0.0
    for positives in range(10, 201, 10):
        running = np.convolve(running, stats.binom.pmf(np.arange(11), 10, 0.7))
        found = np.arange(positives + 1)
        met = special.betaincc(0.5 + found, 0.5 + positives - found, 0.7) >= 0.95
        reached += running[met].sum()
        running = np.where(met, 0, running)
    at_the_end = stats.binom.pmf(found, 200, 0.7)[met].sum()
    assert f"{at_the_end:.0%}, {reached:.0%}" == "5%, 21%"
    assert "20 batches of 10 positives), 5 % have it at the last look, and 21 % at one look" in words.REPEATED_LOOKS


def test_how_far_the_best_of_fifty_is_from_its_figures():
    # Exactly: the greatest of 50 numbers of right answers; flat prior on the accuracy, shortest intervals.
    right = np.arange(201)
    best = np.diff(stats.binom.cdf(right, 200, 0.8) ** 50, prepend=0)
    known = stats.beta(1 + right, 201 - right)
    below = np.linspace(0, 0.05, 501)[:, None]
    ends = np.stack([known.ppf(below), known.ppf(below + 0.95)])
    lower, upper = np.take_along_axis(ends, (ends[1] - ends[0]).argmin(0)[None, None], 1)[:, 0]
    mean, covered = (best * known.mean()).sum(), best[(lower <= 0.8) & (upper >= 0.8)].sum()
    assert f"{mean:.2f}, {covered:.0%}" == "0.86, 24%"
    assert "the best scores 0.86 on average, and its 95 % HDI contains its accuracy in 24 %" in words.BEST_OF_MANY


def test_plurals():
    names = ["batch", "class", "box", "site", "study", "sites"]
    assert [*map(words.plural, names)] == ["batches", "classes", "boxes", "sites", "studies", "sites"]


def test_long_lists_are_cut():
    assert words.listed(["a", 1]) == "'a', 1"
    assert words.listed(list(range(7))) == "0, 1, 2, 3, 4 and 2 more"
