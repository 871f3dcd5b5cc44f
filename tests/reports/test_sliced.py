"""Slices in reports and on the command line: whose they are, what is said of them, and what is refused."""

import json
import re
from functools import partial
from html import unescape

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.core.words import chance, estimate
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import Predictions
from bayesperf.reports.analysing import analyse
from bayesperf.reports.sections import slices
from tests.shared.fits import groups_of_prior, without_nuts

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "site": RNG.choice(["east", "north", "west"], 300, p=[0.5, 0.4, 0.1]),
        "device": RNG.choice(["old", "new"], 300),
        "actual": RNG.choice(["sick", "well"], 300),
        "fold": RNG.integers(0, 5, 300),
        "patient": np.arange(300) // 2,
    }
)
RIGHT = RNG.random((2, 300)) < np.where(FRAME["site"] == "west", 0.6, [[0.9], [0.8]])
OTHER = FRAME["actual"].map({"sick": "well", "well": "sick"})
SYSTEMS = pd.concat(
    [
        FRAME.assign(model=name, predicted=np.where(RIGHT[i], FRAME["actual"], OTHER))
        for i, name in enumerate(["a", "b"])
    ]
)
FIRST = SYSTEMS[SYSTEMS["model"] == "a"].drop(columns="model")
SICK = ["--pos-label", "sick"]


@pytest.fixture
def call(shell, tmp_path):
    SYSTEMS.to_csv(tmp_path / "systems.csv", index=False)
    FIRST.to_csv(tmp_path / "one.csv", index=False)
    return partial(shell, columns=120)


@pytest.fixture
def unsampled(monkeypatch):
    """Draws of the prior in the place of the sampler's; returns the settings of each time."""
    settings = []

    def sample(compiled, asked, seed, progressbar=False):
        settings.append(asked | {"progressbar": progressbar})
        return groups_of_prior(compiled.model, asked["chains"], asked["draws"], seed)

    without_nuts(monkeypatch, sample)
    return settings


def by_site(frame):
    by = {"site": frame["site"]}
    return bp.ConfusionMatrix.from_predictions(frame["actual"], frame["predicted"], by=by, pos_label="sick")


@pytest.mark.slow
def test_one_column_is_sliced_without_a_sampler(call):
    done = call("report", "one.csv", *SICK, "--slice", "site", "--json")
    assert done.returncode == 0, done.stderr
    assert "sampled" not in done.stderr
    document = json.loads(done.stdout)["slices"]
    expected = bp.slices(by_site(FIRST))
    assert list(document["metrics"]) == ["recall", "specificity", "precision"]
    for metric, found in document["metrics"].items():
        table = expected.summary(metric)
        assert [row["site"] for row in found["slices"]] == ["east", "north", "west"]
        for name in ("n", "observed", "mean", "prob_worst", "by_chance"):
            np.testing.assert_allclose([row[name] for row in found["slices"]], table[name])
        assert found["in_words"] == expected.sentences(metric)
        for name in ("mean", "prob_above", "prior_above"):
            np.testing.assert_allclose([row[name] for row in found["gaps"]["site"]], expected.gap("site", metric)[name])
    assert document["which_dim"]["rows"][0]["prior_mean"] == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize(("metric", "sign"), [("recall", 1), ("fnr", -1)])
def test_of_times_the_first_and_the_last_are_compared(metric, sign):
    months = {"west": "2026-03", "north": "2026-01", "east": "2026-02"}
    frame = FIRST.assign(month=FIRST["site"].map(months))
    analysis = analyse(Predictions(frame), Settings(slices=("month",), pos_label="sick", metrics=(metric,)))
    first, *others = slices.sentences(analysis)
    gaps = analysis.slices.found.gap("month", metric).set_index(["month", "month_other"]).loc["2026-01", "2026-03"]
    change = estimate(-gaps["mean"], -gaps["ci_upper"], -gaps["ci_lower"], 0.95, "hdi")
    worse = gaps["prob_greater"] if sign > 0 else 1 - gaps["prob_greater"]
    assert (
        f"From month 2026-01, the first, to 2026-03, the last, {analysis.metric(metric).title} changes by {change}: "
        in first
    )
    assert first.endswith(f"worse in the last with probability {chance(worse)}.")
    assert others == analysis.slices.found.sentences(metric)


@pytest.mark.slow
def test_the_other_figures_are_those_without_slices(call):
    plain, sliced = (
        json.loads(call("summary", "one.csv", *SICK, *more, "--json").stdout) for more in ([], ["--slice", "site"])
    )
    assert sliced["summary"] == plain["summary"]
    assert sliced["counts"] == plain["counts"]


@pytest.mark.slow
def test_of_several_systems_the_best_is_sliced(call, tmp_path):
    done = call("report", "systems.csv", "--by", "model", *SICK, "--slice", "site", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    page = unescape((tmp_path / "page.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    assert "The predictions of a, the best, sliced by site (3 slices)." in page
    by = {"model": SYSTEMS["model"], "site": SYSTEMS["site"]}
    cm = bp.ConfusionMatrix.from_predictions(SYSTEMS["actual"], SYSTEMS["predicted"], by=by, pos_label="sick")
    for said in bp.slices(cm.sel(model="a")).sentences("recall"):
        assert said in page
    assert "rates of slices by site were shrunk towards each other by a hierarchical model" in page.lower()
    # The worst slice is said at the top, too.
    top = page.partition('<section id="how_good"')[0]
    assert "Of 3 slices, the most probable to be the worst is site west" in top


def test_folds_are_pooled(unsampled):
    analysis = analyse(Predictions(FIRST), Settings(by=("fold",), slices=("site",), pos_label="sick"))
    assert analysis.sliced.dims == ("site",)
    assert analysis.slices.found.summary("recall")["n"].sum() == (FIRST["actual"] == "sick").sum()
    assert not unsampled


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.ConvergenceWarning")
def test_several_columns_are_sampled(call, unsampled, tmp_path):
    options = [*SICK, "--slice", "site", "--slice", "device", "--metrics", "fnr,prevalence"]
    done = call("report", "one.csv", *options, "-o", "page.html", "--json")
    assert done.returncode == 0, done.stderr
    assert "slices are sampled, which takes about half a minute" in done.stderr
    assert unsampled == [{"draws": 1000, "tune": 1000, "chains": 4, "progressbar": False} | {
        name: value for name, value in unsampled[0].items() if name not in ("draws", "tune", "chains", "progressbar")
    }]  # fmt: skip
    document = json.loads(done.stdout)["slices"]
    # Prevalence has no direction in which a slice could be the worst.
    assert list(document["metrics"]) == ["fnr"]
    assert len(document["metrics"]["fnr"]["slices"]) == 6
    assert [row["effect"] for row in document["which_dim"]["rows"]] == ["site", "device", "site:device"] * 2
    page = (tmp_path / "page.html").read_text()
    assert "sliced by site and device (" in page
    assert re.search(r"slices</th>|slices: the", page)
    assert "gelman2007data" in page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.ConvergenceWarning")
def test_without_a_positive_class_the_accuracy_is_sliced(call, unsampled):
    done = call("summary", "one.csv", "--slice", "site")
    assert done.returncode == 0, done.stderr
    assert len(unsampled) == 1
    assert "Which slices are the worst?" in done.stdout


@pytest.mark.slow
def test_a_summary_prints_the_worst_slices(call):
    done = call("summary", "systems.csv", "--by", "model", *SICK, "--slice", "site", "--metrics", "recall")
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("Which slices are the worst?")[2]
    assert re.search("east|north|west", table)[0] == "west"
    assert "the most probable to be the worst is site west" in " ".join(table.split())


def test_slices_in_python(tmp_path):
    cm = by_site(FIRST)
    page, plain = bp.report(cm, slices=["site"]).html, bp.report(cm.sum("site")).html
    for said in bp.slices(cm).sentences("recall"):
        assert said in unescape(page).replace("\N{NO-BREAK SPACE}", " ")
    how_good = [text.partition('<section id="how_good"')[2].partition("</section>")[0] for text in (page, plain)]
    assert how_good[0] == how_good[1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--slice", "place"], "no column 'place', for --slice"),
        (["--slice", "site", "--slice", "site"], "--slice site: it is named twice."),
        (["--slice", "site", "--by", "site"], "--slice site: it is --by already."),
        (["--slice", "fold", "--by", "fold"], "--slice fold: it is --by already."),
        (
            ["--slice", "site", "--cluster", "patient"],
            "--slice does not go with --cluster: its figures take",
        ),
        (
            ["--slice", "site", "--judge", "device"],
            "--slice does not go with --judge: its figures need",
        ),
        (["--slice", "patient", "--slice", "fold", "--slice", "site"], "are more than 500 slices. Slice by what has"),
        (["--slice", "actual"], "actual"),
    ],
)
def test_what_is_refused(call, options, says):
    done = call("summary", "one.csv", *SICK, *options)
    assert (done.stdout, done.returncode, done.stderr.count("\n")) == ("", 2, 1)
    assert says in done.stderr


@pytest.mark.slow
def test_missing_levels_are_refused_or_left_out(call, tmp_path):
    FIRST.assign(site=FIRST["site"].where(np.arange(300) > 4)).to_csv(tmp_path / "gaps.csv", index=False)
    assert (
        "column 'site' has 5 missing values in 300 rows" in call("summary", "gaps.csv", *SICK, "--slice", "site").stderr
    )
    left = call("summary", "gaps.csv", *SICK, "--slice", "site", "--drop-missing", "--json")
    assert np.sum(json.loads(left.stdout)["counts"]["values"]) == 295


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"slices": "site"}, TypeError, r"slices must be a sequence of names of dims; it is 'site'. Write \['site'\]"),
        ({"slices": ["age"]}, ValueError, "slices: there is no 'age' among the leading dims, site."),
    ],
)
def test_what_is_refused_in_python(arguments, error, says):
    with pytest.raises(error, match=says):
        bp.report(by_site(FIRST), **arguments)
    with pytest.raises(TypeError, match="slices: they are of counts, and data is a posterior"):
        bp.report(bp.posterior(by_site(FIRST)), slices=["site"])
    one = by_site(FIRST).isel(site=[0])
    with pytest.raises(ValueError, match="slices: site: it has one value in all examples"):
        bp.report(one, slices=["site"])
