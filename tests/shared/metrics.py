"""Tables and lists of metrics that the tests of several files look at."""

from math import sqrt

from bayesperf import metrics

AVERAGES = ["macro", "micro", "weighted", "per_class"]
# Metrics of predictions of classes.
NAMES = [name for name in metrics.names() if metrics.get(name).needs not in ("outcomes", "scores")] + ["f2", "f0.5"]
BINARY_NAMES = [*metrics.names("binary"), "f2", "f0.5"]
EVERY = NAMES + [f"{name}_{average}" for name in BINARY_NAMES for average in AVERAGES]


# tp = 9, fn = 3, fp = 2, tn = 16.
BINARY = {
    "accuracy": 25 / 30,
    "error_rate": 5 / 30,
    "precision": 9 / 11,
    "recall": 9 / 12,
    "specificity": 16 / 18,
    "npv": 16 / 19,
    "fpr": 2 / 18,
    "fnr": 3 / 12,
    "fdr": 2 / 11,
    "false_omission_rate": 3 / 19,
    "prevalence": 12 / 30,
    "selection_rate": 11 / 30,
    "jaccard": 9 / 14,
    "f1": 18 / 23,
    "f2": 45 / 59,
    "f0.5": 45 / 56,
    "fowlkes_mallows": 9 / sqrt(11 * 12),
    "balanced_accuracy": 59 / 72,
    "half_total_error_rate": 13 / 72,
    "informedness": 23 / 36,
    "geometric_mean": sqrt(2 / 3),
    "positive_likelihood_ratio": 27 / 4,
    "negative_likelihood_ratio": 9 / 32,
    "diagnostic_odds_ratio": 24,
    "prevalence_threshold": 2 / (2 + 3 * sqrt(3)),
    "markedness": 138 / 209,
    "p4": 4 / (12 / 9 + 11 / 9 + 18 / 16 + 19 / 16),
    "matthews_corrcoef": (9 * 16 - 3 * 2) / sqrt(12 * 18 * 11 * 19),
    "cohen_kappa": (25 / 30 - 474 / 900) / (1 - 474 / 900),
    "weighted_kappa": (25 / 30 - 474 / 900) / (1 - 474 / 900),
    "linear_weighted_kappa": (25 / 30 - 474 / 900) / (1 - 474 / 900),
    "mean_absolute_error": 5 / 30,
    "f1_of_averages": 2 / (2 / (9 / 11 + 16 / 19) + 2 / (9 / 12 + 16 / 18)),
    "off_by_one": 1,
}

# Rows actual: 6, 8 and 6 examples; predicted 8, 5 and 7 times; 14 of 20 correct.
THREE = [[5, 1, 0], [2, 4, 2], [1, 0, 5]]
