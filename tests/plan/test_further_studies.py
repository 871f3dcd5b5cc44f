"""Plans of further studies: nothing more changes nothing, and many large studies leave the spread between studies."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import bayesperf as bp
from bayesperf.core.errors import InputError

CELLS = {"tp": [850, 900, 780, 870], "fn": [150, 100, 220, 130], "fp": [250, 300, 180, 260], "tn": [750, 700, 820, 740]}
CM = bp.ConfusionMatrix.from_counts(**CELLS, dims={"study": [*"abcd"]})


@pytest.mark.slow
def test_half_widths_are_those_of_known_studies_and_of_many_large_ones():
    together = bp.groups.meta_analysis(CM)
    now, later = (table.set_index("metric") for _, table in
                  bp.plan.more_studies(together, [0, 60], simulations=6, random_seed=1).groupby("number"))  # fmt: skip
    for name, post in (("median_study", together.median_group), ("new_study", together.new_group)):
        for rate in ("recall", "specificity"):
            # Of 500 draws the width of an interval varies by some 5 %.
            assert now.loc[rate, name] == pytest.approx(np.ptp(post[rate].hdi().values) / 2, rel=0.2)
    # Sixty more large studies: a mean of logits with the standard deviation τ/√64, and a new study with τ itself.
    drawn = together.drawn.transpose("chain", "draw", ...).isel(rate=0)
    location, spread = drawn["location"].values.ravel(), drawn["spread"].values.ravel()
    slope = expit(location) * (1 - expit(location)) * spread
    assert later.loc["recall", "median_study"] == pytest.approx(stats.norm.ppf(0.975) * slope.mean() / 8, rel=0.5)
    assert later.loc["recall", "median_study"] < now.loc["recall", "median_study"] / 2
    assert later.loc["recall", "new_study"] > 3 * later.loc["recall", "median_study"]


def test_what_is_no_meta_analysis_of_counts_is_refused():
    with pytest.raises(TypeError, match="must be a MetaAnalysis; it is ConfusionMatrix"):
        bp.plan.more_studies(CM, [5])
    with pytest.raises(InputError, match="numbers must be a whole number of at least 0"):
        bp.plan.more_studies(bp.groups.meta_analysis(CM, draws=20), [-1])
