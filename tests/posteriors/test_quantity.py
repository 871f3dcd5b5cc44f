"""What a figure is of: equality decides, one file renders, and no text of ours is read back."""

import ast
import json
from pathlib import Path

import pytest
import xarray as xr

import bayesperf as bp
from bayesperf.posteriors.quantity import CONTRASTS, SCOPES, SYSTEM, Quantity, Scope, described

PACKAGE = Path(bp.__file__).parent
CM = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
# Texts that are made for people. What is asked of them is a fault: a Quantity, or a field, knows it.
TEXTS = {
    "estimand", "basis", "prior_text", "inference", "described", "in_words", "subject", "problem", "advice", "claim",
    "metric_title", "metric_in_words", "estimate_in_words", "comparison_in_words", "marginal_in_words",
}  # fmt: skip
READ_BY = {
    "startswith", "endswith", "partition", "rpartition", "split", "rsplit", "replace", "removeprefix", "removesuffix",
    "find", "index", "count",
}  # fmt: skip
# How an argument and its problem are joined depends on the problem's first word.
GRAMMAR = {"self.problem.split(' ', 1)"}


def is_text(node):
    of = node.func if isinstance(node, ast.Call) else node
    return getattr(of, "attr", getattr(of, "id", "")) in TEXTS


def is_literal(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)


def read_back(source):
    """Yield where a text is asked how it begins, searched, cut, or held against a text."""
    for node in ast.walk(ast.parse(source)):
        method = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if (
            (method and method.attr in READ_BY and is_text(method.value))
            or (method and ast.unparse(method.value) == "re" and any(map(is_text, node.args)))
            or (isinstance(node, ast.Compare) and any(map(is_text, (node.left, *node.comparators)))
                and any(map(is_literal, (node.left, *node.comparators))))
            or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and is_text(node.value))
        ):  # fmt: skip
            yield ast.unparse(node)


@pytest.mark.slow
def test_no_text_of_ours_is_read_back():
    found = [
        f"{file.name}: {read}"
        for file in PACKAGE.rglob("*.py")
        for read in read_back(file.read_text(encoding="utf-8"))
        if read not in GRAMMAR
    ]
    assert found == []


@pytest.mark.parametrize(
    "fault",
    [
        "marginal.estimand.startswith('Prediction')",
        "'in new' in post.prior_text",
        "quantity.described('') == 'recall'",
        "comparison.in_words(ci_prob=0.9).partition('. ')",
        "plan.in_words()[:20]",
        "re.match('P', marginal.quantity.subject)",
    ],
)
def test_reading_a_text_back_is_seen(fault):
    assert list(read_back(f"x = {fault}")) == [fault]


@pytest.mark.parametrize(
    ("post", "title", "question", "subject"),
    [
        (bp.posterior(CM), "recall", "P(recall ≥ 0.5)", "recall is"),
        (
            bp.posterior(CM).predict(20, draws=10),
            "recall",
            "P(recall > 0.5)",
            "recall in a new test set of 20 examples will be",
        ),
    ],
)
def test_what_a_figure_is_of_is_said_by_its_scope(post, title, question, subject):
    recall = post["recall"]
    assert recall.quantity.title == title
    assert recall.prob_above(0.5).name == question
    assert recall.quantity.subject == subject


def test_equal_quantities_are_compared_and_others_refused():
    a, b = bp.posterior(CM), bp.posterior(CM, "flat")
    assert a["recall"].quantity == b["recall"].quantity
    assert a["recall"].quantity != a["precision"].quantity
    assert a["recall"].quantity != a.predict(20, draws=10)["recall"].quantity
    with pytest.raises(ValueError, match="a and b are of different things"):
        bp.compare(a["recall"], a.predict(20, draws=10)["recall"])


def test_a_difference_is_named_by_its_contrast():
    difference = bp.compare(bp.posterior(CM), bp.posterior(CM), "f1", independent=True).difference
    assert difference.quantity.title == "difference of F1"
    assert difference.estimand == "Posterior of the difference between two systems in the metric"
    assert difference.quantity.bounds == (-1.0, 1.0)


def test_scopes_render_and_come_back_from_the_attributes_of_a_tree():
    for kind in SCOPES:
        scope = Scope(kind, "site", 20, "as told")
        assert "{" not in described(scope)
        assert Scope.read({"scope": scope.as_text()}) == scope
    assert Scope.read({}) == SYSTEM
    # The tree of another version, or of a model of one's own, says it in words.
    assert described(Scope.read({"estimand": "Posterior of the mood"})) == "Posterior of the mood"
    for contrast in CONTRASTS:
        assert contrast in Quantity("recall").contrasted(contrast, (0, 1)).title


def test_a_tree_keeps_whose_metrics_it_has():
    folds = xr.concat([CM.counts, CM.counts], "fold").assign_coords(fold=[0, 1])
    mean = bp.pool(bp.ConfusionMatrix(folds, 1), "fold").mean
    tree = mean.to_datatree(["recall"])
    assert json.loads(tree["posterior"].attrs["scope"]) == {"kind": "mean", "dim": "fold"}
    assert bp.Posterior.from_datatree(tree)["recall"].quantity == mean["recall"].quantity


def test_bounds_are_those_of_the_distribution():
    post = bp.posterior(CM)
    for name in bp.metrics.names("binary"):
        assert post[name].quantity.bounds == post[name].distribution.bounds, name
