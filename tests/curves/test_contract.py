"""What every kind of curve has."""

import numpy as np
import pytest
import xarray as xr

import bayesperf as bp

RNG = np.random.default_rng(5)
Y = np.repeat([0, 1], 40)
PROB, OTHER = (1 / (1 + np.exp(-RNG.normal(2 * Y - 1))) for _ in range(2))
TWO = {"a": PROB, "b": OTHER}
CURVES = {
    "roc": lambda: bp.roc_curve(Y, PROB, draws=50),
    "roc by thresholds": lambda: bp.roc_curve(Y, PROB, method="beta"),
    "roc of systems": lambda: bp.roc_curve(Y, TWO, draws=50),
    "precision–recall of systems by thresholds": lambda: bp.precision_recall_curve(Y, TWO, method="beta"),
    "det of systems": lambda: bp.curves.det_curve(Y, TWO, draws=50),
    "det": lambda: bp.curves.det_curve(Y, PROB, draws=50),
    "decision": lambda: bp.decision_curve(Y, TWO, thresholds=[0.2, 0.5], draws=50),
    "isotonic": lambda: bp.reliability_curve(Y, PROB),
    "bins": lambda: bp.reliability_curve(Y, TWO, method="bins", bins=4),
    "lines": lambda: bp.reliability_curve(Y, TWO, method="logistic", draws=50),
    "expected performance": lambda: bp.curves.epc((Y, TWO), (Y, {"a": OTHER, "b": PROB}), alphas=[0.2, 0.5], draws=50),
}


@pytest.mark.few
@pytest.mark.parametrize("make", CURVES.values(), ids=CURVES)
def test_every_kind_keeps_the_contract(make):
    curve = make()
    assert isinstance(curve, bp.Curve)
    band, table = curve.band(), curve.summary()
    assert band.attrs["kind"] == curve.usual_band
    for name, bounds in band.items():
        assert bounds.dims[-1] == "ci_bound"
        assert not (table[f"{name}_lower"] > table[f"{name}_upper"]).any()
        assert len(table) >= bounds.size // 2
    places = curve.dataset[curve.over].values
    xr.testing.assert_equal(curve.at(places[1]), curve.dataset.isel({curve.over: 1}))
    xr.testing.assert_equal(curve.at(places[:2]), curve.dataset.isel({curve.over: slice(2)}))
    assert repr(curve).startswith(f"<bayesperf.curves.{type(curve).__name__}: ")
    assert curve.in_words().splitlines()[0][:20] in curve._repr_html_().replace("&#x27;", "'")


@pytest.mark.parametrize("name", ["decision", "isotonic", "expected performance"])
def test_a_curve_has_no_points_but_its_own(name):
    with pytest.raises(ValueError, match="at must be one of the"):
        CURVES[name]().at(0.123456)


@pytest.mark.parametrize("name", ["roc", "roc of systems", "decision", "lines", "expected performance"])
def test_bands_hold_their_share_of_the_joint_draws(name):
    curve = CURVES[name]()
    drawn = curve.joint_draws()
    for figure, bounds in curve.band(0.8, "simultaneous").items():
        lower, upper = (bounds.sel(ci_bound=end) for end in ("lower", "upper"))
        dim = next(dim for dim in bounds.dims if dim not in ("model", "ci_bound"))
        values = drawn[figure]
        inside = (((values >= lower) & (values <= upper)) | values.isnull()).all(dim)
        assert (inside.mean("draw") >= 0.8).all()


def test_a_system_is_one_of_the_curve():
    with pytest.raises(ValueError, match="model must be one of"):
        CURVES["lines"]().sel(model="c")
