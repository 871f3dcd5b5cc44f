"""What is saved comes back the same, to the last digit; what cannot be is refused in words."""

import json
import resource

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesperf as bp
from bayesperf.core import fields, saving
from bayesperf.core.fields import Contents, contents_of, made_of
from tests.test_pickle import BATCHES, CM, FOLDS, PAIR, SCORES, SYSTEMS, epc

POST = bp.posterior(CM)
RNG = np.random.default_rng(5)


def again(thing, folder, name="file.nc"):
    thing.save(folder / name)
    return bp.load(folder / name)


# ── Round trips ──


def test_an_exact_posterior_is_exact_again(tmp_path):
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5), "flat")
    loaded = again(post, tmp_path)
    assert loaded["recall"].mean().item() == 5 / 7
    assert loaded["recall"].method == "exact"
    more = bp.ConfusionMatrix.from_counts(tp=1, fn=1, fp=1, tn=1)
    assert loaded.update(more)["recall"].mean().item() == post.update(more)["recall"].mean().item() == 6 / 9


def test_draws_are_those_of_the_same_seed(tmp_path):
    post = bp.posterior(CM, random_seed=np.random.default_rng(8))
    for seed in None, 3:
        xr.testing.assert_identical(again(post, tmp_path).joint_draws(7, seed), post.joint_draws(7, seed))


def test_a_posterior_of_a_tree_keeps_its_draws(tmp_path):
    post = bp.Posterior.from_datatree(POST.to_datatree(draws=50))
    xr.testing.assert_identical(again(post, tmp_path).source.cells, post.source.cells)


@pytest.mark.slow
def test_a_comparison_of_trees_keeps_their_draws(tmp_path):
    trees = [bp.posterior(CM, seed).to_datatree("f1", draws=50) for seed in ("flat", "jeffreys")]
    comparison = bp.compare(*trees, "f1", independent=True)
    xr.testing.assert_identical(again(comparison, tmp_path).prob_greater, comparison.prob_greater)


@pytest.mark.few
@pytest.mark.parametrize(
    "make",
    [
        lambda: bp.posterior(SYSTEMS)["recall_per_class"].isel(label=slice(1), model=[1]),
        lambda: bp.posterior(bp.ConfusionMatrix.from_table([[5, 1, 0], [2, 7, 1], [0, 2, 8]])).source.dispersion,
        lambda: bp.roc_curve(*SCORES, draws=50).area,
        lambda: epc().area,
        lambda: POST[bp.metrics.cost([[0, 1], [5, 0]])],
        lambda: POST[bp.metrics.get("f2")],
        lambda: POST.predict(20, draws=50)["recall"],
    ],
)
def test_marginals(make, tmp_path):
    original = make()
    loaded = again(original, tmp_path)
    for figure in ("mean", "hdi", "observed"):
        found, expected = (getattr(each, figure) for each in (loaded, original))
        xr.testing.assert_identical(*(each() if callable(each) else each for each in (found, expected)))
    assert loaded.quantity.greater_is_better == original.quantity.greater_is_better


PRIORS = [
    None, "perks", bp.prior.flat(), bp.prior.jeffreys(), bp.prior.perks(), bp.prior.shared(), bp.prior.rate(1, 2),
    bp.prior.dirichlet([[2, 1], [1, 3]]), bp.prior.elicited(precision=0.6, recall=0.65, accuracy=0.6, weight=2),
    bp.prior.dirichlet(xr.DataArray([[[2, 1], [1, 3]], [[1, 1], [1, 1]]], {"model": ["a", "b"]},
                                    ["model", "actual", "predicted"])),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_posteriors_of_all_priors(prior, tmp_path):
    post = bp.posterior(SYSTEMS, prior, random_seed=3, draws=50)
    loaded = again(post, tmp_path)
    pd.testing.assert_frame_equal(loaded.summary("recall"), post.summary("recall"), check_exact=True)
    assert loaded.prior_text == post.prior_text


# ── Labels and coordinates ──

TEXTS = st.text(min_size=1, max_size=8).filter(lambda text: "\0" not in text)
LABELS = st.one_of(
    st.lists(TEXTS, min_size=2, max_size=4, unique=True),
    st.lists(st.integers(-(2**53), 2**53), min_size=2, max_size=4, unique=True),
    st.just([False, True]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("labels")


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True)
@given(labels=LABELS, names=st.lists(TEXTS, min_size=2, max_size=2, unique=True), data=st.data())
@pytest.mark.filterwarnings("ignore::bayesperf.core.errors.LabelWarning")
def test_labels_keep_their_type(labels, names, data, folder):
    classes = len(labels)
    cells = st.lists(st.integers(0, 10**10), min_size=2 * classes**2, max_size=2 * classes**2)
    counts = np.reshape(data.draw(cells), (2, classes, classes))
    pos_label = data.draw(st.sampled_from(labels)) if classes == 2 else None
    cm = bp.ConfusionMatrix(
        xr.DataArray(counts, {"model": names, "actual": labels, "predicted": labels}, ["model", "actual", "predicted"]),
        pos_label,
    )
    loaded = again(cm, folder)
    xr.testing.assert_identical(loaded.counts, cm.counts)
    assert [(type(a), a) for a in loaded.labels] == [(type(a), a) for a in cm.labels]
    assert (type(loaded.pos_label), loaded.pos_label) == (type(cm.pos_label), cm.pos_label)
    assert loaded.counts["actual"].dtype == cm.counts["actual"].dtype


COORDINATES = [
    np.array(["2026-01-01", "2026-01-02"], "M8[ns]"), np.array([1, 2], "m8[s]"), [1, 2], [0.1, np.inf], [True, False],
    ["été", "冬"], np.array([1, "a"], object), np.array([None, "a"], object), np.array([1, 2], np.int8),
]  # fmt: skip


@pytest.mark.few
@pytest.mark.parametrize("values", COORDINATES, ids=lambda values: str(np.asarray(values).dtype))
def test_coordinates_keep_their_type(values, tmp_path):
    counts = SYSTEMS.counts.drop_vars("model").rename(model="größe").assign_coords({"größe": ("größe", values)})
    counts = counts.assign_coords({"beside it": ("größe", ["x", "y"]), "single": pd.Timestamp("2026-03-01")})
    cm = bp.ConfusionMatrix(counts)
    loaded = again(cm, tmp_path)
    xr.testing.assert_identical(loaded.counts, cm.counts)
    assert {name: c.dtype for name, c in loaded.counts.coords.items()} == {
        name: c.dtype for name, c in cm.counts.coords.items()
    }
    marginal = bp.posterior(cm)["recall"]
    xr.testing.assert_identical(again(marginal, tmp_path).hdi(), marginal.hdi())


VALUES = [
    None, True, 3, 0.1, -np.inf, "ü\ud800", (1, ("a",)), {"a": (1,), 2: None}, [[1], []], np.float64(0.1),
    np.bool_(True), np.str_("é"), np.datetime64("2026-01-01"), pd.Timestamp("2026-01-01", tz="UTC"), slice(1, None),
    np.arange(6.0).reshape(2, 3).T, np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0), np.zeros((0, 3)),
    np.array([0.5], np.float16), np.array([1, 2], ">i4"), np.array([[True], [False]]), np.array(["é", "b"]),
    np.array(["é"], "T"), pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_of_fields(value):
    found = contents_of(fields.Applied("one_in_all", (value,)))
    parts = json.loads(json.dumps(found.parts))
    (loaded,) = made_of(Contents(parts, found.arrays)).arguments
    assert type(loaded) is type(value)
    if isinstance(value, np.ndarray):
        np.testing.assert_array_equal(loaded, value, strict=value.dtype.isnative)
        assert not value.size or np.array_equal(np.argsort(loaded.strides), np.argsort(value.strides))
    else:
        assert repr(loaded) == repr(value)


# ── Files ──


def test_paths_of_either_type(tmp_path):
    POST.save(str(tmp_path / "Größe 1.nc"))
    assert repr(bp.load(tmp_path / "Größe 1.nc")) == repr(POST)


@pytest.mark.slow
def test_a_file_says_what_it_is(tmp_path):
    bp.posterior(CM, random_seed=7).save(tmp_path / "file.nc")
    facts = xr.open_datatree(tmp_path / "file.nc", engine="h5netcdf").attrs
    assert facts["kind"] == "Posterior"
    assert facts["bayesperf_version"] == bp.__version__
    assert facts["bayesperf_format"] == saving.FORMAT
    assert "Jeffreys" in facts["prior"]
    assert facts["random_seed"] == 7
    assert pd.Timestamp(facts["date"]).tzinfo
    bp.compare(PAIR, metric="f1", draws=50, prior=bp.prior.flat(), random_seed=2).save(tmp_path / "file.nc")
    facts = xr.open_datatree(tmp_path / "file.nc", engine="h5netcdf").attrs
    assert "flat" in facts["prior"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    POST.save(tmp_path / "file.nc")
    before = (tmp_path / "file.nc").read_bytes()

    before_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before_limit[1]))
    try:
        with pytest.raises(OSError, match=r"File too large: .*file\.nc"):
            SYSTEMS.save(tmp_path / "file.nc")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before_limit)
    assert (tmp_path / "file.nc").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["file.nc"]


def test_a_file_keeps_its_mode_its_links_and_its_long_name(tmp_path):
    link, file = tmp_path / "link.nc", tmp_path / f"{'a' * 252}.nc"
    link.symlink_to(file.name)
    file.touch(0o600)
    SYSTEMS.save(link)
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600
    POST.save(file)
    assert repr(bp.load(link)) == repr(POST)
    assert {path.name for path in tmp_path.iterdir()} == {link.name, file.name}
    (tmp_path / "plain").touch()
    POST.save(tmp_path / "new.nc")
    assert (tmp_path / "new.nc").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("verb", ["save", "load"])
def test_other_names_are_refused(verb, tmp_path):
    act = POST.save if verb == "save" else bp.load
    for name in ("file", "file.pkl", "file.nc.gz", "file.zarr"):
        with pytest.raises(ValueError, match=r"NetCDF is the format. The name of the file must end in .nc"):
            act(tmp_path / name)
    for path in (3, b"file.nc", None):
        with pytest.raises(TypeError, match=r"path must be a str or os.PathLike"):
            act(path)


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        POST.save(tmp_path / "none" / "file.nc")
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(FileExistsError, match="is not a file to be replaced"):
        POST.save(tmp_path / "folder.nc")


def test_files_that_are_not_ours(tmp_path):
    path = tmp_path / "file.nc"
    with pytest.raises(FileNotFoundError, match="there is no file"):
        bp.load(path)
    xr.Dataset({"x": ("y", [1.0])}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(ValueError, match="was not written by bayesperf's save"):
        bp.load(path)
    az.from_dict({"posterior": {"x": np.zeros((2, 5))}}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(ValueError, match=r"Posterior.from_datatree"):
        bp.load(path)
    path.write_text("tp,fn\n1,2\n")
    with pytest.raises(ValueError, match="is damaged, or no NetCDF file"):
        bp.load(path)
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(ValueError, match="is not a file"):
        bp.load(tmp_path / "folder.nc")


def test_damaged_files(tmp_path):
    path = tmp_path / "file.nc"
    POST.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        bp.load(path)
    count = np.array([40.5]).tobytes()
    assert count in whole
    path.write_bytes(whole.replace(count, np.array([41.5]).tobytes()))
    with pytest.raises(ValueError, match="is damaged: it does not hold what was written"):
        bp.load(path)


def rewritten(path, **facts):
    """Write other facts into a file, or take some (None) out."""
    tree = xr.open_datatree(path, engine="h5netcdf", decode_cf=False).load()
    tree.close()
    tree.attrs = {name: fact for name, fact in (tree.attrs | facts).items() if fact is not None}
    tree.to_netcdf(path, engine="h5netcdf")


def test_formats_of_other_versions(tmp_path):
    path = tmp_path / "file.nc"
    POST.save(path)
    rewritten(path, bayesperf_format=saving.FORMAT + 1, bayesperf_version="9.0")
    with pytest.raises(
        ValueError, match=rf"is of format {saving.FORMAT + 1}, written by bayesperf 9.0; .* Update bayesperf"
    ):
        bp.load(path)
    rewritten(path, bayesperf_format=1, bayesperf_version="0.1.0")
    with pytest.raises(ValueError, match=r"is of format 1, .* written by bayesperf 0.1.0: load it there"):
        bp.load(path)
    rewritten(path, bayesperf_format=saving.FORMAT, checksum=None)
    with pytest.raises(ValueError, match="is damaged"):
        bp.load(path)


def test_what_cannot_be_made_again_says_so(tmp_path, monkeypatch):
    POST.save(tmp_path / "file.nc")
    form = fields._FORMS["Posterior"]._replace(made=bp.prior.rate)
    monkeypatch.setitem(fields._FORMS, "Posterior", form)
    with pytest.raises(ValueError, match=r"the Posterior in .* cannot be made again by this version"):
        bp.load(tmp_path / "file.nc")


# ── What cannot be saved ──


@pytest.fixture
def own():
    yield bp.metrics.register("net", lambda tp, fp: tp - fp)
    bp.metrics.unregister("net")


def test_metrics_of_ones_own(own, tmp_path):
    for metric in ("net", own, "net_macro"):
        with pytest.raises(TypeError, match=r"metric 'net\w*' is a function of your own.*register the metric"):
            POST[metric].save(tmp_path / "file.nc")
    with pytest.raises(TypeError, match="metric 'net'"):
        bp.compare(PAIR, metric="net", draws=50).save(tmp_path / "file.nc")
    with pytest.raises(TypeError, match="metric 'other'"):
        POST[bp.metrics.Metric("other", lambda tp: tp)].save(tmp_path / "file.nc")
    assert again(POST, tmp_path)["net"].mean() == POST["net"].mean()


@pytest.mark.slow
def test_priors_of_ones_own(tmp_path):
    own = bp.prior.Prior("mine", lambda classes, positive: 1.0)
    # What holds the weights needs no function.
    assert again(bp.posterior(CM, own), tmp_path)["recall"].mean() == bp.posterior(CM, "flat")["recall"].mean()
    assert repr(again(bp.monitor(BATCHES, 0.7, prior=own), tmp_path))
    (tmp_path / "file.nc").unlink()
    with pytest.raises(TypeError, match=r"pseudo_counts: .* is a function of your own"):
        bp.compare(PAIR, metric="recall", prior=own, draws=50).save(tmp_path / "file.nc")
    assert not list(tmp_path.iterdir())


def test_criteria_of_ones_own(tmp_path):
    def criterion(first, second, alpha):
        return alpha * first + (1 - alpha) * second

    with pytest.raises(TypeError, match=r"value: .* is a function of your own"):
        epc(criterion=criterion, criterion_metrics=("fpr", "fnr")).save(tmp_path / "file.nc")


def test_several_levels(tmp_path):
    levels = pd.MultiIndex.from_tuples([(1, 1), (1, 2), (2, 1)], names=["a", "b"])
    counts = FOLDS.counts.assign_coords(xr.Coordinates.from_pandas_multiindex(levels, "fold"))
    with pytest.raises(TypeError, match=r"several levels \(a MultiIndex\)"):
        bp.ConfusionMatrix(counts).save(tmp_path / "file.nc")


def test_values_of_other_types():
    for value in (object(), b"bytes", 1j * np.ones(2)):
        with pytest.raises(TypeError, match=r"arguments: an? .* cannot be saved"):
            contents_of(fields.Applied("one_in_all", (value,)))


def test_an_array_that_two_objects_hold_is_written_once(tmp_path):
    cells = np.zeros(10**6)
    twice = fields.Applied("one_in_all", (cells, fields.Applied("one_in_all", (cells,))))
    assert len(contents_of(twice).arrays) == 1
