"""Credit, and predicted numbers, in the shell: what `bayesperf.curves.weighted_score` says of them."""

import json

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf.curves import weighted_score

RNG = np.random.default_rng(4)
TASKS = np.arange(40)
CREDIT = {"new": RNG.beta(3, 1, 40).round(3), "old": RNG.beta(2, 1, 40).round(3)}
TRUTH = RNG.normal(20, 5, 50).round(2)
GUESSES = {name: (TRUTH + RNG.normal(0, sd, 50)).round(2) for name, sd in {"new": 1, "old": 1.5}.items()}


@pytest.fixture
def credit(tmp_path):
    rows = [pd.DataFrame({"system": name, "task": TASKS, "credit": values}) for name, values in CREDIT.items()]
    path = tmp_path / "credit.csv"
    pd.concat(rows).sample(frac=1, random_state=1).to_csv(path, index=False)
    return path


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "numbers.csv"
    pd.DataFrame({"y": TRUTH, **GUESSES}).to_csv(path, index=False)
    return path


def test_mean_credit_of_systems_on_the_same_tasks(shell, credit):
    asked = [credit, "--credit", "credit", "--system", "system", "--bounds", "0,1"]
    done = shell("compare", *asked, "--id", "task", "--baseline", "old", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    expected = bp.compare(weighted_score("mean", CREDIT, bounds=(0, 1), draws=10_000), baseline="old")
    (row,) = said["differences"]
    error = expected.difference.sd().item() / np.sqrt(10_000)
    assert row["mean"] == pytest.approx(expected.difference.mean().item(), abs=6 * error)
    assert row["sd"] == pytest.approx(expected.difference.sd().item(), rel=6 / np.sqrt(2 * 10_000))
    assert said["comparison_in_words"][0].startswith("On mean credit, new is ")
    summary = shell("summary", *asked)
    assert "Mean credit is 0." in summary.stdout
    assert summary.stderr == ""


def test_systems_that_share_no_task_have_weights_of_their_own(shell, credit):
    done = shell("compare", credit, "--credit", "credit", "--system", "system", "--json")
    (row,) = json.loads(done.stdout)["differences"]
    # Without a range, the mean has the variance of the values over n + 1.
    variance = sum(values.var() for values in CREDIT.values()) / 41
    assert row["sd"] == pytest.approx(np.sqrt(variance), rel=4 / np.sqrt(2 * 10_000))
    assert "assumed to be tested on different examples" in shell("compare", credit, "--credit", "credit", "--system",
                                                                 "system").stdout  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("error", ["mae", "rmse"])
def test_errors_of_predicted_numbers(shell, numbers, error):
    done = shell("summary", numbers, "--error", error, "--actual", "y", "--predicted", "new", "--predicted", "old",
                 "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [row["observed"] for row in json.loads(done.stdout)["summary"]]
    each = [np.abs(values - TRUTH) for values in GUESSES.values()]
    expected = [e.mean() if error == "mae" else np.sqrt((e**2).mean()) for e in each]
    assert found == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--credit", "system"], "'system' must hold numbers; it holds 'new'"),
        (["--credit", "credit", "--bounds", "0"], "--bounds must be two numbers, such as 0,1; it is 0"),
        (["--credit", "credit", "--bounds", "0,.5"], "--credit must be within"),
        (["--credit", "credit", "--require", "recall>=0.8"], "--credit does not go with --require"),
        (["--error", "mape", "--actual", "credit", "--predicted", "task"], "--error must be mae or rmse"),
        (["--bounds", "0,1"], "--bounds needs --credit or --error"),
    ],
)
def test_bad_input(shell, credit, options, message):
    done = shell("summary", credit, *options)
    assert done.returncode == 2
    assert message in done.stderr
