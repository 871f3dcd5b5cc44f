"""Chains that the tests of several files look at."""

import itertools

import numpy as np

from bayesperf import sequences
from tests.shared.golden import golden

GOLDEN = {case["id"]: case for case in golden("sequences")["cases"]}
CHAIN_KINDS = ["z_prev", "z_prev,g_prev"]
FRAMES = sequences.simulate(500, persistence=0.9, random_seed=1)


def of_frames(function, frames=FRAMES, **options):
    return function(frames["actual"], frames["predicted"], **options)


def dense(stay, theta):
    """Return the 4 × 4 transition matrix of one chain, entry by entry; theta[g, h, j]."""
    matrix = np.zeros((4, 4))
    for h, j, g, v in itertools.product((0, 1), repeat=4):
        moves = stay[h] if g == h else 1 - stay[h]
        matrix[2 * h + j, 2 * g + v] = moves * (theta[g, h, j] if v else 1 - theta[g, h, j])
    return matrix


def eigen_cells(matrix):
    values, vectors = np.linalg.eig(matrix.T)
    w = np.real(vectors[:, np.argmin(abs(values - 1))])
    return w / w.sum()
