"""The HTML report: what it says, and how a browser shows it."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.report.analysis import Requirement, Settings, analyse
from bayesperf.report.html import render
from bayesperf.report.svg import Scale

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
        by=("model", "fold"), pos_label="malignant", require=("recall>=0.9", "precision>=0.9"), score="score"
    )
    return analyse(bp.datasets.load("breast_cancer"), settings)


@pytest.fixture(scope="module")
def page(cancer):
    return render(cancer, "bayesperf report 'predictions of mine.csv'")


@pytest.fixture(scope="module")
def hostile_page():
    rng = np.random.default_rng(0)
    actual = rng.choice([HOSTILE, "plain"], 60)
    frame = pd.DataFrame(
        {"actual": actual, "predicted": rng.permutation(actual), "who": rng.choice([HOSTILE, "b"], 60)}
    )
    return render(analyse(frame, Settings(by=("who",), pos_label=HOSTILE)), f"bayesperf report {HOSTILE}.csv")


def test_it_shows_the_librarys_figures(cancer, page):
    post = bp.posterior(cancer.counts.sum("fold"))
    text = " ".join("".join(Outline(page).text).split())
    for metric in ("recall", "f1", "balanced_accuracy"):
        marginal = post[metric]
        low, high = marginal.hdi().sel(model="naive_bayes").values
        assert f"{marginal.mean().sel(model='naive_bayes').item():.3f}" in text
        assert f"{low:.3f} – {high:.3f}" in text
    assert f"{post['recall'].prob_above(0.9).sel(model='naive_bayes').item():.3f}" in text
    for words in (
        "1,707 predictions",
        "positive: malignant",
        "95 % highest-density",
        "flat Dirichlet (1 in each of 4 cells, total weight 4)",
        "10 folds",
        "bayesperf report 'predictions of mine.csv'",
        "Monte Carlo, standard error",
        "scipy",
    ):
        assert words in text


def test_it_is_self_contained(page):
    assert not re.search(r"""(src|href)\s*=|url\(|@import|<script|<link""", page)


def test_every_picture_is_drawn_inside_its_frame(page):
    pictures = re.findall(r"<svg viewBox=\"0 0 (\d+) (\d+)\"[^>]*>(.*?)</svg>", page)
    assert len(pictures) > 100
    for width, height, body in pictures:
        assert "nan" not in body
        assert "inf" not in body
        for path in re.findall(r' d="([^"]*)"', body):
            for x, y in re.findall(r"([-\d.]+),([-\d.]+)", path):
                assert 0 <= float(x) <= int(width)
                assert 0 <= float(y) <= int(height)


def test_thresholds_are_the_matrices_at_each_score(cancer):
    frame = bp.datasets.load("breast_cancer").query("model == 'naive_bayes'")
    over = cancer.thresholds["naive_bayes"]["recall"]
    for threshold in over.mean()["threshold"].values[[0, 30, -1]]:
        called = np.where(frame["score"] >= threshold, "malignant", "benign")
        recall = bp.posterior(frame["actual"], called, pos_label="malignant", labels=["benign", "malignant"])["recall"]
        assert over.mean().sel(threshold=threshold).item() == pytest.approx(recall.mean().item())


def test_hostile_labels_are_text(hostile_page):
    outline = Outline(hostile_page)
    assert "script" not in {tag for tag, _ in outline.tags}
    assert HOSTILE in "".join(outline.text)


def test_heavy_tails_and_perfect_scores_are_drawn():
    frame = pd.DataFrame({"actual": [1] * 9 + [0] * 9, "predicted": [1] * 9 + [0] * 9})
    settings = Settings(metrics=("lr+", "dor", "recall", "balanced_accuracy", "mcc"), prior="jeffreys")
    page = render(analyse(frame, settings), "bayesperf report")
    assert "∞" in page
    assert "nan" not in "".join(re.findall(r"<svg.*?</svg>", page))


@pytest.mark.parametrize(("low", "high"), [(0.91, 0.99), (0, 1), (-0.2, 0.4), (0.5, 0.5004)])
def test_ticks_are_few_and_round(low, high):
    from bayesperf.plots._curves import Curves

    span = np.array([[low, high]])
    ticks = Scale(Curves(span, span, np.array([low]), span, [""], False)).ticks()
    assert 3 <= len(ticks) <= 8
    assert np.ptp(np.diff(ticks)) < 1e-9
    assert all(len(f"{tick:g}") <= 7 for tick in ticks)


def test_requirements_are_parsed():
    assert Requirement.parse("ppv >= 0.8") == Requirement("precision", 0.8, True)
    assert str(Requirement.parse("hter<=.1")) == "half total error rate ≤ 0.1"


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
        assert re.search(r"<title>(.*?)</title>", dom)[1] == "How good is it? — bayesperf"
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
