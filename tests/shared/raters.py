"""Published ratings, and a Gibbs sampler of the model of raters, written independently."""

import numpy as np
import pandas as pd

import bayesperf as bp

# Hui & Walter (1980), Table 2: tuberculosis, two tests in two populations.
TUBERCULOSIS = bp.Ratings.from_table(
    pd.DataFrame({"site": ["south"] * 4 + ["north"] * 4, "mantoux": list("++--") * 2, "tine": list("+-+-") * 2,
                  "n": [14, 4, 9, 528, 887, 31, 37, 367]}),
    population="site", counts="n", labels=["-", "+"], pos_label="+",
)  # fmt: skip
# Joseph, Gyorkos & Coupal (1995): strongyloides, two tests in one population, and their priors.
STRONGYLOIDES = bp.Ratings.from_table(
    pd.DataFrame({"serology": list("++--"), "stool": list("+-+-"), "n": [38, 87, 2, 35]}),
    counts="n", labels=["-", "+"], pos_label="+",
)  # fmt: skip
OF_TESTS = {
    "serology": {"recall": (21.96, 5.49), "specificity": (4.1, 1.76)},
    "stool": {"recall": (4.44, 13.31), "specificity": (71.25, 3.75)},
}
# The same as Dirichlet weights (rater, actual, rating), of − and of +.
WEIGHTS_OF_TESTS = np.array([[[4.1, 1.76], [5.49, 21.96]], [[71.25, 3.75], [13.31, 4.44]]])


def simulated(rng, n, rates, prevalence):
    """Return actual classes (n,) and answers (n, rater) of raters with rates (rater, actual, rating)."""
    actual = rng.choice(len(prevalence), n, p=prevalence)
    answers = [[rng.choice(len(prevalence), p=table[t]) for table in rates] for t in actual]
    return actual, np.array(answers)


def gibbs(answers, counts, weights, rng, chains=400, draws=400, warm=200):
    """Return draws of prevalence (draw, chain, actual) and rates (draw, chain, rater, actual, rating).

    By turns, how many items of each pattern are of each class, given the parameters, and the parameters given these.
    `answers` is (pattern, rater, rating), `counts` (pattern,), `weights` of the Dirichlet priors of the rates; that of
    the prevalence is flat.
    """
    classes = answers.shape[-1]
    rates = np.broadcast_to(weights / weights.sum(-1, keepdims=True), (chains, *weights.shape))
    prevalence, kept = np.full((chains, classes), 1 / classes), []
    for step in range(warm + draws):
        log = np.einsum("pjr,cjtr->cpt", answers, np.log(rates)) + np.log(prevalence)[:, None]
        share = np.exp(log - log.max(-1, keepdims=True))
        actual = rng.multinomial(counts, share / share.sum(-1, keepdims=True))
        prevalence = dirichlet(rng, 1.0 + actual.sum(1))
        rates = dirichlet(rng, weights + np.einsum("cpt,pjr->cjtr", actual, answers))
        if step >= warm:
            kept.append((prevalence, rates))
    return [np.stack(each) for each in zip(*kept, strict=True)]


def dirichlet(rng, weights):
    gamma = rng.standard_gamma(weights)
    return gamma / gamma.sum(-1, keepdims=True)
