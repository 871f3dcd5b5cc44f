"""The sections of the page: what they say, how it is marked up, and that it can be read by all."""

import json
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.metrics import precision_score

import bayesperf as bp
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import Predictions
from bayesperf.groups.sliced_metrics import Slices
from bayesperf.reports import svg
from bayesperf.reports.analysing import analyse
from bayesperf.reports.blocks import Figure, Folded, Note, Table, flat
from bayesperf.reports.data_in_words import digest
from bayesperf.reports.documents import as_html
from bayesperf.reports.sections import (
    REPORT,
    answered,
    enough_data,
    how_good,
    in_short,
    methods,
    trust,
    where_it_fails,
    which_is_better,
)
from bayesperf.reports.sliced import SlicedSystem
from bayesperf.reports.verdicts import examples_to_settle

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
CANCER = bp.datasets.load("breast_cancer")
REQUIRED = ("recall>=0.9", "precision>=0.9")


def classes(count, examples=600, seed=0):
    """Return predictions of so many classes, of which number 1 is often taken for number 0."""
    rng = np.random.default_rng(seed)
    actual = rng.integers(0, count, examples)
    predicted = np.where(rng.random(examples) < 0.9, actual, rng.integers(0, count, examples))
    predicted = np.where((actual == 1) & (rng.random(examples) < 0.6), 0, predicted)
    return pd.DataFrame({"actual": actual, "predicted": predicted}).map("class {}".format)


def sliced_by_two():
    """Return an analysis with slices of any draws whatever, in the place of those of the sampler."""
    frame = CANCER.query("model == 'naive_bayes'").assign(half=lambda rows: np.arange(len(rows)) % 2)
    analysis = analyse(Predictions(frame), Settings(slices=("fold", "half"), pos_label="malignant"))
    shape, rng = analysis.sliced.counts.shape[:2], np.random.default_rng(0)
    rates = xr.DataArray(rng.beta(9, 2, (*shape, 2, 100, 3)), dims=("fold", "half", "chain", "draw", "rate"))
    labels = {dim: analysis.sliced.counts[dim].values for dim in ("fold", "half")}
    rates = rates.assign_coords(labels | {"rate": ["prevalence", "recall", "specificity"]})
    spread = xr.Dataset({name: (("effect", "rate", f"{name}_draw"), rng.gamma(2, size=(2, 2, 200))) for name in
                         ("posterior", "prior")}, {"effect": ["fold", "half"], "rate": ["recall", "specificity"]},
                        {"measure": "standard deviation"})  # fmt: skip
    found = Slices(analysis.sliced, rates, rates, spread, "any", independent_draws=True)
    metrics = ["recall", "specificity", "precision"]
    vars(analysis)["slices"] = SlicedSystem("", found, metrics, ("the sampler warned",))
    return analysis


ANALYSES = {
    "one system": lambda: analyse(Predictions(CANCER.query("model == 'naive_bayes'")), Settings(pos_label="malignant")),
    "systems": lambda: analyse(
        Predictions(CANCER), Settings(by=("model",), pos_label="malignant", require=REQUIRED, id="example", rope=0.01)
    ),
    "folds and scores": lambda: analyse(
        Predictions(CANCER), Settings(by=("model", "fold"), pos_label="malignant", score="score", id="example")
    ),
    "twelve classes": lambda: analyse(Predictions(classes(12)), Settings(require=("accuracy>=0.85",))),
    "many classes": lambda: analyse(Predictions(classes(60, 1200)), Settings(metrics=("accuracy",))),
    "slices": lambda: analyse(Predictions(CANCER), Settings(by=("model",), slices=("fold",), pos_label="malignant")),
    "slices of two dims": sliced_by_two,
    "one example": lambda: analyse(
        Predictions(pd.DataFrame({"actual": [1], "predicted": [0]})), Settings(require=("recall>=0.8",))
    ),
}


# A page takes seconds to write, and several tests read it.
@cache
def analysed(case):
    return ANALYSES[case]()


@cache
def written(case):
    return as_html(analysed(case))


@pytest.fixture(scope="module", params=list(ANALYSES))
def case(request):
    return request.param


@pytest.fixture
def analysis(case):
    return analysed(case)


@pytest.fixture
def systems():
    return analysed("systems")


@pytest.fixture
def twelve():
    return analysed("twelve classes")


class Tags(HTMLParser):
    """The tags of a page with their attributes, and whether a head cell holds any text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.empty_heads, self.headings = [], 0, []
        self._head = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "th":
            self._head = ""
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_data(self, data):
        self._head = None if self._head is None else self._head + data

    def handle_endtag(self, tag):
        if tag == "th":
            self.empty_heads += not self._head.strip()
            self._head = None


def of(tags, name):
    return [attrs for tag, attrs in tags if tag == name]


# ── Markup ──


@pytest.mark.few(1)
def test_tables_have_heads_pictures_have_names_and_contents_lead_somewhere(case):
    page = Tags(written(case))
    tags = page.tags
    assert page.empty_heads == 0
    assert all(attrs.get("scope") for attrs in of(tags, "th"))
    assert all(attrs.get("aria-label") or attrs.get("aria-hidden") for attrs in of(tags, "svg"))
    assert all(attrs["role"] == "img" for attrs in of(tags, "svg") if "aria-label" in attrs)
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for attrs in of(tags, "a")]
    assert links[0] == "#main"
    assert {link[1:] for link in links} <= set(ids)
    assert {tag for tag, _ in tags} >= {"header", "nav", "main"}
    assert of(tags, "html")[0]["lang"] == "en"
    # No level of heading is left out on the way down.
    assert page.headings[0] == 1
    assert max(np.diff(page.headings)) <= 1


@pytest.mark.slow
def test_a_density_is_named_by_its_metric_and_system():
    names = [attrs.get("aria-label", "") for attrs in of(Tags(written("systems")).tags, "svg")]
    assert any(re.match(r"recall of naive_bayes: density, interval 0\.8\d+ to 0\.9\d+", name) for name in names)
    assert any(name.startswith("difference of recall of naive_bayes − decision_tree: interval") for name in names)


@pytest.mark.slow
def test_every_question_is_a_section_if_there_is_an_answer(case, analysis):
    asked = re.findall(r'<section id="(\w+)" aria-labelledby', written(case))
    assert asked == [*(section.name for section, _ in answered(analysis, REPORT)), "terms"]
    assert ("which_is_better" in asked) == (len(analysis.systems) > 1)
    assert ("ranking" in asked) == (analysis.scores is not None)


# All rules in light; in dark, where only the colours are others, those of colours.
RULES = {"light": "", "dark": "{runOnly: ['color-contrast', 'link-in-text-block']}"}
PASSED = {"light": 21, "dark": 1}


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.skipif(find_spec("axe_core_python") is None, reason="axe-core-python is not installed")
@pytest.mark.parametrize(
    ("case", "scheme"), [("systems", "dark"), *((case, "light") for case in ANALYSES if case != "one system")]
)
def test_axe_finds_nothing(tmp_path, case, scheme):
    axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    probe = (
        "document.querySelectorAll('details').forEach(each => each.open = true);"
        f"axe.run({RULES[scheme]}).then(found => {{ const root = document.documentElement;"
        "root.dataset.passed = found.passes.length;"
        "const said = each => [each.impact, each.id, each.nodes[0].html];"
        "root.dataset.found = JSON.stringify(found.violations.map(said)); });"
    )
    page = written(case).replace("</body>", f"<script>{axe}</script><script>{probe}</script></body>")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         f"--blink-settings=preferredColorScheme={['dark', 'light'].index(scheme)}", "--virtual-time-budget=60000",
         "--dump-dom", (tmp_path / "page.html").as_uri()],
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    root = of(Tags(done.stdout[:20_000].partition(">\n")[0] + done.stdout[:20_000]).tags, "html")[0]
    assert int(root["data-passed"]) >= PASSED[scheme]
    assert json.loads(root["data-found"]) == []


# ── Head and summary ──


def test_the_digest_is_of_the_data_whatever_their_order():
    settings = Settings(by=("model",), pos_label="malignant", score="score")
    same = digest(analyse(Predictions(CANCER), settings))
    assert re.fullmatch("[0-9a-f]{16}", same)
    assert digest(analyse(Predictions(CANCER.sample(frac=1, random_state=0)), settings)) == same
    found = CANCER["predicted"][3] == "malignant"
    others = [
        CANCER.assign(score=CANCER["score"].where(CANCER.index != 3, 0.123)),
        CANCER.assign(predicted=CANCER["predicted"].where(CANCER.index != 3, "benign" if found else "malignant")),
        CANCER.replace({"model": {"naive_bayes": "bayes"}}),
        CANCER[1:],
    ]
    assert len({same, *(digest(analyse(Predictions(frame), settings)) for frame in others)}) == 5


def test_the_digest_tells_pairings_of_the_same_counts_apart():
    settings = Settings(by=("model",), pos_label="malignant", id="example")
    paired = analyse(Predictions(CANCER), settings)
    assert digest(analyse(Predictions(CANCER.sample(frac=1, random_state=0)), settings)) == digest(paired)
    flipped = CANCER.copy()
    rows = flipped.query("model == 'naive_bayes' and actual == 'benign'").index
    flipped.loc[rows, "predicted"] = flipped.loc[rows, "predicted"].to_numpy()[::-1]
    again = analyse(Predictions(flipped), settings)
    assert (again.counts.counts == paired.counts.counts).all()
    assert digest(again) != digest(paired)


@pytest.mark.slow
def test_the_head_names_files_rows_systems_and_classes(systems):
    page = as_html(systems, title="Tumours & tissue", sources=["june.csv"])
    assert "<h1>Tumours &amp; tissue</h1>" in page
    found = dict(re.findall(r"<dt>(\w+)</dt><dd>(.*?)</dd>", page))
    assert found["Data"] == "june.csv"
    assert found["Rows"] == "1,707"
    assert found["Systems"] == "decision_tree, logistic_regression and naive_bayes"
    assert found["Classes"] == "benign and malignant; positive is malignant"


@pytest.mark.few
def test_the_summary_is_the_answer_and_three_sentences_at_most(analysis):
    said = in_short.sentences(analysis)
    assert 1 <= len(said) <= 8
    assert all(text.endswith(".") for text in said)


def test_the_verdicts_stand_first_and_then_the_best(systems):
    table = next(block for block in in_short.blocks(systems) if isinstance(block, Table))
    cells = {row["model"]: row for row in table.records}
    assert [cells["logistic_regression"][text] for text in ("recall ≥ 0.9", "precision ≥ 0.9")] == ["met", "met"]
    assert cells["naive_bayes"]["recall ≥ 0.9"] == "open"
    assert re.fullmatch(r"about [\d,]+", cells["naive_bayes"]["more(recall ≥ 0.9)"])
    said = in_short.sentences(systems)
    assert said[0].startswith("On recall, logistic_regression is almost certainly the best of 3")
    assert said[3] == (
        "logistic_regression: 9 of 212 examples of class malignant are called benign and 4 of 357 examples of class "
        "benign are called malignant."
    )
    assert len(said) == 4


# ── The headline is the question ──


def binary(tp, fn, fp, tn, **columns):
    actual = np.repeat([1, 1, 0, 0], [tp, fn, fp, tn])
    return pd.DataFrame({"actual": actual, "predicted": np.repeat([1, 0, 1, 0], [tp, fn, fp, tn]), **columns})


@pytest.mark.parametrize(
    ("frame", "settings", "headline"),
    [
        (binary(40, 10, 5, 45), Settings(), ["accuracy"]),
        (binary(4, 1, 5, 90), Settings(), ["recall", "precision"]),
        (binary(4, 1, 5, 90), Settings(metrics=("f1", "recall")), ["f1"]),
        (binary(4, 1, 5, 90), Settings(metrics=("f1",), require=("precision>=0.5",)), ["precision"]),
        (classes(3), Settings(), ["recall_macro"]),
    ],
)
def test_the_headline_is_required_asked_for_or_called_for(frame, settings, headline):
    analysis = analyse(Predictions(frame), settings)
    assert analysis.headline == headline
    assert analysis.metric_names[: len(headline)] == headline


def test_beside_accuracy_stands_the_majoritys():
    said = in_short.sentences(analyse(Predictions(binary(40, 10, 5, 45)), Settings()))
    assert "Always calling the majority class would have accuracy 0.500." in said


def test_metrics_that_disagree_on_the_best_are_said_first():
    frame = pd.concat([binary(90, 10, 60, 40, system="loud"), binary(40, 60, 2, 98, system="shy")])
    said = in_short.sentences(analyse(Predictions(frame), Settings(by=("system",), metrics=("recall", "precision"))))
    assert said[0] == "The metrics disagree on the best system: loud by recall; shy by precision."


def test_of_many_systems_the_best_stand_first_and_each_beside_its_picture():
    right = [7, 9, 3, 8, 5, 6, 2, 4, 1, 0]
    rows = [(f"s{k}", 1, int(i < n)) for k, n in enumerate(right) for i in range(10)]
    frame = pd.DataFrame([*rows, *((f"s{k}", 0, 0) for k in range(10))], columns=["model", "actual", "predicted"])
    analysis = analyse(Predictions(frame), Settings(by=("model",), metrics=("fnr", "recall")))
    tables = [block for block in flat(how_good.blocks(analysis)) if isinstance(block, Table) and block.columns]
    parts = {part.title: part for table in tables for part in table.parts}
    best_first = [f"s{k}" for k in np.argsort(np.negative(right))]
    for name in ("fnr", "recall"):
        part = parts[bp.metrics.get(name).title]
        systems = [record["model"] for record in part.records]
        assert systems == best_first
        assert all(system in picture for system, picture in zip(systems, part.draw()[0], strict=True))


@pytest.mark.slow
def test_classes_that_are_never_found_are_named():
    frame = classes(4).assign(predicted=lambda rows: rows["predicted"].replace("class 3", "class 2"))
    assert "Never found: class 3." in in_short.sentences(analyse(Predictions(frame), Settings()))


@pytest.mark.slow
def test_an_observed_macro_average_is_marked_where_it_is_not_that_of_scikit_learn():
    frame = classes(4).assign(predicted=lambda rows: rows["predicted"].replace("class 3", "class 2"))
    expected = precision_score(frame["actual"], frame["predicted"], average="macro", zero_division=0)
    notes = [
        block.text for block in how_good.blocks(analyse(Predictions(frame), Settings())) if isinstance(block, Note)
    ]
    assert any("precision macro omits 1 class" in text and f"gives {expected:.3f}." in text for text in notes)


def test_no_two_rows_are_the_same():
    for frame, one in ((classes(3), "recall_macro"), (classes(2), "balanced_accuracy")):
        names = analyse(Predictions(frame), Settings()).metric_names
        assert one in names
        assert len({"balanced_accuracy", "recall_macro"} & set(names)) == 1


@pytest.mark.slow
def test_a_system_has_one_colour_throughout():
    page = written("folds and scores")
    names = ["decision_tree", "logistic_regression", "naive_bayes"]
    keys = re.findall(r'class="key (s\d)" aria-hidden="true"></i>&nbsp;(\w+)', page)
    assert {colour for colour, name in keys if name in names} == {"s0", "s1", "s2"}
    for i, name in enumerate(names):
        assert {colour for colour, each in keys if each == name} == {f"s{i}"}
        drawn = re.findall(
            rf'aria-label="(?!difference)[^"]* of {name}[^"]*: (?:density|interval)[^>]*>.*?class="[al] (\w+)"', page
        )
        assert set(drawn) == {f"s{i}"}


# ── Where does it fail? ──


def tables(analysis, section):
    return [block for block in flat(section.blocks(analysis)) if isinstance(block, Table)]


@pytest.mark.slow
def test_the_worst_class_and_the_most_confused_pair_are_named(twelve):
    post = bp.posterior(twelve.counts)
    (said,) = where_it_fails.sentences(twelve)
    mean = post["recall_per_class"].mean().sel(label="class 1").item()
    assert said.startswith(f"The worst class is class 1, with recall {mean:.3f} (95 % HDI ")
    table = twelve.counts.counts
    wrong, support = table.sel(actual="class 1", predicted="class 0").item(), table.sel(actual="class 1").sum().item()
    assert said.endswith(
        f"and the most frequent error is that {wrong} of {support} examples of class class 1 are called class 0."
    )
    (pairs,) = tables(twelve, where_it_fails)
    assert pairs.records[0] == {
        "actual": "class 1", "taken": "class 0", "examples": wrong, "support": support, "share": wrong / support
    }  # fmt: skip
    counts = [pair["examples"] for pair in pairs.records]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.slow
def test_no_class_is_named_worst_that_the_data_do_not_point_to():
    digits = bp.datasets.load("digits").query("model == 'logistic_regression'")
    (said,) = where_it_fails.sentences(analyse(Predictions(digits), Settings()))
    assert re.fullmatch(r"The most frequent error is that \d+ of \d+ examples of class 8 are called 1\.", said)


@pytest.mark.slow
def test_a_matrix_of_twelve_classes_is_a_heat_map_with_every_count(twelve):
    (figure,) = (block for block in where_it_fails.blocks(twelve) if isinstance(block, Figure))
    ((_, picture),) = figure.draw()
    written = sorted(map(int, re.findall(r'<text class="n[^>]*>(\d+)</text>', picture)))
    values = twelve.counts.counts.values
    assert written == sorted(values[values > 0].tolist())


@pytest.mark.slow
def test_the_best_of_many_systems_are_shown_class_by_class():
    frame = pd.concat([classes(3, 200, seed).assign(model=f"m{seed}") for seed in range(8)], ignore_index=True)
    frame.loc[frame["model"] == "m5", "predicted"] = frame["actual"]
    analysis = analyse(Predictions(frame), Settings(by=("model",), metrics=("accuracy",)))
    assert analysis.foremost.leading.size == 6
    assert analysis.foremost.leading["model"].values[0] == "m5"
    whole, shown = analysis.pooled["recall_macro"].mean(), analysis.foremost["recall_macro"].mean()
    np.testing.assert_array_equal(whole.sel(model=shown["model"]), shown)


# ── Do we have enough data? ──


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "bound"), [("recall", 0.75), ("accuracy", 0.78), ("fpr", 0.25)])
def test_examples_to_settle_a_share_are_those_of_the_plan(metric, bound):
    cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=20, tn=80)
    plan = bp.plan.sample_size(bound, metric=metric, evidence=cm, question="settle")
    trials = {"recall": 50, "accuracy": 150, "fpr": 100}[metric]
    found = examples_to_settle(bp.posterior(cm)[metric], bound, 150)
    assert found == -(-plan.n * 150 // trials)


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "bound"), [("balanced_accuracy", 0.78), ("f1", 0.7)])
def test_examples_to_settle_another_metric_are_about_those_of_the_plan(metric, bound):
    cm = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=20, tn=80)
    plan = bp.plan.sample_size(bound, metric=metric, evidence=cm, question="settle")
    # By simulations, and of a metric that is only like a share.
    assert examples_to_settle(bp.posterior(cm)[metric], bound, 150) == pytest.approx(plan.examples, rel=0.3)


def test_what_cannot_be_settled_says_so():
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=500, fn=500, fp=0, tn=10))
    assert examples_to_settle(post["lr+"], 3.0, 1010) is None
    assert examples_to_settle(post["recall"], 1.0, 1010) is None
    many = bp.posterior(bp.ConfusionMatrix.from_counts(tp=160_000, fn=40_000, fp=0, tn=10))
    assert examples_to_settle(many["recall"], 0.8, 200_010) == np.inf


def test_open_requirements_are_those_neither_met_nor_missed(systems):
    met = {
        (str(r), name): systems.met(r).sel(model=name).item()
        for r in systems.requirements
        for (_, (name,)) in systems.systems
    }
    found = {(each.requirement, each.system) for each in systems.verdicts if each.verdict == "open"}
    assert found == {key for key, p in met.items() if 0.05 < p < 0.95}
    assert f"{len(found)} of 6 verdicts are open." in [block.text for block in enough_data.blocks(systems)]


@pytest.mark.slow
def test_of_batches_it_says_what_holds_however_often_one_looks():
    frame = classes(2, 360).assign(step=np.repeat(np.arange(1, 5), 90)).replace({"class 0": 0, "class 1": 1})
    analysis = analyse(Predictions(frame), Settings(by=("step",), require=("accuracy>=0.6", "f1>=0.5")))
    share, other = enough_data.looks_in_words(analysis)
    monitor = bp.monitor(analysis.counts, 0.6, "accuracy")
    assert share in monitor.in_words()
    assert share.startswith("However often you look, with 95 % confidence accuracy is between")
    assert other.startswith("As F1 is not a proportion of independent examples")
    assert "The batches (step) come one after another" in as_html(analysis)


def test_without_batches_it_does_not(systems):
    assert enough_data.looks_in_words(systems) == []


# ── Can the figures be trusted? ──


def test_few_examples_repeats_and_the_prior_are_cautioned_of():
    one = trust.cautions(analysed("one example"))
    assert one[0] == "Few examples of 0 (0) and 1 (1): figures for these classes are uncertain."
    assert "Recall: few examples: 50 % of the weight is the prior's." in one
    repeats = analyse(Predictions(CANCER, repeats="Column 'example' repeats."), Settings(pos_label="malignant"))
    assert trust.blocks(repeats)[1].text == "Column 'example' repeats."
    assert trust.cautions(analysed("one system")) == []


def test_the_table_of_priors_is_the_librarys():
    analysis = analysed("one system")
    table = trust.other_priors(analysis)
    expected = bp.prior.sensitivity(analysis.counts, ["accuracy"])
    assert [row["prior"] for row in table.records] == expected["prior"].tolist()
    np.testing.assert_allclose([row["0"] for row in table.records], expected["mean"])
    own = analysis.pooled["accuracy"]
    moved = np.abs(expected["mean"] - own.mean().item()).max() / np.ptp(own.hdi().values)
    assert table.moves == pytest.approx(moved)


def test_the_prior_is_judged_by_the_interval_of_the_system_that_it_moves():
    rows = {"never wrong": ([0, 1] * 30, [0, 1] * 30), "a coin": ([0, 1] * 10, [0, 0, 1, 1] * 5)}
    frames = [pd.DataFrame({"model": name, "actual": y, "predicted": z}) for name, (y, z) in rows.items()]
    table = trust.other_priors(
        analyse(Predictions(pd.concat(frames, ignore_index=True)), Settings(by=("model",), pos_label="1"))
    )
    shares = []
    for y, z in rows.values():
        cm = bp.ConfusionMatrix.from_predictions(y, z, pos_label=1)
        own, others = bp.posterior(cm)["accuracy"], bp.prior.sensitivity(cm, ["accuracy"])["mean"]
        shares.append(np.abs(others - own.mean().item()).max() / np.ptp(own.hdi().values))
    assert shares[0] > shares[1]
    assert table.moves == pytest.approx(shares[0])
    assert "of its interval's width (by " in table.in_words
    assert table.in_words.endswith(", for never wrong)")


@pytest.mark.parametrize("metric", ["recall", "error_rate"])
def test_the_better_system_of_each_pair_stands_first(metric):
    frame = CANCER.query("fold < 5")
    settings = Settings(by=("model",), id="example", metrics=(metric,), pos_label="malignant", rope=0.02)
    found = which_is_better.blocks(analyse(Predictions(frame), settings))
    records = next(block for block in found if getattr(block, "name", None) == ("differences",)).records
    columns = {"actual": "actual", "predicted": "predicted", "pos_label": "malignant"}
    counts = bp.ConfusionMatrix.from_frame(frame, by="model", example="example", **columns)
    compared = bp.compare(counts, metric=metric, rope=0.02)
    sign, means = (1 if metric == "recall" else -1), bp.posterior(counts)[metric].mean()
    shown = [(each["a"], each["b"]) for each in records]
    assert shown[0] == ("logistic_regression", "decision_tree")
    assert len({frozenset(pair) for pair in shown}) == 3
    for a, b, record in ((*pair, record) for pair, record in zip(shown, records, strict=True)):
        greater = compared.prob_greater.sel(model=a, model_other=b).item()
        assert sign * (greater - 0.5) > 0
        assert record["prob_greater"] == pytest.approx(greater, abs=1e-12)
        regions = compared.prob_rope.sel(model=a, model_other=b)
        assert [record[name] for name in ("below", "inside", "above")] == pytest.approx(regions.values, abs=1e-12)
        assert record["mean"] == pytest.approx(means.sel(model=a).item() - means.sel(model=b).item(), abs=1e-9)
        assert record["ci_lower"] < record["mean"] < record["ci_upper"]


@pytest.mark.parametrize(("metrics", "title"), [(2, "By 1 other metric"), (3, "By 2 other metrics")])
def test_other_metrics_are_folded_and_counted(metrics, title):
    frame = pd.DataFrame({"model": ["a"] * 20 + ["b"] * 20, "actual": [0, 1] * 20, "predicted": [0, 1, 1, 0, 1] * 8})
    settings = Settings(by=("model",), metrics=("recall", "precision", "accuracy")[:metrics], pos_label="1")
    folded = [block.title for block in which_is_better.blocks(analyse(Predictions(frame), settings))
              if isinstance(block, Folded)]  # fmt: skip
    assert folded == [title]


# ── Methods and terms ──


def two_systems(**settings):
    frame = CANCER.query("model != 'logistic_regression'")
    return analyse(
        Predictions(frame), Settings(by=("model",), metrics=("accuracy",), pos_label="malignant", **settings)
    )


def test_an_open_comparison_says_how_many_more_examples_settle_it():
    """By a normal approximation, and rounded up to two digits: within 5 % of the exact plan of two counts."""
    analysis = two_systems(id="example")
    (said,) = enough_data.open_comparison(analysis)
    (number,) = re.findall(r"To settle it: about ([\d,]+) more examples \(enough with probability 0.8\)", said)
    planned = bp.plan.comparison(analysis.paired, metric="accuracy").n
    assert int(number.replace(",", "")) == pytest.approx(planned, rel=0.05)
    (apart,) = enough_data.open_comparison(two_systems())
    assert "more examples for each system (" in apart


def test_nothing_more_is_asked_for_if_a_comparison_is_settled():
    analysis = analyse(Predictions(CANCER), Settings(by=("model",), pos_label="malignant", id="example"))
    assert enough_data.open_comparison(analysis) == []


def test_the_methods_name_a_prior_that_the_classes_share():
    said = methods.paragraph(analyse(Predictions(classes(3, 60)), Settings()))
    assert "with a prior shared by the classes" in said
    assert "Dirichlet prior on its cells" not in said


@pytest.mark.few
def test_the_methods_cite_what_the_references_hold(analysis):
    notes = [block for block in flat(methods.blocks(analysis)) if isinstance(block, Note)]
    paragraph, bibtex = (next(note.text for note in notes if note.kind == kind) for kind in ("quote", "verbatim"))
    keys = {key for group in re.findall(r"\[([a-z0-9, ]+)\]", paragraph) for key in group.split(", ")}
    assert keys <= set(re.findall(r"@\w+\{(\w+),", bibtex))
    assert bibtex.count("{") == bibtex.count("}")
    assert ("rubin1981bayesian" in keys) == (analysis.scores is not None)


def test_the_style_sheet_has_the_colours_of_series():
    sheet = files("bayesperf.reports.render").joinpath("style.css").read_text(encoding="utf-8")
    assert {f"s{i}" for i in range(svg.COLOURS)} == set(re.findall(r"\.(s\d) \{", sheet))


def test_only_terms_on_the_page_are_in_the_glossary():
    few = CANCER.query("model == 'naive_bayes'")[:100]
    with_scores = as_html(analyse(Predictions(few), Settings(pos_label="malignant", score="score")))
    terms = re.findall(r"<dt>([^<]+)</dt>", with_scores.partition('<section id="terms"')[2])
    assert {"HDI", "F1", "recall", "area under the ROC curve", "Monte Carlo"} <= set(terms)
    assert not {"HTER", "α", "ρ"} & set(terms)
    without = re.findall(r"<dt>([^<]+)</dt>", written("one example").partition('<section id="terms"')[2])
    assert "area under the ROC curve" not in without


# ── Size ──


@pytest.mark.slow
def test_a_page_of_a_hundred_systems_is_below_two_megabytes():
    actual = np.repeat([1, 0], 100)
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame({"actual": actual, "predicted": np.where(rng.random(200) < 0.6 + k / 400, actual, 1 - actual)})
        for k in range(100)
    ]
    frame = pd.concat([each.assign(system=f"s{k:02}") for k, each in enumerate(frames)])
    page = as_html(analyse(Predictions(frame), Settings(by=("system",), require=("recall>=0.8",))))
    assert len(page.encode()) < 2_000_000


def test_labels_of_a_plane_are_not_cut_off():
    line = svg.Line(np.array([0.0, 1]), np.array([0, 0.003]), np.array([0.0, 1]), np.zeros((2, 2)), "s0")
    drawn = svg.plane([line], ("threshold", "net benefit"), "small numbers", top=0.0034, bottom=-0.0004)
    labels = re.findall(r'<text class="t" x="([\d.]+)"[^>]*text-anchor="end"[^>]*>([^<]*)<', drawn)
    assert "0.003" in {words for _, words in labels}
    assert all(float(x) >= 6 * len(words) for x, words in labels)


def test_a_class_is_small_if_it_is_for_one_system():
    rows = {"a": ([0, 1] * 30, [0, 1] * 30), "b": ([0] * 30 + [1] * 3, [0] * 33)}
    frames = [pd.DataFrame({"model": name, "actual": y, "predicted": z}) for name, (y, z) in rows.items()]
    analysis = analyse(Predictions(pd.concat(frames, ignore_index=True)), Settings(by=("model",), pos_label="1"))
    assert trust._tiny_classes(analysis).startswith("Few examples of 1 (3): figures for this class")


def test_two_metrics_stand_open():
    rows = pd.DataFrame({"actual": [0, 1] * 20, "predicted": [0, 1, 1, 0, 1] * 8})
    settings = Settings(metrics=("recall", "precision", "f1"), pos_label="1")
    titles = [
        block.title for block in how_good.blocks(analyse(Predictions(rows), settings)) if isinstance(block, Folded)
    ]
    assert titles == ["1 more metric"]
