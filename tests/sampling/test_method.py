"""Which fits are exact and which are sampled, and what an exact fit does without."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pymc as pm
import pytest

import bayesperf as bp
from tests.shared.fits import (
    BINARY,
    PAIRED,
    SCORES,
    SITES,
    SIX_SITES,
    SYSTEMS,
    THREE,
    THREE_SITES,
    VIDEO,
    Y_PRED,
    Y_TRUE,
    shared_recall,
)
from tests.shared.models import OF_TWO_CLASSES

CHAIN = (Y_TRUE, Y_PRED)


class Made:
    def create_variable(self, name):
        return pm.Beta(name, pm.Gamma(f"{name}_weight", 20, 1), 1, dims="actual")


# Model, data, arguments of the fit, and what method="auto" makes of them.
TABLE = [
    ("multinomial", BINARY, {}, "exact"),
    ("multinomial", THREE, {"priors": {"shares": pm.Dirichlet.dist(np.arange(1, 10))}}, "exact"),
    ("rates", SYSTEMS, {}, "exact"),
    ("rates", SYSTEMS, {"options": {"design": "by_actual"}}, "exact"),
    ("rates", SYSTEMS, {"priors": {"recall": pm.Beta.dist(9, [1, 2])}}, "exact"),
    ("rates", SYSTEMS, {"priors": {"recall": pm.Uniform.dist(0, 1)}}, "mcmc"),
    ("paired", PAIRED, {}, "exact"),
    ("markov", CHAIN, {"options": {"by": {"video": VIDEO}}}, "exact"),
    ("markov", CHAIN, {"options": {"by": {"video": VIDEO}, "sequences": "varying"}}, "mcmc"),
    ("markov", CHAIN, {"priors": {"stay": pm.Kumaraswamy.dist(2, 3)}}, "mcmc"),
    ("binormal_roc", OF_TWO_CLASSES, {}, "exact"),
    ("binormal_roc", OF_TWO_CLASSES, {"priors": {"offset": pm.Normal.dist(0, 2)}}, "exact"),
    ("binormal_roc", OF_TWO_CLASSES, {"priors": {"offset": pm.Normal.dist(1, 2)}}, "mcmc"),
    ("binormal_roc", OF_TWO_CLASSES, {"priors": {"precision": pm.HalfNormal.dist(1)}}, "mcmc"),
    ("classes", THREE, {}, "exact"),
    ("classes", SYSTEMS, {"options": {"design": "by_actual"}}, "exact"),
    ("classes", THREE, {"priors": {"mean_recall": pm.Beta.dist(9, 1)}}, "exact"),
    ("classes", THREE, {"priors": {"dispersion": pm.Uniform.dist(0, 0.5)}}, "mcmc"),
    ("groups", SITES, {}, "exact"),
    ("groups", SITES, {"options": {"groups": "clusters", "design": "by_actual"}}, "exact"),
    ("groups", SIX_SITES, {"options": {"repeats": 2}}, "exact"),
    ("groups", SITES, {"priors": {"dispersion": pm.Beta.dist(1, [5, 9])}}, "exact"),
    ("groups", SITES, {"priors": {"dispersion": pm.Uniform.dist(0, 0.5)}}, "mcmc"),
    ("groups", SITES, {"priors": {"dispersion": Made()}}, "mcmc"),
    ("groups", THREE_SITES, {}, "mcmc"),
    ("groups_logit", SITES, {}, "mcmc"),
    ("meta_analysis", SITES, {}, "exact"),
    ("meta_analysis", SITES, {"priors": {"spread": pm.HalfNormal.dist(0.5)}}, "exact"),
    ("meta_analysis", SITES, {"priors": {"spread": pm.Exponential.dist(1)}}, "mcmc"),
    ("datasets", SCORES, {}, "mcmc"),
    (shared_recall, SYSTEMS, {"priors": {"recall": (9, 2)}}, "mcmc"),
    # A setting of the sampler asks for it.
    ("rates", BINARY, {"tune": 999}, "mcmc"),
    ("rates", BINARY, {"tune": 1000}, "exact"),
    ("rates", BINARY, {"target_accept": 0.9}, "mcmc"),
    ("rates", BINARY, {"cores": 1}, "mcmc"),
    ("rates", BINARY, {"nuts_sampler": "nutpie"}, "mcmc"),
    ("groups", SITES, {"tune": 500}, "mcmc"),
    ("rates", BINARY, {"draws": 30, "chains": 2, "random_seed": 4, "progressbar": False}, "exact"),
]


@pytest.mark.few
@pytest.mark.parametrize(("model", "data", "settings", "method"), TABLE)
def test_auto(model, data, settings, method, sampler, alone):
    settings = {"draws": 20, "random_seed": 1, **settings}
    tree = bp.fit(data, model, **settings)
    attrs = tree["posterior"].attrs
    assert attrs["method"] == method
    assert len(sampler) == (method == "mcmc")
    assert ("sample_stats" in tree.children) == ("tune" in attrs) == (method == "mcmc")
    assert attrs["independent_draws"] == (method == "exact")


@pytest.mark.few(1)
@pytest.mark.parametrize(("model", "data", "settings", "method"), [row for row in TABLE if row[3] == "exact"])
def test_a_method_that_is_asked_for_is_taken(model, data, settings, method, sampler, alone):
    settings = {"draws": 20, "random_seed": 1, **settings}
    by_itself, asked, sampled = (
        bp.fit(data, model, method=how, **settings)["posterior"] for how in ("auto", "exact", "mcmc")
    )
    for name, draws in by_itself.data_vars.items():
        np.testing.assert_array_equal(asked[name], draws, err_msg=name)
    assert sampled.attrs["method"] == "mcmc"


@pytest.mark.few
@pytest.mark.parametrize(
    ("model", "data", "settings", "method"), [row for row in TABLE if row[2].keys() <= {"priors", "options"}]
)
def test_exact_draws_or_the_words_why_there_are_none(model, data, settings, method, sampler, alone):
    if method == "exact":
        tree = bp.fit(data, model, method="exact", draws=5, random_seed=1, **settings)
        assert tree["posterior"].attrs["method"] == "exact"
    else:
        with pytest.raises(ValueError, match=r"Use method='mcmc'\."):
            bp.fit(data, model, method="exact", draws=5, random_seed=1, **settings)
    assert not sampler


PROGRAM = """
import sys
import numpy as np
import bayesperf as bp

cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
y, a, b = np.random.default_rng(0).integers(0, 2, (3, 40))
folds = bp.ConfusionMatrix.from_table([[[9, 1], [2, 6]], [[4, 0], [0, 3]]], dims=["fold"])
three = bp.ConfusionMatrix.from_table([[9, 1, 0], [2, 7, 3], [0, 0, 11]])
fits = [
    ("multinomial", cm), ("multinomial", three), ("classes", three), ("rates", cm), ("markov", (y, a)),
    ("groups", folds),
    ("binormal_roc", (y, a + 0.1 * y * b)), ("paired", bp.ConfusionMatrix.from_predictions(y, {"a": a, "b": b})),
]
for model, data in fits:
    tree = bp.fit(data, model, draws=50, random_seed=1)
    assert tree["posterior"].attrs["method"] == "exact", model
    assert {"prior", "posterior_predictive", "log_prior", "log_likelihood"} <= set(tree.children), model
print(sorted({"nutpie", "numba"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_exact_fits_compile_nothing_and_load_no_sampler(tmp_path):
    """Neither by Numba nor in C: beyond what PyTensor itself makes, which is in folders of these names."""
    environment = os.environ | {"PYTENSOR_FLAGS": f"base_compiledir={tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]"]
    compiled = [file for file in tmp_path.rglob("*") if file.suffix in (".so", ".cpp", ".nbi", ".nbc")]
    assert {file.parent.name for file in compiled} <= {"lazylinker_ext", "cutils_ext"}
