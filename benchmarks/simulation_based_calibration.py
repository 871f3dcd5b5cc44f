"""Check every model's sampler by simulation: ``python benchmarks/simulation_based_calibration.py [simulations]``.

Prints a table, writes it to ``benchmarks/SIMULATION_BASED_CALIBRATION.md``, and rank plots to a folder; exits with 1 if
a model fails. Simulations are kept in that folder, so that an interrupted run continues and a longer one extends it.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import bayesperf as bp

FOLDER = Path(".venv/simulation_based_calibration")
HEAD = """# Simulation-based calibration of the models

`make sbc` draws parameters from each model's prior and data from the model, samples the posterior of those data, and
ranks the parameters among its draws (`bayesperf.studies.simulation_based_calibration`). Ranks are uniform if the
sampler returns the posterior. A model passes if the distribution function of every parameter's ranks stays inside its
simultaneous band: 99 %, Bonferroni over the parameters.

"""


def groups(sizes: list[tuple[int, ...]], labels: list[Any]) -> bp.ConfusionMatrix:
    """Return groups with these numbers of examples of each class; the predictions do not matter."""
    table = [[np.eye(len(size), dtype=int)[i] * n for i, n in enumerate(size)] for size in sizes]
    return bp.ConfusionMatrix.from_table(np.array(table), labels=labels, dims={"site": list(range(len(sizes)))})


def chains() -> tuple[tuple[Any, Any], Any]:
    frame = bp.sequences.simulate(40, sequences=5, random_seed=0)
    return (frame["actual"].to_numpy(), frame["predicted"].to_numpy()), frame["sequence"].to_numpy()


BINARY = groups([(8, 12), (10, 10), (15, 5), (6, 14), (12, 12), (9, 20), (14, 8), (5, 5)], [0, 1])
BOTH_TESTS = bp.ConfusionMatrix(xr.concat([BINARY.counts, BINARY.counts], "test"), BINARY.pos_label)
THREE = groups([(6, 8, 10), (9, 7, 5), (10, 4, 8), (8, 8, 8), (5, 9, 6)], ["a", "b", "c"])
UNEQUAL = bp.ConfusionMatrix.from_table([[28, 9, 3], [2, 8, 4], [1, 1, 2]], labels=["a", "b", "c"])
TWO_SYSTEMS = bp.ConfusionMatrix.from_counts(tp=[30, 5], fn=[3, 1], fp=[4, 0], tn=[20, 7])
PAIRED = bp.ConfusionMatrix.from_predictions([1, 1, 0, 0] * 10, {"a": [1, 0, 0, 1] * 10, "b": [1, 1, 0, 0] * 10})
SCORES = xr.DataArray(
    np.random.default_rng(0).normal(0.8, 0.02, (6, 2, 10)),
    {"dataset": list("abcdef"), "model": ["one", "other"]},
    ("dataset", "model", "fold"),
)
YEAR = xr.DataArray(np.linspace(-1, 1, 8)[:, None], {"site": list(range(8)), "covariate": ["year"]})
STEPS, VIDEO = chains()
OF_TWO_CLASSES = (np.repeat([0, 1], [25, 15]), np.random.default_rng(0).normal(size=40))
# Of every pattern that the raters can give, so that all simulated ones are counted.
PATTERNS = pd.DataFrame(
    [[*p, site] for site in "uv" for p in itertools.product([0, 1], repeat=3)], columns=[*"abc", "site"]
)
RATINGS = bp.Ratings.from_table(PATTERNS.assign(n=[10, 5, 3, 2, 8, 12, 11, 9] * 2), population="site", counts="n")
TWO_RATERS = bp.Ratings.from_table([[0, 0]] * 30 + [[0, 1]] * 10 + [[1, 0]] * 8 + [[1, 1]] * 22)
OF_THREE = bp.Ratings.from_table(np.repeat(list(itertools.product("abc", repeat=3)), 3, axis=0))

# Probabilities of four sites of 5 to 40 examples.
SITE_OF = np.repeat(list("nesw"), [5, 12, 25, 40])
PROBABILITIES = (np.arange(82) % 2, 1 / (1 + np.exp(-np.random.default_rng(0).normal(-0.5, 1.5, 82))))

# Predictions of unlabelled examples, of one and of four months.
CALLS = xr.DataArray([25, 20, 15], {"predicted": ["a", "b", "c"]}, ["predicted"])
MONTHS = xr.DataArray(np.full((4, 2), [40, 10]), {"month": list("JFMA"), "predicted": [0, 1]}, ("month", "predicted"))

# Sixty judgements of five systems; then by two judges who see the same prompts, and answers of different lengths.
MET = np.array(list(itertools.permutations("vwxyz", 2)) * 3)
PREFERRED = pd.DataFrame(MET, columns=["a", "b"]).assign(winner=(["a", "b", "tie"] * 20))
JUDGED = PREFERRED.assign(
    judge=["j", "k"] * 30, prompt=np.arange(60) // 5, length_a=np.arange(60) % 7, length_b=np.arange(60) % 4
)

# Eight systems at six items, half of which the last two have not seen.
ANSWERED = bp.Outcomes.from_counts(
    right=0, n=np.r_[np.ones((6, 6), int), np.tile([2, 0], (2, 3))], dims=["model", "item"]
)

# Six systems at five items, with four grades; what they are does not matter.
LOWEST = np.broadcast_to([1, 0, 0, 0], (6, 5, 4))
GRADED = bp.Outcomes(xr.DataArray(LOWEST, {"outcome": range(4)}, ("model", "item", "outcome")))

# Slices of 0 to 14 examples of each class.
SLICES = bp.ConfusionMatrix.from_table(
    np.random.default_rng(0).integers(0, 15, (4, 3, 2))[..., None] * np.eye(2, dtype=int),
    labels=[0, 1],
    dims={"site": list(range(4)), "age": ["young", "middle", "old"]},
)

# Five readers of 16 cases, with two modalities; what they say does not matter.
READS = pd.DataFrame(list(itertools.product("AB", range(5), range(16))), columns=["modality", "reader", "case"])
READS = READS.assign(truth=READS["case"] % 2, read=READS["case"] % 2)

# Model, data and options of each check.
CASES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "multinomial": ("multinomial", TWO_SYSTEMS, {}),
    "multinomial, 3 classes": ("multinomial", THREE.sum("site"), {}),
    "rates": ("rates", TWO_SYSTEMS, {}),
    "classes": ("classes", UNEQUAL, {}),
    "groups": ("groups", BINARY, {"dim": "site"}),
    "groups, clusters, 3 classes": ("groups", THREE, {"dim": "site", "groups": "clusters"}),
    "groups_logit": ("groups_logit", BINARY, {"dim": "site"}),
    "groups_logit, LKJ, covariate": ("groups_logit", BINARY, {"dim": "site", "lkj": 2.0, "covariates": YEAR}),
    "meta_analysis": ("meta_analysis", BINARY, {}),
    "meta_analysis, covariate": ("meta_analysis", BINARY, {"covariates": YEAR}),
    "meta_analysis, paired": ("meta_analysis", BOTH_TESTS, {"dim": "site", "paired": True}),
    "meta_analysis, imperfect reference": ("meta_analysis", BINARY, {"reference": ["x", "y"] * 4}),
    "slices": ("slices", SLICES, {"ordered": ["age"], "interactions": [["site", "age"]]}),
    "slices, accuracy": ("slices", THREE, {"outcome": "accuracy"}),
    "markov": ("markov", STEPS, {}),
    "markov, varying": ("markov", STEPS, {"by": {"video": VIDEO}, "sequences": "varying"}),
    "paired": ("paired", PAIRED, {}),
    "datasets": ("datasets", SCORES, {}),
    "binormal_roc": ("binormal_roc", OF_TWO_CLASSES, {}),
    "readers": ("readers", READS, {}),
    "recalibration": ("recalibration", PROBABILITIES, {}),
    "recalibration, groups": ("recalibration", PROBABILITIES, {"by": {"site": SITE_OF}}),
    "items": ("items", ANSWERED, {}),
    "items, grades": ("items", GRADED, {"discrimination": True}),
    "items, discrimination": ("items", ANSWERED, {"discrimination": True}),
    "preferences": ("preferences", PREFERRED, {"order": True}),
    "preferences, judges, prompts": ("preferences", JUDGED, {"covariates": ["length"]}),
    "prevalence, 3 classes": ("prevalence", THREE.sum("site"), {"calls": CALLS}),
    "prevalence, pooled": ("prevalence", BINARY.sum("site"), {"calls": MONTHS, "pooled": True}),
    "raters": ("raters", RATINGS, {}),
    "raters, 3 classes": ("raters", OF_THREE, {}),
    "raters, pooled": ("raters", RATINGS, {"pooled": True}),
    "raters, dependent": ("raters", TWO_RATERS, {"dependent": (0, 1)}),
}


def check(name: str, simulations: int) -> dict[str, Any]:
    """Run one case; return its row of the table."""
    model, data, options = CASES[name]
    folder = FOLDER / "".join(letter if letter.isalnum() else "_" for letter in name)
    study = bp.studies.simulation_based_calibration(
        model, data, options=options, simulations=simulations, folder=folder
    )
    bp.plots.simulation_based_calibration(study).savefig(folder.with_suffix(".png"), dpi=110)
    return {
        "model": name,
        "simulations": simulations,
        "parameters": study.sizes["parameter"],
        "smallest p-value": f"{float(study['p_value'].min()):.4f}",
        "threshold": f"{0.01 / study.sizes['parameter']:.4f}",
        "divergences per 1000 draws": f"{float(study['diverging'].mean()) / 2:.2g}",
        "inside the band": "yes" if study.attrs["passed"] else "no",
        "date": study.attrs["date"],
        "PyMC, nutpie": f"{study.attrs['pymc_version']}, {study.attrs['nutpie_version']}",
    }


def main(simulations: int) -> int:
    """Run every case; return 1 if one fails."""
    rows = []
    for name in CASES:
        rows.append(check(name, simulations))
        print({key: rows[-1][key] for key in list(rows[-1])[:7]}, flush=True)
    table = pd.DataFrame(rows)
    lines = [list(table.columns), ["---"] * table.shape[1], *table.astype(str).values.tolist()]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    Path(__file__).with_name("SIMULATION_BASED_CALIBRATION.md").write_text(HEAD + text + "\n", encoding="utf-8")
    return int((table["inside the band"] == "no").any())


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
