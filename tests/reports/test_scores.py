"""What the report says of scores: curves, areas, and what comes of thresholds chosen on other examples."""

import re
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import precision_recall_curve, roc_curve

import bayesperf as bp
from bayesperf.core.errors import InputError
from bayesperf.core.words import probability_value
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import Predictions
from bayesperf.reports import svg
from bayesperf.reports.analysing import analyse
from bayesperf.reports.blocks import Figure, flat, interval
from bayesperf.reports.documents import as_html
from bayesperf.reports.sections import probabilities as verdicts
from bayesperf.reports.sections import useful
from tests.shared.systems import areas_compared

# The axes of a square picture, in pixels: where 0 and 1 are.
LEFT, RIGHT, FLOOR, CEILING = 34, 310, 286, 20
EXPECTED_FLOOR = 206


def simulated(shifts, n=240, seed=0):
    """Return scores of systems that judge the same examples, the first half of which chooses thresholds."""
    rng = np.random.default_rng(seed)
    actual, shared = rng.integers(0, 2, n), rng.normal(size=n)
    part = np.where(np.arange(n) < n // 2, "dev", "test")
    frames = []
    for name, shift in shifts.items():
        score = shift * actual + 0.7 * shared + 0.7 * rng.normal(size=n)
        columns = {"actual": actual, "predicted": (score > 0.5).astype(int), "score": score, "part": part}
        frames.append(pd.DataFrame({**columns, "case": np.arange(n), "system": name}))
    # Rows of one example stand in different places.
    return pd.concat(frames).sample(frac=1, random_state=seed)


SPLIT = Settings(by=("system",), score="score", split="part", id="case", rope=0.02, metrics=("recall",))


@pytest.fixture(scope="module")
def frame():
    return simulated({"old": 1, "new": 2})


@pytest.fixture(scope="module")
def analysis(frame):
    return analyse(Predictions(frame), SPLIT)


@pytest.fixture(scope="module")
def page(analysis):
    return as_html(analysis)


def text_of(page):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.split("<body>")[-1])).split())


def part_of(frame, system, part="test"):
    rows = frame.query("system == @system and part == @part").sort_values("case")
    return rows["actual"].to_numpy(), rows["score"].to_numpy()


def section(page, heading):
    return re.search(rf"<h2[^>]*>{re.escape(heading)}</h2>(.*?)(<h2|</body>)", page, re.DOTALL)[1]


def lines_of(picture):
    """Return the solid lines of a picture, (n, 2) pixels each."""
    paths = re.findall(r'<path class="l s\d" d="M([^"]*)"/>', picture)
    return [np.array([pair.split(",") for pair in path.split(" L")], dtype=float) for path in paths]


# ── Ranking ──


@pytest.mark.slow
def test_areas_are_the_librarys(frame, analysis, page):
    rows = pd.DataFrame(analysis.scores.area_rows).set_index(["area", "system"])
    text = text_of(section(page, "How well do the scores rank?"))
    for system in ("new", "old"):
        scores = part_of(frame, system)
        areas = {"roc_auc": bp.roc_auc(*scores), "average_precision": bp.precision_recall_curve(*scores).area}
        for name, area in areas.items():
            low, high = area.hdi().values
            row = rows.loc[(name, system)]
            wanted = [area.mean().item(), area.sd().item(), low, high]
            assert list(row[["mean", "sd", "ci_lower", "ci_upper"]]) == pytest.approx(wanted)
            assert f"{system} {area.mean().item():.3f} {low:.3f}–{high:.3f}" in text


def test_areas_of_the_same_examples_are_compared(frame, analysis, page):
    y_true, new = part_of(frame, "new")
    found = areas_compared(y_true, {"new": new, "old": part_of(frame, "old")[1]}, rope=0.02)
    row = found.summary().iloc[0]
    (compared,) = analysis.scores.compared_areas.values()
    assert compared.summary().iloc[0].drop(["a", "b"]).to_dict() == pytest.approx(row.drop(["a", "b"]).to_dict())
    shares = " ".join(probability_value(row[name]) for name in ("prob_greater", "below", "inside", "above"))
    figures = f"new − old {row['mean']:.3f} {interval(row['ci_lower'], row['ci_upper'])} {shares}"
    assert figures in text_of(section(page, "How well do the scores rank?"))


def test_curves_are_those_of_scikit_learn(frame, page):
    roc, precision_recall = re.findall(r"<svg.*?</svg>", section(page, "How well do the scores rank?"))[:2]
    for system, of_roc, of_precision in zip(("new", "old"), lines_of(roc), lines_of(precision_recall), strict=True):
        fpr, recall, _ = roc_curve(*part_of(frame, system), drop_intermediate=False)
        np.testing.assert_allclose(of_roc, pixels(fpr, recall), atol=0.051)
        precision, recall, _ = (values[::-1] for values in precision_recall_curve(*part_of(frame, system)))
        # A step each, whose height is the precision at its right end.
        np.testing.assert_allclose(of_precision[1::2], pixels(recall[1:], precision[1:]), atol=0.051)
        np.testing.assert_allclose(of_precision[::2], pixels(recall[:-1], precision[1:]), atol=0.051)


def pixels(x, y):
    return np.column_stack([LEFT + (RIGHT - LEFT) * np.asarray(x), FLOOR - (FLOOR - CEILING) * np.asarray(y)])


def test_bands_are_the_librarys_and_said_to_be_simultaneous(frame, page):
    shown = section(page, "How well do the scores rank?")
    outline = re.search(r'<path class="b s0" d="M([^"]*) Z"', shown)[1]
    drawn = np.array([pair.split(",") for pair in outline.split(" L")], dtype=float)
    band = bp.roc_curve(*part_of(frame, "new")).band(kind="simultaneous")
    lower, upper = band["recall"].values.T
    wanted = np.concatenate([pixels(band["fpr"], upper), pixels(band["fpr"], lower)[::-1]])
    np.testing.assert_allclose(drawn, wanted, atol=0.051)
    assert "simultaneous band: with probability 95 % it contains the system's whole curve" in text_of(shown)


@pytest.mark.slow
def test_without_ids_areas_are_not_compared(frame):
    settings = Settings(by=("system",), score="score", split="part", metrics=("recall",))
    analysis = analyse(Predictions(frame), settings)
    assert analysis.scores.compared_areas == {}
    text = text_of(as_html(analysis))
    assert "for systems tested on different examples, with thresholds chosen on other development rows" in text


@pytest.mark.slow
def test_without_scores_or_a_split_there_is_nothing_of_them(frame):
    for settings, present in ((Settings(), False), (Settings(score="score"), True)):
        page = as_html(analyse(Predictions(frame.query("system == 'old'")), settings))
        assert ("How well do the scores rank?" in page) == ("Where to put the threshold" in page) == present
        advice = "A threshold looks better on the examples on which it was chosen"
        assert (advice in " ".join(page.split())) == present
        assert "What can be expected?" not in page
        assert "choose thresholds." not in page


@pytest.mark.slow
def test_systems_in_several_places_are_compared_in_each(frame):
    frame = frame.assign(site=np.where(frame["case"] % 2, "north", "south"))
    settings = Settings(by=("system", "site"), score="score", split="part", metrics=("recall",))
    analysis = analyse(Predictions(frame), settings)
    assert list(analysis.scores.places) == ["north", "south"]
    north = frame.query("site == 'north'")
    wanted = [bp.curves.epc(part_of(north, name, "dev"), part_of(north, name)) for name in ("new", "old")]
    found = analysis.scores.compared_curves["north"]
    assert found.names == ["new", "old"]
    for of_both, alone in zip(found.each().values(), wanted, strict=True):
        np.testing.assert_array_equal(of_both.dataset["half_total_error_rate"], alone.dataset["half_total_error_rate"])
    shown = section(as_html(analysis), "How well do the scores rank?")
    assert re.findall(r"<h3>(\w+)</h3>", shown) == ["north", "south"]
    assert [len(lines_of(picture)) for picture in re.findall(r"<svg.*?</svg>", shown)[:4]] == [2] * 4


@pytest.mark.slow
def test_of_many_systems_no_two_in_a_picture_have_one_colour():
    frame = simulated({f"s{k}": 1 + k / 10 for k in range(9)}, n=80)
    page = as_html(analyse(Predictions(frame), Settings(by=("system",), score="score", id="case", metrics=("recall",))))
    shown = section(page, "How well do the scores rank?")
    pictures = [re.findall(r'class="l (s\d)"', svg) for svg in re.findall(r"<svg.*?</svg>", shown)]
    assert [len(colours) for colours in pictures[:4]] == [6, 6, 3, 3]
    assert all(len(set(colours)) == len(colours) for colours in pictures)
    # Thirty-six pairs are a picture of probabilities, as of other metrics.
    assert "P(a &gt; b): rows a, columns b" in shown


@pytest.mark.slow
def test_scores_that_leave_no_doubt_are_no_certainty():
    actual = np.tile([0, 1], 40)
    frame = pd.DataFrame({"actual": actual, "predicted": actual[::-1], "score": 1.0})
    settings = Settings(score="score", metrics=("recall",))
    analysis = analyse(Predictions(frame), settings)
    page = as_html(analysis)
    # Of one threshold there is no picture; the curve is the diagonal.
    assert "Where to put the threshold" not in page
    (line,) = lines_of(re.search(r"<svg.*?</svg>", section(page, "How well do the scores rank?"))[0])
    np.testing.assert_allclose(line, pixels([0, 1], [0, 1]))
    perfect = analyse(Predictions(frame.assign(score=frame["actual"])), settings)
    # Of 40 examples in either class some may yet overlap.
    for row in perfect.scores.area_rows:
        assert 0.9 < row["ci_lower"] < row["mean"] < row["ci_upper"] < 1


@pytest.mark.slow
def test_few_positives_get_a_remark():
    actual = np.repeat([0, 1], [60, 7])
    frame = pd.DataFrame({"actual": actual, "predicted": actual, "score": np.random.default_rng(0).normal(actual)})
    page = as_html(analyse(Predictions(frame), Settings(score="score", metrics=("recall",))))
    assert "With so few positives (7) the average precision is very uncertain." in text_of(page)


def test_scores_of_which_most_are_the_same_are_shown_over_their_whole_range():
    actual = np.tile([0, 1], 100)
    frame = pd.DataFrame({"actual": actual, "predicted": actual[::-1], "score": np.r_[np.zeros(199), 3]})
    over = analyse(Predictions(frame), Settings(score="score", metrics=("recall",))).scores.over_thresholds[""]
    at = over["recall"].mean()["threshold"].values
    assert (at[0], at[-1]) == (0, 3)


def test_thresholds_reach_the_scores_of_rare_positives():
    rng = np.random.default_rng(0)
    score = np.r_[rng.uniform(0, 0.3, 995), np.linspace(0.2, 0.9, 5)]
    frame = pd.DataFrame({"actual": np.repeat([0, 1], [995, 5]), "score": score})
    settings = Settings(score="score", metrics=("roc_auc",), scores_alone=True)
    over = analyse(Predictions(frame.assign(predicted=1)), settings).scores.over_thresholds[""]
    assert over["recall"].mean()["threshold"].values[-1] == 0.9


# ── Thresholds chosen on other examples ──


def test_performance_is_that_of_the_test_rows(frame, analysis, page):
    test = frame.query("part == 'test'")
    counts = bp.ConfusionMatrix.from_frame(test, actual="actual", predicted="predicted", by="system")
    np.testing.assert_array_equal(analysis.counts.counts, counts.counts)
    assert analysis.paired.counts.sum() == len(test)
    text = text_of(page)
    assert (
        "tested on the 240 test rows (part 'test'); thresholds are chosen on the 240 development rows (part 'dev')."
        in text
    )
    assert text.index("Rows 240") < text.index("tested on the 240 test rows") < text.index("Curve: posterior density")


@pytest.mark.parametrize("names", [{"test": "eval"}, {"dev": " TEST"}, {"dev": "test"}])
def test_one_of_two_parts_is_the_test(frame, names):
    with pytest.raises(InputError, match="must hold two values, 'test' for the examples to judge by and another"):
        analyse(Predictions(frame.replace({"part": names})), SPLIT)


def test_neither_part_speaks_for_the_other(frame, analysis):
    dev = frame["part"] == "dev"
    noisy_dev = analyse(Predictions(frame.assign(score=frame["score"].where(~dev, -frame["score"]))), SPLIT).scores
    assert noisy_dev.area_rows == analysis.scores.area_rows
    assert [s.threshold for s in noisy_dev.systems] != [s.threshold for s in analysis.scores.systems]
    noisy_test = analyse(Predictions(frame.assign(score=frame["score"].where(dev, -frame["score"]))), SPLIT).scores
    assert [s.threshold for s in noisy_test.systems] == [s.threshold for s in analysis.scores.systems]
    assert noisy_test.area_rows != analysis.scores.area_rows


def test_the_threshold_is_the_best_of_the_other_rows_and_its_error_rate_that_of_the_test_rows(frame, analysis, page):
    rows = pd.DataFrame(analysis.scores.expected_rows).query("quantity == 'half_total_error_rate'").set_index("system")
    text = text_of(section(page, "What can be expected?"))
    for system in ("new", "old"):
        dev, test = (part_of(frame, system, part) for part in ("dev", "test"))
        errors = {cut: half_total_error(*dev, cut) for cut in dev[1]}
        row = rows.loc[system]
        # Between two scores all thresholds are alike; the lowest of the best is taken.
        assert half_total_error(*dev, row["threshold"]) == pytest.approx(min(errors.values()))
        first = min(cut for cut, error in errors.items() if error < min(errors.values()) + 1e-12)
        assert row["threshold"] <= first
        assert row["observed"] == pytest.approx(half_total_error(*test, row["threshold"]))
        cm = bp.ConfusionMatrix.from_scores(*test, thresholds=row["threshold"])
        low, high = bp.posterior(cm)["hter"].eti().values.ravel()
        assert list(row[["ci_lower", "ci_upper"]]) == pytest.approx([low, high])
        shown = f"{system} {row['threshold']:.4g} {row['observed']:.3f} {low:.3f}–{high:.3f}"
        assert shown in text
        assert shown.split(" ")[1] in text_of(section(page, "Where to put the threshold?"))


def half_total_error(y_true, score, threshold):
    called = score >= threshold
    return (called[y_true == 0].mean() + (~called)[y_true == 1].mean()) / 2


def test_expected_performance_is_the_librarys(frame, analysis, page):
    rows = pd.DataFrame(analysis.scores.expected_rows).set_index(["quantity", "system"])
    text = text_of(section(page, "What can be expected?"))
    for system in ("new", "old"):
        found = bp.curves.epc(part_of(frame, system, "dev"), part_of(frame, system)).expected_performance()
        for name in ("E_V1", "E_V2", "G"):
            low, high = found.eti().sel(quantity=name).values
            observed = found.observed.sel(quantity=name).item()
            row = rows.loc[(name, system)]
            assert list(row[["observed", "ci_lower", "ci_upper"]]) == pytest.approx([observed, low, high])
            assert f"{system} {observed:.3f} {low:.3f}–{high:.3f}" in text


def test_it_is_shaded_where_the_band_of_the_difference_leaves_out_0(frame, page):
    shown = section(page, "What can be expected?")
    picture = re.search(r"<svg.*?</svg>", shown)[0]
    dev = {name: part_of(frame, name, "dev") for name in ("new", "old")}
    test = (part_of(frame, "new")[0], {name: part_of(frame, name)[1] for name in dev})
    differs = bp.curves.epc(dev, test).difference(kind="simultaneous")["significant"]
    assert 0 < differs.sum() < len(differs)
    spans = re.findall(r'<rect class="rope" x="([\d.]+)" y="20" width="([\d.]+)" height="(\d+)"', picture)
    at = LEFT + (RIGHT - LEFT) * differs["alpha"].values
    shaded = np.zeros(len(at), dtype=bool)
    for x, width, height in spans:
        assert int(height) == EXPECTED_FLOOR - CEILING
        shaded |= (at > float(x) - 0.1) & (at < float(x) + float(width) + 0.1)
    np.testing.assert_array_equal(shaded, differs.values)
    words = (
        "Shaded: α at which the 95 % simultaneous band of the difference new − old excludes 0, for systems tested on"
    )
    chosen = "with thresholds chosen on other development rows like these"
    assert f"{words} the same examples, {chosen}." in text_of(shown)


def test_expected_curves_are_drawn_in_steps(frame, page):
    picture = re.search(r"<svg.*?</svg>", section(page, "What can be expected?"))[0]
    curve = bp.curves.epc(part_of(frame, "new", "dev"), part_of(frame, "new"))
    line = lines_of(picture)[0]
    values = curve.dataset["half_total_error_rate"].values
    height = EXPECTED_FLOOR - line[:, 1]
    np.testing.assert_allclose(height[::2], height[1::2])
    np.testing.assert_allclose(height[::2] / height.max(), values / values.max(), atol=0.002)
    # A value of α in the middle of its step, but at the ends.
    middle = line.reshape(-1, 2, 2)[1:-1, :, 0].mean(1)
    np.testing.assert_allclose(middle, LEFT + (RIGHT - LEFT) * curve.alphas[1:-1], atol=0.1)


@pytest.mark.slow
def test_systems_alike_are_nowhere_said_to_differ():
    analysis = analyse(Predictions(simulated({"a": 1, "b": 1}, n=120)), SPLIT)
    text = text_of(as_html(analysis))
    assert "At no α the 95 % simultaneous band of the difference a − b excludes 0" in text


# ── Drawing ──


def test_a_long_curve_is_thinned_to_what_can_be_seen():
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 2, 50_000).cumsum())
    x = np.arange(len(y)) - y
    x, y = 280 * x / x[-1], 266 * y / y[-1]
    few = svg._thinned(x, y)
    assert len(few[0]) <= 500
    assert [few[0][0], few[1][0], few[0][-1], few[1][-1]] == [x[0], y[0], x[-1], y[-1]]
    # Both coordinates ascend: at each place along the curve the thinned one is as near.
    along = x + y
    for full, thin in ((x, few[0]), (y, few[1])):
        assert np.abs(np.interp(along, few[0] + few[1], thin) - full).max() < 1
    short = np.arange(10.0), np.arange(10.0)
    assert svg._thinned(*short) == short
    still = np.zeros(600), np.ones(600)
    assert svg._thinned(*still) == still


@pytest.mark.slow
def test_a_page_of_very_many_scores_is_small():
    frame = simulated({"a": 1, "b": 1.2}, n=100_000)
    page = as_html(analyse(Predictions(frame), SPLIT))
    assert len(page) < 400_000


def test_round_values():
    assert svg.round_values(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert svg.round_values(0, 0.53) == [0, 0.1, 0.2, 0.3, 0.4, 0.5]


def test_the_names_of_a_planes_axes_are_at_their_middle_and_top():
    plane = svg.plane([], ("recall", "precision"), "curve")
    found = re.findall(r'x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"[^>]*>([^<]+)<', plane)
    at = {(words, anchor): (float(x), float(y)) for x, y, anchor, words in found}
    (left, floor), (right, _) = at["0", "middle"], at["1", "middle"]
    assert at["recall", "middle"][0] == (left + right) / 2
    assert at["recall", "middle"][1] > floor
    assert at["precision", "start"][1] < at["1", "end"][1] < at["0", "end"][1] < floor


# ── Scores that are probabilities ──


def probabilities(n=400, seed=0):
    """Return two systems' probabilities of the same examples, the first of them too extreme."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-0.5, 1.5, n)
    actual = (rng.random(n) < expit(log_odds)).astype(int)
    frames = []
    for name, factor in {"extreme": 2.5, "right": 1.0}.items():
        score = expit(factor * log_odds)
        columns = {"actual": actual, "predicted": (score > 0.5).astype(int), "score": score}
        frames.append(pd.DataFrame({**columns, "case": np.arange(n), "system": name}))
    return pd.concat(frames)


OF_PROBABILITIES = Settings(by=("system",), score="score", id="case", metrics=("recall",))


@pytest.fixture(scope="module")
def judged():
    return analyse(Predictions(probabilities()), OF_PROBABILITIES)


@pytest.fixture(scope="module")
def judged_page(judged):
    return as_html(judged)


def columns_of(system):
    rows = probabilities().query("system == @system")
    return rows["actual"].to_numpy(), rows["score"].to_numpy()


@pytest.mark.slow
def test_calibration_is_the_librarys(judged, judged_page):
    shown = text_of(section(judged_page, "Can its probabilities be trusted?"))
    rows = pd.DataFrame(judged.scores.calibration_rows).set_index(["system", "metric"])
    for system in ("extreme", "right"):
        calibration = bp.curves.calibration(*columns_of(system))
        assert f"{system} : {calibration.in_words()}" in shown
        for row in calibration.summary().to_dict("records"):
            for name in ("observed", "ci_lower", "ci_upper", "calibrated_lower", "calibrated_upper", "tail"):
                assert rows.loc[(system, row["metric"]), name] == pytest.approx(row[name], nan_ok=True)
    assert "extreme : Too extreme: outcomes it calls nearly certain are less certain." in shown
    assert "right : Too" not in shown


@pytest.mark.parametrize(("seed", "by_chance"), [(4, True), (2, False)])
def test_an_error_within_the_range_of_calibrated_systems_may_be_chance(seed, by_chance):
    rng = np.random.default_rng(seed)
    probability = rng.random(60)
    calibration = bp.curves.calibration((rng.random(60) < probability).astype(int), probability, draws=200)
    row = calibration.summary().set_index("metric").loc["squared_calibration_error"]
    assert (0 < row["observed"] <= row["calibrated_upper"]) == by_chance
    said = verdicts.verdict_in_words(SimpleNamespace(calibration=calibration), 0.95)
    assert (", which chance alone could explain." in said) == by_chance


@pytest.mark.parametrize(
    ("mean", "slope", "verdict"),
    [
        ((0.05, 0.1), (0.8, 1.3), "Shifted: on average its probabilities are too low."),
        ((-0.1, -0.05), (0.8, 1.3), "Shifted: on average its probabilities are too high."),
        ((-0.01, 0.01), (0.8, 0.9), "Too extreme: outcomes it calls nearly certain are less certain."),
        ((-0.01, 0.01), (1.1, 1.3), "Too timid: outcomes it calls likely are even more likely."),
        (
            (-0.01, 0.01),
            (-0.2, 0.3),
            "Useless so far: these examples do not show that outcomes follow its probabilities.",
        ),
        ((-0.04, 0.04), (0.7, 1.4), "Well calibrated."),
        ((-0.04, 0.06), (0.7, 1.4), "These examples are too few to show that it is calibrated."),
    ],
)
def test_the_verdict_on_probabilities_names_the_way_in_which_they_err(mean, slope, verdict):
    """The mean is that of the outcomes less that of the probabilities."""
    rows = ["calibration_in_the_large", "calibration_slope"]
    assert verdicts._verdict(pd.DataFrame([mean, slope], rows, ["ci_lower", "ci_upper"])) == verdict


@pytest.mark.parametrize(
    ("certain", "verdict"),
    [
        (0.0, "Too extreme: it gave probability 0 to some outcomes that happened."),
        (1.0, "Open: a calibration slope cannot be computed"),
    ],
)
def test_certain_probabilities_are_neither_chance_nor_a_want_of_examples(certain, verdict):
    rng = np.random.default_rng(4)
    probability = rng.random(60)
    happened = (rng.random(60) < probability).astype(int)
    probability[0], happened[0] = certain, 1
    said = verdicts.verdict_in_words(
        SimpleNamespace(calibration=bp.curves.calibration(happened, probability, draws=200)), 0.95
    )
    assert said.startswith(verdict)
    assert ("chance alone" in said) == (certain == 1)


def test_reliability_curves_are_the_librarys(judged):
    figure = next(block for block in flat(verdicts.blocks(judged)) if isinstance(block, Figure))
    ((_, picture),) = figure.draw()
    for system, drawn in zip(("extreme", "right"), lines_of(picture), strict=True):
        points = bp.reliability_curve(*columns_of(system)).dataset
        expected = pixels(points["probability"].values, points["frequency"].values)
        # Of many points those are drawn that can be told apart.
        at = abs(drawn[:, None] - expected).max(-1).min(1)
        assert at.max() < 0.051
        assert abs(drawn[[0, -1]] - expected[[0, -1]]).max() < 0.051


def test_treating_all_is_drawn_until_it_leaves_the_figure(judged, monkeypatch):
    monkeypatch.setattr("bayesperf.reports.svg.plane", lambda *_, **options: options)
    ((_, drawn),) = useful._net_benefit(judged, judged.scores.systems)
    (none, *every), bottom = drawn["beneath"], drawn["bottom"]
    assert none == ([0, 1], [0, 0])
    for cuts, benefit in every:
        at = np.array(cuts)
        np.testing.assert_allclose(benefit, benefit[0] - (1 - benefit[0]) * at / (1 - at), atol=1e-12)
        assert benefit[-1] == pytest.approx(bottom)


@pytest.mark.slow
def test_where_it_is_useful_is_the_librarys(judged, judged_page):
    shown = text_of(section(judged_page, "At which thresholds is it useful?"))
    rows = pd.DataFrame(judged.scores.useful_rows)
    for system in ("extreme", "right"):
        ranges = bp.decision_curve(*columns_of(system)).useful_ranges()
        found = rows[rows["system"] == system][["low", "high"]]
        # Weights are drawn of thresholds, whatever the examples came as.
        np.testing.assert_allclose(found, ranges, atol=0.011)
        low, high = found.iloc[0]
        assert f"{system} : Acting on these probabilities" in shown
        assert f"at each of these thresholds: from {low:g} to {high:g}" in shown


def test_scores_that_are_no_probabilities_are_not_judged_as_such(page, analysis):
    assert not analysis.scores.are_probabilities
    assert "Can its probabilities be trusted?" not in page
    ends = np.concatenate([system.test.y_score for system in analysis.scores.systems])
    assert f"The scores go from {ends.min():.4g} to {ends.max():.4g}, so they are not probabilities." in text_of(page)


@pytest.mark.slow
def test_many_probabilities_stand_for_their_neighbours():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=12_000)
    y = (rng.random(12_000) < p).astype(int)
    frame = pd.DataFrame({"actual": y, "predicted": (p > 0.5).astype(int), "score": p})
    (system,) = analyse(Predictions(frame), Settings(score="score")).scores.systems
    assert len(system.probabilities.values) == 2000
    for name in ("calibration_in_the_large", "brier", "log_loss"):
        found, exact = system.calibration, bp.curves.calibration(y, p, draws=2)
        values = [each.summary().set_index("metric").loc[name, "observed"] for each in (found, exact)]
        np.testing.assert_allclose(*values, atol=2e-4)


@pytest.mark.slow
def test_certain_probabilities_have_no_slope():
    y = np.arange(60) % 2
    p = np.where(y == 1, 0.7, 0.2)
    p[:2] = [1.0, 0.0]
    frame = pd.DataFrame({"actual": y, "predicted": (p > 0.5).astype(int), "score": p})
    shown = text_of(
        section(as_html(analyse(Predictions(frame), Settings(score="score"))), "Can its probabilities be trusted?")
    )
    assert "A calibration slope cannot be computed: 2 probabilities are exactly 0 or 1" in shown
    assert "The log loss is infinite, because some outcomes that happened had probability 0." in shown
    assert "np.clip" not in shown
