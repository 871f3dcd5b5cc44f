"""Metrics of two classes by the rates that define them, independently of the formulas in cells."""

import numpy as np


def rates(tp, fn, fp, tn):
    """Return every binary metric of cells that sum to 1, by the rates of its definition; 1 − x is never subtracted."""
    positive, negative, called, rest = tp + fn, fp + tn, tp + fp, fn + tn
    r, miss, s, alarm = tp / positive, fn / positive, tn / negative, fp / negative
    p, false, v, omitted = tp / called, fp / called, tn / rest, fn / rest
    return {
        "precision": p, "recall": r, "specificity": s, "npv": v, "fpr": alarm, "fnr": miss, "fdr": false,
        "false_omission_rate": omitted, "prevalence": positive, "selection_rate": tp + fp,
        "jaccard": 1 / (1 / p + 1 / r - 1), "f1": 2 / (1 / p + 1 / r), "f2": 5 / (1 / p + 4 / r),
        "f0.5": 1.25 / (1 / p + 0.25 / r), "fowlkes_mallows": np.sqrt(p * r), "geometric_mean": np.sqrt(r * s),
        "half_total_error_rate": (miss + alarm) / 2, "informedness": r - alarm, "markedness": p - omitted,
        "positive_likelihood_ratio": r / alarm, "negative_likelihood_ratio": miss / s,
        "diagnostic_odds_ratio": np.exp(np.log(r) - np.log(miss) + np.log(s) - np.log(alarm)),
        "prevalence_threshold": 1 / (1 + np.sqrt(r / alarm)), "p4": 4 / (1 / p + 1 / r + 1 / s + 1 / v),
    }  # fmt: skip


def of_two_classes(tp, fn, fp, tn):
    """Return the metrics of the whole matrix, and averages over both classes."""
    both = of_positive, of_negative = rates(tp, fn, fp, tn), rates(tn, fp, fn, tp)
    right, positive, called = tp + tn, tp + fn, tp + fp
    chance = positive * called + (1 - positive) * (1 - called)
    # Of the four rates and of their complements.
    good = [of_class[name] for of_class in both for name in ("precision", "recall")]
    bad = [of_class[name] for of_class in both for name in ("fdr", "fnr")]
    kappa = (right - chance) / (1 - chance)
    found = of_positive | {
        "accuracy": right, "error_rate": fn + fp, "mean_absolute_error": fn + fp,
        "balanced_accuracy": (of_positive["recall"] + of_negative["recall"]) / 2,
        "matthews_corrcoef": np.sqrt(np.prod(good, 0)) - np.sqrt(np.prod(bad, 0)),
        "cohen_kappa": kappa, "weighted_kappa": kappa, "linear_weighted_kappa": kappa,
    }  # fmt: skip
    found["f1_of_averages"] = 2 / sum(2 / (of_positive[name] + of_negative[name]) for name in ("precision", "recall"))
    for name in ("precision", "f1", "jaccard", "f2", "npv"):
        one, other = (of_class[name] for of_class in both)
        found[f"{name}_macro"] = (one + other) / 2
        found[f"{name}_weighted"] = positive * one + (1 - positive) * other
    return found
