"""Agreement of raters: printed figures, sums over pairs one by one, and what the draws must do."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

import bayesperf as bp
from bayesperf.core.errors import DependenceWarning, InputError

NONE = None
# Twelve units by four coders (Krippendorff 2011, Computing Krippendorff's alpha-reliability; in irrCAC, too).
CODERS = pd.DataFrame(
    [
        (1, 1, NONE, 1), (2, 2, 3, 2), (3, 3, 3, 3), (3, 3, 3, 3), (2, 2, 2, 2), (1, 2, 3, 4),
        (4, 4, 4, 4), (1, 1, 2, 1), (2, 2, 2, 2), (NONE, 5, 5, 5), (NONE, NONE, 1, 1), (NONE, NONE, 3, NONE),
    ],
    columns=list("abcd"), dtype=object,
)  # fmt: skip
# Six targets by four judges (Shrout & Fleiss 1979, table 2).
TARGETS = pd.DataFrame(
    [(9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7)], columns=list("abcd")
)
few = pytest.mark.filterwarnings("ignore:ratings. .* are few:UserWarning")


def of_table(table, labels=None):
    """Return ratings of a table of counts, the answers of a first rater in rows and of a second in columns."""
    rows, columns = np.nonzero(np.asarray(table) >= 0)
    frame = pd.DataFrame({"a": rows + 1, "b": columns + 1, "n": np.ravel(table)})
    return bp.Ratings.from_table(frame, counts="n", labels=labels)


def observed(ratings, coefficient, level="nominal"):
    return ratings.agreement(coefficient, level, draws=2).observed.item()


@few
@pytest.mark.parametrize(
    ("level", "printed"),
    [
        # The vignettes of irrCAC 1.0; alphas of other levels are Krippendorff's own figures.
        ("nominal", {"percent_agreement": 0.81818, "gwet_ac1": 0.77544, "fleiss_kappa": 0.76117,
                     "krippendorff_alpha": 0.74342, "conger_kappa": 0.76282, "brennan_prediger": 0.77273}),
        ("interval", {"percent_agreement": 0.97538, "gwet_ac2": 0.91400, "fleiss_kappa": 0.86494,
                      "krippendorff_alpha": 0.84911, "conger_kappa": 0.85771, "brennan_prediger": 0.90152}),
        ("ordinal", {"krippendorff_alpha": 0.81539}),
        ("ratio", {"krippendorff_alpha": 0.79740}),
    ],
)  # fmt: skip
def test_four_coders(level, printed):
    ratings = bp.Ratings.from_table(CODERS)
    assert {name: round(observed(ratings, name, level), 5) for name in printed} == printed


@few
def test_intraclass_correlations():
    ratings = bp.Ratings.from_table(TARGETS, labels=range(1, 11))
    found = [observed(ratings, f"icc_{kind}") for kind in ("one_way", "agreement", "consistency")]
    assert [round(value, 2) for value in found] == [0.17, 0.29, 0.71]
    # Of the mean of all four judges, by Spearman and Brown's formula.
    assert [round(4 * value / (1 + 3 * value), 2) for value in found] == [0.44, 0.62, 0.91]


@few
def test_two_abstractors_and_fourteen_raters():
    """Two abstractors by quadratic weights (irrCAC), 19 items of SAS, and the example of Fleiss' kappa in Wikipedia."""
    abstractors = of_table([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    printed = {"cohen_kappa": 0.8921569, "scott_pi": 0.8921093, "gwet_ac2": 0.9402369, "brennan_prediger": 0.9175,
               "krippendorff_alpha": 0.8926487, "percent_agreement": 0.9725}  # fmt: skip
    assert {name: round(observed(abstractors, name, "interval"), 7) for name in printed} == printed
    assert round(observed(of_table([[0, 4, 1], [0, 8, 0], [0, 1, 5]]), "cohen_kappa"), 4) == 0.4842
    sas = bp.ConfusionMatrix.from_table([[0, 4, 1], [0, 8, 0], [0, 1, 5]])
    for metric, figures in {
        "cohen_kappa": [0.4842, 0.1380, 0.2137, 0.7547],
        "linear_weighted_kappa": [0.4701, 0.1457, 0.1845, 0.7558],
    }.items():
        limits = bp.intervals.delta(sas, metric)
        found = [bp.score(sas, metric).item(), limits.standard_error.item(), *limits.values]
        assert [round(value, 4) for value in found] == figures
    by_subject = [(0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1), (7, 7, 0, 0, 0),
                  (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7)]  # fmt: skip
    fourteen = bp.Ratings.from_table([np.repeat([1, 2, 3, 4, 5], counts) for counts in by_subject])
    assert round(observed(fourteen, "fleiss_kappa"), 2) == 0.21


# The first fifteen patients of Fleiss (1971): how many of six raters gave each of five diagnoses.
PATIENTS = [(0, 0, 0, 6, 0), (0, 3, 0, 0, 3), (0, 1, 4, 0, 1), (0, 0, 0, 0, 6), (0, 3, 0, 3, 0), (2, 0, 4, 0, 0),
            (0, 0, 4, 0, 2), (2, 0, 3, 1, 0), (2, 0, 0, 4, 0), (0, 0, 0, 0, 6), (1, 0, 0, 5, 0), (1, 1, 0, 4, 0),
            (0, 3, 3, 0, 0), (1, 0, 0, 5, 0), (0, 2, 0, 3, 1)]  # fmt: skip


def test_confidence_intervals_are_those_of_irrcac():
    """Six raters; and two abstractors, where irrCAC divides by n instead of n − 1."""
    patients = bp.Ratings.from_table([np.repeat(range(5), counts) for counts in PATIENTS])
    printed = {"gwet_ac": (0.4448007, 0.08418757, 0.264, 0.625), "fleiss_kappa": (0.4139265, 0.08119291, 0.240, 0.588),
               "brennan_prediger": (0.4388889, 0.08312142, 0.261, 0.617)}  # fmt: skip
    table = patients.agreement_intervals().set_index("coefficient")[["estimate", "se", "ci_lower", "ci_upper"]]
    for name, figures in printed.items():
        assert (abs(table.loc[name].to_numpy() - figures) < [5.1e-8, 5.1e-9, 5.1e-4, 5.1e-4]).all(), name
    table = of_table([[13, 0, 0], [0, 20, 7], [0, 4, 56]]).agreement_intervals("interval").set_index("coefficient")
    printed = {"cohen_kappa": 0.03535151, "fleiss_kappa": 0.03539506, "gwet_ac": 0.01792019,
               "brennan_prediger": 0.02346673, "percent_agreement": 0.007822244}  # fmt: skip
    for name, se in printed.items():
        assert table["se"][name] * np.sqrt(99 / 100) == pytest.approx(se, abs=6e-9)


def test_a_standard_error_is_that_of_leaving_items_out():
    """The jackknife of one of two populations, with missing answers."""
    answers = some_answers(np.random.default_rng(7), items=160)
    ratings = bp.Ratings.from_table(answers.assign(site=["north"] * 100 + ["south"] * 60), population="site")
    part = answers[100:]
    cases = {"nominal": "cohen_kappa", "ratio": "krippendorff_alpha"}
    for level, name in cases.items():
        table = ratings.agreement_intervals(level).set_index(["population", "coefficient"])
        left = [observed(bp.Ratings.from_table(part.drop(i), labels=range(1, 5)), name, level) for i in part.index]
        # Both are consistent; of 60 items they differ by some terms of order 1/60.
        assert table["se"]["south", name] == pytest.approx(np.std(left) * np.sqrt(59), rel=0.04)


def test_intraclass_correlations_are_those_of_psych():
    """The R package psych prints these of the data of Shrout & Fleiss."""
    table = bp.Ratings.from_table(TARGETS, labels=range(1, 11)).intraclass_intervals()
    printed = [
        (0.17, 1.8, 5, 18, 0.16477, -0.133, 0.72), (0.29, 11.0, 5, 15, 0.00013, 0.019, 0.76),
        (0.71, 11.0, 5, 15, 0.00013, 0.342, 0.95), (0.44, 1.8, 5, 18, 0.16477, -0.884, 0.91),
        (0.62, 11.0, 5, 15, 0.00013, 0.071, 0.93), (0.91, 11.0, 5, 15, 0.00013, 0.676, 0.99),
    ]  # fmt: skip
    found = table[["estimate", "f", "df1", "df2", "p_value", "ci_lower", "ci_upper"]]
    assert (abs(found.to_numpy() - printed) <= [0.005, 0.05, 0, 0, 5e-6, 5e-4, 0.005]).all()
    with pytest.raises(InputError, match="ratings: F tests need one answer of each rater to each item"):
        bp.Ratings.from_table(CODERS).intraclass_intervals()


def some_answers(rng, items=40, raters=4, classes=4, missing=0.2):
    """Return answers (items, raters) from 1 on; raters err about half of the items, and some answers are missing."""
    truth, hard = rng.integers(1, classes + 1, items), rng.random((items, 1)) < 0.5
    answers = np.clip(
        truth[:, None] + rng.integers(-1, 2, (items, raters)) * (hard & (rng.random((items, raters)) < 0.8)), 1, 4
    )
    table = pd.DataFrame(answers.astype(object))
    return table.mask(rng.random(answers.shape) < missing, NONE)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_one_minus_a_ratio_of_means_over_pairs(level):
    table = some_answers(np.random.default_rng(1))
    units = [[a for a in row if a is not NONE] for row in table.to_numpy()]
    units = [unit for unit in units if len(unit) > 1]
    everything = sorted(answer for unit in units for answer in unit)

    def apart(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        low, high = sorted((a, b))
        between = sum(low <= each <= high for each in everything)
        return (between - (everything.count(a) + everything.count(b)) / 2) ** 2 * (a != b)

    within = sum(sum(apart(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    across = sum(apart(a, b) for a, b in permutations(everything, 2)) / (len(everything) - 1)
    ratings = bp.Ratings.from_table(table)
    assert observed(ratings, "krippendorff_alpha", level) == pytest.approx(1 - within / across, abs=1e-12)


@pytest.mark.parametrize(("level", "weights"), [("nominal", None), ("interval", "quadratic")])
def test_kappas_of_pairs(level, weights):
    table = some_answers(np.random.default_rng(2), raters=2, missing=0)
    expected = cohen_kappa_score(*table.to_numpy().T.astype(int), weights=weights)
    assert observed(bp.Ratings.from_table(table), "cohen_kappa", level) == pytest.approx(expected, abs=1e-12)


def test_intraclass_correlations_of_missing_answers_are_ratios_of_means_over_pairs():
    table = some_answers(np.random.default_rng(3))
    totals = np.zeros(4)
    for a, b in combinations(table.columns, 2):
        x, y = table[[a, b]].dropna().to_numpy(float).T
        (var_x, cov), (_, var_y) = np.cov(x, y)
        of_means = ((x.mean() - y.mean()) ** 2 - np.var(x - y, ddof=1) / len(x)) / 2
        totals += len(x) * np.array([1, cov, (var_x + var_y) / 2, of_means])
    _, items, rater, means = totals / totals[0]
    ratings = bp.Ratings.from_table(table)
    assert observed(ratings, "icc_consistency") == pytest.approx(items / rater, abs=1e-12)
    assert observed(ratings, "icc_agreement") == pytest.approx(items / (rater + means), abs=1e-12)


def test_draws_scatter_as_the_coefficient_does():
    """The standard deviation of the draws is near the published standard error, by linearisation (irrCAC)."""
    abstractors = of_table([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    for name, error in (("cohen_kappa", 0.03535), ("gwet_ac2", 0.01792), ("krippendorff_alpha", 0.03540)):
        posterior = abstractors.agreement(name, "interval")
        # The unseen item, and that errors of a sample are not normal, add something.
        assert error * 0.9 < posterior.sd().item() < error * 1.3
        assert abs(posterior.mean().item() - posterior.observed.item()) < error
    assert posterior.joint_draws(5).dims == ("draw",)


def test_perfect_agreement_has_an_interval_with_width():
    posterior = bp.Ratings.from_table(pd.DataFrame({"a": [1, 2] * 10, "b": [1, 2] * 10})).agreement("cohen_kappa")
    low, high = posterior.eti().values
    assert posterior.observed.item() == 1
    assert 0.6 < low < 0.95
    assert high > 0.999


def test_what_no_item_speaks_against_has_no_width_and_a_warning():
    apart = bp.Ratings.from_table(pd.DataFrame({"a": [0, 1] * 15, "b": [1, 0] * 15}))
    with pytest.warns(UserWarning, match="BP701"):
        agreement = apart.agreement("icc_one_way")
    assert agreement.in_words() == "ICC one way is −1.000 (95 % HDI −1.000 to −1.000; observed −1.000)."


@few
def test_groups_of_raters_are_compared_on_the_same_items():
    table = some_answers(np.random.default_rng(4), items=60, missing=0)
    ratings = bp.Ratings.from_table(table)
    both = ratings.agreement("gwet_ac", groups={"first": [0, 1], "second": [2, 3]})
    assert both.dims == ("raters",)
    for name, raters in (("first", [0, 1]), ("second", [2, 3])):
        alone = bp.Ratings.from_table(table[raters]).agreement("gwet_ac")
        assert both.observed.sel(raters=name).item() == pytest.approx(alone.observed.item())
    difference = bp.compare(both, dim="raters").difference
    draws = both.joint_draws(4000)
    assert difference.mean().item() == pytest.approx((draws[0] - draws[1]).mean().item(), abs=1e-6)
    # The same items are hard for both groups.
    assert np.corrcoef(draws)[0, 1] > 0.2
    wider = ratings.agreement("gwet_ac", new_raters=True)
    assert wider.sd().item() > 1.1 * ratings.agreement("gwet_ac").sd().item()


def test_populations_stand_side_by_side():
    table = some_answers(np.random.default_rng(5), items=80).assign(site=["north", "south"] * 40)
    ratings = bp.Ratings.from_table(table, population="site")
    posterior = ratings.agreement()
    for site, part in table.groupby("site"):
        alone = bp.Ratings.from_table(part.drop(columns="site")).agreement()
        assert posterior.observed.sel(population=site).item() == pytest.approx(alone.observed.item())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coefficient": "kapa"}, "coefficient must be one of 'krippendorff_alpha'.*it is 'kapa'"),
        ({"level": "circular"}, "level must be one of"),
        ({"groups": {"x": ["ann", "dan"]}}, "groups: 'dan' are not among the raters"),
        ({"groups": {"x": ["ann"]}}, "groups: each needs two raters or more"),
        ({"new_raters": True}, "new_raters: two raters say nothing of others"),
        ({"level": "interval"}, "level: level='interval' needs answers that are numbers; they are 'no', 'yes'"),
        ({"coefficient": "icc_agreement"}, "level: icc_agreement needs answers that are numbers"),
    ],
)
def test_what_is_refused(arguments, message):
    ratings = bp.Ratings.from_table({"ann": ["yes", "no"] * 15, "bob": ["yes", "yes", "no"] * 10})
    with pytest.raises(InputError, match=message):
        ratings.agreement(**arguments)


def test_too_few_items_and_answers_given_twice():
    with pytest.raises(InputError, match="ratings: 2 items with two answers"):
        bp.Ratings.from_table({"a": [1, 2], "b": [1, 1]}).agreement()
    with pytest.warns(DependenceWarning, match="ratings: 4 items with two answers are few"):
        bp.Ratings.from_table({"a": [1, 2, 1, 2], "b": [1, 1, 1, 2]}).agreement()
    twice = pd.DataFrame([[1, 1, 2]] * 20, columns=["a", "a", "b"])
    with pytest.raises(InputError, match=r"answered an item twice.*a rater's name of its own"):
        bp.Ratings.from_table(twice).agreement()


@pytest.mark.parametrize(
    ("answers", "function", "message"),
    [
        ([(1, 1), (2, 2), (3, 3)], bp.Ratings.intraclass_intervals, "F tests need items that differ on average"),
        ([(1, 2), (2, 3), (3, 4)], bp.Ratings.intraclass_intervals, "raters who do not all see the same differences"),
        ([(1, 2), (2, 1)], bp.Ratings.intraclass_intervals, "F tests need items that differ on average"),
        ([(1, 2)], bp.Ratings.agreement_intervals, "krippendorff_alpha needs at least two items"),
    ],
)
def test_data_without_a_standard_error_are_refused(answers, function, message):
    with pytest.raises(ValueError, match=message):
        function(bp.Ratings.from_table(answers))


def test_intervals_of_perfect_agreement_have_no_width_and_a_warning():
    with pytest.warns(UserWarning, match=r"gwet_ac and brennan_prediger have no width.*BP701"):
        found = bp.Ratings.from_table([(1, 1), (2, 2), (1, 1)]).agreement_intervals()
    assert (found[["se", "ci_lower", "ci_upper"]] == [0, 1, 1]).all(axis=None)
