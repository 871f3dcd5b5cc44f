"""The command ``bayesperf compile``, and where what it compiles is kept."""

import subprocess
import sys
from functools import partial

import pytest

import bayesperf as bp
from bayesperf.sampling import precompiling as precompile
from bayesperf.sampling.data_kinds import DATA_KINDS

# A fit in a process of its own; prints the functions that Numba compiled for it.
FIT = """
import numpy as np
import pytensor
from numba.core import event

import bayesperf as bp

compiled = []


class Listener(event.Listener):
    def on_start(self, event):
        pass

    def on_end(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)


event.register("numba:compile", Listener())
tables = np.random.default_rng(1).integers(1, 30, (7, 2, 2))
cm = bp.ConfusionMatrix.from_table(tables, labels=["no", "yes"], dims=["site"])
bp.fit(cm, "groups", method="mcmc", draws=100, tune=200, random_seed=1, progressbar=False)
print(sorted(set(compiled)))
"""


@pytest.fixture
def call(shell):
    return partial(shell, "compile")


@pytest.fixture
def built(monkeypatch):
    """Return the models that would be compiled."""
    models = []
    monkeypatch.setattr(precompile, "compiled", models.append)
    return models


def run(*arguments, flags):
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments], check=False, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONUTF8": "1", "PYTENSOR_FLAGS": flags},
    )  # fmt: skip


@pytest.mark.slow
def test_a_line_a_model(call, built):
    done = call()
    assert (done.returncode, done.stderr) == (0, "")
    *lines, last = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == bp.models.names()
    assert last == f"What was compiled is in {precompile.folder()}"
    assert precompile.folder().is_dir()


def test_only_the_models_that_are_named(call, built):
    done = call("rates", "datasets")
    assert [line.split(":")[0] for line in done.stdout.splitlines()[:-1]] == ["rates", "datasets"]


def shapes(models, name):
    """Return the shapes of one of the data of several models, without those that do not have it."""
    return {model[name].eval().shape for model in models if name in model.named_vars}


@pytest.mark.slow
def test_classes_systems_and_options(built):
    precompile.precompile("groups")
    assert shapes(built, "counts_data") == {(3, 2, 2), (3, 3, 3), (3, 3, 2, 2), (3, 3, 3, 3)}
    assert any(model.potentials for model in built)
    assert any("totals_data" not in model.named_vars for model in built)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "variable"), [("markov", "stay_dispersion"), ("groups_logit", "correlation_unit")])
def test_options_that_add_variables(model, variable, built):
    precompile.precompile(model)
    assert {variable in one.named_vars for one in built} == {False, True}


def test_a_model_of_two_classes_is_compiled_of_two(built):
    precompile.precompile("rates")
    assert [model.eval_rv_shapes()["recall"] for model in built] == [(), (), (3,)]


@pytest.mark.parametrize("kind", bp.models.table()["data"].unique())
def test_every_kind_of_data_has_an_example(kind):
    assert DATA_KINDS[kind].examples([])


def test_an_unknown_model(call, built):
    done = call("groups", "groops")
    assert (done.returncode, done.stdout, built) == (2, "", [])
    assert done.stderr == f"bayesperf: models: there is no model groops; they are {', '.join(bp.models.names())}.\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "bayesperf", "compile", "rates"),
        pytest.param(
            ("-c", "import bayesperf as bp\ncm = bp.ConfusionMatrix.from_counts(tp=1, fn=1, fp=1, tn=1)\n"
                   "try: bp.fit(cm)\nexcept OSError as error: print(f'bayesperf: {error}')"),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["command", "fit"],
)  # fmt: skip
def test_a_folder_that_cannot_be_written_is_one_line(arguments, tmp_path):
    (tmp_path / "file").touch()
    done = run(*arguments, flags=f"base_compiledir={tmp_path / 'file'}")
    (line,) = (done.stdout + done.stderr).splitlines()
    assert line.startswith("bayesperf: PyMC has no place for what it compiles: ")
    assert str(tmp_path / "file") in line
    assert line.endswith("as PYTENSOR_FLAGS=base_compiledir=/a/folder.")
    assert done.returncode == (2 if "compile" in arguments else 0)


@pytest.mark.slow
def test_after_it_a_fit_of_other_data_compiles_nothing(tmp_path):
    flags = f"base_compiledir={tmp_path}"
    done = run("-m", "bayesperf", "compile", "groups", flags=flags)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"What was compiled is in {tmp_path}"
    fitted = run("-c", FIT, flags=flags)
    # Pointers to SciPy's functions are asked for anew in every process, and Numba's own modules are imported with a
    # function that does nothing.
    assert fitted.stdout == "['get_ptr_func', 'nothing']\n", fitted.stderr
