"""The attributes of the group ``posterior`` of a tree: what each is called, and what it says.

`bayesperf.fit` and `Posterior.to_datatree` write them; `Posterior.from_datatree`, `bayesperf.slices` and others read
them. NetCDF holds texts and numbers, so that mappings are written as JSON, and truth values as 0 and 1.
"""

from __future__ import annotations

import json
from typing import Any

import xarray as xr

from bayesperf.core.errors import InputError, InputTypeError

# What the cells are, and what they describe.
POSITIVE, SCOPE, ESTIMAND, PREVALENCE = "positive", "scope", "estimand", "prevalence"
PREVALENCE_KNOWN, GROUPS_DIM, REPEATS, REFUSAL = "prevalence_known", "groups_dim", "repeats", "refusal"
QUANTITIES, NO_PREDICTION = "quantities", "no_prediction"
# What was fitted.
MODEL, OPTIONS, PRIOR, PRIORS, DATA_HASH = "model", "options", "prior", "priors", "data_hash"
PARAMETERS, DEGREES_OF_FREEDOM = "parameters", "degrees_of_freedom"
LABELS_SWITCHED, NOT_SETTLED = "labels_switched", "not_settled"
# How the draws were made.
METHOD, INDEPENDENT_DRAWS, RANDOM_SEED = "method", "independent_draws", "random_seed"
SAMPLER, SAMPLER_VERSION, SIZES = "sampler", "sampler_version", ("chains", "draws", "tune")
VERSIONS = ("bayesperf_version", "pymc_version", "arviz_version")
# The attribute of the whole tree that says which groups it lacks, and why.
LEFT_OUT = "left_out"

ATTRIBUTES = {
    POSITIVE: "the position of the positive class among the labels; −1 if none is positive",
    SCOPE: "what the cells describe, as JSON: a system, a population's mean, a new test set",
    ESTIMAND: "the same in words; without `scope`, if the model has words of its own",
    PREVALENCE: "the proportions of the classes at which metrics are computed, if you stated them",
    PREVALENCE_KNOWN: "0 if the data do not say how common each class is",
    GROUPS_DIM: "the dim of the groups whose population the cells describe",
    REPEATS: "how often each example was counted along that dim",
    QUANTITIES: "the bounds and the better direction of variables that are figures of their own, as JSON",
    REFUSAL: "why `predict` and `at_prevalence` are refused; empty if they are not",
    NO_PREDICTION: "why `predict` alone is refused; empty if it is not",
    MODEL: "the name of the model",
    OPTIONS: "the options of the model, as JSON",
    PRIOR: "the prior in words",
    PRIORS: "the prior of each parameter in words, as JSON",
    DATA_HASH: "a fingerprint of the data",
    PARAMETERS: "the number of parameters of the model",
    DEGREES_OF_FREEDOM: "the number of parameters that the data can determine",
    "passed_by_all": "how many items every system that saw them passed",
    "passed_by_none": "how many items no system passed",
    LABELS_SWITCHED: "1 if, in some chain, the classes have changed places",
    NOT_SETTLED: "what the data do not determine, in sentences",
    METHOD: "exact, approximate or mcmc",
    INDEPENDENT_DRAWS: "1 if the draws are independent of each other",
    RANDOM_SEED: "the seed",
    SAMPLER: "the sampler; the method if there was none",
    SAMPLER_VERSION: "its version",
    **{size: f"the number of {words}" for size, words in zip(SIZES, ("chains", "draws", "tuning steps"), strict=True)},
    **{version: f"the version of {version.partition('_')[0]}" for version in VERSIONS},
}


def options_of(tree: xr.DataTree) -> dict[str, Any]:
    """Return the options of the model that a tree is a fit of; none if it is of another origin."""
    return dict(json.loads(tree["posterior"].attrs.get(OPTIONS, "{}")))


def figures_of(tree: xr.DataTree) -> dict[str, dict[str, Any]]:
    """Return the variables that are figures of their own, by name, each with its bounds and better direction."""
    return dict(json.loads(tree["posterior"].attrs.get(QUANTITIES, "{}")) if "posterior" in tree.children else {})


def fit_of(tree: Any, model: str) -> tuple[xr.Dataset, dict[str, Any]]:
    """Return the draws and the options of a fit of a model; refuse other trees."""
    if not is_fit_of(tree, model):
        raise InputTypeError("tree", f"must be a fit of the model {model!r}, as bayesperf.fit(data, {model!r}).")
    return tree["posterior"].to_dataset(), options_of(tree)


def fit_of_right_and_wrong(tree: Any) -> xr.Dataset:
    """Return the draws of a fit of the model `items` to right and wrong; refuse other trees."""
    posterior, _ = fit_of(tree, "items")
    if "threshold" in posterior:
        raise InputError("tree", "is a fit of grades.", "Count a grade and those above it as right, and fit those.")
    return posterior


def is_fit_of(tree: Any, model: str) -> bool:
    """Whether an argument is a fit of a model of that name."""
    return isinstance(tree, xr.DataTree) and "posterior" in tree and tree["posterior"].attrs.get(MODEL) == model
