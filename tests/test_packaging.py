import inspect
import re
import subprocess
import sys
import tomllib
from functools import cached_property
from inspect import getattr_static
from types import FunctionType

import pytest

import bayesperf
from bayesperf.core.answer import Answer
from tests.shared.sources import ROOT, modules

PUBLIC_MODULES = [name for name in bayesperf.__all__ if inspect.ismodule(getattr(bayesperf, name))]
HEAVY = {"pymc", "arviz", "matplotlib", "sklearn"}

# The exact route from end to end: closed forms, quadrature (balanced_accuracy, f2), draws (mcc).
EXACT_ROUTE = """
import bayesperf as bp
cm = bp.ConfusionMatrix.from_predictions([1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1])
posterior = bp.posterior(cm)
posterior.summary(["accuracy", "f1", "mcc", "balanced_accuracy", "f2"])
posterior["half_total_error_rate"].cdf([0.1, 0.5])
bp.intervals.delta(cm, "f1")
posterior["recall"]._repr_html_()
found = bp.compare(posterior, posterior, "recall", rope=0.1)
found.prob_greater, found.prob_rope, found.expected_loss, found.summary()
with tempfile.TemporaryDirectory() as folder:
    posterior.save(folder + "/file.nc")
    bp.load(folder + "/file.nc").summary()
"""

# What else needs no sampler: groups by quadrature, sequences, the names of the models and the study of coverage.
WITHOUT_SAMPLER = """
import bayesperf as bp
groups = bp.ConfusionMatrix.from_table([[[18, 2], [3, 17]], [[19, 1], [4, 16]], [[17, 3], [2, 18]]], dims=["fold"])
bp.pool(groups).mean["recall"].mean()
bp.sequences.posterior([0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 0])["recall"].mean()
bp.studies.dependence([0.5], n=20, simulations=2)
folds = bp.folds.correlated_ttest([0.8, 0.9, 0.7], [0.7, 0.75, 0.72], test_fraction=0.1, rope=0.01)
folds.summary(), folds.prob_rope, folds.expected_loss
bp.folds.sign_test([0.8, 0.9], [0.7, 0.8]).summary(), bp.folds.signed_rank_test([0.8, 0.9], [0.7, 0.8]).summary()
bp.metrics.scorer("recall >= 0.8"), bp.groups.average_labels
[bp.datasets.load(name) for name in bp.datasets.names()]
bp.models.names(), dir(bp.models), bp.fit, bp.studies.simulation_based_calibration
"""


def run(program):
    """Run a program in an interpreter that has imported nothing yet."""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_every_package_folder_is_listed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = {name for name, path in modules().items() if path.name == "__init__.py"}
    assert folders == set(project["tool"]["setuptools"]["packages"])


# ── Imports ──


@pytest.mark.slow
def test_heavy_packages_are_not_loaded():
    check = f"assert not {HEAVY} & set(sys.modules), {HEAVY} & set(sys.modules)"
    with_sampler = "bp.models.rates\nassert 'pymc' in sys.modules"
    run(f"import sys, tempfile\n{EXACT_ROUTE}{check}\n{WITHOUT_SAMPLER}{check}\n{with_sampler}")


def test_every_public_name_resolves():
    assert set(bayesperf.__all__) <= set(dir(bayesperf))
    for name in bayesperf.__all__:
        assert getattr(bayesperf, name) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        "import bayesperf.posteriors.posterior",
        pytest.param("from bayesperf.posteriors.posterior import Posterior", marks=pytest.mark.slow),
        "bayesperf.Posterior",
    ],
)
def test_posterior_stays_a_function_whatever_is_imported_first(first):
    run(f"import bayesperf\n{first}\nassert callable(bayesperf.posterior), bayesperf.posterior")


def test_the_top_level_is_a_page():
    first = {
        "ConfusionMatrix", "Ratings", "posterior", "posterior_of_rate", "pool", "slices", "fit", "compare", "monitor",
        "report", "score", "load", "roc_curve", "precision_recall_curve", "roc_auc", "reliability_curve",
        "decision_curve", "choose_threshold", "Posterior", "Marginal", "Comparison", "Curve", "Quantity", "InputError",
    }  # fmt: skip
    rooms = {
        "prior", "metrics", "models", "curves", "labels", "groups", "folds", "sequences", "intervals", "plan",
        "studies", "plots", "datasets", "errors", "files",
    }  # fmt: skip
    assert first | rooms <= set(dir(bayesperf))
    assert set(PUBLIC_MODULES) == rooms
    assert len(dir(bayesperf)) <= 45


@pytest.mark.parametrize(
    ("room", "names"),
    [
        ("labels", "verify next_labels noise noise_sensitivity truth identifiability"),
        ("groups", "pool slices average_labels"),
        ("folds", "average correlated_ttest sign_test signed_rank_test datasets"),
        ("prior", "sensitivity"),
        ("metrics", "scorer"),
        ("errors", "InputError InputTypeError DependenceWarning"),
        ("curves", "roc_curve det_curve epc epc_a_posteriori weighted_score auc_from_summary calibration recalibrate"),
        ("curves", "abstention equal_error_threshold break_even_threshold BinnedScores choose_threshold"),
    ],
)
def test_the_rest_is_in_the_submodule_of_its_subject(room, names):
    assert set(names.split()) <= set(dir(getattr(bayesperf, room)))
    # Nothing stands at the top under the same name but means another thing.
    for name in set(names.split()) & set(bayesperf.__all__) - {"datasets"}:
        assert getattr(bayesperf, name) is getattr(getattr(bayesperf, room), name)


# ── What a reader meets ──


def members(thing):
    """Yield the public functions, classes and methods that a public name leads to, named."""
    if inspect.ismodule(thing):
        for name in getattr(thing, "__all__", None) or vars(thing):
            value = getattr(thing, name)
            ours = getattr(value, "__module__", "").startswith("bayesperf")
            if not name.startswith("_") and ours and callable(value):
                yield f"{thing.__name__}.{name}", value
                yield from members(value)
    elif inspect.isclass(thing):
        methods = FunctionType | property | cached_property | staticmethod | classmethod
        for name in dir(thing):
            if not name.startswith("_") and isinstance(getattr_static(thing, name), methods):
                yield f"{thing.__qualname__}.{name}", getattr(thing, name)


def is_documented(value):
    # A dataclass without a docstring is given its signature for one.
    text = inspect.getdoc(value) or ""
    return bool(text) and not text.startswith(f"{getattr(value, '__name__', None)}(")


@pytest.mark.parametrize("name", bayesperf.__all__)
def test_everything_public_has_a_docstring(name):
    thing = getattr(bayesperf, name)
    named = {name: thing, **dict(members(thing))}
    assert [label for label, value in named.items() if not is_documented(value)] == []


def test_members_are_found():
    assert {"Posterior.summary", "Posterior.dims"} <= dict(members(bayesperf.Posterior)).keys()
    assert {"bayesperf.metrics.get", "Metric.evaluate"} <= dict(members(bayesperf.metrics)).keys()


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_dir_of_a_public_module_shows_its_public_names_alone(name):
    module = getattr(bayesperf, name)
    # Models are found by their names, which are not known before the folder is read.
    listed = [*bayesperf.models.names(), "building"] if name == "models" else []
    assert sorted(dir(module)) == sorted([*module.__all__, *listed])
    assert [public for public in module.__all__ if public.startswith("_")] == []


# ── One word, one meaning ──

INTERVALS = {"ci_prob": {"float", "float | None", "ArrayLike"}, "ci_kind": {"Kind", "Kind | None"}}
WORDS = INTERVALS | {
    "confidence": {"float"},
    "draws": {"int", "int | None"},
    "n": {"int", "int | None", "ArrayLike", "ArrayLike | None"},
    "dim": {"str", "str | None", "str | Sequence[str]"},
    "by": {"Any", "Mapping[str, Any] | None", "str | Sequence[str]", "Sequence[str]"},
    "cluster": {"Any", "str | None", "str | Sequence[str] | None"},
    "kind": {"str", "str | None"},
    # Of measurement.
    "level": {"str"},
    "method": {"str", "str | None"},
    "requirements": {
        "Sequence[str] | Mapping[str | Metric, float]", "Sequence[str] | Mapping[str | Metric, float] | None",
    },
    "random_seed": {"int", "int | None", "Any"},
}  # fmt: skip
# What other packages and other rooms of ours call the same.
OTHER_WORDS = {
    "cred_mass", "credible", "hdi_prob", "prob", "n_samples", "num_draws", "rng", "seed", "axis", "verbose",
    "positive_label", "sample_size", "clusters_by", "nan_policy",
}  # fmt: skip


def public_things():
    """Yield everything public and its name: what stands at the top, and what that leads to."""
    for name in bayesperf.__all__:
        yield name, getattr(bayesperf, name)
        yield from members(getattr(bayesperf, name))


def signatures():
    """Yield the parameters of every public function, class and method, errors apart."""
    for label, value in public_things():
        if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception)):
            yield label, inspect.signature(value).parameters


def test_a_word_of_a_signature_has_one_meaning():
    found = dict(signatures())
    assert {"Posterior.summary", "Marginal.hdi", "bayesperf.curves.epc"} <= found.keys()
    for label, parameters in found.items():
        assert not OTHER_WORDS & parameters.keys(), label
        for word in WORDS.keys() & parameters.keys():
            written = parameters[word].annotation
            # Choices are written out; they are texts.
            assert written in WORDS[word] or written.startswith("Literal["), (label, word)


@pytest.mark.parametrize(("word", "default"), [("ci_prob", 0.95), ("ci_kind", "hdi"), ("confidence", 0.95)])
def test_a_word_has_one_default(word, default):
    defaults = {label: found[word].default for label, found in signatures() if word in found}
    others = {label for label, value in defaults.items() if value not in (default, None, inspect.Parameter.empty)}
    # These have several intervals at once, the kind that the source of a study names, or a band of many ranks.
    assert others <= {
        "bayesperf.studies.repeated_splits", "bayesperf.studies.sequential", "bayesperf.plots.sequential",
        "bayesperf.studies.simulation_based_calibration",
    }  # fmt: skip


def test_every_answer_has_the_same_verbs():
    answers = {
        value
        for _, value in public_things()
        if inspect.isclass(value) and issubclass(value, Answer | bayesperf.Marginal)
    }
    assert len(answers) > 15
    verbs = ("summary", "in_words", "plot", "save")
    assert [(each.__name__, verb) for each in answers for verb in verbs if not hasattr(each, verb)] == []


def test_the_version_is_the_same_everywhere():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    with (ROOT / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    assert cited.group(1) == version == bayesperf.__version__
