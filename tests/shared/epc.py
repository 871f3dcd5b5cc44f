"""Scores of a development and a test set, and fractions of them."""

from fractions import Fraction

import numpy as np

HTER = "half_total_error_rate"
ALPHAS = [0.1, 0.3, 0.5, 0.7, 0.9]


def normal(n, shift=2.0, seed=0, share=0.5):
    """Return a labelled sample of normal scores, out of order."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return y, rng.normal(shift * y)


def tied(n, seed, step=0.5):
    """Return a sample with many equal scores."""
    y, score = normal(n, 1.0, seed)
    return y, step * np.round(score / step)


DEV, TEST = normal(120, seed=1), normal(150, seed=2, share=0.4)


def fractions(y, called):
    """Return FAR, FRR, precision and recall in exact arithmetic; precision None where nothing is called positive."""
    tp, fp = int((called & (y == 1)).sum()), int((called & (y == 0)).sum())
    positives, negatives = int((y == 1).sum()), int((y == 0).sum())
    far, recall = Fraction(fp, negatives), Fraction(tp, positives)
    return far, 1 - recall, Fraction(tp, tp + fp) if tp + fp else None, recall
