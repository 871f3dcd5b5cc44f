"""Preferences: printed figures by maximum likelihood, figures of the next comparison by integration, frames, advice."""

import itertools

import numpy as np
import pandas as pd
import pytensor
import pytest
import xarray as xr
from scipy import integrate, optimize, stats

import bayesperf as bp
from bayesperf.core.errors import IdentifiabilityWarning, InputError
from bayesperf.data.judged_pairs import judged_pairs
from bayesperf.models import preferences
from bayesperf.plan.next_outcomes import mutual_information

# ── Printed figures, as the mode under flat priors ──


def frame_of(rows):
    """Return a row for each judgement, from rows (a, b, wins of a, ties, wins of b)."""
    said = [
        (a, b, winner)
        for a, b, *numbers in rows
        for winner, number in zip((a, "tie", b), numbers, strict=True)
        for _ in range(number)
    ]
    return pd.DataFrame(said, columns=["a", "b", "winner"])


def likeliest(frame, **options):
    """Return the strengths at the mode of the likelihood, their covariance, and log-likelihood, order and tie there.

    The spread is held, because the deviations alone give every strength.
    """
    model = bp.models.build(frame, "preferences", options=options)
    observed = model.logp(vars=model.observed_RVs, jacobian=False)
    free = [value for value in model.value_vars if not value.name.startswith("spread")]
    strength = model.replace_rvs_by_values([model["strength"]])[0]
    outputs = [observed, *pytensor.gradient.grad(observed, free), strength]
    function = pytensor.function(model.value_vars, outputs, mode="FAST_COMPILE")
    start = model.initial_point()
    sizes = [start[value.name].size for value in free]

    def at(x):
        parts = iter(np.split(x, np.cumsum(sizes)[:-1]))
        values = [next(parts).reshape(start[v.name].shape) if v in free else start[v.name] for v in model.value_vars]
        logp, *slopes, strengths = function(*values)
        return logp, np.concatenate([np.ravel(slope) for slope in slopes]), strengths

    x, steps = np.zeros(sum(sizes)), 1e-5 * np.eye(sum(sizes))
    x = optimize.minimize(lambda x: [-part for part in at(x)[:2]], x, jac=True).x
    for _ in range(5):  # Newton's steps, to the last digit.
        curvature = np.array([(at(x + step)[1] - at(x - step)[1]) / 2e-5 for step in steps])
        x = x - np.linalg.solve(curvature, at(x)[1])
    logp, slope, strengths = at(x)
    assert abs(slope).max() < 1e-6
    per_unit = np.array([(at(x + step)[2] - at(x - step)[2]) / 2e-5 for step in steps])
    others = dict(zip([value.name for value in free], np.split(x, np.cumsum(sizes)[:-1]), strict=True))
    names = list(model.coords["model"])
    covariance = per_unit.T @ np.linalg.inv(-curvature) @ per_unit
    return pd.Series(strengths, names), pd.DataFrame(covariance, names, names), float(logp), others


def test_citations_of_statistics_journals():
    """Stigler (1994): log-abilities and deviance that BradleyTerry2 prints."""
    won = {
        ("Biometrika", "Comm Statist"): (730, 33), ("Biometrika", "JASA"): (498, 320),
        ("Biometrika", "JRSS-B"): (221, 284), ("Comm Statist", "JASA"): (68, 813),
        ("Comm Statist", "JRSS-B"): (17, 276), ("JASA", "JRSS-B"): (142, 325),
    }  # fmt: skip
    strength, _, logp, _ = likeliest(frame_of([(*pair, n, 0, m) for pair, (n, m) in won.items()]))
    printed = {"Biometrika": 0, "Comm Statist": -2.9491, "JASA": -0.4796, "JRSS-B": 0.2690}
    np.testing.assert_allclose(strength - strength["Biometrika"], pd.Series(printed)[strength.index], atol=5e-5)
    saturated = sum(n * np.log(n / (n + m)) + m * np.log(m / (n + m)) for n, m in won.values())
    assert 2 * (saturated - logp) == pytest.approx(4.293, abs=5e-4)


TEAMS = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"]
# Wins and losses at home of each team against the others in their order.
AT_HOME = {
    "Milwaukee": [(4, 3), (4, 2), (4, 3), (6, 1), (4, 2), (6, 0)],
    "Detroit": [(3, 3), (4, 2), (4, 3), (6, 0), (6, 1), (4, 3)],
    "Toronto": [(2, 5), (4, 3), (2, 4), (4, 3), (4, 2), (6, 0)],
    "New York": [(3, 3), (5, 1), (2, 5), (4, 3), (4, 2), (6, 1)],
    "Boston": [(5, 1), (2, 5), (3, 3), (4, 2), (5, 2), (6, 0)],
    "Cleveland": [(2, 5), (3, 3), (3, 4), (4, 3), (4, 2), (2, 4)],
    "Baltimore": [(2, 5), (1, 5), (1, 6), (2, 4), (1, 6), (3, 4)],
}
BASEBALL = frame_of(
    [
        (home, away, won, 0, lost)
        for home, games in AT_HOME.items()
        for away, (won, lost) in zip([team for team in TEAMS if team != home], games, strict=True)
    ]
)


@pytest.mark.parametrize(
    ("order", "printed", "digits"),
    [
        (False, {"Boston": (1.1077, 0.3339), "Cleveland": (0.6839, 0.3319), "Detroit": (1.4364, 0.3396),
                 "Milwaukee": (1.5814, 0.3433), "New York": (1.2476, 0.3359), "Toronto": (1.2945, 0.3367)}, 4),
        (True, {"Boston": (1.1438027, 0.3378422), "Cleveland": (0.7046945, 0.3350014),
                "Detroit": (1.4753572, 0.3445518), "Milwaukee": (1.619555, 0.3473653),
                "New York": (1.2813404, 0.3404034), "Toronto": (1.3271104, 0.3403222)}, 7),
    ],
)  # fmt: skip
def test_baseball_teams_at_home(order, printed, digits):
    """Agresti (2002, section 10.6): log-abilities, standard errors and the home effect that BradleyTerry2 prints."""
    strength, covariance, _, others = likeliest(BASEBALL, order=order)
    for team, (ability, error) in printed.items():
        between = covariance.loc[[team, "Baltimore"], [team, "Baltimore"]].to_numpy()
        assert strength[team] - strength["Baltimore"] == pytest.approx(ability, abs=0.51 * 10.0**-digits)
        # Glm stops its iterations before the last digit of the errors.
        assert np.sqrt(np.array([1, -1]) @ between @ [1, -1]) == pytest.approx(
            error, abs=max(0.51 * 10.0**-digits, 2e-6)
        )
    if order:
        assert others["order"].item() == pytest.approx(0.302, abs=5e-4)


def test_ties_of_sound_fields_of_flutes():
    """Kousgaard (1984, table 5): effects of three factors on half the log-abilities of Davidson's model."""
    fields = ["".join(field) for field in itertools.product("10", repeat=3)]
    pairs = list(itertools.combinations(fields, 2))
    counts = [
        "113", "014", "014", "221", "311", "500", "500", "302", "122", "212", "212", "410", "311", "302", "203", "302",
        "320", "311", "104", "113", "500", "401", "203", "410", "122", "500", "410", "221",
    ]  # fmt: skip
    strength, *_ = likeliest(frame_of([(*pair, *map(int, n)) for pair, n in zip(pairs, counts, strict=True)]))
    signs = np.array([[1 if level == "1" else -1 for level in field] for field in fields])
    terms = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    effects = [(signs[:, term].prod(1) * strength[fields] / 2).mean() for term in terms]
    np.testing.assert_allclose(effects, [0.267, 0.250, -0.088, -0.294, 0.062, 0.009, -0.070], atol=5.1e-4)


# ── The next comparison ──

JUDGED = pd.DataFrame(
    {
        "a": ["x", "y", "x", "z", "x", "y"],
        "b": ["y", "x", "z", "y", "y", "z"],
        "winner": ["x", "tie", "x", "b", "a", "tie"],
        "prompt": [1, 1, 2, 2, 3, 3],
        "judge": ["j", "k", "j", "k", "k", "j"],
        "length_a": [10, 20, 30, 10, 5, 8],
        "length_b": [12, 22, 20, 20, 9, 8],
    }
)


def draws(**values):
    """Return one draw of variables, of which arrays are over the systems."""
    dims = {"strength": ("model",)}
    found = {
        name: (("chain", "draw", *dims.get(name, ())), np.asarray(value)[None, None]) for name, value in values.items()
    }
    return xr.Dataset(found, {"model": ["x", "y", "z"]})


def test_the_next_comparison_is_on_a_new_prompt_and_in_either_order():
    one = draws(strength=[0.9, -0.2, -0.7], spread=0.8, tie=0.6, order=0.5, prompt_spread=0.7)
    wins, losses, ties = preferences.next_outcomes(one, 0, order=True)[:, 0, 0]

    def of_outcome(outcome, other):
        def given(u, sign):
            d = 0.9 - one["strength"].values[0, 0, other] + u + 0.5 * sign
            terms = np.array([np.exp(d / 2), np.exp(-d / 2), 0.6])
            return terms[outcome] / terms.sum() * stats.norm.pdf(u, 0, 0.7 * np.sqrt(2))

        return np.mean([integrate.quad(given, -12, 12, args=(sign,))[0] for sign in (1, -1)])

    for other in (1, 2):
        np.testing.assert_allclose(
            [wins[other], losses[other], ties[other]], [of_outcome(outcome, other) for outcome in range(3)], atol=1e-6
        )
    rate = preferences.recover(one, judged_pairs(JUDGED[["a", "b", "winner"]]), None, order=True)["win_rate"]
    assert rate.sel(model="x").item() == pytest.approx(np.mean([wins[o] + ties[o] / 2 for o in (1, 2)]))


def test_information_about_the_best_is_that_of_the_joint_table():
    """Two groups of draws, and an outcome that is likelier in one of them: mutual information cell by cell."""
    outcomes = np.array([[0.7, 0.7, 0.2], [0.2, 0.2, 0.5], [0.1, 0.1, 0.3]])[..., None]
    groups = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]])
    joint = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]]) * [[2 / 3], [1 / 3]]
    expected = (joint * np.log2(joint / np.outer(joint.sum(1), joint.sum(0)))).sum()
    assert mutual_information(outcomes, groups).item() == pytest.approx(expected)


# ── Frames ──


def test_rows_of_a_frame_are_counted():
    data = judged_pairs(JUDGED, ("length",))
    facts = data.attrs
    assert data["outcome"].values.tolist() == ["a", "b", "tie"]
    assert (facts["models"], facts["judges"], facts["covariates"]) == (["x", "y", "z"], ["j", "k"], ["length"])
    said = {
        (facts["models"][a], facts["models"][b], facts["judges"][j], facts["answers"][p]): counts.tolist()
        for a, b, j, p, counts in zip(
            facts["first"], facts["second"], facts["judged_by"], facts["first_answer"], data.values, strict=True
        )
    }
    assert said[("x", "y", "j", "x, 1")] == [1, 0, 0]
    assert said[("y", "x", "k", "y, 1")] == [0, 0, 1]
    assert said[("z", "y", "k", "z, 2")] == [0, 1, 0]
    apart = JUDGED["length_a"] - JUDGED["length_b"]
    assert np.sort(facts["difference"][:, 0]) == pytest.approx(np.sort(apart / np.sqrt((apart**2).mean())))


def test_a_row_may_stand_for_several_judgements():
    """Games of seven teams with their numbers of wins, as such tables are printed, are those one by one."""
    rows = BASEBALL.groupby(["a", "b", "winner"]).size().rename("count").reset_index()
    xr.testing.assert_identical(judged_pairs(rows), judged_pairs(BASEBALL))
    with pytest.raises(InputError, match=r"column 'count' holds 0\.5"):
        judged_pairs(rows.assign(count=0.5))


def test_what_the_frame_does_not_tell_apart_is_not_modelled():
    data = judged_pairs(JUDGED.assign(judge="j", prompt=range(6), winner=["a", "b", "a", "b", "a", "b"]))
    assert data.sizes["outcome"] == 2
    assert not {"judges", "answers", "covariates"} & set(data.attrs)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"winner": "w"}, "'winner' holds 'w', which is neither of the two systems of its row, nor 'tie'"),
        ({"winner": None}, "'winner' has 6 missing values"),
        ({"b": "x"}, "in a row 'x' meets itself"),
        ({"length_a": np.inf}, "must hold finite numbers that differ"),
        ({"length_a": 1, "length_b": 1}, "must hold finite numbers that differ"),
    ],
)
def test_frames_that_are_refused(changes, words):
    with pytest.raises(InputError, match=words):
        judged_pairs(JUDGED.assign(**changes), ("length",))


def test_columns_that_are_refused():
    with pytest.raises(InputError, match="has no column 'winner'"):
        judged_pairs(JUDGED.drop(columns="winner"))
    for covariates in ("length", {"length": np.zeros(len(JUDGED))}):
        with pytest.raises(TypeError, match="must be a sequence of names"):
            bp.models.build(JUDGED, "preferences", options={"covariates": covariates})
    with pytest.raises(ValueError, match="has no 'covariate'; it has 'order', 'covariates'"):
        bp.models.build(JUDGED, "preferences", options={"covariate": ["length"]})


def test_systems_that_never_met_are_named():
    apart = frame_of([("x", "y", 3, 0, 1), ("v", "w", 2, 0, 2)])
    with pytest.warns(IdentifiabilityWarning, match=r"2 groups .*: v and w; x and y\. Between groups .*BP406"):
        judged_pairs(apart)


# ── Answers ──


def test_a_fit_answers_as_other_posteriors_do(sampler, tmp_path):
    tree = bp.fit(JUDGED, "preferences", options={"order": True, "covariates": ["length"]}, draws=50, random_seed=1)
    compared = bp.compare(tree, metric="win_rate")
    beats, rate = tree["posterior"]["beats"], tree["posterior"]["win_rate"]
    ties = 1 - beats - beats.transpose("chain", "draw", "model_other", "model").values
    against_others = (beats + ties / 2).sum("model_other") - 0.5
    np.testing.assert_allclose(rate, against_others / 2, atol=1e-12)
    assert compared.prob_best.sum() == pytest.approx(1)
    assert compared.shrunk is not None
    assert "drawn towards those like them" in compared.in_words()
    assert compared.summary().attrs["prior"].startswith("spread ~ HalfNormal")
    compared.save(tmp_path / "ranking.nc")
    assert bp.load(tmp_path / "ranking.nc").in_words() == compared.in_words()
    with pytest.raises(InputError, match="the model has drawn the systems towards each other"):
        bp.compare(tree, metric="win_rate", shrink=True)
    with pytest.raises(TypeError, match="metric: name what is compared, as metric='strength'"):
        bp.compare(tree)
    with pytest.raises(InputError, match=r"has no variable 'cells'.*Marginal\.from_datatree\(tree, 'strength'\)"):
        bp.Posterior.from_datatree(tree)
    weight = bp.Marginal.from_datatree(tree, "judge_weight")
    assert (weight.quantity.greater_is_better, weight.estimand) == (None, "Posterior of the judge weight")
    np.testing.assert_allclose(np.log(tree["posterior"]["judge_weight"]).sum("judge"), 0, atol=1e-9)
    with pytest.raises(InputError, match="there are no draws of 'skill'"):
        bp.Marginal.from_datatree(tree, "skill")
    advice = bp.plan.next_pairs(tree, 2)
    assert advice["information"].is_monotonic_decreasing
    assert advice["judged"].isin([1, 2, 3]).all()
    with pytest.raises(TypeError, match="must be a fit of the model 'preferences'"):
        bp.plan.next_pairs(xr.DataTree())
