"""The model of readers: what is made of its parameters, and how a frame of reads is read."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from scipy import integrate, special, stats

import bayesperf as bp
from bayesperf.data.reads import binary_reads
from bayesperf.models import building, readers
from tests.shared.models import READS

LOCATION, READER, INTERACTION, CASE = [[0.5, 1.5], [1.0, -0.5]], [0.8, 0.4], [0.3, 0.6], [1.5, 2.0]
RHO = -0.5


def test_how_a_spread_is_sampled():
    """By its logarithm far below the unit, as it is far above it; log(1 + e^x) of 1 is 1.3132616875182228."""
    transform, one = building.Softplus(0.5), np.array(1.0)
    assert transform.backward(one).eval() == pytest.approx(0.6566308437591114, rel=1e-14)
    assert transform.forward(np.array(0.6566308437591114)).eval() == pytest.approx(1, rel=1e-12)
    assert transform.forward(np.array(1000.0)).eval() == 2000
    assert transform.backward(np.array([-30.0, 40])).eval() == pytest.approx([0.5 * np.exp(-30), 20], rel=1e-9)
    # The slope is unit/(1 + e^−x).
    assert transform.log_jac_det(one).eval() == pytest.approx(np.log(0.5 * 0.7310585786300049), rel=1e-12)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [(pm.HalfNormal.dist(2), building.Softplus), (pm.Uniform.dist(0, 2), pm.distributions.transforms.Interval)],
)
def test_a_prior_of_another_family_is_sampled_within_its_own_bounds(prior, expected):
    model = bp.models.build(READS, "readers", {"reader_spread": prior})
    assert type(model.rvs_to_transforms[model["reader_spread"]]) is expected


def recovered(n):
    rng = np.random.default_rng(0)
    dims = {
        "location": ("modality", "rate"),
        "reader_spread": ("rate",),
        "interaction_spread": ("rate",),
        "case_spread": ("rate",),
        "correlation": (),
        "reader_effect": ("modality", "reader", "rate"),
    }
    z, u = rng.standard_normal((3, 2)), rng.standard_normal((2, 3, 2))
    correlated = np.stack([z[:, 0], RHO * z[:, 0] + np.sqrt(1 - RHO**2) * z[:, 1]], -1)
    effect = READER * correlated + INTERACTION * u
    values = [LOCATION, READER, INTERACTION, CASE, RHO, effect]
    data = binary_reads(READS, None)
    coords = {"rate": readers.RATES, "modality": ["A", "B"], "reader": data["reader"].values}
    arrays = {
        name: (("chain", "draw", *of), np.broadcast_to(value, (1, n, *np.shape(value))))
        for (name, of), value in zip(dims.items(), values, strict=True)
    }
    return effect, readers.recover(xr.Dataset(arrays, coords), data, np.random.default_rng(1))


def rate(cells, t):
    label = 1 - t
    return 2 * cells.sel(actual=label, predicted=label)


def over_cases(logit, spread):
    return integrate.quad(lambda z: special.expit(logit + spread * z) * stats.norm.pdf(z), -9, 9)[0]


def test_cells_of_the_average_each_and_a_new_reader():
    n = 20_000
    effect, cells = recovered(n)
    for t in (0, 1):
        total = READER[t] ** 2 + INTERACTION[t] ** 2 + CASE[t] ** 2
        for m in (0, 1):
            middle = LOCATION[m][t] * np.sqrt(1 + 0.346 * total)
            at = rate(cells["cells"].isel(modality=m), t)[0, 0].item()
            assert at == pytest.approx(over_cases(middle, np.sqrt(total)), abs=1e-4)
            # As the prior's description says, about the logit of the average rate.
            assert special.logit(at) == pytest.approx(LOCATION[m][t], abs=0.06)
            for j in range(3):
                found = rate(cells["cells_group"].isel(modality=m, reader=j), t)[0, 0].item()
                assert found == pytest.approx(over_cases(middle + effect[m, j, t], CASE[t]), abs=1e-4)
    new = xr.concat([rate(cells["cells_new"], t) for t in (0, 1)], "rate").values[:, 0]
    average = np.array([[rate(cells["cells"].isel(modality=m), t)[0, 0].item() for m in (0, 1)] for t in (0, 1)])
    np.testing.assert_allclose(new.mean(1), average, atol=4.5 * new.std() / np.sqrt(n))
    # A new reader is the same person with both modalities, and is better at one class for being worse at the other.
    assert np.corrcoef(new[0, :, 0], new[0, :, 1])[0, 1] > 0.5
    assert np.corrcoef(new[0, :, 0], new[1, :, 0])[0, 1] < -0.1


def test_reads_of_a_frame():
    data = binary_reads(READS, None)
    assert data.dims == ("modality", "reader", "case")
    assert (data == -1).sum() == 2
    for row in READS.itertuples():
        assert data.sel(modality=row.modality, reader=row.reader, case=row.case) == (row.read == row.truth)
    assert data.attrs["truth"].tolist() == [0, 1] * 3
    words = READS.replace({"truth": {0: "benign", 1: "cancer"}, "read": {0: "benign", 1: "cancer"}})
    other = binary_reads(words, "cancer")
    np.testing.assert_array_equal(other, data)
    assert other.attrs["pos_label"] == "cancer"


def test_what_is_refused():
    for frame, message in (
        (pd.concat([READS, READS.iloc[:1]]), "has 2 reads of modality A, reader 0, case 0; a reader reads a case once"),
        (READS.assign(read=2), "column 'read' holds 2, which column 'truth' does not"),
        (READS.drop(columns="case"), "has no column 'case'"),
        (READS.assign(truth=1), "two classes"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            bp.models.build(frame, "readers")


@pytest.mark.slow
def test_calls_of_a_reader_at_a_prevalence_but_no_new_reads(sampler):
    tree = bp.fit(READS, "readers", draws=50, tune=50, random_seed=1, progressbar=False)
    for post in (bp.Posterior.from_datatree(tree), bp.Posterior.from_datatree(tree, part="new_group")):
        assert post.at_prevalence(0.1).to_datatree()["posterior"].attrs["no_prediction"]
        recall, specificity = (post[name].distribution.values for name in ("recall", "specificity"))
        found = 0.1 * recall / (0.1 * recall + 0.9 * (1 - specificity))
        np.testing.assert_allclose(post.at_prevalence(0.1)["precision"].distribution.values, found, rtol=1e-9)
        with pytest.raises(ValueError, match="a new set of cases has reads of the same readers"):
            post.at_prevalence(0.1).predict(100)


@pytest.mark.slow
def test_a_fit_finds_the_truth():
    """Many reads of a known average reader; the difference of modalities is joint."""
    rng = np.random.default_rng(5)
    truth = np.arange(120) % 2
    z, c = 0.4 * rng.standard_normal((8, 1)), rng.standard_normal(120)
    right = [rng.random((8, 120)) < special.expit(mu + z + c) for mu in (0.8, 1.8)]
    frame = pd.DataFrame(np.argwhere(np.ones((2, 8, 120))), columns=["modality", "reader", "case"])
    frame["truth"] = truth[frame["case"]]
    frame["read"] = np.where(np.stack(right).ravel(), frame["truth"], 1 - frame["truth"])
    tree = bp.fit(frame.sample(frac=0.9, random_state=1), "readers", random_seed=1, progressbar=False)
    assert tree["sample_stats"]["diverging"].sum() <= 4
    posterior = bp.Posterior.from_datatree(tree)
    for m, mu in enumerate((0.8, 1.8)):
        true = over_cases(mu, np.sqrt(1 + 0.4**2))
        for name in ("recall", "specificity"):
            marginal = posterior[name].sel(modality=m)
            assert abs(marginal.mean().item() - true) < 3.5 * marginal.sd().item()
    compared = bp.compare(posterior, metric="recall", dim="modality")
    assert compared.difference.sd().item() < np.hypot(*posterior["recall"].sd().values)
    new = bp.Posterior.from_datatree(tree, part="new_group")["recall"]
    assert (new.sd() > posterior["recall"].sd()).all()
