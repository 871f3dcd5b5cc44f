"""`bayesperf.report`: the page of the command line, from what is at hand in a notebook."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import bayesperf as bp
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import Predictions
from bayesperf.posteriors.shared_classes import ClassesModel
from bayesperf.reports.analysing import analyse
from bayesperf.reports.documents import as_html
from bayesperf.reports.sections import attempts, enough_data

CANCER = bp.datasets.load("breast_cancer")
CM = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)


def body(page):
    """Return the sections that hold figures, without what names the way in or the day."""
    return page.partition('<section id="how_good"')[2].partition('<section id="methods"')[0]


@pytest.mark.slow
def test_it_is_the_page_of_the_command_line():
    by = {"model": CANCER["model"], "fold": CANCER["fold"]}
    cm = bp.ConfusionMatrix.from_predictions(
        CANCER["actual"], CANCER["predicted"], by=by, pos_label="malignant", example=CANCER["example"]
    )
    ours = bp.report(cm, requirements=["recall>=0.9"], metrics=["recall", "f1"], rope=0.01).html
    settings = Settings(
        by=("model", "fold"), pos_label="malignant", require=("recall>=0.9",), metrics=("recall", "f1"), id="example",
        rope=0.01,
    )  # fmt: skip
    shell = as_html(analyse(Predictions(CANCER), settings))
    same = shell.replace(
        "Paired: rows with the same value of &#39;example&#39; are one example, and the systems are compared on each.",
        "Paired: the systems are compared on the same examples.",
    )
    for of_files in (
        "No system has two rows with the same example.",
        "No value is missing in the columns that are used.",
    ):
        assert of_files in same
        same = same.replace(f"<p>{of_files}</p>", "")
    assert " ".join(body(ours).split()) == " ".join(body(same).split())


@pytest.mark.slow
def test_the_methods_say_how_a_given_posterior_was_drawn():
    right = bp.Outcomes.from_correct(np.arange(120) % 3 > 0, by={"question": np.arange(120) // 4})
    page = bp.report(bp.pool(right, "question", "clusters", method="bayesian_bootstrap", draws=50).mean).markdown
    assert "Outcomes were drawn by weights of the questions that they come in" in page
    assert "@article{rubin1981bayesian" in page


def test_matrices_posteriors_and_labels_give_the_same_figures():
    y_true, y_pred = np.repeat([1, 0], 50), np.r_[np.repeat([1, 0], [40, 10]), np.repeat([1, 0], [5, 45])]
    pages = [bp.report(CM), bp.report(bp.posterior(CM)), bp.report(y_true, y_pred)]
    assert len({body(page.html) for page in pages}) == 1


def test_a_posterior_keeps_its_prior():
    page = bp.report(bp.posterior(CM, bp.prior.dirichlet([[9, 1], [2, 8]]))).html
    assert f"{49 / 60:.3f}" in re.search(r"<caption>recall.*?</table>", page, re.DOTALL)[0] or "recall" in page
    assert bp.posterior(CM, bp.prior.dirichlet([[9, 1], [2, 8]])).prior_text in unescape(page)


@pytest.mark.slow
def test_it_displays_and_saves_the_same_page(tmp_path):
    page = bp.report(CM, title="Spam <filter>", requirements={"recall": 0.8, "fpr": 0.2})
    frame = page._repr_html_()
    inside = re.fullmatch(r'<iframe title="bayesperf report" srcdoc="([^"]*)" style="[^"]*"></iframe>', frame)[1]
    assert unescape(inside).replace('<base href="about:srcdoc">', "") == page.html
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert "<h1>Spam &lt;filter&gt;</h1>" in page.html
    assert "recall ≥ 0.8" in page.html
    assert "FPR ≤ 0.2" in page.html
    assert "report.html" in repr(page)


@pytest.mark.slow
def test_it_speaks_python():
    both = bp.ConfusionMatrix.from_counts(tp=[40, 30], fn=[10, 20], fp=[5, 6], tn=[45, 44], dims=["model"])
    page = unescape(bp.report(both).html)
    assert "--" not in re.sub(r"<style>.*?</style>|<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_paired_matrices_are_compared_example_by_example():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    a, b = (np.where(rng.random(100) < share, y, 1 - y) for share in (0.9, 0.7))
    page = bp.report(bp.ConfusionMatrix.from_predictions(y, {"a": a, "b": b})).html
    assert "Paired: the systems are compared on the same examples." in page


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((CM,), {"y_pred": [1]}, TypeError, "y_pred is for labels; data is a ConfusionMatrix"),
        ((CM,), {"labels": [0, 1]}, TypeError, "labels is for labels"),
        ((bp.posterior(CM),), {"prior": "flat"}, TypeError, "data is a posterior, which has one already"),
        ((bp.posterior(CM).predict(),), {}, ValueError, "this posterior knows of no counts"),
        (([1, 0],), {}, TypeError, "data must be a matrix, a posterior, or actual labels beside y_pred; it is list"),
        ((xr.DataTree(),), {}, ValueError, "tree has no variable 'cells' in a group 'posterior'."),
        ((CM,), {"requirements": "recall>=0.8"}, TypeError, "Write ['recall>=0.8']"),
        ((CM,), {"requirements": ["recall<=0.8"]}, ValueError, "greater is better: use >="),
        ((CM,), {"ci_prob": 2}, ValueError, "ci_prob"),
        ((CM,), {"rope": -1}, ValueError, "rope must be the half-width of a region, at least 0"),
        ((CM,), {"metrics": ["recal"]}, ValueError, "recall"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_words(arguments, options, error, words):
    with pytest.raises(error, match=re.escape(words)):
        bp.report(*arguments, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "pos_label", "why"),
    [([0, 1], 1, "inferred from the labels"), ([0, 1], 0, "as specified"), (["ill", "well"], "ill", "as specified")],
)
def test_a_matrix_whose_positive_class_somebody_named_says_so(labels, pos_label, why):
    cm = bp.ConfusionMatrix.from_table([[8, 2], [1, 9]], labels=labels, pos_label=pos_label)
    assert f"{pos_label} is positive, {why}." in unescape(bp.report(cm, metrics=["recall"]).html)


def test_labels_of_one_system_are_no_rivals(recwarn):
    rng = np.random.default_rng(0)
    truth = (rng.random((75, 4)) < 0.4).astype(int)
    called = np.where(rng.random((75, 4)) < 0.15, 1 - truth, truth)
    html = bp.report(truth, called, labels=["red", "round", "ripe", "sweet"]).html
    assert "75 rows, each with predictions of 4 labels." in html
    assert "Which is better?" not in html
    assert not [warned for warned in recwarn if issubclass(warned.category, bp.errors.DependenceWarning)]


def test_repeated_cross_validation_is_reported_with_each_row_once():
    rng = np.random.default_rng(4)
    repeats = rng.multinomial([60, 40], [[0.8, 0.2], [0.1, 0.9]], size=(5, 2))[:, None]
    cells = np.concatenate([repeats // 2, repeats - repeats // 2], 1)
    counts = bp.ConfusionMatrix.from_table(cells, dims=["repeat", "fold"]).counts.assign_attrs(repeats="repeat")
    cm = bp.ConfusionMatrix(counts)
    page = unescape(bp.report(cm, metrics=["accuracy"]).html)
    assert "100 rows, each judged once in each of 5 repeats of 2 folds: counts are means over the repeats" in page
    once = np.rint(repeats.mean((0, 1))).astype(int)
    assert f"observed {np.trace(once)} of 100" in page
    with pytest.raises(ValueError, match="in this posterior an example weighs less than one, as those"):
        bp.report(bp.pool(cm).mean)


def test_a_fit_is_reported_as_its_posterior():
    tree = bp.fit(CM, "rates", random_seed=1)
    assert bp.report(tree).markdown == bp.report(bp.Posterior.from_datatree(tree), random_seed=1).markdown
    assert "(seed 7)" in bp.report(tree, random_seed=7).markdown


def test_a_fit_of_other_figures_is_reported_by_an_answer():
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset(attrs={"quantities": '{"strength": {}}'})})
    with pytest.raises(
        ValueError, match=r"its answers are strength\. Report one, as .*bp\.compare\(tree, metric='stren"
    ):
        bp.report(tree)


def test_a_mean_over_sites_is_no_posterior_of_independent_examples():
    sites = bp.ConfusionMatrix.from_counts(tp=[38, 24, 36], fn=[2, 16, 4], fp=4, tn=56, dims={"site": list("ABC")})
    text = bp.report(bp.fit(sites, "groups", random_seed=1), requirements={"recall": 0.8}).markdown
    assert "22 of 120 examples of class 1 are called 0 and 12 of 180" in text
    assert "four times as many sites are needed" in text
    assert "further examples come from new sites" in text
    assert "Sites are treated as independent draws from one population. Examples of one site may be alike." in text
    assert "the metric at the population mean over sites lies in its highest-density interval. The score" in text
    # The usual priors are for independent examples, and this posterior has draws of a fit with another seed.
    assert "Other priors" not in text
    assert "(seed 1)" in text


def test_systems_of_repeated_cross_validation_are_compared_on_whole_examples(recwarn):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 2))
    y = (x[:, 0] + rng.normal(size=60) > 0).astype(int)
    learners = {"bayes": GaussianNB(), "far": KNeighborsClassifier(25)}
    splits = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    cm = bp.ConfusionMatrix.from_cross_validation(learners, x, y, cv=splits)
    page = bp.report(cm, metrics=["accuracy"]).markdown
    assert "Paired: the systems are compared on the same examples." in page
    whole = bp.pool(cm).mean
    assert whole.estimand == "Posterior of the metric over examples, each with all its predictions"
    expected = bp.compare(whole, metric="accuracy", dim="model").difference
    # The better of two stands first.
    assert f"| far − bayes | {-expected.mean().item():.3f} (" in page
    assert not [warned for warned in recwarn if issubclass(warned.category, bp.errors.DependenceWarning)]


# ── Outcomes ──


@pytest.mark.slow
def test_outcomes_have_a_page_of_their_own():
    right = bp.Outcomes.from_counts(right=[[45, 30], [40, 28]], n=50, dims={"model": ["x", "y"], "site": ["a", "b"]})
    page = bp.report(right, slices=["site"], requirements=["pass_rate>=0.7"]).markdown
    post = bp.posterior(right.sum("site"))
    for text in (
        "143 are right, 57 wrong",
        "pass rate ≥ 0.7",
        f"{post['accuracy'].mean().values[0]:.3f}",
        "the worst is site b",
    ):
        assert text in page
    for text in ("Confusion matrix of", "majority", "chance (each class"):
        assert text not in page
    grades = bp.report(bp.posterior(bp.Outcomes.from_grades([5, 4, 4, 2, 5, 3], scale=range(1, 6))))
    assert "Grades: 1 (0), 2 (1), 3 (1), 4 (2) and 5 (2)." in grades.markdown
    assert "nan" not in grades.html.partition("<main")[2].partition("</main>")[0].replace("nano", "")


@pytest.mark.parametrize("times", [1, 2])
def test_reruns_are_spoken_of_where_there_are_some(times):
    right, question = np.arange(40 * times) % 3 > 0, np.repeat(np.arange(40), times)
    outcomes = bp.Outcomes.from_correct(right, cluster={"question": question})
    analysis = bp.report(bp.pool(outcomes, draws=50).mean).analysis
    assert bool(attempts.blocks(analysis)) == (times > 1)


def test_of_two_bounds_of_a_metric_the_stricter_one_counts():
    """A command line may ask twice, which the library refuses."""
    y, called = np.repeat([1, 0], 50), np.repeat([1, 0, 1, 0], [45, 5, 8, 42])
    asked = ("recall>=0.9", "fpr<=0.1", "recall>=0.5", "fpr<=0.5")
    frame = pd.DataFrame({"actual": y, "predicted": called})
    jointly = analyse(Predictions(frame), Settings(pos_label="1", require=asked)).met_jointly()
    cm = bp.ConfusionMatrix.from_predictions(y, called, pos_label=1)
    assert jointly.item() == bp.posterior(cm).prob_joint({"recall": 0.9, "fpr": 0.1}).item()


@pytest.mark.parametrize(
    ("more", "said"), [([], "Every requirement is settled"), (["precision>=0.85"], "1 of 3 verdicts is open.")]
)
def test_open_requirements_are_told_from_settled_ones(more, said):
    cm = bp.ConfusionMatrix.from_counts(tp=45, fn=5, fp=8, tn=42)
    analysis = bp.report(cm, requirements=["recall>=0.5", "fpr<=0.9", *more]).analysis
    assert enough_data.blocks(analysis)[0].text.startswith(said)


def test_a_page_draws_the_classes_that_share_a_prior_once(monkeypatch):
    drawn, draw = [], ClassesModel.cells

    def counted(model, index, n, *more):
        drawn.append(n)
        return draw(model, index, n, *more)

    monkeypatch.setattr(ClassesModel, "cells", counted)
    cm = bp.ConfusionMatrix.from_table([[9, 1, 2], [2, 7, 1], [0, 1, 9]])
    assert "Other priors" in bp.report(cm).html
    assert drawn.count(bp.posterior(cm).n_draws) == 1, "the trivial rules draw 10,000"
