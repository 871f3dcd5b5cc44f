"""How far raters agree: coefficients of agreement, under any weights of items and of raters.

All compare a proportion of agreement *a* with the agreement *e* that chance alone would give: (a − e)/(1 − e). They
differ in what they take chance to be. The notation is Gwet's (2014, Handbook of inter-rater reliability, 4th ed.): r_k
raters gave an item the answer k; answers k and l agree to the extent w_kl, from 0 to 1; π_k is the share of k. Random
weights of items make the Bayesian bootstrap of a coefficient; weights of raters, too, let it be of other raters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayesperf.core.arrays import Array, Booleans, Counts

# Two answers of 0 are at no distance, whatever it is divided by.
_LEAST = 1e-300


@dataclass(frozen=True)
class WeightedAnswers:
    """Answers under weights of items and raters."""

    # 1 where a rater gave an answer to the items of a pattern, else 0, (P, G, K).
    given: NDArray[np.int64]
    # Weight of each pattern: the sum of the weights of its items, (draws, P).
    items: Array
    # Weight of each rater, (draws or 1, G).
    raters: Array
    # Weight of an item about which two raters disagree, whatever their answers; 0 without it, (draws,).
    unseen: Array
    # Number of items of each pattern, (P,).
    sizes: Counts

    @cached_property
    def by_answer(self) -> Array:
        """Weight of the raters that gave each answer, (draws or 1, P, K)."""
        return np.asarray(np.einsum("dg,pgk->dpk", self.raters, self.given, optimize=True))

    @cached_property
    def answered(self) -> Array:
        """Weight of the raters that answered, (draws or 1, P)."""
        return self.by_answer.sum(-1)

    @cached_property
    def with_themselves(self) -> Array:
        """Weight of the pairs of a rater and itself, (draws or 1, P)."""
        return np.asarray(self.raters**2 @ self.given.sum(-1).T)

    @cached_property
    def several(self) -> Booleans:
        """Which patterns have two answers or more, (P,)."""
        return np.asarray(self.given.sum((1, 2)) > 1)

    @cached_property
    def paired(self) -> Array:
        """Weights of the patterns with two answers or more, (draws, P)."""
        return self.items * self.several

    @property
    def unseen_by_answer(self) -> Array:
        """Weight of the unseen item, spread evenly over the answers, (draws, K)."""
        classes = self.given.shape[-1]
        return np.repeat(self.unseen[:, None] / classes, classes, 1)

    def agreeing(self, alike: Array) -> Array:
        """Return the proportion of pairs of raters that agree about the items of each pattern, (draws or 1, P)."""
        agree = (self.by_answer @ alike * self.by_answer).sum(-1) - self.with_themselves
        pairs = self.answered**2 - self.with_themselves
        return np.divide(agree, pairs, out=np.zeros_like(agree), where=np.broadcast_to(self.several, agree.shape))

    def mean_agreement(self, alike: Array) -> Array:
        """Return the mean over items of the proportion of pairs that agree, (draws,)."""
        total = (self.paired * self.agreeing(alike)).sum(-1) + self.unseen * between_answers(alike)
        return np.asarray(total / (self.paired.sum(-1) + self.unseen))

    def mean_shares(self) -> Array:
        """Return the mean over items of the share of each answer, (draws, K)."""
        shares = self.by_answer / self.answered[..., None]
        total = (self.items[:, None] @ shares)[:, 0] + self.unseen_by_answer
        return np.asarray(total / total.sum(-1, keepdims=True))

    def shares_of_raters(self) -> Array:
        """Return the share of each answer among those of each rater, (draws, G, K)."""
        patterns, raters, classes = self.given.shape
        total = (self.items @ self.given.reshape(patterns, -1)).reshape(-1, raters, classes)
        total = total + self.unseen_by_answer[:, None]
        return np.asarray(total / total.sum(-1, keepdims=True))


def between_answers(alike: Array) -> Array:
    """Return how far two different answers agree, on average."""
    classes = alike.shape[-1]
    return np.asarray((alike.sum((-2, -1)) - classes) / (classes * (classes - 1)))


def expected_agreement(shares: Array, others: Array, alike: Array) -> Array:
    """Return how far two answers agree that are drawn independently with the shares (…, K) of either."""
    return np.asarray((shares[..., None, :] @ alike @ others[..., :, None])[..., 0, 0])


# ── How far two answers agree ──


def alike_by_level(level: str, values: Array) -> Array:
    """Return how far answers with these values agree, (K, K): wholly or not, by ranks, distance or ratio."""
    classes = len(values)
    if level == "nominal":
        return np.eye(classes)
    if level in ("interval", "ratio"):
        distance = abs(values[:, None] - values)
        if level == "ratio":
            distance = distance / np.maximum(values[:, None] + values, _LEAST)
        return np.asarray(1 - (distance / distance.max()) ** 2)
    apart = abs(np.subtract.outer(np.arange(classes), np.arange(classes)))
    return np.asarray(1 - apart * (apart + 1) / (classes * (classes - 1)))


def alike_by_ranks(shares: Array) -> Array:
    """Return Krippendorff's agreement of ordered answers with these shares (draws, K), (draws, K, K).

    Two answers are as far apart as there are answers between them, half of their own included.
    """
    middle = np.cumsum(shares, -1) - shares / 2
    apart = (middle[:, :, None] - middle[:, None, :]) ** 2
    return np.asarray(1 - apart / apart.max((-2, -1), keepdims=True))


# ── Coefficients of agreement beyond chance ──


def _beyond_chance(answers: WeightedAnswers, alike: Array, chance: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((answers.mean_agreement(alike) - chance) / (1 - chance))


def percent_agreement(answers: WeightedAnswers, alike: Array) -> Array:
    """Return the proportion of pairs of raters that agree."""
    return answers.mean_agreement(alike)


def fleiss_kappa(answers: WeightedAnswers, alike: Array) -> Array:
    """Return Fleiss' (1971) kappa, of two raters Scott's (1955) pi: by chance all answer with the same shares."""
    shares = answers.mean_shares()
    return _beyond_chance(answers, alike, expected_agreement(shares, shares, alike))


def cohen_kappa(answers: WeightedAnswers, alike: Array) -> Array:
    """Return Cohen's (1960) kappa, of more raters Conger's (1980): by chance each answers with shares of its own."""
    shares, weights = answers.shares_of_raters(), answers.raters
    together = (weights[:, None] @ shares)[:, 0]
    with_themselves = (weights**2 * expected_agreement(shares, shares, alike)).sum(-1)
    chance = expected_agreement(together, together, alike) - with_themselves
    return _beyond_chance(answers, alike, chance / (weights.sum(-1) ** 2 - (weights**2).sum(-1)))


def gwet_ac(answers: WeightedAnswers, alike: Array) -> Array:
    """Return Gwet's (2008) AC1, or AC2: by chance raters agree about hard items alone, few if the shares differ."""
    shares, classes = answers.mean_shares(), answers.given.shape[-1]
    chance = alike.sum((-2, -1)) * (shares * (1 - shares)).sum(-1) / (classes * (classes - 1))
    return _beyond_chance(answers, alike, chance)


def brennan_prediger(answers: WeightedAnswers, alike: Array) -> Array:
    """Return Brennan & Prediger's (1981) coefficient: by chance all answers are equally probable."""
    return _beyond_chance(answers, alike, alike.mean((-2, -1)))


def krippendorff_alpha(answers: WeightedAnswers, alike: Array | None) -> Array:
    """Return Krippendorff's (1970) alpha: 1 − the disagreement within items over that of all answers.

    Of ordered answers (`alike` None) it has a distance of its own. Items with a single answer are left out.
    """
    size = answers.paired * answers.answered
    # The unseen item has two answers.
    unseen = 2 * answers.unseen
    total = size.sum(-1) + unseen
    shares = ((answers.paired[:, None] @ answers.by_answer)[:, 0] + 2 * answers.unseen_by_answer) / total[:, None]
    alike = alike_by_ranks(shares) if alike is None else alike
    agree = ((size * answers.agreeing(alike)).sum(-1) + unseen * between_answers(alike)) / total
    # Two different answers of the sample are compared, without putting back.
    number = answers.given.sum((1, 2)) * answers.several * answers.sizes
    with np.errstate(invalid="ignore", divide="ignore"):
        beyond = (1 - agree) / (1 - expected_agreement(shares, shares, alike))
    return np.asarray(1 - (1 - 1 / number.sum()) * beyond)


# ── Intraclass correlations of answers that are numbers ──


@dataclass(frozen=True)
class PairedAnswers:
    """Moments of the answers of pairs of raters to the items that both answered, (draws, pairs) each."""

    # Means and variances of the answers of the first and of the second raters.
    means: tuple[Array, Array]
    variances: tuple[Array, Array]
    # Covariance of the answers of both.
    covariance: Array
    # Number of common items, (pairs,).
    number: Array
    # Weight of each pair.
    weights: Array

    @classmethod
    def of(cls, answers: WeightedAnswers, values: Array) -> PairedAnswers:
        """Return the moments of all pairs of raters with at least two items in common."""
        x, present = answers.given @ values, answers.given.sum(-1)
        first, second = np.triu_indices(x.shape[1], 1)
        common = present[:, first] * present[:, second]
        number = answers.sizes @ common
        kept = number > 1
        first, second, common, number = first[kept], second[kept], common[:, kept], number[kept]
        total = answers.items @ common
        a, b = x[:, first] * common, x[:, second] * common
        means = answers.items @ a / total, answers.items @ b / total
        # As in samples of so many items, whose variance around their own mean is too small by this.
        left = number / (number - 1)
        variances = tuple(
            left * (answers.items @ each**2 / total - mean**2) for each, mean in zip((a, b), means, strict=True)
        )
        covariance = left * (answers.items @ (a * b) / total - means[0] * means[1])
        weights = total * answers.raters[:, first] * answers.raters[:, second]
        return cls(means, (variances[0], variances[1]), covariance, number, weights)

    def mean(self, values: Array) -> Array:
        """Return the mean over pairs, (draws,)."""
        return np.asarray((self.weights * values).sum(-1) / self.weights.sum(-1))

    @property
    def between_items(self) -> Array:
        """Variance between items: the mean covariance of two raters, (draws,)."""
        return self.mean(self.covariance)

    @property
    def within_rater(self) -> Array:
        """Variance of the answers of a rater, (draws,)."""
        first, second = self.variances
        return self.mean((first + second) / 2)

    @property
    def between_raters(self) -> Array:
        """Variance of the means of raters beyond what the items explain, (draws,)."""
        first, second = self.variances
        of_difference = first + second - 2 * self.covariance
        return self.mean(((self.means[0] - self.means[1]) ** 2 - of_difference / self.number) / 2)


def icc_one_way(answers: WeightedAnswers, values: Array) -> Array:
    """Return ICC(1,1): each item has raters of its own (Shrout & Fleiss 1979, Psychological Bulletin 86)."""
    x, present = answers.given @ values, answers.given.sum(-1)
    number, n = present.sum(-1), answers.sizes.sum()
    weights = answers.items * n / answers.items.sum(-1, keepdims=True)
    mean = (x * present).sum(-1) / number
    total = weights @ number
    overall = weights @ (number * mean) / total
    within = weights @ ((x - mean[:, None]) ** 2 * present).sum(-1) / (total - n)
    between = (weights * number * (mean - overall[:, None]) ** 2).sum(-1) / (n - 1)
    typical = (total - weights @ number**2 / total) / (n - 1)
    return np.asarray((between - within) / (between + (typical - 1) * within))


def icc_agreement(answers: WeightedAnswers, values: Array) -> Array:
    """Return ICC(2,1): raters are a sample of raters, and differences of their means count as disagreement."""
    pairs = PairedAnswers.of(answers, values)
    return pairs.between_items / (pairs.within_rater + pairs.between_raters)


def icc_consistency(answers: WeightedAnswers, values: Array) -> Array:
    """Return ICC(3,1): differences of the raters' means do not count."""
    pairs = PairedAnswers.of(answers, values)
    return pairs.between_items / pairs.within_rater
