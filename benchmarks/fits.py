"""Fit a model twice in one process, and print as JSON what that took, in seconds of CPU: a part of `budgets.py`.

The arguments are the name of a case and the method.
"""

import json
import resource
import sys
from itertools import product

import arviz_stats  # noqa: F401  (the accessor)
import numpy as np
import pandas as pd
import xarray as xr

import bayesperf as bp
from bayesperf.sampling import backend

# Model, options and, for `folds`, how many systems or None.
CASES = {
    "binormal_roc": ("binormal_roc", {}, None),
    "classes": ("classes", {}, None),
    "datasets": ("datasets", {}, None),
    "groups": ("groups", {}, None),
    "groups, 5 systems": ("groups", {}, 5),
    "groups, 3 classes": ("groups", {}, None),
    "groups_logit": ("groups_logit", {}, None),
    "markov": ("markov", {}, None),
    "markov, varying": ("markov", {"sequences": "varying"}, None),
    "meta_analysis": ("meta_analysis", {}, None),
    "multinomial": ("multinomial", {}, None),
    "paired": ("paired", {}, None),
    "items": ("items", {}, None),
    "preferences": ("preferences", {"order": True}, None),
    "prevalence": ("prevalence", {"pooled": True}, None),
    "raters": ("raters", {}, None),
    "raters, 3 classes": ("raters", {}, None),
    "raters, pooled": ("raters", {"pooled": True}, None),
    "rates": ("rates", {}, None),
    "readers": ("readers", {}, None),
    "recalibration": ("recalibration", {}, None),
    "recalibration, groups": ("recalibration", {}, None),
    "slices": ("slices", {"ordered": ["age"]}, None),
}


def data(case, rng):
    """Return the data and the options of a case."""
    model, options, systems = CASES[case]
    labels = rng.integers(0, 2, 200)
    if model == "binormal_roc":
        return (labels, labels + rng.standard_normal(200)), options
    if model == "recalibration":
        log_odds = 2 * labels - 1 + 1.5 * rng.standard_normal(200)
        by = {"by": {"site": np.arange(200) % 8}} if case == "recalibration, groups" else {}
        return (labels, 1 / (1 + np.exp(-log_odds))), by
    if model == "datasets":
        scores = 0.8 + 0.02 * rng.standard_normal((12, 2, 10))
        return xr.DataArray(scores, {"model": ["a", "b"]}, ("dataset", "model", "fold")).assign_coords(
            dataset=np.arange(12)
        ), options
    if model == "markov":
        frame = bp.sequences.simulate(50, sequences=6, persistence=0.9, random_seed=rng)
        return (frame["actual"], frame["predicted"]), {"by": frame["sequence"].to_numpy()} | options
    if model == "paired":
        wrong = rng.random((2, 200)) < [[0.2], [0.3]]
        return bp.ConfusionMatrix.from_predictions(labels, {"a": labels ^ wrong[0], "b": labels ^ wrong[1]}), options
    if model == "items":
        logit = rng.standard_normal((100, 1)) - rng.standard_normal(10)
        right = rng.binomial(1, 1 / (1 + np.exp(-logit)))
        return bp.Outcomes.from_counts(right=right, n=1, dims=["model", "item"]), options
    if model == "preferences":
        return preferences(rng), options
    if model == "prevalence":
        return folds(rng, None).sum("fold"), options | {"calls": calls(rng)}
    if model == "readers":
        return reads(rng), options
    if model == "raters":
        return ratings(rng, 3 if case == "raters, 3 classes" else 2), options
    if case == "classes":
        return bp.ConfusionMatrix.from_table(rng.multinomial(20, 0.1 + 0.7 * np.eye(3))), options
    if case == "groups, 3 classes":
        tables = rng.multinomial(20, 0.1 + 0.7 * np.eye(3), (10, 3))
        return bp.ConfusionMatrix.from_table(tables, dims=["fold"]), options
    if model == "slices":
        return slices(rng), options
    cm = folds(rng, systems)
    return cm if model.startswith(("groups", "meta_analysis")) else cm.sum("fold"), options


def ratings(rng: np.random.Generator, classes: int) -> bp.Ratings:
    """Return the answers of five raters, right in 80 %, to 500 items of two populations."""
    actual = rng.integers(0, classes, 500)
    wrong = rng.random((5, 500)) < 0.2
    answers = (actual + wrong * rng.integers(1, classes, (5, 500))) % classes
    frame = pd.DataFrame(answers.T, columns=list("abcde")).assign(population=rng.integers(0, 2, 500))
    return bp.Ratings.from_table(frame, population="population")


def reads(rng: np.random.Generator) -> pd.DataFrame:
    """Return the calls of six readers, right in 80 %, on a hundred cases, with two modalities."""
    frame = pd.DataFrame(product(range(100), range(6), "ab"), columns=["case", "reader", "modality"])
    truth = frame["case"] % 2
    return frame.assign(truth=truth, read=np.where(rng.random(len(frame)) < 0.8, truth, 1 - truth))


def calls(rng: np.random.Generator) -> xr.DataArray:
    """Return the calls on 200 examples of each of twelve months, a third of them positive."""
    positive = rng.binomial(200, 1 / 3, 12)
    coords = {"month": np.arange(12), "predicted": [0, 1]}
    return xr.DataArray(np.stack([200 - positive, positive], 1), coords, ("month", "predicted"))


def preferences(rng: np.random.Generator) -> pd.DataFrame:
    """Return 500 judgements of ten systems, a fifth of them tied."""
    pairs = np.array([rng.choice(10, 2, replace=False) for _ in range(500)])
    strength = np.linspace(-1, 1, 10)
    first = rng.random(500) < 1 / (1 + np.exp(strength[pairs[:, 1]] - strength[pairs[:, 0]]))
    winner = np.where(rng.random(500) < 0.2, "tie", np.where(first, "a", "b"))
    return pd.DataFrame(pairs, columns=["a", "b"]).assign(winner=winner)


def slices(rng: np.random.Generator) -> bp.ConfusionMatrix:
    """Return 12 sites × 5 devices × 4 ages, of 0 to 19 positives and negatives each; sites and devices differ."""
    shape = (12, 5, 4)
    effects = 0.6 * (rng.standard_normal((12, 1, 1)) + rng.standard_normal((5, 1)))
    n = rng.integers(0, 20, (2, *shape))
    tp, tn = rng.binomial(n, 1 / (1 + np.exp(-1.5 - effects)))
    return bp.ConfusionMatrix.from_counts(tp=tp, fn=n[0] - tp, fp=n[1] - tn, tn=tn, dims=["site", "device", "age"])


def folds(rng: np.random.Generator, systems: int | None) -> bp.ConfusionMatrix:
    """Return 10 folds of 20 positives and 36 negatives, of one system or of several."""
    rate = 0.9 if systems is None else np.linspace(0.8, 0.95, systems)[:, None]
    shape, dims = ((10,), ["fold"]) if systems is None else ((systems, 10), ["model", "fold"])
    tp, tn = (xr.DataArray(rng.binomial(n, rate, shape), dims=dims) for n in (20, 36))
    return bp.ConfusionMatrix.from_counts(tp=tp, fn=20 - tp, fp=36 - tn, tn=tn)


def cpu() -> float:
    """Return the seconds of CPU that this process and those that it started have taken."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(case: str, method: str) -> dict[str, float]:
    """Fit twice, other data the second time; return what it took and how good the draws were."""
    rng, sampling = np.random.default_rng(0), []
    sample = backend.sample_compiled

    def watched(*arguments, **settings):  # type: ignore[no-untyped-def]
        start = cpu()
        groups = sample(*arguments, **settings)
        sampling.append(cpu() - start)
        return groups

    backend.sample_compiled = watched
    taken = []
    for _ in range(2):
        values, options = data(case, rng)
        start = cpu()
        tree = bp.fit(values, CASES[case][0], options=options, method=method, random_seed=0, progressbar=False)
        taken.append(cpu() - start)
        if len(taken) == 1:
            whole = cpu()
    figures = {"whole": whole, "again": taken[1]}
    if sampling:
        parameters = [name for name in tree["log_prior"].data_vars if name in tree["posterior"]]
        ess = min(float(v.min()) for v in tree["posterior"].to_dataset()[parameters].azstats.ess().data_vars.values())
        diverging = int(tree["sample_stats"]["diverging"].sum())
        figures |= {"sampling": sampling[-1], "ess": ess, "divergences": diverging}
    return figures


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
