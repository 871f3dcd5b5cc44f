"""The report in a notebook: the page of the command line, from matrices, posteriors or labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.core.saving import write_whole
from bayesperf.core.words import enumerated
from bayesperf.data.axis_names import FOLD, REPEAT
from bayesperf.data.count_arrays import as_outcomes, repeated_dim
from bayesperf.data.counted import Counted
from bayesperf.data.cross_validation import mean_of_repeats
from bayesperf.data.matrix import ConfusionMatrix
from bayesperf.data.outcomes import Outcomes
from bayesperf.files.option_table import Settings, no_page
from bayesperf.groups.pooling import pool
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors import prior as priors
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.requirement import Requirement, bounds_of
from bayesperf.posteriors.tree_attributes import RANDOM_SEED, figures_of
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.answers import Answers, answers_of
from bayesperf.reports.documents import as_html, as_markdown, document
from bayesperf.reports.sliced import refuse_unsliceable

__all__ = ["Report", "report"]

# The height of the page in a notebook, in pixels.
_HEIGHT = 720


@dataclass(frozen=True)
class Report:
    """A page that displays in a notebook and is saved as one file. Made by `report`.

    Attributes
    ----------
    analysis : Analysis or Answers
        What it shows.
    title : str or None
        Its heading.
    """

    analysis: Analysis | Answers
    title: str | None = None

    def __post_init__(self) -> None:
        # Written at once, so that what cannot be reported is refused here.
        _ = self.html

    @cached_property
    def html(self) -> str:
        """The page, which needs nothing beside it."""
        return as_html(self.analysis, self.title)

    @cached_property
    def markdown(self) -> str:
        """The report as Markdown, without pictures."""
        return as_markdown(self.analysis, self.title)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the report to a file, as its ending says: ``.md`` is Markdown, ``.json`` its figures, ``.html`` a page.

        Parameters
        ----------
        path : path
            The file; a name without an ending is a page.

        Raises
        ------
        ValueError
            If the ending is another.
        """
        path = Path(path)
        if problem := no_page(path):
            raise InputError("path", problem)
        write_whole(path, document(self.analysis, path, self.title))

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_html_(self) -> str:
        # In a frame, the notebook's styles and the page's leave each other alone. Without the base, links of the
        # contents would lead to places of the notebook.
        page = self.html.replace("<head>", '<head><base href="about:srcdoc">', 1)
        return (
            f'<iframe title="bayesperf report" srcdoc="{escape(page)}" style="width:100%;height:{_HEIGHT}px;'
            'border:1px solid #ccc"></iframe>'
        )

    def __repr__(self) -> str:
        shown = self.analysis
        n, what = (len(shown.parts), "question") if isinstance(shown, Answers) else (len(shown.systems), "system")
        return f"<bayesperf.reports.Report of {n} {what}{'s' * (n > 1)}; .save('report.html') or .save('report.md')>"


@checked
def report(
    data: Counted | Posterior | Any,
    y_pred: Any = None,
    *,
    requirements: Sequence[str] | Mapping[str | Metric, float] = (),
    metrics: Sequence[str] = (),
    title: str | None = None,
    prior: str | priors.Prior | None = None,
    ci_prob: float = 0.95,
    rope: float = 0.0,
    baseline: Any = None,
    labels: Iterable[Any] | None = None,
    pos_label: Any = None,
    by: Mapping[str, Any] | None = None,
    slices: Sequence[str] = (),
    random_seed: int | None = None,
) -> Report:
    """Return a report to hand to a colleague, as the command ``bayesperf report`` writes it.

    Parameters
    ----------
    data : ConfusionMatrix, Outcomes, Posterior, DataTree, array-like (n,), answer or mapping
        Counts; a posterior of them, or a fit; or the actual labels, if the next argument is the predicted labels. Or
        any other answer, such as a Comparison, a Curve or a MetaAnalysis; a mapping ``{"question": answer}`` has
        several, and tables as DataFrames. Of an answer, only `title`, `ci_prob` and `rope` can be given. A leading dim
        ``fold`` is pooled and shown fold by fold. Systems along the first other dim are compared, example by example if
        the matrix was made with ``example=ids``. For repeated cross-validation (a leading dim ``repeat``, from
        `ConfusionMatrix.from_cross_validation`) the counts are means over the repeats, rounded to whole examples, and
        systems are compared on whole examples.
    y_pred : array-like (n,), optional
        Predicted labels.
    requirements : sequence of str, or mapping of str to float
        Bounds that metrics must meet: ``["recall>=0.8"]``, or ``{"recall": 0.8}`` in the metric's own direction.
    metrics : sequence of str
        Metrics to show, the first in the summary; by default the usual ones.
    title : str, optional
        The heading of the page.
    prior, labels, pos_label, by
        As in `bayesperf.posterior`; not allowed with a posterior.
    slices : sequence of str
        Leading dims by which the page says where the system fails, such as site and device; the other figures describe
        all their examples together. Slices by several dims are sampled (model ``slices``, in which pairs of dims
        interact).
    random_seed : int, optional
        Seed of what is drawn for the page; by default that of the fit, or 0.
    ci_prob : float
        Probability of the intervals.
    rope : float
        Differences up to this, on the metric's scale, do not matter.
    baseline : hashable, optional
        Name of the system that the others are compared with, as in `bayesperf.compare`.

    Returns
    -------
    Report
        It displays in a notebook, and is saved by ``save(path)``.

    Raises
    ------
    ValueError
        If a requirement or another argument is invalid, or a posterior has no counts.
    TypeError
        If the data are of another kind, or come with arguments that do not apply to them.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
    >>> page = bp.report(cm, requirements={"recall": 0.8}, title="Spam filter, June")
    >>> page.html.partition("<h1>")[2].partition("</h1>")[0]
    'Spam filter, June'
    """
    own_seed = 0
    if isinstance(data, xr.DataTree):
        tree, data = data, _posterior_of_fit(data)
        own_seed = int(tree["posterior"].attrs.get(RANDOM_SEED, 0))
    seed = own_seed if random_seed is None else checks.seed(random_seed)
    of_labels = {"labels": labels, "pos_label": pos_label, "by": by}
    if isinstance(data, Mapping | Answer) and not isinstance(data, Posterior):
        given = of_labels | {"y_pred": y_pred, "prior": prior, "baseline": baseline}
        lists = {"requirements": requirements, "metrics": metrics, "slices": slices}
        return Report(_answers(data, given, lists, ci_prob, rope), title)
    counts, pooled = _counts_and_posterior(data, y_pred, prior, **of_labels)
    joint = _of_all_repeats(counts, prior, seed)
    counts, notes = _each_example_once(counts)
    counts, sliced = _without_slices(counts, pooled, slices)
    settings = Settings(
        by=tuple(map(str, counts.dims)),
        prior=prior,  # type: ignore[arg-type]  # the shell has names alone; either is resolved where it is used
        ci_prob=checks.probability("ci_prob", ci_prob),
        metrics=tuple(metrics),
        rope=checks.rope(rope),
        baseline=None if baseline is None else str(baseline),
        seed=seed,
        slices=tuple(slices),
    )
    analysis = _analysis(counts, pooled, settings, requirements)
    paired = analysis.paired if joint is None else joint
    return Report(replace(analysis, notes=notes, sliced=sliced, paired=paired), title)


def _posterior_of_fit(tree: xr.DataTree) -> Posterior:
    """Return the posterior of a fit; refuse a fit whose answers are figures of its own."""
    if (figures := list(figures_of(tree))) and "cells" not in tree["posterior"]:
        raise InputError(
            "data",
            f"this fit has no confusion matrix; its answers are {enumerated(figures)}.",
            f"Report one, as bp.report({{'Which is best?': bp.compare(tree, metric={figures[0]!r})}}).",
        )
    return Posterior.from_datatree(tree)


def _analysis(counts: Counted, pooled: Posterior | None, settings: Settings, requirements: Any) -> Analysis:
    """Return the analysis of counts, and of their posterior if the caller passed one."""
    in_folds, paired = FOLD in counts.dims, None
    if in_folds and pooled is not None:
        raise InputError("data", f"a posterior with a dim {FOLD!r} cannot be pooled.", "Give the matrix itself.")
    if counts.patterns is not None:
        paired = counts.sum(FOLD) if in_folds else counts
    required = tuple(Requirement.of(*each, counts.graded) for each in bounds_of(requirements).items())
    more: dict[str, Any] = {"requirements": required, "paired": paired, "of_file": False}
    if pooled is None:
        return Analysis.of_counts(counts, settings, **more)
    return Analysis(counts, settings, pooled, None, **more, own_posterior=True)


def _answers(data: Any, given: Mapping[str, Any], lists: Mapping[str, Any], ci_prob: float, rope: float) -> Answers:
    """Return the page of answers; refuse arguments that are for counts and labels."""
    named = [name for name, value in given.items() if value is not None]
    for name in [*named, *(name for name, values in lists.items() if len(values))]:
        raise InputTypeError(name, "is for counts and labels; data is an answer.", f"Report it without `{name}`.")
    return answers_of(data, ci_prob=checks.probability("ci_prob", ci_prob), rope=checks.rope(rope))


def _of_all_repeats(counts: Counted, prior: Any, random_seed: Any) -> Posterior | None:
    """Return several systems on whole examples, each with its predictions in all repeats of cross-validation."""
    repeated = counts.clusters is not None and repeated_dim(counts.counts) == REPEAT and FOLD in counts.dims
    if not repeated or not set(counts.dims) - {REPEAT, FOLD}:
        return None
    return pool(counts, prior=prior, random_seed=random_seed).mean


def _each_example_once(counts: Counted) -> tuple[Counted, tuple[str, ...]]:
    """Return the counts (for repeated cross-validation, their means over the repeats) and a sentence that says so."""
    again = repeated_dim(counts.counts)
    if again != REPEAT or FOLD not in counts.dims:
        return counts, ()
    repeats, once = counts.counts.sizes[REPEAT], ConfusionMatrix(mean_of_repeats(counts.counts), counts.pos_label)
    examples = enumerated([f"{n:,}" for n in np.unique(once.total)])
    return once, (
        f"{examples} rows, each judged once in each of {repeats} repeats of {counts.counts.sizes[FOLD]} folds: counts "
        "are means over the repeats, rounded to whole rows.",
    )


def _without_slices(counts: Counted, pooled: Posterior | None, slices: Sequence[str]) -> tuple[Counted, Counted | None]:
    """Return the counts of whole systems, and those by the dims of slices, folds pooled."""
    if isinstance(slices, str):
        raise InputTypeError(
            "slices", f"must be a sequence of names of dims; it is {slices!r}.", f"Write [{slices!r}]."
        )
    if not slices:
        return counts, None
    if pooled is not None:
        raise InputTypeError("slices", "they are of counts, and data is a posterior.", "Give the matrix itself.")
    for dim in slices:
        if dim not in counts.dims or dim == FOLD:
            there = ", ".join(str(each) for each in counts.dims if each != FOLD) or "none"
            raise InputError("slices", f"there is no {dim!r} among the leading dims, {there}.")
    refuse_unsliceable({dim: counts.counts.sizes[dim] for dim in slices}, "slices: ")
    of_slices = counts.holding(counts.counts)
    return counts.sum(list(slices)), of_slices.sum(FOLD) if FOLD in counts.dims else of_slices


def _counts_and_posterior(data: Any, y_pred: Any, prior: Any, **of_labels: Any) -> tuple[Counted, Posterior | None]:
    """Return the counts, and the posterior if the caller passed one."""
    if isinstance(data, Counted | Posterior):
        counted = f"is for labels; data is a {type(data).__name__}, which has been counted."
        checks.none_given(counted, y_pred=y_pred, **of_labels)
    if isinstance(data, Counted):
        return data, None
    if isinstance(data, Posterior):
        checks.none_given("data is a posterior, which has one already.", prior=prior)
        if (known := data.source.known_counts()) is not None:
            return known, data
        if data.observed is None:
            raise InputError(
                "data",
                "this posterior knows of no counts, as a prediction does not.",
                "Give the matrix itself, or an answer, as bp.report({'Is it better?': bp.compare(...)}).",
            )
        if data.graded:
            return Outcomes(as_outcomes(data.observed.astype("int64"))), data
        if (data.observed % 1 > 0).any():
            raise InputError(
                "data",
                "in this posterior an example weighs less than one, as those of repeated "
                "cross-validation do, so that its counts are no numbers of rows.",
                "Give the matrix itself.",
            )
        return ConfusionMatrix(data.observed.astype("int64"), data.pos_label), data
    if y_pred is None:
        raise InputTypeError(
            "data",
            f"must be a matrix, a posterior, or actual labels beside y_pred; it is {type(data).__name__}.",
        )
    return ConfusionMatrix.from_predictions(data, y_pred, **of_labels), None
