"""Words that outputs share."""

from bayesperf.core import words


def test_intervals_are_named_in_full_and_briefly():
    assert words.interval_name(0.95, "hdi") == "95 % highest-density interval"
    assert words.interval_name(0.5, "eti") == "50 % equal-tailed interval"
    assert words.short_interval_name(0.995, "eti") == "99.5 % ETI"


def test_long_lists_are_cut():
    assert words.listed(["a", 1]) == "'a', 1"
    assert words.listed(list(range(7))) == "0, 1, 2, 3, 4 and 2 more"
