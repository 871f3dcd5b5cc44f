"""Cases of every model, with their densities written down independently."""

import functools
import itertools

import numpy as np
import pandas as pd
import pytensor
import xarray as xr
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import special, stats

import bayesperf as bp
from bayesperf.sampling.fitting import built_model
from bayesperf.sampling.model_data import prepared
from tests.shared.areas import reads
from tests.shared.counts import pair_of
from tests.shared.fits import BINARY, CALLS, SYSTEMS, THREE_SITES, table

BINARY_RATES = ["prevalence", "recall", "specificity"]


POSITIVE_YES = bp.ConfusionMatrix(SYSTEMS.counts, "yes")
SITE = [2, 3, 5]
SYSTEMS_AND_SITES = table(
    [[[[9, 1], [2, 6]], [[4, 0], [0, 0]], [[3, 3], [1, 8]]], [[[8, 2], [1, 7]], [[3, 1], [2, 5]], [[6, 0], [0, 9]]]],
    ["no", "yes"], "yes", model=["A", "B"], site=SITE,
)  # fmt: skip
ONE = SYSTEMS_AND_SITES.sel(model="B")
# One slice has no examples, and one none of the positive class.
SLICED = table(
    [[[[9, 1], [2, 6]], [[4, 0], [0, 0]], [[3, 3], [1, 8]]], [[[8, 2], [1, 7]], [[0, 0], [0, 0]], [[6, 0], [0, 9]]]],
    ["no", "yes"], "yes", site=["n", "s"], age=[20, 40, 60],
)  # fmt: skip
STEPS_TRUE = np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0])
STEPS_PRED = np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0])
STEPS_VIDEO = np.repeat(["u", "v", "w"], [9, 6, 5])
TEN_PAIRS = pair_of(
    [1, 1, 0, 0, 1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 1, 0, 1, 1, 0, 1], [1, 1, 0, 0, 0, 0, 1, 1, 1, 1], names=("new", "old")
)
THREE_SCORES = xr.DataArray(
    np.random.default_rng(0).normal(0.8, 0.03, (3, 2, 5)).round(3),
    {"dataset": list("abc"), "model": ["one", "other"]}, ("dataset", "model", "fold"),
)  # fmt: skip
OF_TWO_CLASSES = (np.array([0, 1, 1, 0, 0, 1, 0]), np.array([0.3, 1.8, 0.7, -0.4, 0.9, 2.5, 0.1]))
# Probabilities of two sites, two of them the same, and what happened.
JUDGED = (np.array([0, 1, 0, 1, 1, 0, 1]), np.array([0.2, 0.7, 0.7, 0.9, 0.4, 0.05, 0.7]))
SITE_OF = np.array(list("snnsnss"))
# Repeats of the first rater, missing answers, two items of known class, and two sites.
RATED = bp.Ratings.from_table(
    pd.DataFrame(
        [["u", 0, 0, 1, 0, None, 4], ["u", 1, 0, 1, 1, None, 3], ["u", 1, 1, None, 1, 1, 2], ["v", 0, 0, 0, 0, None, 5],
         ["v", 0, None, 1, 1, None, 2], ["v", 1, 1, 1, 1, None, 6], ["v", 0, 0, 0, 1, 0, 1]],
        columns=["site", "ann", "ann", "bob", "cai", "truth", "n"],
    ),
    population="site", actual="truth", counts="n",
)  # fmt: skip
RATED_THREE = bp.Ratings.from_table([["a", "a", "b"], ["b", "b", "b"], ["c", "a", "c"], ["a", None, "c"]])
TWO_TESTS = bp.Ratings.from_table([[1, 1]] * 5 + [[1, 0]] * 2 + [[0, 1]] * 3 + [[0, 0]] * 7 + [[1, None]])
# Two systems at three items, one of which one of them has not seen.
ANSWERED = bp.Outcomes.from_counts(
    right=[[2, 1, 0], [0, 1, 3]], n=[[2, 3, 0], [1, 1, 4]], dims={"model": ["x", "y"], "item": ["u", "v", "w"]}
)
# Three systems at four items, with three grades, one of which is half of the highest.
GRADED = bp.Outcomes(
    xr.DataArray(
        [[[1, 0, 2], [0, 1, 0], [0, 0, 1], [2, 0, 0]], [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 0]],
         [[0, 2, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1]]],
        {"model": ["x", "y", "z"], "item": ["s", "u", "v", "w"], "outcome": [0, 1, 2]}, ("model", "item", "outcome"),
    )
)  # fmt: skip
# Three systems, three prompts, and answers that differ in length.
PREFERRED = pd.DataFrame(
    [["x", "y", "x", 1, "j", 3, 1], ["y", "x", "tie", 1, "k", 4, 2], ["x", "z", "x", 2, "j", 1, 9],
     ["z", "y", "y", 2, "k", 2, 5], ["x", "y", "x", 3, "k", 6, 2], ["x", "y", "y", 3, "k", 6, 2]],
    columns=["a", "b", "winner", "prompt", "judge", "length_a", "length_b"],
)  # fmt: skip
# Binary reads of six cases, two of which are missing.
READS = reads(3, 6).assign(read=lambda frame: (frame["score"] > 0.5).astype(int)).drop(columns="score").drop([3, 17])
YEAR_AND_AGE = xr.DataArray(
    [[0.5, -1.0], [0.2, 0.3], [-0.7, 0.1]], {"site": SITE, "covariate": ["year", "age"]}, ("site", "covariate")
)


SHUFFLED = YEAR_AND_AGE.T.sel(site=[5, 2, 3])


def log_dirichlet(shares, weight):
    return stats.dirichlet.logpdf(shares, np.broadcast_to(weight, shares.shape))


def of_multinomial(counts, shares):
    flat = counts.values.reshape(-1, shares.shape[-1])
    weight = 0.5 if shares.shape[-1] == 4 else 1 / shares.shape[-1]
    return sum(
        log_dirichlet(p, weight) + stats.multinomial.logpmf(n, n.sum(), p)
        for n, p in zip(flat, shares.reshape(flat.shape), strict=True)
    )


def of_rates(counts, prevalence, recall, specificity, design="joint"):
    (tn, fp), (fn, tp) = np.moveaxis(counts.values, (-2, -1), (0, 1))
    positives, negatives = tp + fn, tn + fp
    density = stats.beta.logpdf(recall, 0.5, 0.5) + stats.binom.logpmf(tp, positives, recall)
    density = density + stats.beta.logpdf(specificity, 0.5, 0.5) + stats.binom.logpmf(tn, negatives, specificity)
    if design == "joint":
        density = density + stats.binom.logpmf(positives, positives + negatives, prevalence)
    return density.sum()


def of_row(row, concentration):
    """Density of a Dirichlet–multinomial row without the multinomial coefficient, which the model leaves out."""
    # SciPy 1.15 asks for a trial.
    if not row.any():
        return 0.0
    coefficient = special.gammaln(row.sum() + 1) - special.gammaln(row + 1).sum()
    return stats.dirichlet_multinomial.logpmf(row, concentration, row.sum()) - coefficient


def of_groups(counts, rates, dispersion, prevalence, prevalence_dispersion=None, design="joint", only=""):
    """Density of one system's groups (group, actual, predicted); clusters differ in prevalence."""
    classes, random = counts.shape[-1], prevalence_dispersion is None
    prior = sum(log_dirichlet(row, 2 / classes) for row in rates)
    prior += stats.beta.logpdf(dispersion, 1, 24 if random else 9).sum() + log_dirichlet(prevalence, 1)
    prior += 0 if random else stats.beta.logpdf(prevalence_dispersion, 1, 3)
    likelihood = sum(
        of_row(row, (1 / dispersion[i] - 1) * rates[i]) for table in counts.values for i, row in enumerate(table)
    )
    if design == "joint":
        totals = counts.values.sum(-1)
        if random:
            likelihood += stats.multinomial.logpmf(totals.sum(0), totals.sum(), prevalence)
        else:
            likelihood += sum(of_row(row, (1 / prevalence_dispersion - 1) * prevalence) for row in totals)
    return {"": prior + likelihood, "prior": prior, "likelihood": likelihood}[only]


def of_systems(counts, **parameters):
    """Density of the groups of several systems, which have nothing in common."""
    return sum(of_groups(counts[m], **{name: value[m] for name, value in parameters.items()}) for m in (0, 1))


def of_classes(counts, mean_recall, slope, dispersion, popularity, clumping, prevalence, design="joint"):
    """Density of one matrix: a class's predictions are right or wrong, and wrong ones are spread by popularity."""
    table, kappa, eta = counts.values, 1 / dispersion - 1, 1 / clumping - 1
    density = stats.beta.logpdf(dispersion, 1, 3) + log_dirichlet(popularity, 0.4) + log_dirichlet(prevalence, 1)
    density += stats.norm.logpdf(slope)
    sizes = np.log(table.sum(1) + 1)
    for i, row in enumerate(table):
        others = np.arange(len(row)) != i
        mean = special.expit(special.logit(mean_recall) + slope * (sizes[i] - sizes.mean()))
        right_or_wrong = np.array([row[i], row[others].sum()])
        density += of_row(right_or_wrong, kappa * np.array([mean, 1 - mean]))
        density += of_row(row[others], eta * popularity[others] / popularity[others].sum())
    if design == "joint":
        density += stats.multinomial.logpmf(table.sum(1), table.sum(), prevalence)
    return density


def logits(location, spread, deviation, correlation_unit=None, coefficient=None):
    """Logits of prevalence, recall and specificity, (site, rate); in folds the first of them does not vary."""
    spread, deviation = (np.pad(x, [(0, 0)] * (x.ndim - 1) + [(3 - x.shape[-1], 0)]) for x in (spread, deviation))
    z = deviation.copy()
    if correlation_unit is not None:
        r = 2 * correlation_unit - 1
        z[:, 2] = r * deviation[:, 1] + np.sqrt(1 - r**2) * deviation[:, 2]
    shift = 0 if coefficient is None else YEAR_AND_AGE.values @ coefficient.T
    return location + shift + spread * z


def of_groups_logit(
    counts, location, spread, deviation, correlation_unit=None, coefficient=None, scale=0.5, eta=3.0, only=""
):
    prior = stats.logistic.logpdf(location).sum() + stats.halfnorm.logpdf(spread, scale=scale).sum()
    prior += stats.norm.logpdf(deviation).sum()
    if correlation_unit is not None:
        prior += stats.beta.logpdf(correlation_unit, eta, eta)
    if coefficient is not None:
        prior += stats.norm.logpdf(coefficient).sum()
    rates = special.expit(logits(location, spread, deviation, correlation_unit, coefficient))
    (tn, fp), (fn, tp) = np.moveaxis(counts.values, (-2, -1), (0, 1))
    successes, trials = np.stack([tp + fn, tp, tn], -1), np.stack([tp + fn + tn + fp, tp + fn, tn + fp], -1)
    return prior + stats.binom.logpmf(successes, trials, rates).sum()


def of_meta_analysis(counts, location, spread, correlation, deviation, coefficient=None):
    prior = stats.logistic.logpdf(location).sum() + stats.halfnorm.logpdf(spread).sum() - np.log(2)
    prior += stats.norm.logpdf(deviation).sum()
    z = np.stack([deviation[:, 0], correlation * deviation[:, 0] + np.sqrt(1 - correlation**2) * deviation[:, 1]], -1)
    shift = 0
    if coefficient is not None:
        prior += stats.norm.logpdf(coefficient).sum()
        shift = YEAR_AND_AGE.values @ coefficient.T
    (tn, fp), (fn, tp) = np.moveaxis(counts.values, (-2, -1), (0, 1))
    rates = special.expit(location + shift + spread * z)
    return prior + stats.binom.logpmf(np.stack([tp, tn], -1), np.stack([tp + fn, tn + fp], -1), rates).sum()


def of_agreement(table, prevalence, referred, tested):
    """Density of a table by reference and test, from the recall and specificity of both: sums over the true status."""
    density = special.gammaln(table.sum() + 1) - special.gammaln(table + 1).sum()
    for (r, t), n in np.ndenumerate(table):
        of_positive = (referred[0] if r else 1 - referred[0]) * (tested[0] if t else 1 - tested[0])
        of_negative = (1 - referred[1] if r else referred[1]) * (1 - tested[1] if t else tested[1])
        density += n * np.log(prevalence * of_positive + (1 - prevalence) * of_negative)
    return density


def of_imperfect_reference(counts, location, spread, correlation, deviation, reference_rates, prevalence_group):
    """Density of studies whose references are the first, the second and the first."""
    density = of_meta_analysis(counts * 0, location, spread, correlation, deviation)
    density += stats.beta.logpdf(reference_rates, 9, 1).sum()
    for site, z in enumerate(deviation):
        second = correlation * z[0] + np.sqrt(1 - correlation**2) * z[1]
        tested = special.expit(location + spread * [z[0], second])
        density += of_agreement(counts.values[site], prevalence_group[site], reference_rates[[0, 1, 0][site]], tested)
    return density


def of_paired_tests(
    counts, location, spread, correlation, study_deviation, own_deviation, shared,
    reference_rates=None, prevalence_group=None,
):  # fmt: skip
    """Density of tests in the same studies, one by one; a reference that errs is the same for both."""
    density = stats.logistic.logpdf(location).sum() + stats.halfnorm.logpdf(spread).sum() - 2 * np.log(2)
    density += stats.norm.logpdf(study_deviation).sum() + stats.norm.logpdf(own_deviation).sum()
    errs = reference_rates is not None
    density += stats.beta.logpdf(reference_rates, 9, 1).sum() if errs else 0.0
    for test, site in np.ndindex(2, 3):
        z = np.sqrt(shared) * study_deviation[site] + np.sqrt(1 - shared) * own_deviation[test, site]
        r = correlation[test]
        tested = special.expit(location[test] + spread[test] * [z[0], r * z[0] + np.sqrt(1 - r**2) * z[1]])
        (tn, fp), (fn, tp) = table = counts.values[test, site]
        density += (
            of_agreement(table, prevalence_group[site], reference_rates[0], tested)
            if errs
            else stats.binom.logpmf([tp, tn], [tp + fn, tn + fp], tested).sum()
        )
    return density


def of_readers(
    data, location, reader_spread, case_spread, correlation, recall_deviation, specificity_deviation, case_deviation,
    interaction_spread=0.0, interaction_deviation=None, design=None,
):  # fmt: skip
    """Density of reads one by one: the rate of positive cases is recall, the first; missing reads say nothing.

    The units of the deviations are those of the reads that `design` has, by default the same.
    """
    several = interaction_deviation is not None
    density = stats.logistic.logpdf(location).sum() + stats.halfnorm.logpdf(reader_spread).sum() - np.log(2)
    density += stats.halfnorm.logpdf(case_spread, scale=1.5).sum()
    density += stats.halfnorm.logpdf(interaction_spread, scale=0.5).sum() if several else 0
    own = (data if design is None else design).values
    of_rate = 1 - np.array(data.attrs["truth"])
    reads = np.stack([(own[..., of_rate == t] >= 0).sum(-1) for t in range(2)], -1)
    right = np.stack([(own[..., of_rate == t] == 1).sum(-1) for t in range(2)], -1)
    share = (right.sum((0, 1)) + 1) / (reads.sum((0, 1)) + 2)
    total = np.broadcast_to(reader_spread**2 + case_spread**2 + interaction_spread**2, 2)
    rest_of_logit = location * np.sqrt(1 + 0.346 * total) - special.logit(share)

    def unit(sampled, spread, reads, right, share, mean):
        """Return deviations, and the log density of what is sampled."""
        width = np.sqrt(1 + 0.16 * reads * spread**2)
        z = (sampled - spread * (0.16 * reads * mean - (right - share * reads)) / width) / width
        return z, (stats.norm.logpdf(z) - np.log(width)).sum()

    by_reader = [(reads[:, :, t].sum(0), right[:, :, t].sum(0), share[t]) for t in range(2)]
    recall, of_recall = unit(recall_deviation, reader_spread[0], *by_reader[0], rest_of_logit[:, 0].mean())
    known, rest = reader_spread[1] * correlation * recall, reader_spread[1] * np.sqrt(1 - correlation**2)
    other, of_other = unit(specificity_deviation, rest, *by_reader[1], rest_of_logit[:, 1].mean() + known)
    effect = np.broadcast_to(np.stack([reader_spread[0] * recall, known + rest * other], -1), reads.shape)
    density += of_recall + of_other
    if several:
        mean = rest_of_logit[:, None] + effect
        z, of_interaction = unit(interaction_deviation, interaction_spread, reads, right, share, mean)
        effect, density = effect + interaction_spread * z, density + of_interaction
    mean = (rest_of_logit[:, None] + effect).mean((0, 1))[of_rate]
    by_case = (own >= 0).sum((0, 1)), (own == 1).sum((0, 1)), share[of_rate]
    case, of_cases = unit(case_deviation, case_spread[of_rate], *by_case, mean)
    density += of_cases
    for (m, j, i), right in np.ndenumerate(data.values):
        t = 1 - data.attrs["truth"][i]
        logit = location[m, t] * np.sqrt(1 + 0.346 * total[t]) + effect[m, j, t] + case_spread[t] * case[i]
        density += stats.bernoulli.logpmf(right, special.expit(logit)) if right >= 0 else 0.0
    return density


def width_of_deviation(weights, trials, sigma):
    """Standard deviation of a sampled deviation, by the information of the slices that it has these weights in."""
    return np.sqrt(1 + sigma**2 * sum(0.16 * n * w**2 for n, w in zip(trials, weights, strict=True)))


def contrast(level, k):
    """Of the level in the k-th of Helmert's contrasts: the first k + 1 levels against the next, of length 1."""
    below, length = k + 1, np.sqrt((k + 1) * (k + 2))
    return 1 / length if level < below else (-below / length if level == below else 0.0)


def step(level, k, levels):
    """Of the level in the k-th step of a random walk about its mean, scaled to a mean variance of 1 − 1/levels."""
    walks = [[(lv > j) - (levels - 1 - j) / levels for lv in range(levels)] for j in range(levels - 1)]
    return walks[k][level] * np.sqrt((levels - 1) / sum(w**2 for walk in walks for w in walk))


def weights_of_slices():
    """Weights of the deviations of SLICED: of site and age, age in order, and of their interaction; (deviation, 6)."""
    places = list(itertools.product(range(2), range(3)))
    site = [[contrast(i, 0) for i, _ in places]]
    age = [[step(j, k, 3) for _, j in places] for k in (0, 1)]
    both = [[contrast(i, 0) * step(j, k, 3) for i, j in places] for k in (0, 1)]
    return np.array(site + age + both), [0, 1, 1, 2, 2]


def of_slices(counts, location, spread, deviation):
    """Density of the slices (site, age), rate by rate, up to the binomial coefficients, which the model leaves out."""
    table, (weights, effect) = counts.values.reshape(6, 2, 2), weights_of_slices()
    scales = np.array([1.0, 1.0, 0.5])
    density = stats.logistic.logpdf(location).sum()
    for r, row in enumerate((1, 0)):  # recall is of the second label, the positive one
        trials, right = table[:, row].sum(-1), table[:, row, row]
        density += stats.halfnorm.logpdf(spread[:, r], scale=scales).sum()
        logit = np.full(6, location[r])
        for w, e, u in zip(weights, effect, deviation[:, r], strict=True):
            sigma = spread[e, r]
            width = width_of_deviation(w, trials, sigma)
            density += stats.norm.logpdf(u, 0, width)
            logit += w * sigma / width * u
        density += stats.binom.logpmf(right, trials, special.expit(logit)).sum()
        density -= (
            special.gammaln(trials + 1) - special.gammaln(right + 1) - special.gammaln(trials - right + 1)
        ).sum()
    return density


def of_accuracies(counts, location, spread, deviation):
    """Density of the accuracy of two folds of three classes."""
    table, (sigma,) = counts.values, spread[0]
    n, right = table.sum((-2, -1)), np.trace(table, axis1=-2, axis2=-1)
    weights = [contrast(0, 0), contrast(1, 0)]
    width = width_of_deviation(weights, n, sigma)
    logit = location[0] + np.array(weights) * sigma / width * deviation[0, 0]
    density = stats.logistic.logpdf(location[0]) + stats.halfnorm.logpdf(sigma)
    density += stats.norm.logpdf(deviation[0, 0], 0, width)
    return density + (right * np.log(special.expit(logit)) + (n - right) * np.log(special.expit(-logit))).sum()


def steps(before_and_after=True):
    """Return g, z of every sample but the first of a video, and those of the sample before it."""
    later = np.flatnonzero(STEPS_VIDEO[1:] == STEPS_VIDEO[:-1]) + 1
    return STEPS_TRUE[later], STEPS_PRED[later], STEPS_TRUE[later - 1], STEPS_PRED[later - 1], STEPS_VIDEO[later]


def of_predictions(predict_second):
    """Density of the predictions given what went before, actual label g, actual before h and prediction before j."""
    g, z, h, j, _ = steps()
    density = stats.beta.logpdf(predict_second, 0.5, 0.5).sum()
    for place in itertools.product((0, 1), repeat=predict_second.ndim):
        given = zip((g, h, j) if predict_second.ndim == 3 else (g, j), place, strict=True)
        seen = np.logical_and.reduce([label == value for label, value in given])
        density += stats.binom.logpmf(z[seen].sum(), seen.sum(), predict_second[place])
    return density


def of_markov(_, stay, predict_second):
    g, _, h, _, _ = steps()
    density = stats.beta.logpdf(stay, 0.5, 0.5).sum() + of_predictions(predict_second)
    n = stats.binom.logpmf([((h == i) & (g == i)).sum() for i in (0, 1)], [(h == i).sum() for i in (0, 1)], stay)
    return density + n.sum()


def of_markov_varying(_, stay, predict_second, stay_dispersion):
    g, _, h, _, video = steps()
    density = stats.beta.logpdf(stay, 0.5, 0.5).sum() + of_predictions(predict_second)
    density += stats.beta.logpdf(stay_dispersion, 1, 9).sum()
    kappa = 1 / stay_dispersion - 1
    for name, i in itertools.product("uvw", (0, 1)):
        left = h[(video == name) & (h == i)]
        stayed = ((video == name) & (h == i) & (g == i)).sum()
        density += stats.betabinom.logpmf(stayed, len(left), kappa[i] * stay[i], kappa[i] * (1 - stay[i]))
    return density


def of_paired(counts, shares):
    return log_dirichlet(shares, 0.25) + stats.multinomial.logpmf(counts.values.ravel(), counts.values.sum(), shares)


def folds_of(scores):
    """Differences (dataset, fold), and the typical deviation, their unit."""
    d = scores.isel(model=0).values - scores.isel(model=1).values
    return d, np.mean([np.std(row, ddof=1) for row in d])


def of_datasets(scores, center, spread, noise, tail, weight, test_fraction=0.2):
    """Up to a constant: the folds themselves are correlated normals, the more so for what their data sets share."""
    density = stats.norm.logpdf(center, 0, 5) + stats.lognorm.logpdf(noise, 1).sum()
    density += np.log(2) + stats.t.logpdf(spread, 3, scale=2.5)
    density += stats.gamma.logpdf(tail, 1.5, scale=20) + stats.chi2.logpdf(weight, 1 + tail, scale=1 / (1 + tail)).sum()
    d, unit = folds_of(scores)
    correlation = np.full((5, 5), test_fraction) + (1 - test_fraction) * np.eye(5)
    return density + sum(
        stats.multivariate_normal.logpdf(row / unit, np.full(5, center), s**2 * correlation + spread**2 / w)
        for row, w, s in zip(d, weight, noise, strict=True)
    )


def of_binormal_roc(scores, precision, offset):
    """Up to a constant: the single scores, in units of the mean variance, from the middle of the classes."""
    of_class = [scores.values[scores["positive"].values == label] for label in (False, True)]
    middle, unit = np.mean([s.mean() for s in of_class]), np.sqrt(np.mean([s.var(ddof=1) for s in of_class]))
    density = stats.gamma.logpdf(precision, 1).sum() + stats.norm.logpdf(offset).sum()
    for s, tau, delta in zip(of_class, precision, offset, strict=True):
        density += stats.norm.logpdf((s - middle) / unit, delta / np.sqrt(tau), 1 / np.sqrt(tau)).sum()
    return density


def of_recalibration(_, intercept, slope, intercept_spread=None, slope_spread=None, deviation=None):
    """Density of what happened, example by example; the model counts examples alike, without a coefficient."""
    density = stats.norm.logpdf(intercept, 0, 2.5) + stats.norm.logpdf(slope, 1, 2.5)
    y, log_odds = JUDGED[0], np.log(JUDGED[1] / (1 - JUDGED[1]))
    line = np.broadcast_to([intercept, slope], (len(y), 2))
    if deviation is not None:
        spread, mean = np.array([intercept_spread, slope_spread]), np.array([intercept, slope])
        density += stats.halfnorm.logpdf(spread, scale=[1, 0.5]).sum()
        weight = JUDGED[1] * (1 - JUDGED[1])
        known = np.array(
            [[weight[s == SITE_OF].sum(), 0.25 * (weight * log_odds**2)[s == SITE_OF].sum()] for s in "ns"]
        )
        w = 0.03 * known / (1 + 0.03 * known)
        density += stats.norm.logpdf(deviation, w * mean, spread**w).sum()
        line = (mean + spread ** (1 - w) * (deviation - w * mean))[(SITE_OF == "s").astype(int)]
    p = special.expit(line[:, 0] + line[:, 1] * log_odds)
    return density + stats.bernoulli.logpmf(y, p).sum()


def of_patterns(data, rates, prevalence, together=None):
    """Log-probability of the counts, pattern by pattern, answer by answer; `together` are tables of two raters."""
    total = 0.0
    for place, n in np.ndenumerate(data.values):
        answers, known = data.attrs["answers"][place[-1]], data.attrs["known"][place[-1]]
        chance = 0.0
        for t, share in enumerate(prevalence[place[:-1]]):
            if known in (-1, t):
                answered = [np.repeat(np.arange(len(row)), row) for row in answers]
                own = [float(np.prod(rates[j, t, ratings])) for j, ratings in enumerate(answered)]
                if together is not None and all(len(ratings) for ratings in answered):
                    own = [together[t][answered[0][0], answered[1][0]]]
                chance += share * np.prod(own)
        design = [
            (row.sum(-1).tolist(), k >= 0) for row, k in zip(data.attrs["answers"], data.attrs["known"], strict=True)
        ]
        same = [d == design[place[-1]] for d in design]
        items = data.values[place[:-1]]
        total += n * (np.log(chance) + np.log(items[same].sum() / items.sum())) if n else 0.0
    return total


def log_rates(rates):
    weights = 3.2 / (rates.shape[-1] - 1) + (4.8 - 3.2 / (rates.shape[-1] - 1)) * np.eye(rates.shape[-1])
    return sum(stats.dirichlet.logpdf(row, weights[t]) for table in np.atleast_3d(rates).reshape(-1, *weights.shape)
               for t, row in enumerate(table))  # fmt: skip


def of_raters(data, rates, prevalence, dependence=None):
    prior = log_rates(rates) + sum(log_dirichlet(row, 1) for row in np.atleast_2d(prevalence))
    together = None
    if dependence is not None:
        prior += stats.beta.logpdf(dependence, 1, 1).sum()
        right = rates[:, [0, 1], [0, 1]]
        most = right.min(0) - right.prod(0)
        sign = np.array([[1, -1], [-1, 1]])
        together = [np.outer(rates[0, t], rates[1, t]) + dependence[t] * most[t] * sign for t in (0, 1)]
    return prior + of_patterns(data, rates, prevalence, together)


def of_prevalence(counts, calls, rates, prevalence, spread=None, deviation=None, pooled=False):
    """Density of predictions: those of labelled examples by class, and those of parts, whatever their class."""
    density = sum(log_dirichlet(row, 0.5) for row in rates) + sum(
        stats.multinomial.logpmf(row, row.sum(), rate) for row, rate in zip(counts.values, rates, strict=True)
    )
    density += sum(log_dirichlet(row, 0.5) for row in np.atleast_2d(prevalence))
    if pooled:
        density += stats.halfnorm.logpdf(spread) + stats.norm.logpdf(deviation).sum()
        prevalence = special.softmax(np.log(prevalence) + spread * deviation / np.sqrt(2), axis=-1)
    return density + stats.multinomial.logpmf(calls.values, calls.values.sum(-1), prevalence @ rates).sum()


def of_cut_raters(data, rates, prevalence):
    others = data.copy(deep=True)
    others.attrs = data.attrs | {"answers": data.attrs["answers"][:, 1:]}
    return of_raters(others, rates, prevalence)


def of_pooled_raters(data, mean_rates, spread, deviation, prevalence):
    rates = special.softmax(np.log(mean_rates) + spread[:, None] * deviation, -1)
    prior = log_rates(mean_rates) + stats.halfnorm.logpdf(spread).sum() + stats.norm.logpdf(deviation).sum()
    return prior + log_dirichlet(prevalence, 1) + of_patterns(data, rates, prevalence)


def of_preferences(_, frame=PREFERRED, **value):
    """Density of the winners, row by row: strengths, prompts, judges, order, length and ties by name."""
    names, rows = sorted({*frame["a"], *frame["b"]}), frame.to_dict("records")
    shift = lambda number, z: [sum(contrast(i, k) * z[k] for k in range(number - 1)) for i in range(number)]  # noqa: E731
    known = [
        sum((contrast(names.index(row["a"]), k) - contrast(names.index(row["b"]), k)) ** 2 for row in rows) / 4
        for k in range(len(names) - 1)
    ]
    width = np.sqrt(1 + np.array(known) * value["spread"] ** 2)
    strength = dict(zip(names, shift(len(names), value["spread"] / width * value["deviation"]), strict=True))
    density = stats.halfnorm.logpdf(value["spread"]) + stats.norm.logpdf(value["deviation"], 0, width).sum()
    ties = "tie" in value
    density += stats.lognorm.logpdf(value["tie"], 1.5) if ties else 0
    density += stats.norm.logpdf(value["order"], 0, 0.5) if "order" in value else 0
    weight, answer, apart = {}, {}, np.zeros(len(rows))
    if "coefficient" in value:
        lengths = (frame["length_a"] - frame["length_b"]).to_numpy()
        apart = value["coefficient"] * lengths / np.sqrt((lengths**2).mean())
        judges, answers = sorted({*frame["judge"]}), sorted({(row["prompt"], row[s]) for row in rows for s in "ab"})
        weight = dict(
            zip(judges, np.exp(value["judge_spread"] * np.array(shift(2, value["judge_deviation"]))), strict=True)
        )
        answer = dict(zip(answers, value["prompt_spread"] * value["prompt_deviation"], strict=True))
        density += stats.halfnorm.logpdf([value["judge_spread"], value["prompt_spread"]]).sum()
        density += sum(
            stats.norm.logpdf(value[of]).sum() for of in ("coefficient", "judge_deviation", "prompt_deviation")
        )
    for row, of_length in zip(rows, apart, strict=True):
        a, b = (strength[row[s]] + answer.get((row.get("prompt"), row[s]), 0) for s in "ab")
        d = weight.get(row.get("judge"), 1) * (a - b) + value.get("order", 0) + of_length
        terms = {row["a"]: np.exp(d / 2), row["b"]: np.exp(-d / 2)} | ({"tie": value["tie"]} if ties else {})
        density += np.log(terms[row["winner"]] / sum(terms.values()))
    return density


def of_items(
    data,
    location,
    ability_spread,
    ability_deviation,
    difficulty_spread,
    difficulty_deviation,
    set_spread,
    set_deviation,
    discrimination_spread=None,
    discrimination_deviation=None,
):
    """Density of the attempts at items, up to the binomial coefficients: logits are abilities less difficulties."""
    right, n = data.values[..., 1], data.values.sum(-1)
    spreads = [ability_spread, difficulty_spread, set_spread]
    density = stats.logistic.logpdf(location) + stats.halfnorm.logpdf(spreads).sum()
    density += stats.norm.logpdf(set_deviation).sum()
    slope = np.ones(3)

    def summing_to_zero(known):
        root = np.sqrt(len(known) + 1)
        return np.append(known - known.sum() / (root * (1 + root)), -known.sum() / root)

    shifts = []
    for spread, deviation, trials in zip(
        spreads, (ability_deviation, difficulty_deviation), (n.sum(1), n.sum(0)), strict=False
    ):
        width = np.sqrt(1 + 0.16 * trials[:-1] * spread**2)
        density += stats.norm.logpdf(deviation, 0, width).sum()
        shifts.append(summing_to_zero(spread / width * deviation))
    # The last item was seen by one system only; sets are in the order of who has seen them, none before one.
    of_set = summing_to_zero(set_spread * set_deviation)[[1, 1, 0]]
    if discrimination_spread is not None:
        density += stats.halfnorm.logpdf(discrimination_spread, scale=0.5)
        width = np.sqrt(1 + 0.16 * n.sum(0)[:-1] * (ability_spread * discrimination_spread) ** 2)
        density += stats.norm.logpdf(discrimination_deviation, 0, width).sum()
        slope = np.exp(summing_to_zero(discrimination_spread / width * discrimination_deviation))
    p = special.expit(slope * shifts[0][:, None] - location - of_set - shifts[1])
    return density + (right * np.log(p) + (n - right) * np.log(1 - p)).sum()


def of_graded_items(
    data, shares, ability_spread, ability_deviation, difficulty_spread, difficulty_deviation,
    discrimination_spread, discrimination_deviation,
):  # fmt: skip
    """Density of grades, cell by cell; `zero_sum` has a test of its own."""
    n, density = data.values.sum(-1), log_dirichlet(shares, 1)
    spreads = [ability_spread, difficulty_spread, discrimination_spread]
    density += stats.halfnorm.logpdf(spreads, scale=[1, 1, 0.5]).sum()
    shifts = []
    for spread, deviation, trials, of in zip(
        spreads, (ability_deviation, difficulty_deviation, discrimination_deviation),
        (n.sum(1), n.sum(0), n.sum(0)), (1, 1, ability_spread), strict=True,
    ):  # fmt: skip
        width = np.sqrt(1 + 0.16 * trials[:-1] * (of * spread) ** 2)
        density += stats.norm.logpdf(deviation, 0, width).sum()
        known, root = spread / width * deviation, np.sqrt(len(trials))
        shifts.append(np.append(known - known.sum() / (root * (1 + root)), -known.sum() / root))
    for (i, j, k), number in np.ndenumerate(data.values):
        logit = np.exp(shifts[2][j]) * shifts[0][i] - shifts[1][j]
        # Of at least each grade: the mean system's share at a typical item, moved on the logit scale.
        at_least = [1, *(special.expit(special.logit(shares[g:].sum()) + logit) for g in (1, 2)), 0]
        density += number * np.log(at_least[k] - at_least[k + 1])
    return density


def shares(*shape):
    return lambda rng: rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def normal(*shape):
    return lambda rng: rng.standard_normal(shape)


def positive(*shape):
    return lambda rng: rng.gamma(2, 0.5, shape)


def unit(*shape):
    return lambda rng: rng.beta(2, 3, shape)


def small(*shape):
    return lambda rng: rng.beta(2, 20, shape)


def parts(*systems, classes=2, clusters=False):
    """Return the parameters of the groups model."""
    rows = (*systems, classes)
    random = {"rates": shares(*rows, classes), "dispersion": small(*rows), "prevalence": shares(*rows)}
    return random | ({"prevalence_dispersion": small(*systems)} if clusters else {})


def of_logit(varying):
    """Return the parameters of the groups_logit model."""
    return {"location": normal(3), "spread": positive(varying), "deviation": normal(3, varying)}


LOGIT = of_logit(2)
OVER_STUDIES = {"location": normal(2), "spread": positive(2), "correlation": unit(), "deviation": normal(3, 2)}
OF_PAIRED = {"location": normal(2, 2), "spread": positive(2, 2), "correlation": unit(2),
             "study_deviation": normal(3, 2), "own_deviation": normal(2, 3, 2), "shared": unit(2)}  # fmt: skip
OF_READERS = {"location": normal(2, 2), "reader_spread": positive(2), "case_spread": positive(2),
              "correlation": unit(), "recall_deviation": normal(3), "specificity_deviation": normal(3),
              "case_deviation": normal(6)}  # fmt: skip
OF_ITEMS = {"location": normal(), "ability_spread": positive(), "ability_deviation": normal(1),
            "difficulty_spread": positive(), "difficulty_deviation": normal(2), "set_spread": positive(),
            "set_deviation": normal(1)}  # fmt: skip
CHAIN = {"stay": unit(2), "predict_second": unit(2, 2, 2)}
SCORED = {"center": normal(), "spread": positive(), "noise": positive(3), "tail": positive(), "weight": positive(3)}
THREE_RATES = {name: unit(2) for name in BINARY_RATES}
SHARED_BY_CLASSES = {"mean_recall": unit(), "slope": normal(), "dispersion": small(), "popularity": shares(3),
                     "clumping": unit(), "prevalence": shares(3)}  # fmt: skip
BY_VIDEO = {"by": {"video": STEPS_VIDEO}}
STEPS = (STEPS_TRUE, STEPS_PRED)

# Model, data, options; points; density; dims of each variable.
DENSITIES = {
    "multinomial": ("multinomial", POSITIVE_YES, {}, {"shares": shares(2, 4)}, of_multinomial,
                    {"shares": ("model", "cell"), "cells": ("model", "actual", "predicted")}),
    "multinomial of three classes": ("multinomial", THREE_SITES.sum("fold"), {}, {"shares": shares(9)}, of_multinomial,
                                     {"shares": ("cell",), "cells": ("actual", "predicted")}),
    "rates": ("rates", POSITIVE_YES, {}, THREE_RATES, of_rates,
              {**dict.fromkeys(BINARY_RATES, ("model",)), "cells": ("model", "actual", "predicted")}),
    "rates by actual": ("rates", POSITIVE_YES, {"design": "by_actual"}, THREE_RATES,
                        functools.partial(of_rates, design="by_actual"), {"recall": ("model",)}),
    "classes": ("classes", THREE_SITES.sum("fold"), {}, SHARED_BY_CLASSES, of_classes,
                {"mean_recall": (), "slope": (), "dispersion": (), "popularity": ("predicted",), "clumping": (),
                 "prevalence": ("actual",), "outcomes": ("actual", "outcome"), "errors": ("actual", "other"),
                 "totals": ("actual",)}),
    "classes by actual": ("classes", THREE_SITES.sum("fold"), {"design": "by_actual"}, SHARED_BY_CLASSES,
                          functools.partial(of_classes, design="by_actual"), {}),
    "groups": ("groups", ONE, {}, parts(), of_groups,
               {"rates": ("actual", "predicted"), "dispersion": ("actual",), "prevalence": ("actual",),
                "cells": ("actual", "predicted"), "counts": ("site", "actual", "predicted"), "totals": ("actual",)}),
    "groups by actual": ("groups", ONE, {"design": "by_actual"}, parts(),
                         functools.partial(of_groups, design="by_actual"), {}),
    "groups, clusters": ("groups", ONE, {"groups": "clusters"}, parts(clusters=True), of_groups,
                         {"prevalence_dispersion": (), "prevalence": ("actual",), "totals": ("site", "actual")}),
    "groups, clusters by actual": ("groups", ONE, {"groups": "clusters", "design": "by_actual"}, parts(clusters=True),
                                   functools.partial(of_groups, design="by_actual"), {}),
    "groups of three classes": ("groups", THREE_SITES, {"groups": "clusters"}, parts(classes=3, clusters=True),
                                of_groups, {"counts": ("fold", "actual", "predicted")}),
    "groups of systems": ("groups", SYSTEMS_AND_SITES, {"dim": "site", "groups": "clusters"},
                          parts(2, clusters=True), of_systems,
                          {"rates": ("model", "actual", "predicted"), "prevalence_dispersion": ("model",),
                           "counts": ("model", "site", "actual", "predicted"), "totals": ("model", "site", "actual")}),
    "groups_logit": ("groups_logit", ONE, {}, LOGIT, of_groups_logit,
                     {"location": ("rate",), "spread": ("varying_rate",), "deviation": ("site", "varying_rate"),
                      "rates": ("rate",),
                      "rates_group": ("site", "rate"), "cells": ("actual", "predicted"),
                      "cells_group": ("site", "actual", "predicted")}),
    "groups_logit, clusters": ("groups_logit", ONE, {"groups": "clusters"}, of_logit(3),
                               functools.partial(of_groups_logit, scale=1.0), {}),
    "groups_logit, LKJ and covariates": ("groups_logit", ONE, {"lkj": 3.0, "covariates": SHUFFLED},
                                         LOGIT | {"correlation_unit": unit(), "coefficient": normal(3, 2)},
                                         of_groups_logit, {"correlation": (), "coefficient": ("rate", "covariate")}),
    "meta_analysis": ("meta_analysis", ONE, {}, OVER_STUDIES, of_meta_analysis,
                      {"location": ("rate",), "spread": ("rate",), "correlation": (), "deviation": ("site", "rate"),
                       "true_positives": ("site",)}),
    "meta_analysis, covariates": ("meta_analysis", ONE, {"covariates": SHUFFLED},
                                  OVER_STUDIES | {"coefficient": normal(2, 2)}, of_meta_analysis,
                                  {"coefficient": ("rate", "covariate")}),
    "meta_analysis, imperfect reference": ("meta_analysis", ONE, {"reference": ["culture", "biopsy", "culture"]},
                                           OVER_STUDIES | {"reference_rates": unit(2, 2), "prevalence_group": unit(3)},
                                           of_imperfect_reference,
                                           {"reference_rates": ("reference", "rate"), "prevalence_group": ("site",),
                                            "counts": ("site", "cell")}),
    "meta_analysis, paired": ("meta_analysis", SYSTEMS_AND_SITES, {"dim": "site", "paired": True}, OF_PAIRED,
                              of_paired_tests, {"shared": ("rate",), "deviation": ("model", "site", "rate")}),
    "meta_analysis, paired, imperfect reference": (
        "meta_analysis", SYSTEMS_AND_SITES, {"dim": "site", "paired": True, "reference": "culture"},
        OF_PAIRED | {"reference_rates": unit(1, 2), "prevalence_group": unit(3)}, of_paired_tests,
        {"reference_rates": ("reference", "rate"), "prevalence_group": ("site",), "counts": ("model", "site", "cell")}),
    "prevalence": ("prevalence", BINARY, {"calls": CALLS}, {"rates": shares(2, 2), "prevalence": shares(2, 2)},
                   functools.partial(of_prevalence, calls=CALLS), {"cells": ("month", "actual", "predicted")}),
    "prevalence, pooled": ("prevalence", BINARY, {"calls": CALLS, "pooled": True},
                           {"rates": shares(2, 2), "prevalence": shares(2), "spread": positive(),
                            "deviation": normal(2, 2)}, functools.partial(of_prevalence, calls=CALLS, pooled=True),
                           {"prevalence_group": ("month", "actual"), "deviation": ("month", "actual")}),
    "slices": ("slices", SLICED, {"ordered": ["age"], "interactions": [["age", "site"]]},
               {"location": normal(2), "spread": positive(3, 2), "deviation": normal(5, 2)}, of_slices,
               {"location": ("rate",), "spread": ("effect", "rate"), "deviation": ("contrast", "rate"),
                "rates": ("site", "age", "rate"), "true_positives": ("site", "age")}),
    "slices, accuracy": ("slices", THREE_SITES, {"outcome": "accuracy"},
                         {"location": normal(1), "spread": positive(1, 1), "deviation": normal(1, 1)}, of_accuracies,
                         {"rates": ("fold", "rate"), "correct": ("fold",)}),
    "markov": ("markov", STEPS, BY_VIDEO, CHAIN, of_markov,
               {"stay": ("actual",), "predict_second": ("actual", "actual_before", "predicted_before"),
                "cells": ("actual", "predicted")}),
    "markov, z_prev": ("markov", STEPS, BY_VIDEO | {"chain": "z_prev"}, CHAIN | {"predict_second": unit(2, 2)},
                       of_markov, {"predict_second": ("actual", "predicted_before")}),
    "markov, varying": ("markov", STEPS, BY_VIDEO | {"sequences": "varying"}, CHAIN | {"stay_dispersion": small(2)},
                        of_markov_varying, {"stay_dispersion": ("actual",), "stays": ("video", "actual")}),
    "paired": ("paired", TEN_PAIRS, {}, {"shares": shares(8)}, of_paired,
               {"shares": ("cell",), "cells": ("model", "actual", "predicted")}),
    "datasets": ("datasets", THREE_SCORES, {}, SCORED, of_datasets,
                 {"center": (), "spread": (), "tail": (), "noise": ("dataset",), "average": (),
                  "weight": ("dataset",)}),
    "datasets, repeated folds": ("datasets", THREE_SCORES, {"test_fraction": 0.4}, SCORED,
                                 functools.partial(of_datasets, test_fraction=0.4), {}),
    "binormal_roc": ("binormal_roc", OF_TWO_CLASSES, {}, {"precision": positive(2), "offset": normal(2)},
                     of_binormal_roc,
                     {"mean": ("actual",), "spread": ("actual",), "a": (), "b": (), "auc": ()}),
    "recalibration": ("recalibration", JUDGED, {}, {"intercept": normal(), "slope": normal()}, of_recalibration,
                      {"intercept": (), "slope": (), "positives": ("case",), "log_odds": ("case",)}),
    "recalibration of sites": ("recalibration", JUDGED, {"by": {"site": SITE_OF}},
                               {"intercept": normal(), "slope": normal(), "intercept_spread": positive(),
                                "slope_spread": positive(), "deviation": normal(2, 2)}, of_recalibration,
                               {"deviation": ("site", "parameter"), "slope_group": ("site",), "positives": ("case",)}),
    "items": ("items", ANSWERED, {}, OF_ITEMS, of_items,
              {"ability": ("model",), "difficulty": ("item",), "passed": ("model", "item")}),
    "items, discrimination": ("items", ANSWERED, {"discrimination": True},
                              OF_ITEMS | {"discrimination_spread": positive(), "discrimination_deviation": normal(2)},
                              of_items, {"discrimination": ("item",), "passed": ("model", "item")}),
    "items, grades": ("items", GRADED, {"discrimination": True},
                      {"shares": shares(3), "ability_spread": positive(), "ability_deviation": normal(2),
                       "difficulty_spread": positive(), "difficulty_deviation": normal(3),
                       "discrimination_spread": positive(), "discrimination_deviation": normal(3)}, of_graded_items,
                      {"threshold": ("grade",), "graded": ("model", "item", "outcome"), "location": ()}),
    "preferences": ("preferences", PREFERRED[["a", "b", "winner"]].drop(index=1), {},
                    {"spread": positive(), "deviation": normal(2)},
                    functools.partial(of_preferences, frame=PREFERRED[["a", "b", "winner"]].drop(index=1)),
                    {"strength": ("model",), "counts": ("comparison", "outcome")}),
    "preferences, all": ("preferences", PREFERRED, {"order": True, "covariates": ["length"]},
                         {"spread": positive(), "deviation": normal(2), "tie": positive(), "order": normal(),
                          "coefficient": normal(1), "judge_spread": positive(), "judge_deviation": normal(1),
                          "prompt_spread": positive(), "prompt_deviation": normal(7)}, of_preferences,
                         {"judge_weight": ("judge",), "prompt_deviation": ("answer",),
                          "difference": ("comparison", "covariate")}),
    "readers": ("readers", READS, {}, OF_READERS | {"interaction_spread": positive(2),
                                                    "interaction_deviation": normal(2, 3, 2)}, of_readers,
                {"location": ("modality", "rate"), "specificity_deviation": ("reader",), "case_deviation": ("case",),
                 "interaction_deviation": ("modality", "reader", "rate"), "right": ("modality", "reader", "case")}),
    "readers, one modality": ("readers", READS[READS["modality"] == "A"].drop(columns="modality"), {},
                              OF_READERS | {"location": normal(1, 2)}, of_readers, {"case_deviation": ("case",)}),
    "raters": ("raters", RATED, {}, {"rates": shares(3, 2, 2), "prevalence": shares(2, 2)}, of_raters,
               {"rates": ("rater", "actual", "rating"), "prevalence": ("population", "actual"),
                "counts": ("population", "pattern")}),
    "raters, cut": ("raters", RATED, {"system": "ann", "cut": True},
                    {"rates": shares(2, 2, 2), "prevalence": shares(2, 2)}, of_cut_raters, {}),
    "raters of three classes": ("raters", RATED_THREE, {}, {"rates": shares(3, 3, 3), "prevalence": shares(3)},
                                of_raters, {"prevalence": ("actual",), "counts": ("pattern",)}),
    "raters, pooled": ("raters", RATED_THREE, {"pooled": True},
                       {"mean_rates": shares(3, 3), "spread": positive(3), "deviation": normal(3, 3, 3),
                        "prevalence": shares(3)}, of_pooled_raters,
                       {"mean_rates": ("actual", "rating"), "spread": ("actual",),
                        "rates": ("rater", "actual", "rating"), "deviation": ("rater", "actual", "rating")}),
    "raters, dependent": ("raters", TWO_TESTS, {"dependent": (0, 1)},
                          {"rates": shares(2, 2, 2), "prevalence": shares(2), "dependence": unit(2)}, of_raters,
                          {"dependence": ("actual",)}),
}  # fmt: skip


@functools.cache
def built_case(case):
    """Return the data, options and model of a case."""
    name, data, options, *_ = DENSITIES[case]
    counts, options = prepared(data, name, options)
    return counts, options, built_model(name, counts, None, options)


def compiled(model):
    """Return a function of the parameters, as they are: the log-density, and all that is computed from them."""
    plain = remove_value_transforms(model)
    names = [rv.name for rv in plain.free_RVs]
    values = [plain.rvs_to_values[rv] for rv in plain.free_RVs]
    outputs = [plain.logp(), *plain.replace_rvs_by_values(plain.deterministics)]
    function = pytensor.function(values, outputs, mode="FAST_COMPILE", on_unused_input="ignore")

    def at(**point):
        log_density, *computed = function(*(point[name] for name in names))
        return float(log_density), {d.name: value for d, value in zip(plain.deterministics, computed, strict=True)}

    return at


@functools.cache
def compiled_case(case):
    return compiled(built_case(case)[2])


def long_run(stay, predict_second):
    """The stationary distribution of the chain of (actual, predicted), by an eigen-solve; (2, 2).

    `predict_second` is of actual label, actual label before and prediction before, or lacks the second of them.
    """
    states = list(itertools.product((0, 1), repeat=2))
    matrix = np.empty((4, 4))
    for (row, (h, j)), (column, (g, v)) in itertools.product(enumerate(states), repeat=2):
        second = predict_second[(g, h, j) if np.ndim(predict_second) == 3 else (g, j)]
        matrix[row, column] = (stay[h] if g == h else 1 - stay[h]) * (second if v else 1 - second)
    values, vectors = np.linalg.eig(matrix.T)
    w = np.real(vectors[:, np.argmin(abs(values - 1))])
    return (w / w.sum()).reshape(2, 2)
