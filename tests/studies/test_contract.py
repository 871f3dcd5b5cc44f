"""What all studies have in common: how their simulations are kept, resumed and extended, and how they are saved."""

import errno
import os
import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import xarray as xr
from sklearn.naive_bayes import GaussianNB

import bayesperf as bp
from bayesperf import studies
from bayesperf.studies.running import interval_outcomes, monte_carlo_means

# The package has a function of that name too.
running = import_module("bayesperf.studies.running")

CM = bp.ConfusionMatrix.from_counts(tp=9, fn=2, fp=3, tn=8)
FEATURES = np.random.default_rng(0).normal(size=(30, 1)) + np.repeat([0, 2], 15)[:, None]


@dataclass
class Case:
    """A study in its smallest form, and a change of it that is another study."""

    arguments: dict[str, Any]
    change: dict[str, Any]
    fixtures: tuple[str, ...] = field(default=())


SIMULATED = {
    "coverage": Case({"cells": [[0.4, 0.1], [0.2, 0.3]], "metric": "mcc", "n": [9, 12], "n_resamples": 20,
                      "methods": ["flat_eti", "delta", "bootstrap_bca"]}, {"metric": "f1"}),
    "dependence": Case({"persistence": [0.5, 0.8], "n": 20}, {"n": 21}),
    "repeated_splits": Case({"estimator": GaussianNB(), "X": FEATURES, "y": np.repeat([0, 1], 15), "draws": 20},
                            {"X": FEATURES + 1}),
    "sequential": Case({"steps": [1, 2], "batch": 10, "estimator": GaussianNB(), "draws": 20}, {"batch": 11}),
    "simulation_based_calibration": Case({"model": "rates", "data": CM, "draws": 10, "tune": 10, "thin": 2},
                                         {"thin": 3}, ("sampler",)),
}  # fmt: skip
# Its simulations are one for each scale.
SPREAD = Case({"cm": CM, "scale": [1, 2, 3, 4], "draws": 20}, {"draws": 21})
EXACT = {
    "f1_coverage": Case({"n": 5, "methods": ["wilson"], "precision": [0.5], "recall": [0.5, 0.9]}, {}),
    "rate_coverage": Case({"n": [3, 5], "methods": ["wald", "wilson"], "p": [0.2, 0.5]}, {}),
}


def test_no_study_is_forgotten():
    assert {*SIMULATED, *EXACT, "predictive_spread", "binary_cells"} == set(studies.__all__)


@pytest.fixture
def simulated(monkeypatch):
    """Record the indices of the simulations that are run."""
    indices = []

    def batch(simulate, some, *settings):
        indices.extend(some)
        return original(simulate, some, *settings)

    original = running._batch
    monkeypatch.setattr(running, "_batch", batch)
    return indices


@pytest.fixture(params=SIMULATED)
def study(request):
    """Return a function that runs the study with a number of simulations."""
    case = SIMULATED[request.param]
    for fixture in case.fixtures:
        request.getfixturevalue(fixture)

    def run(simulations, **options):
        return getattr(studies, request.param)(**case.arguments | {"simulations": simulations} | options)

    run.change = case.change
    return run


def same(one, other):
    xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())
    # A study that runs past midnight has another date.
    assert {**one.attrs, "date": ""} == {**other.attrs, "date": ""}


@pytest.mark.few(1)
def test_an_interrupted_study_is_resumed_and_can_be_extended(study, simulated, tmp_path):
    fresh = study(3)
    simulated.clear()
    first = study(2, folder=tmp_path)
    (tmp_path / "000000.npz").unlink()
    same(study(2, folder=tmp_path), first)
    assert simulated == [0, 1, 0]
    simulated.clear()
    same(study(3, folder=tmp_path), fresh)
    assert simulated == [2]
    # And the first two are still what they were.
    same(study(2, folder=tmp_path), first)
    assert simulated == [2]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_a_folder_of_other_settings_is_refused(study, tmp_path):
    study(2, folder=tmp_path)
    for change in (study.change, {"random_seed": 1}):
        with pytest.raises(
            ValueError, match=r"folder: .* holds a study with other settings\. Name another, or remove it\."
        ):
            study(2, **change, folder=tmp_path)


def saved_and_loaded(study, path):
    study.to_netcdf(path)
    loaded = xr.load_dataset(path)
    xr.testing.assert_identical(loaded.drop_attrs(), study.drop_attrs())
    assert set(loaded.attrs) == set(study.attrs)
    for name, value in study.attrs.items():
        # NetCDF keeps a list of one value as that value.
        np.testing.assert_array_equal(np.atleast_1d(loaded.attrs[name]), np.atleast_1d(value), err_msg=name)


@pytest.mark.slow
def test_a_study_has_monte_carlo_errors_and_can_be_saved_and_loaded(study, tmp_path):
    result = study(2)
    assert result.attrs["simulations"] == 2
    for name in ("coverage", "lower_miss", "upper_miss", "width", "score", "undefined", "no_width", "mean", "bias"):
        if name in result:
            error = result[f"{name}_mcse"]
            assert error.dims == result[name].dims
            assert (error >= 0).all()
    saved_and_loaded(result, tmp_path / "study.nc")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_an_exact_study_can_be_saved_and_loaded(name, tmp_path):
    saved_and_loaded(getattr(studies, name)(**EXACT[name].arguments), tmp_path / "study.nc")


@pytest.mark.slow
def test_a_study_of_scales_has_the_contract_of_the_others(simulated, tmp_path):
    whole = studies.predictive_spread(**SPREAD.arguments)
    saved_and_loaded(whole, tmp_path / "study.nc")
    studies.predictive_spread(**SPREAD.arguments, folder=tmp_path / "kept")
    (tmp_path / "kept" / "000002.npz").unlink()
    simulated.clear()
    same(studies.predictive_spread(**SPREAD.arguments, folder=tmp_path / "kept"), whole)
    assert simulated == [2]
    with pytest.raises(ValueError, match="holds a study with other settings"):
        studies.predictive_spread(**SPREAD.arguments | SPREAD.change, folder=tmp_path / "kept")


# ── The folder ──


def one_study(folder, **options):
    return studies.dependence([0.5], n=20, simulations=3, folder=folder, **options)


def as_truncated(path):
    path.write_bytes(path.read_bytes()[:-40])


def as_empty(path):
    path.write_bytes(b"")


def as_pickle(path):
    np.savez(path, intervals=np.array([{}, None], dtype=object))


def as_of_another_study(path):
    np.savez(path, intervals=np.zeros((7, 2, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [as_truncated, as_empty, as_pickle, as_of_another_study])
def test_a_damaged_result_is_named(damage, tmp_path):
    whole = one_study(tmp_path)
    damage(tmp_path / "000001.npz")
    with pytest.raises(ValueError, match=r"folder: .*000001\.npz is damaged .* Remove that file: its"):
        one_study(tmp_path)
    (tmp_path / "000001.npz").unlink()
    same(one_study(tmp_path), whole)


@pytest.mark.parametrize("text", ["", '{"n": 20'])
def test_damaged_settings_are_named(text, tmp_path):
    one_study(tmp_path)
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ValueError, match=r"folder: .*settings\.json is damaged .* Name another folder, or remove"):
        one_study(tmp_path)


def test_results_without_settings_are_refused(tmp_path):
    one_study(tmp_path)
    (tmp_path / "settings.json").unlink()
    with pytest.raises(ValueError, match=r"holds results without their settings\.json"):
        one_study(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["settings.json", "000001.npz"])
def test_files_are_written_whole_or_not_at_all(name, tmp_path, monkeypatch):
    """What is interrupted while it is written leaves nothing behind."""
    replace = running.Path.replace

    def interrupted(source, target):
        if target.name == name:
            raise KeyboardInterrupt
        return replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(running.Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            one_study(tmp_path)
    assert name not in {path.name for path in tmp_path.iterdir()}
    assert not list(tmp_path.glob(".*"))
    same(one_study(tmp_path), one_study(None))


def load(path):
    """Return what is said of a file, and what is in it."""
    try:
        return "", running._load(path)
    except ValueError as error:
        return str(error), None


def test_a_file_with_any_byte_changed_is_named_or_says_the_same(tmp_path):
    path = tmp_path / "000001.npz"
    running._save(path, {"intervals": np.arange(6.0).reshape(3, 2)})
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bits in (1, 128):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bits]) + whole[place + 1 :])
            said, loaded = load(path)
            if loaded is None:
                assert re.fullmatch(r"folder: .*000001\.npz is damaged \((?s:.+)\)\. Remove that file: .*", said)
            # Without its array it is unlike the files of the other simulations.
            elif loaded:
                np.testing.assert_array_equal(loaded["intervals"], np.arange(6.0).reshape(3, 2))


def failing_at(index, error):
    """A simulation that fails once at one index."""
    fails = iter([True])

    def simulate(i, rng):
        if i == index and next(fails, False):
            raise error
        return {"x": rng.normal(size=2)}

    return simulate


def test_what_was_finished_before_an_interruption_is_kept(simulated, tmp_path):
    simulate = failing_at(2, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        running.run(simulate, 4, {"random_seed": 5}, folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000.npz", "000001.npz", "settings.json"]
    # What a process that was killed left behind is nobody's.
    (tmp_path / ".1.part").write_bytes(b"half")
    simulated.clear()
    found = running.run(simulate, 4, {"random_seed": 5}, folder=tmp_path)
    assert simulated == [2, 3]
    np.testing.assert_array_equal(found["x"], [np.random.default_rng([5, i]).normal(size=2) for i in range(4)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["settings.json", "000001.npz"])
def test_a_full_disk_leaves_what_was_there_before(name, tmp_path, monkeypatch):
    write = running.write_whole

    def on_a_full_disk(path, content):
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(running, "write_whole", on_a_full_disk)
        message = rf"No space left on device; what was finished before is kept, and the same call.*{name}"
        with pytest.raises(OSError, match=message) as caught:
            one_study(tmp_path)
    assert caught.value.errno == errno.ENOSPC
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ([] if name == "settings.json" else ["000000.npz", "settings.json"])
    same(one_study(tmp_path), one_study(None))


# ── Means over simulations ──


def test_coverage_misses_and_widths():
    lower, upper = np.array([0.0, 0.2, 0.5, np.nan]), np.array([0.4, 0.3, 0.5, np.nan])
    outcomes = interval_outcomes(lower, upper, np.array([0.4, 0.1, 0.6, 0.5]))
    assert outcomes["coverage"].tolist() == [True, False, False, False]
    assert outcomes["lower_miss"].tolist() == [False, True, False, False]
    assert outcomes["upper_miss"].tolist() == [False, False, True, False]
    np.testing.assert_allclose(outcomes["width"], [0.4, 0.1, 0, np.nan], atol=1e-15)


def test_means_and_their_errors_are_of_what_is_defined():
    values = np.array([[1.0, 5], [2, np.nan], [4, np.nan], [np.nan, np.nan]])
    means = monte_carlo_means({"x": values, "y": values > 1.5}, np.isfinite(values))
    np.testing.assert_allclose(means["x"], [7 / 3, 5])
    np.testing.assert_allclose(means["x_mcse"], [np.std([1, 2, 4]) / np.sqrt(3), 0])
    np.testing.assert_allclose(means["y"], [2 / 3, 1])
    np.testing.assert_allclose(means["y_mcse"], [np.sqrt(2 / 9 / 3), 0])
    nothing = monte_carlo_means({"x": values[3:]}, np.isfinite(values[3:]))
    assert np.isnan(nothing["x"]).all()
    assert np.isnan(nothing["x_mcse"]).all()
