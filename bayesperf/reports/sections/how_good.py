"""How good is it? Classes one by one, and each metric with its density."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayesperf import metrics
from bayesperf.comparison.comparing import compare
from bayesperf.core.words import enumerated, metric_title, percentage, probability_value, short_interval_name
from bayesperf.metrics.point_values import score
from bayesperf.posteriors.summary_table import caption
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Column, Folded, Note, Record, Rows, Sentence, Table, figures
from bayesperf.reports.comparison_tables import MOST_IN_PAIRS, RULES, draw_cells_once, monte_carlo
from bayesperf.reports.drawing import about, colours_of, densities, names_of, place_of, strips
from bayesperf.reports.sections import REPORT, SUMMARY, Section

# Number of metrics that stand open. With more classes than the next number the table is folded, and this many of the
# worst stand open.
_MOST_METRICS, _MOST_CLASSES, _WORST = 2, 20, 10


def blocks(analysis: Analysis) -> list[Block]:
    """Return the tables of classes and of metrics."""
    return [
        *_of_metrics(analysis),
        *_macro_notes(analysis),
        *_of_classes(analysis),
        Note(f"{caption(analysis.summary.attrs)}{monte_carlo(analysis, analysis.summary)}"),
        *([] if analysis.requirements or analysis.headline_comparison else _beaten_rules(analysis)),
    ]


# ── Metrics ──


def _of_metrics(analysis: Analysis) -> Iterator[Block]:
    """Yield a table of the first metrics, and of the others, folded."""
    names = analysis.metric_names
    opened, records = max(_MOST_METRICS, len(analysis.headline)), _records(analysis)
    yield from _tables(analysis, names[:opened], records)
    if rest := names[opened:]:
        yield Folded(f"{len(rest)} more metric{'s' * (len(rest) > 1)}", list(_tables(analysis, rest, records)))


def _records(analysis: Analysis) -> dict[str, list[Record]]:
    """Return the rows of each metric, folds pooled."""
    summary, records = analysis.summary, dict[str, list[Record]]()
    pooled = summary[summary["fold"] == "pooled"] if analysis.folds is not None else summary
    for row in pooled.to_dict("records"):
        records.setdefault(str(row["metric"]), []).append(row)
    return records


def _tables(analysis: Analysis, names: list[str], records: Mapping[str, Sequence[Record]]) -> Iterator[Table]:
    """Yield a table of metrics, and one of those that have a value for every class."""
    probability = percentage(analysis.settings.ci_prob)
    green = " Green: where a requirement is met." if analysis.requirements else ""
    ring = "; ring: observed score" if analysis.is_observed else ""
    reading = (
        "Curve: posterior density of the metric, which is higher where a value is more plausible; shaded: "
        f"{probability} highest-density interval; dashed: mean{ring}. The systems of a metric share a scale.{green}"
    )
    centres = {**({"observed": "observed"} if analysis.is_observed else {}), "mean": "mean"}
    for per_class in (False, True):
        of_kind = [name for name in names if (metrics.get(name).average == "per_class") == per_class]
        dims = [*analysis.pooled.dims, *(["label"] if per_class else [])]
        interval = short_interval_name(analysis.settings.ci_prob, "hdi")
        columns = [*names_of(dims), *figures(interval, **centres)]
        parts = [_rows(analysis, name, records[name]) for name in of_kind]
        if parts:
            yield Table("", columns, parts, of="metric", reading=reading, name=("summary",))


def _rows(analysis: Analysis, name: str, records: Sequence[Record]) -> Rows:
    metric = analysis.metric(name)
    of_classes = name == "accuracy" and not analysis.counts.graded
    beside = f"; a rule that always predicts the majority class: {analysis.majority}" if of_classes else ""
    marginal = analysis.marginals[name]
    if marginal.dims == (analysis.settings.system,) and marginal.leading.size > MOST_IN_PAIRS:
        # With many systems the best come first.
        order = np.argsort(-metric.better * marginal.mean().values, kind="stable")
        marginal, records = marginal.isel(**{str(marginal.dims[0]): order.tolist()}), [records[i] for i in order]
    draw = densities(analysis, marginal, metric.title)
    return Rows(records, metric.title, f"{about(metric)}{beside}", draw)


def _macro_notes(analysis: Analysis) -> Iterator[Note]:
    """Yield a note on each macro average that leaves out classes, which scikit-learn counts as 0."""
    for name in analysis.metric_names:
        if metrics.get(name).average != "macro" or (each := name.replace("_macro", "_per_class")) == name:
            continue
        values = score(analysis.pooled_counts, each) if analysis.pooled.observed is not None else None
        if values is None or not (undefined := values.isnull()).any():
            continue
        counted = values.fillna(0).mean("label").values.ravel()
        left_out = int(undefined.sum("label").max())
        yield Note(
            f"Observed {metric_title(name)} omits {left_out} class{'es' * (left_out > 1)} for which it is 0/0; "
            f"scikit-learn counts these as 0, which gives {enumerated([f'{value:.3f}' for value in counted[:6]])}."
        )


# ── Classes ──


def _of_classes(analysis: Analysis) -> Iterator[Block]:
    """Yield a table of classes for each of the foremost systems, the first open; of many classes the worst."""
    left_out = len(analysis.systems) - analysis.foremost.leading.size
    for i, (at, name) in enumerate(place_of(analysis.foremost.leading) if analysis.class_by_class else []):
        records = _class_records(analysis, at, name)
        of = f" of {name}" if name else ""
        title, few = f"Class by class{of}", len(records) <= _MOST_CLASSES
        every = _class_table(analysis, title, records, i, name=("classes",))
        if few:
            yield every if i == 0 else Folded(title, [every])
            continue
        worst = sorted(records, key=lambda row: row["recall"])[:_WORST]
        shown: list[Block] = [
            _class_table(analysis, f"The {_WORST} classes with the lowest recall{of}", worst, i),
            Folded(f"All {len(records):,} classes{of}", [every], is_printed=False),
        ]
        yield from shown if i == 0 else [Folded(title, shown, is_printed=False)]
    if left_out and analysis.class_by_class:
        yield Note(f"The tables by class are for the best systems only; {left_out:,} more have the metrics above.")


def _class_records(analysis: Analysis, at: tuple[int, ...], name: str) -> list[dict[str, Any]]:
    """Return the support of each class, and the mean and the interval of its recall, precision and F1."""
    support = analysis.foremost_counts.sum("predicted").transpose(..., "actual").values[at]
    columns: dict[str, Any] = {}
    for title, marginal in analysis.class_by_class.items():
        lower, upper = np.moveaxis(marginal.hdi(analysis.settings.ci_prob).values[at], -1, 0)
        columns |= {title: marginal.mean().values[at], f"{title}_lower": lower, f"{title}_upper": upper}
    return [
        {"system": name, "class": str(label), "support": int(support[i])}
        | {key: float(values[i]) for key, values in columns.items()}
        for i, label in enumerate(analysis.counts.labels)
    ]


def _class_table(analysis: Analysis, title: str, records: list[dict[str, Any]], place: int, **more: Any) -> Table:
    ends = {name: (name, f"{name}_lower", f"{name}_upper") for name in analysis.class_by_class}
    columns = [Column("class", ("class",)), Column("support", ("support",), "count")]
    columns += [Column(name, keys, "estimate") for name, keys in ends.items()]
    colours = [colours_of(analysis, analysis.foremost.leading)[place]] * len(records)
    draw = strips(records, [row["class"] for row in records], "recall", keys=ends["recall"], colours=colours)
    interval = short_interval_name(analysis.settings.ci_prob, "hdi")
    beside = f"mean and {interval}; dot and line: recall"
    return Table(title, columns, [Rows(records, title, beside, draw)], **more)


# ── Trivial rules ──

_RULES = {"chance": "chance (each class as often as it occurs, at random)", "majority": "always the majority class"}


def _beaten_rules(analysis: Analysis) -> Iterator[Sentence]:
    """Yield how probably each system is better than each trivial rule; of many classes their draws take too long."""
    if len(analysis.counts.labels) > _MOST_CLASSES or analysis.counts.graded:
        return
    if (pooled := draw_cells_once(analysis.pooled)) is None:
        return
    found = {}
    for rule in RULES:
        try:
            found[rule] = compare(pooled, rule, analysis.headline[0]).prob_better.values
        except ValueError:
            # The rule's metric is undefined (0/0), or neither direction is better.
            continue
    for at, names in analysis.systems if found else []:
        values = {rule: probability_value(float(np.asarray(each[at]))) for rule, each in found.items()}
        said = enumerated([f"better than {_RULES[rule]} with probability {value}" for rule, value in values.items()])
        yield Sentence(f"It is {said}.", ", ".join(names))


SECTION = Section(10, "how_good", "How good is it?", blocks, (REPORT, SUMMARY))
