"""Areas under ROC curves: their moments if half an example of either class was not seen, and readers' scores."""

import itertools

import numpy as np
import pandas as pd


def moments_with_unseen(mean, second, positives, negatives, of_rank=(0.5, 1 / 3)):
    """Mean and standard deviation, given first and second moment of what was seen, and those of a rank that was not.

    The area is (1 − s)(1 − t) A + (1 − s) t V + s (1 − t) U + s t/2, with s and t Beta(½, n) and Beta(½, m). Of a
    difference of systems A is that of the areas, U and V are differences of ranks, and nothing is where they meet.
    """
    firsts, squares = [], []
    for n in (positives, negatives):
        s, ss = 0.5 / (n + 0.5), 0.75 / ((n + 0.5) * (n + 1.5))
        firsts.append(np.array([1 - s, s]))
        squares.append(np.array([[1 - 2 * s + ss, s - ss], [s - ss, ss]]))
    parts = np.array([[mean, of_rank[0]], [of_rank[0], of_rank[0]]]).ravel()
    products = np.outer(parts, parts)
    np.fill_diagonal(products, [second, of_rank[1], of_rank[1], of_rank[0] ** 2])
    found = np.outer(*firsts).ravel() @ parts
    return found, np.sqrt((np.kron(*squares) * products).sum() - found**2)


def reads(readers=3, cases=12, seed=0):
    """Return a row for each read of two modalities; every other case is positive."""
    places = list(itertools.product("AB", range(readers), range(cases)))
    frame = pd.DataFrame(places, columns=["modality", "reader", "case"])
    frame["truth"] = frame["case"] % 2
    return frame.assign(score=np.random.default_rng(seed).normal(frame["truth"]).round(1))
