"""What all studies of our own methods have in common: each in its smallest form, and the tables that they write."""

from importlib import import_module
from inspect import signature

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from validation import __main__ as command
from validation.study import FOLDER, Study, interval_figures, means, run, table

running = import_module("bayesperf.studies.running")
FILES = command.studies()
SMALLEST = {
    "agreement": {"n_groups": 4, "draws": 10, "chains": 2},
    "areas": {"auc": 0.7, "n": 8, "draws": 20},
    "attempts": {"k": [1, 2], "n_questions": 6, "n_attempts": 2, "draws": 20},
    "bands": {"auc": 0.8, "n": 6, "draws": 10, "methods": ["bayesian_bootstrap", "wilson"]},
    "before_labels": {"truth": ["bent"], "labelled": [20, 30], "n": 20, "draws": 20},
    "best_of_many": {"systems": 3, "spread": [0.1, 0.2], "examples": 20, "draws": 20},
    "binary_reads": {"n_readers": [3, 4], "between": 0.3, "cases": 6, "draws": 20},
    "brier": {"n": [8, 10], "population": ["calibrated"], "draws": 20},
    "class_areas": {"n": [20, 30], "separation": [1.0, 2.0], "classes": 3, "population": 60, "draws": 20},
    "clustered_areas": {"n_groups": [6, 8], "correlation": 0.2, "draws": 20},
    "clusters": {"dispersion": [0.1], "prevalence_dispersion": [0.1, 0.4], "n_groups": 4, "draws": 20},
    "judged_outcomes": {"verified": [20], "judge": ["good"], "pass_rate": [0.8], "n": 60, "draws": 50},
    "judges": {"verified": [20], "examples": 60, "draws": 50},
    "credit": {"n": [5, 8], "population": ["skewed"], "draws": 20},
    "cross_validation": {"n": 20, "folds": 2, "repeats": 2, "draws": 20},
    "crossed_bootstrap": {"n_readers": [3, 4], "between": 0.3, "cases": 8, "draws": 20},
    "decision_bands": {"prevalence": 0.3, "n": 20, "draws": 20, "thresholds": [0.2, 0.5]},
    "epc_comparison": {"n": 8, "alphas": [0.5], "draws": 10},
    "expected_performance": {"n": 8, "alphas": [0.5], "draws": 10},
    "grades": {"n": [5, 8], "population": ["skewed"], "draws": 20},
    "items": {"items": [6, 8], "scenario": "only the harder set", "systems": 4, "draws": 20},
    "known_shares": {"population": ["good", "rare"], "n": 6, "strata": 2, "draws": 20},
    "many_items": {"systems": [2, 3], "seen": 1.0, "items": 8, "draws": 20},
    "many_classes": {"classes": 3, "examples": [4, 9], "prior": ["perks", "shared"], "draws": 20},
    "pairing": {"correlation": [0.5], "n": 20},
    "preferences": {"votes": [4, 6], "systems": 3, "draws": 20},
    "prevalence": {"prevalence_": [0.1, 0.5], "n": 50, "calibration": ["40 + 40"]},
    "parity": {"population": ["alike"], "n": 10, "groups": 2, "draws": 20},
    "rater_agreement": {"n": [20, 24], "population": ["two raters, 0.95"], "draws": 20},
    "recalibration": {"system": "skewed", "n": 20, "methods": ["logistic"], "draws": 20},
    "reliability_bands": {"system": "skewed", "n": 20, "methods": ["bins"], "bins": 4},
    "resampled_clusters": {"n_groups": [4, 5], "dispersion": 0.1, "draws": 20},
    "sites": {"n_groups": [2, 3], "group_size": 5},
    "slices": {"analyses": ["alone", "one_dim"], "sites": 3, "devices": 2},
    "summary_points": {"n_studies": [3, 4], "spread": 0.5, "draws": 20},
    "thresholds": {"n": [20, 30], "metrics": ("recall",), "draws": 20},
    "verification": {"verified": [20, 30], "examples": 200, "draws": 20},
}
STUDIES = {name: module.STUDY for name, module in FILES.items() if hasattr(module, "STUDY")}
# Of exact sums, and of studies of `bayesperf.studies`.
OTHERS = {"coverage", "repeated_looks", "sequences"}


def test_no_study_is_forgotten():
    assert SMALLEST.keys() == STUDIES.keys(), "a row of SMALLEST"
    assert FILES.keys() == STUDIES.keys() | OTHERS


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALLEST)
def test_a_study_runs_resumes_and_has_monte_carlo_errors(name, tmp_path, request, monkeypatch):
    if name in ("agreement", "binary_reads", "items", "preferences"):
        request.getfixturevalue("sampler")
    study, changes, simulated = STUDIES[name], SMALLEST[name], []

    def batch(simulate, some, *settings):
        simulated.extend(some)
        return original(simulate, some, *settings)

    original = running._batch
    monkeypatch.setattr(running, "_batch", batch)
    first = run(study, 2, folder=tmp_path, **changes)
    run(study, 3, folder=tmp_path, **changes)
    (tmp_path / "000000.npz").unlink()
    xr.testing.assert_identical(run(study, 2, folder=tmp_path, **changes), first)
    assert simulated == [0, 1, 2, 0]
    for figure in {"coverage", "width", "bias"} & first.data_vars.keys():
        error = first[f"{figure}_mcse"]
        assert error.dims == first[figure].dims
        assert np.isfinite(first[figure]).any()
        assert (error >= 0).any()


@pytest.mark.parametrize("name", STUDIES)
def test_a_simulation_knows_all_settings_and_cases_change_no_others(name):
    study, module = STUDIES[name], FILES[name]
    known = study.grid.keys() | study.settings.keys()
    taken = signature(study.simulate).parameters
    # Whatever is passed on as it is.
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        assert set(taken) - {"rng", "rngs"} == known
    for attribute in vars(module).values():
        cases = attribute if isinstance(attribute, list) else []
        for _, simulations, changes in (case for case in cases if isinstance(case, tuple) and len(case) == 3):
            assert changes.keys() <= known | {"random_seed"}
            assert simulations > 1


def test_every_table_has_a_study_and_names_its_figures():
    tables = {table for module in FILES.values() for table in module.TABLES}
    assert sum(len(module.TABLES) for module in FILES.values()) == len(tables)
    stored = {path.stem: pd.read_csv(path) for path in (command.HERE / "tables").glob("*.csv")}
    assert stored.keys() <= tables
    assert all(len(table) for table in stored.values())


# ── The skeleton ──


def of_normals(rng, *, n, mean, levels):
    """A study of the mean of n normal values: whether intervals of some levels cover it, and their width."""
    x, half = rng.normal(mean, 1, n).mean(), np.array(levels) / np.sqrt(n)
    return interval_figures(x - half, x + half, mean) | {"x": x}


NORMALS = Study({"n": (4, 100), "mean": (0.0, 5.0)}, of_normals, rows={"level": "levels"}, settings={"levels": (1, 2)})


def test_places_of_the_grid_share_the_stream_of_a_simulation():
    found = run(NORMALS, 200, random_seed=3)
    expected = np.empty((200, 2, 2))
    for index in range(200):
        rng = np.random.default_rng([3, index])
        expected[index] = [[rng.normal(mean, 1, n).mean() for mean in (0, 5)] for n in (4, 100)]
    np.testing.assert_allclose(found["x"].transpose("n", "mean"), expected.mean(0))
    np.testing.assert_allclose(found["x_mcse"].transpose("n", "mean"), expected.std(0) / np.sqrt(200))
    assert found["coverage"].dims == ("level", "n", "mean")
    # One and two standard errors.
    coverage = found["coverage"].mean(["n", "mean"])
    assert coverage.values == pytest.approx([0.683, 0.954], abs=4 * np.sqrt(0.22 / 800))
    np.testing.assert_allclose(found["width"].sel(mean=0.0), [[1, 0.2], [2, 0.4]])


def test_simulations_in_batches_are_those_of_one_by_one(tmp_path):
    def together(rngs, **settings):
        return [of_normals(rng, **settings) for rng in rngs.values()]

    batches = Study(NORMALS.grid, together, rows=NORMALS.rows, settings=NORMALS.settings, batch=3)
    xr.testing.assert_identical(run(batches, 7), run(NORMALS, 7))


def test_where_there_is_no_interval_nothing_is_said():
    found = interval_figures(np.array([0.0, np.nan]), np.array([1.0, np.nan]), 0.5)
    assert found["coverage"].tolist() == pytest.approx([1, np.nan], nan_ok=True)
    over = means({name: np.array([values, values]) for name, values in found.items()}, {})
    assert over["coverage"].tolist() == pytest.approx([1, np.nan], nan_ok=True)


def test_a_table_has_labels_figures_and_how_many_simulations(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = [({"kind": "few"}, 5, {"n": 4, "mean": 0.0}), ({"kind": "many"}, 6, {"n": 9, "mean": 0.0})]
    found = table(NORMALS, cases, name="normals")
    assert list(found) == ["kind", "level", "n", "mean", "coverage", "coverage_mcse", "width", "simulations"]
    assert found["n"].tolist() == [4, 4, 9, 9]
    assert found["simulations"].tolist() == [5, 5, 6, 6]
    assert len(list((FOLDER / "normals" / "1").glob("*.npz"))) == 6


def test_a_setting_that_no_study_has_is_refused():
    with pytest.raises(ValueError, match="the study has no size; it has n, mean, levels"):
        run(NORMALS, 2, size=3)


@pytest.mark.slow
def test_the_command_writes_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "HERE", tmp_path)
    (tmp_path / "tables").mkdir()
    command.main("repeated_looks")
    assert pd.read_csv(tmp_path / "tables" / "repeated_looks.csv")["met"].between(0, 1).all()
