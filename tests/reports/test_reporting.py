"""The HTML report: what it says, and how a browser shows it."""

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.core.words import probability_value
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import Predictions
from bayesperf.posteriors.densities import curves
from bayesperf.posteriors.requirement import Requirement
from bayesperf.reports.analysing import analyse
from bayesperf.reports.comparison_tables import about_contenders
from bayesperf.reports.documents import as_html
from bayesperf.reports.svg import Scale, density, heat_map

HOSTILE = '<script>document.title="owned"</script>'
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Outline(HTMLParser):
    """Tags that were opened, and the text between them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def cancer():
    settings = Settings(
        by=("model", "fold"), pos_label="malignant", require=("recall>=0.9", "precision>=0.9"), score="score",
        id="example", rope=0.01,
    )  # fmt: skip
    return analyse(Predictions(bp.datasets.load("breast_cancer")), settings)


@pytest.fixture(scope="module")
def page(cancer):
    return as_html(replace(cancer, command="bayesperf report 'predictions of mine.csv'"))


@pytest.fixture(scope="module")
def hostile_page():
    rng = np.random.default_rng(0)
    actual = rng.choice([HOSTILE, "plain"], 60)
    part = f"part {HOSTILE}"
    columns = {"actual": actual, HOSTILE: np.arange(60), part: np.repeat(["test", HOSTILE], 30)}
    both = [
        pd.DataFrame({**columns, "predicted": rng.permutation(actual), "score": rng.normal(size=60), "who": who})
        for who in (HOSTILE, "b")
    ]
    settings = Settings(by=("who",), pos_label=HOSTILE, id=HOSTILE, score="score", split=part)
    return as_html(analyse(Predictions(pd.concat(both)), settings))


def words_of(page):
    return " ".join("".join(Outline(page).text).split())


@pytest.mark.slow
def test_it_shows_the_librarys_figures(cancer, page):
    post = bp.posterior(cancer.counts.sum("fold"))
    text = words_of(page)
    for metric in ("recall", "f1", "balanced_accuracy"):
        marginal = post[metric]
        low, high = marginal.hdi().sel(model="naive_bayes").values
        observed, mean = post.observed_score(metric).sel(model="naive_bayes").item(), marginal.mean()
        figures = f"naive_bayes {observed:.3f} {mean.sel(model='naive_bayes').item():.3f} {low:.3f}–{high:.3f}"
        assert figures in text
    assert f"{post['recall'].prob_above(0.9).sel(model='naive_bayes').item():.3f}" in text
    for words in (
        "1,707 rows",
        "malignant is positive",
        "95 % highest-density",
        "Jeffreys' Dirichlet (0.5 in each of 4 cells, total weight 2)",
        "10 folds",
        "bayesperf report 'predictions of mine.csv'",
        "Monte Carlo standard error",
        "scipy",
    ):
        assert words in text


@pytest.mark.slow
def test_it_compares_the_systems_example_by_example(page):
    frame = bp.datasets.load("breast_cancer")
    counts = bp.ConfusionMatrix.from_predictions(
        frame["actual"],
        frame["predicted"],
        by={"model": frame["model"]},
        pos_label="malignant",
        example=frame["example"],
    )
    found = bp.compare(counts, metric="recall", rope=0.01)
    text = words_of(page)
    row = found.summary().query("a == 'decision_tree' and b == 'logistic_regression'").iloc[0]
    # The better system stands first, so that the row is that of b − a.
    shares = "".join(map(probability_value, (1 - row["prob_greater"], row["above"], row["inside"], row["below"])))
    interval = f"{-row['ci_upper']:.3f}–{-row['ci_lower']:.3f}"
    figures = f"logistic_regression−decision_tree{-row['mean']:.3f}{interval}{shares}"
    assert figures in text.replace(" ", "")
    best = found.prob_best.sel(model="naive_bayes").item()
    assert re.search(
        rf"P\(best\) ?P\(beats chance\) ?P\(beats majority\).* naive_bayes ?{probability_value(best)} ?>0.999", text
    )
    for words in (
        "Which is better?",
        "Paired: rows with the same value of 'example' are one example",
        "shaded: differences too small to matter, at most 0.01",
        "The Monte Carlo standard error of a mean difference is at most ",
    ):
        assert words in text


@pytest.mark.slow
def test_the_interval_of_a_difference_lies_on_the_region_where_it_should(cancer, page):
    found = next(c.comparison for c in cancer.comparisons if c.comparison.metric == "recall")
    block = re.search(r"<caption>recall .*?</table>", page.partition("Which is better?</h2>")[2], re.DOTALL)[0]
    strips = re.findall(
        r'<rect class="rope" x="([\d.]+)" y="0" width="([\d.]+)".*?<path class="z" d="M([\d.]+),.*?'
        r'<path class="l d" d="M([\d.]+),[\d.]+ H([\d.]+)"',
        block,
    )
    assert len(strips) == 3
    left, width, zero, *_ = map(float, strips[0])
    assert zero == pytest.approx(left + width / 2, abs=0.1)
    # The rope is 0.02 wide: so many pixels are one.
    scale = width / 0.02
    for strip, (low, high) in zip(strips, found.difference.hdi().values, strict=True):
        # The better system stands first.
        interval = (low, high) if low + high > 0 else (-high, -low)
        np.testing.assert_allclose((np.array(strip[3:], float) - zero) / scale, interval, atol=0.3 / scale + 0.002)


@pytest.mark.slow
def test_without_ids_it_says_that_systems_are_taken_as_independent():
    settings = Settings(by=("model",), pos_label="malignant", metrics=("recall", "prevalence"))
    analysis = analyse(Predictions(bp.datasets.load("breast_cancer").query("model != 'naive_bayes'")), settings)
    text = words_of(as_html(analysis))
    assert "Independent: systems are assumed to be tested on different examples." in text
    assert "--id" not in text
    assert "below inside above" not in text
    assert "P(best)" not in text
    # Prevalence has no better direction: its systems stand in no order.
    assert text.count("P(beats chance)") == 1


@pytest.mark.slow
def test_one_system_is_compared_with_none():
    frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
    for by in ((), ("model",), ("model", "fold")):
        analysis = analyse(Predictions(frame), Settings(by=by, pos_label="malignant", metrics=("recall",)))
        assert analysis.comparisons == []
        assert "Which is better?" not in as_html(analysis)


def many(count):
    """Return predictions of so many systems, of whose recalls all differ."""
    actual = np.repeat([1, 0], 100)
    frames = [
        pd.DataFrame({"actual": actual, "predicted": (np.arange(200) % 100 < 50 + k).astype(int), "system": f"s{k:02}"})
        for k in range(count)
    ]
    return pd.concat(frames)


@pytest.mark.slow
def test_very_many_systems_are_pictures_and_an_order():
    analysis = analyse(Predictions(many(50)), Settings(by=("system",), metrics=("recall", "prevalence")))
    page = as_html(analysis)
    assert len(page) < 1_000_000
    text = words_of(page)
    assert "P(rank): darkest" in text
    assert "The best of 50 is probably partly lucky" in text
    assert "P(a > b): rows a, columns b, numbered as in the order" in text
    order = [(n, name) for name, n in re.findall(r'<th scope="row">(s\d\d)</th> <td[^>]*>(\d+)</td>', page)][-50:]
    ranks = bp.compare(analysis.pooled, metric="recall", dim="system", independent=True).ranks
    expected = ranks.dot(ranks["rank"])
    assert [int(number) for number, _ in order] == list(range(1, 51))
    assert [name for _, name in order] == list(expected["system"].values[np.argsort(expected.values, kind="stable")])


@pytest.mark.slow
def test_many_systems_in_several_places_stay_a_table():
    frame = many(9).assign(site=lambda f: np.arange(len(f)) % 3)
    page = as_html(analyse(Predictions(frame), Settings(by=("system", "site"), metrics=("recall",))))
    assert "heat map" not in page
    standing = page.partition("Standings: recall</caption>")[2].partition("</table>")[0]
    assert len(re.findall(r'<th scope="row">\d</th> <td data-name="system" class="name">s\d\d</td>', standing)) == 27


def test_a_heat_map_has_the_colour_of_every_cell():
    values = np.array([[0.5, 1, 1], [0, 0.5, 0.75], [0, 0.25, 0.5]])
    picture = heat_map(values, "test", diverging=True)
    found = np.full((3, 3), 0.5)
    runs = 0
    for kind, opacity, path in re.findall(r'<path class="(hi|lo)" fill-opacity="([\d.]+)" d="([^"]+)"', picture):
        for column, row, width in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", path):
            start = int(column)
            found[int(row), start : start + int(width)] += float(opacity) / 2 * (1 if kind == "hi" else -1)
            runs += 1
    np.testing.assert_allclose(found, values)
    # Two neighbours of one colour are one, and what has no colour is not drawn.
    assert runs == 5


@pytest.mark.slow
def test_it_is_self_contained(page):
    assert not re.search(r"""src\s*=|href="[^#]|url\(|@import|<script|<link""", page)


@pytest.mark.slow
def test_every_picture_is_drawn_inside_its_frame(page):
    pictures = re.findall(r"<svg viewBox=\"0 0 (\d+) ([\d.]+)\"[^>]*>(.*?)</svg>", page)
    assert len(pictures) > 100
    for width, height, body in pictures:
        assert "nan" not in body
        assert "inf" not in body
        for path in re.findall(r' d="([^"]*)"', body):
            for x, y in re.findall(r"([-\d.]+),([-\d.]+)", path):
                assert 0 <= float(x) <= int(width)
                assert 0 <= float(y) <= float(height)


def test_thresholds_are_the_matrices_at_each_score(cancer):
    frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
    over = cancer.scores.over_thresholds["naive_bayes"]["recall"]
    for threshold in over.mean()["threshold"].values[[0, 30, -1]]:
        called = np.where(frame["score"] >= threshold, "malignant", "benign")
        recall = bp.posterior(frame["actual"], called, pos_label="malignant", labels=["benign", "malignant"])["recall"]
        assert over.mean().sel(threshold=threshold).item() == pytest.approx(recall.mean().item())


@pytest.mark.slow
def test_hostile_labels_are_text(hostile_page):
    outline = Outline(hostile_page)
    assert "script" not in {tag for tag, _ in outline.tags}
    assert HOSTILE in "".join(outline.text)


@pytest.mark.slow
def test_heavy_tails_and_perfect_scores_are_drawn():
    frame = pd.DataFrame({"actual": [1] * 9 + [0] * 9, "predicted": [1] * 9 + [0] * 9})
    settings = Settings(metrics=("lr+", "dor", "recall", "balanced_accuracy", "mcc"), prior="jeffreys", by=("model",))
    both = pd.concat([frame.assign(model="a"), frame.assign(model="b")])
    page = as_html(analyse(Predictions(both), settings))
    assert "∞" in page
    assert "nan" not in "".join(re.findall(r"<svg.*?</svg>", page))


def test_a_density_marks_its_mean_and_what_was_observed():
    recall = bp.posterior(bp.ConfusionMatrix.from_counts(tp=5, fn=1, fp=2, tn=9))["recall"]
    drawn = curves(recall, 0.95, "hdi")
    scale = Scale(drawn)
    picture = density(drawn, 0, scale, "recall", "s0")
    for mark, value in (('<path class="m s0" d="M', recall.mean().item()), ('<circle class="o s0" cx="', 5 / 6)):
        (at,) = re.findall(rf"{mark}([\d.]+)", picture)
        assert float(at) == pytest.approx(float(scale(value)), abs=0.05)


@pytest.mark.parametrize(("low", "high"), [(0.91, 0.99), (0, 1), (-0.2, 0.4), (0.5, 0.5004)])
def test_ticks_are_few_and_round(low, high):
    from bayesperf.posteriors.densities import Curves

    span = np.array([[low, high]])
    ticks = Scale(Curves(span, span, np.array([low]), span, [""], False, np.array([np.nan]))).ticks()
    assert 3 <= len(ticks) <= 8
    assert np.ptp(np.diff(ticks)) < 1e-9
    assert all(len(f"{tick:g}") <= 7 for tick in ticks)


def test_requirements_are_parsed():
    assert Requirement.parse("ppv >= 0.8") == Requirement("precision", 0.8, True)
    assert str(Requirement.parse("hter<=.1")) == "half total error rate ≤ 0.1"


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_shows_it(tmp_path, page, hostile_page, width):
    for name, content in {"page": page, "hostile": hostile_page}.items():
        (tmp_path / f"{name}.html").write_text(content, encoding="utf-8")
        # The page reports its own overflow and title, as a reader's browser lays it out.
        root = "document.documentElement"
        probe = f"<script>{root}.dataset.overflow={root}.scrollWidth-innerWidth;</script>"
        (tmp_path / f"{name}-probe.html").write_text(content.replace("</body>", f"{probe}</body>"), encoding="utf-8")
        dom = _chromium(tmp_path, f"{name}-probe.html", width, "--dump-dom")
        assert int(re.search(r'data-overflow="(-?\d+)"', dom)[1]) <= 0
        assert re.search(r"<title>(.*?)</title>", dom)[1] == "Classifier performance — bayesperf"
        _chromium(tmp_path, f"{name}.html", width, f"--screenshot={tmp_path / f'{name}.png'}")
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000


def _chromium(folder, name, width, action):
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
         f"--user-data-dir={folder / 'profile'}", f"--window-size={width},2000", action, (folder / name).as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ("a", "all others are clearly worse (probability of at least 0.95); 3 are not shown."),
        ("ab", "1 other is not clearly worse (probability below 0.95); 2 are not shown."),
        ("abc", "2 others are not clearly worse (probability below 0.95); 1 is not shown."),
    ],
)
def test_contenders_of_many_systems_are_counted(shown, words):
    assert about_contenders([*shown], 4) == f"a has the best expected rank of 4 systems; {words}"
