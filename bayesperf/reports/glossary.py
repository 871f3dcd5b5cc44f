"""The glossary: terms of reports and of the manual, each with the words that it is known by in a text."""

from __future__ import annotations

import re
from typing import NamedTuple


class Term(NamedTuple):
    """A term, what it means, and a pattern of what stands for it in a text; by default the term itself."""

    name: str
    meaning: str
    pattern: str = ""

    def occurs_in(self, text: str) -> bool:
        """Whether a text uses the term."""
        return re.search(self.pattern or rf"\b{re.escape(self.name)}\b", text) is not None


GLOSSARY = (
    Term(
        "abstention rate",
        "The share of examples that a system leaves to people, because their scores lie between two thresholds.",
        r"[Aa]bstention rate",
    ),
    Term(
        "accuracy",
        "The share of examples that are called what they are.",
        r"\b[Aa]ccuracy\b",
    ),
    Term("α", "The weight of one kind of error against the other, from 0 to 1, for which a threshold is chosen."),
    Term(
        "area under the ROC curve", "The probability that a positive example has a greater score than a negative one."
    ),
    Term(
        "average precision",
        "The area under the precision–recall curve in steps: the precision at each positive example found, averaged.",
    ),
    Term("balanced accuracy", "The mean of the recalls of all classes, however common each is."),
    Term(
        "band, simultaneous",
        "A region in which the whole curve lies with the probability stated, not each point by itself.",
        r"\bband\b",
    ),
    Term(
        "Brier score",
        "The mean of (probability − outcome)², where the outcome is 1 if it happened and 0 if not; less is better.",
        r"\bBrier\b",
    ),
    Term(
        "calibrated",
        "Of probabilities: what is given 0.8 happens in 80 % of such cases, and so for every probability.",
        r"\b[Cc]alibrated\b|\b[Mm]iscalibrat",
    ),
    Term(
        "calibration slope",
        "By what the log-odds of the system are to be multiplied to be right: less than 1 if they are too extreme.",
        r"[Cc]alibration slope",
    ),
    Term(
        "chance",
        "A classifier that calls each class as often as it occurs, at random.",
        r"beats chance|[Cc]hance calls",
    ),
    Term(
        "cluster",
        "Examples that belong together, as those of one patient, and are more alike than others.",
        r"\b[Cc]lusters?\b",
    ),
    Term(
        "confidence sequence",
        "Intervals that hold the true rate at all looks at once, with the confidence stated, however often one looks.",
        r"[Cc]onfidence sequence|[Hh]owever often one look",
    ),
    Term(
        "confusion matrix",
        "How many examples of each actual class were called each class; the diagonal is right.",
        r"[Cc]onfusion matri",
    ),
    Term("coverage", "How often an interval holds the truth, over many test sets."),
    Term(
        "decision curve",
        "The net benefit of a system over thresholds, beside that of treating all and of treating none.",
        r"\b[Dd]ecision curves?\b",
    ),
    Term(
        "design effect",
        "How many times as many examples are needed as of independent ones, because those of a cluster are alike.",
    ),
    Term(
        "divergence",
        "A step at which the sampler went astray: where there are many, some values may not have been drawn.",
        r"\b[Dd]ivergen(ce|t)",
    ),
    Term(
        "E_V1, E_V2",
        "The mean HTER on the test rows, over thresholds chosen elsewhere for every FAR or FRR.",
        r"E_V[12]",
    ),
    Term(
        "effective number",
        "Of a partly verified sample: how many examples verified by chance, without a judge, would say as much.",
    ),
    Term(
        "effective sample size", "How many independent draws, or examples, would say as much as these dependent ones."
    ),
    Term("ETI", "Equal-tailed interval: as probable to be below as above it.", r"\bETI\b|equal-tailed"),
    Term("expected rank", "The mean of the ranks of a system, each by its probability; 1 is the best."),
    Term("F1", "The harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN).", r"\bF1\b"),
    Term("FAR", "False acceptance rate: the share of negatives called positive, the false positive rate."),
    Term("FRR", "False rejection rate: the share of positives called negative, the false negative rate."),
    Term("G", "The mean of E_V1 and E_V2."),
    Term(
        "HDI",
        "Highest-density interval: the shortest that holds the probability stated. Given the prior and these examples, "
        "the metric of the system lies in it with that probability.",
        r"\bHDI\b|highest-density",
    ),
    Term("HTER", "Half total error rate: (FAR + FRR)/2."),
    Term(
        "judge",
        "What somebody or something cheaper than the truth says of every example; it may err.",
        r"\b([Tt]he|[Aa]) judge\b",
    ),
    Term("label noise", "Labels of examples that are wrong themselves, as when who labelled them erred."),
    Term(
        "log loss",
        "The mean of −log of the probability that was given to what happened; less is better.",
        r"[Ll]og loss",
    ),
    Term(
        "log-odds",
        "The logarithm of p/(1 − p), the logit of p: rates from 0 to 1 become any number.",
        r"\b[Ll]og-odds\b|\b[Ll]ogit\b",
    ),
    Term("macro", "Of an average over classes: each class counts the same, however common it is."),
    Term("majority", "A classifier that always calls the most frequent class.", r"beats majority|majority always"),
    Term(
        "Matthews correlation",
        "The correlation of actual and predicted classes: 1 is perfect, 0 no better than chance, −1 always wrong.",
    ),
    Term("mean", "Of a posterior: the values of the metric, each by its probability, averaged."),
    Term(
        "Monte Carlo",
        "Figures from random draws: another seed would change them by about the standard error that is said.",
    ),
    Term(
        "net benefit",
        "True positives per example less the false ones, of which (1 − t)/t are worth a true one at a threshold t.",
        r"\b[Nn]et benefit\b",
    ),
    Term("NUTS", "The no-U-turn sampler, which draws from the posterior of a PyMC model."),
    Term("observed", "The score of these examples themselves; — where it is undefined.", r"\b[Oo]bserved\b"),
    Term(
        "one against the rest",
        "Of several classes: each in turn is the positive one, and all others are negative.",
        r"\bagainst the rest\b|\bone-vs-rest\b",
    ),
    Term(
        "optimism",
        "By how much a threshold looks better by the examples that chose it than it is.",
        r"\b[Oo]ptimism\b",
    ),
    Term(
        "partial area",
        "The area under a part of the ROC curve, as of few false alarms; standardised, chance has ½ and the best 1.",
        r"\b[Pp]artial (ROC AUC|area)",
    ),
    Term("pass@k", "The probability that one of k attempts at a question passes.", r"[Pp]ass(@| at |_at_)\d|pass@k"),
    Term(
        "posterior",
        "What is known of the system's metric after these examples: how probable each of its values is.",
        r"\b[Pp]osterior\b",
    ),
    Term("precision", "The share of the examples called positive that are.", r"\b[Pp]recision\b"),
    Term(
        "prior",
        "What was taken to be known before the examples, as a number of pseudo-examples in each cell of the matrix.",
        r"\b[Pp]rior\b",
    ),
    Term(
        "PSIS-LOO",
        "Leave-one-out by Pareto-smoothed importance sampling: how well a model foretells what was left out.",
    ),
    Term("rater", "A person, test or system that says of what class an item is.", r"\b[Rr]aters?\b"),
    Term(
        "recalibration",
        "Learning from labelled examples what the probabilities of a system should have been.",
        r"\b[Rr]ecalibrat\w+\b",
    ),
    Term("recall", "The share of the positives (of the examples of a class) that are found.", r"\b[Rr]ecall\b"),
    Term(
        "reliability curve",
        "How often it happens, over the probability that the system gives; the diagonal if that is right.",
        r"[Rr]eliability curve",
    ),
    Term("R̂", "Whether the chains of a sampler agree: 1 if they do, and above 1.01 they have not yet settled."),
    Term("ρ", "How alike the examples of one group are, from 0 to 1: at 0 they say as much as as many of their own."),
    Term(
        "ROPE",
        "Region of practical equivalence: differences that are taken not to matter.",
        r"\bROPE\b|taken not to matter",
    ),
    Term(
        "shrinkage",
        "Of figures that share a population, each is drawn towards those like it, the more the less is known of it.",
        r"\bshrinkage\b|\bshrunk\b|drawn towards (the|their|those)",
    ),
    Term(
        "simulation-based calibration",
        "A check of a sampler: the ranks of values of the prior among the draws from the data they make are uniform.",
    ),
    Term(
        "slice",
        "The examples that have the same level of every dim, as of one site, device and age.",
        r"\b[Ss]lices?\b",
    ),
    Term("specificity", "The share of the negatives that are called negative.", r"\b[Ss]pecificity\b"),
    Term("stratum", "The examples of which the judge and the systems say the same.", r"\b[Ss]trat(um|a)\b"),
    Term("support", "The number of examples of a class."),
    Term("verified", "Of an example: somebody looked, and its true label is known.", r"\b[Vv]erified\b"),
)


def terms_of(text: str) -> list[Term]:
    """Return the terms of the glossary that a text uses, in alphabetical order.

    Examples
    --------
    >>> [term.name for term in terms_of("HTER is 0.1 (95 % ETI 0.05–0.15)")]
    ['ETI', 'HTER']
    """
    return [term for term in GLOSSARY if term.occurs_in(text)]
