"""Pooled groups of any counts have figures that are finite or said to be undefined."""

from hypothesis import given
from hypothesis import strategies as st

import bayesperf as bp
from tests.properties._cases import check_marginal, check_table, matrices, properties, unchanged, within


@properties(3)
@given(data=st.data())
def test_pool(data):
    cm = data.draw(matrices(classes=(2,), dim="fold", leading=(2, 4), some=True))
    options = {
        "groups": data.draw(st.sampled_from(["random", "clusters"])),
        "design": data.draw(st.sampled_from(["joint", "by_actual"])),
        "dispersion": data.draw(st.sampled_from([None, (0.01, 1), (1, 1), (1, 1e4)])),
    }
    with unchanged(cm, options):
        pooled = bp.pool(cm, "fold", draws=300, **options)
        for answer in (pooled.mean, pooled.by_group, pooled.new_group):
            for name in ("recall_macro", "specificity_macro", *["accuracy"] * (options["design"] == "joint")):
                check_marginal(answer[name])
        check_marginal(pooled.dispersion)
        check_marginal(pooled.model.dispersion_prior)
        within(pooled.model.overlap, (0, 1))
        within(pooled.model.dispersion_ratio, (0, float("inf")), undefined=1)
        check_table(pooled.summary())
