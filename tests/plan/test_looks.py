"""Plans for looks again and again: against all runs written down, simulated ones, and the study of repeated looks."""

from itertools import product

import matplotlib as mpl
import numpy as np
import pytest
from scipy import special, stats

import bayesperf as bp
from bayesperf.intervals import confidence_sequence
from bayesperf.plan.looks import MOST, Looks
from bayesperf.plan.plan_result import UnreachableError
from bayesperf.plan.sample_sizes import sample_size
from validation.repeated_looks import repeated_looks

mpl.use("Agg")


def shown(successes, trials, x, confidence):
    """Return 1 where the sequence shows that the rate is above x, −1 where below, else 0."""
    lower, upper = np.moveaxis(confidence_sequence(successes, trials, confidence=confidence), -1, 0)
    return (lower >= x).astype(int) - (upper <= x)


def first(signs):
    """Return the first sign of each run (run, look), 0 if there is none, and its look, or the number of looks."""
    any_sign = signs != 0
    look = np.where(any_sign.any(1), any_sign.argmax(1), signs.shape[1])
    return np.where(any_sign.any(1), signs[np.arange(len(signs)), np.minimum(look, signs.shape[1] - 1)], 0), look


@pytest.mark.slow
@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (2, 5)])
def test_every_run_of_twelve_trials(successes, trials):
    a, b, x, confidence = 2.5, 1.5, 0.45, 0.6
    runs = np.array(list(product([0, 1], repeat=12)))
    k = runs.sum(1)
    weights = np.exp(special.betaln(a + k, b + 12 - k) - special.betaln(a, b))
    so_far = np.column_stack([np.zeros(len(runs), int), runs.cumsum(1)])[:, ::3]
    numbers = np.arange(0, 13, 3)
    sign, look = first(shown(successes + so_far, trials + numbers, x, confidence))
    model = Looks(a, b, x, confidence, 3, successes, trials)
    for n in range(13):
        by_then = look <= n // 3
        expected = [weights @ (by_then & (sign == 1)), weights @ (by_then & (sign != 0))]
        found = [model.assurance(np.array([n]), either)[0].item() for either in (False, True)]
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert 0.05 < weights @ (sign == 1) < 0.95
    assert model.mean_trials(12) == pytest.approx(weights @ np.minimum(3 * look, 12))


@pytest.mark.slow
def test_simulated_runs():
    """Of recall, 40 of 50 positives having been found, which the first look is at."""
    rng, runs = np.random.default_rng(1), 4000
    plan = sample_size(0.7, metric="recall", evidence=(40, 50), question="settle", look_every=20, assurance=0.7)
    rates = rng.beta(40.5, 10.5, runs)
    looks = np.arange(0, plan.n + 1, 20)
    batches = np.column_stack([np.zeros(runs, int), rng.binomial(20, rates[:, None], (runs, len(looks) - 1))])
    sign, look = first(shown(40 + batches.cumsum(1), 50 + looks, 0.7, 0.95))
    by_then = sign != 0
    assert plan.n == looks[-1]
    assert by_then.mean() == pytest.approx(plan.reached, abs=4 * np.sqrt(0.25 / runs))
    taken = np.minimum(20 * look, plan.n)
    assert taken.mean() == pytest.approx(plan.looks.mean, abs=4 * taken.std() / np.sqrt(runs))
    # One look less is not enough, and the plan for one look is that of sample_size.
    assert plan.curve(plan.n - 1).item() < 0.7 <= plan.reached
    once = sample_size(0.7, metric="recall", evidence=(40, 50), question="settle", assurance=0.7)
    assert plan.looks.at_the_end == once.n < plan.n
    assert plan.looks.mean < plan.n


def test_of_a_known_rate_as_the_study_of_repeated_looks():
    study = repeated_looks(0.7, 50, rates=[0.7, 0.8]).sel(rule="confidence_sequence")
    for rate in (0.7, 0.8):
        model = Looks(1e8 * rate, 1e8 * (1 - rate), 0.7, 0.95, 10)
        looks = 10 * np.arange(1, 51)
        met, either = (model.assurance(looks, way)[0] for way in (False, True))
        # The study goes on after the first word, and counts runs that were said to miss it before they met it.
        of_study, both = study["met"].sel(rate=rate).values, study["missed"].sel(rate=rate).values
        assert ((met < of_study + 2e-5) & (met > of_study - both - 2e-5)).all()
        assert ((either < of_study + both + 2e-5) & (either > np.maximum(of_study, both) - 2e-5)).all()


def test_it_rises_from_look_to_look_towards_what_is_known():
    model = Looks(4.5, 1.5, 0.7, 0.95, 7, 4, 5)
    curve = model.assurance(np.arange(4000), False)[0]
    assert (np.diff(curve) >= 0).all()
    assert not np.diff(curve)[np.arange(1, 4000) % 7 > 0].any()
    limit = stats.beta(4.5, 1.5).sf(0.7)
    assert limit - 0.15 < curve[-1] < limit
    np.testing.assert_allclose(model.probability_now, limit)


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 25])
def test_where_less_is_better(every):
    specificity = sample_size(0.7, metric="specificity", evidence=(40, 50), look_every=every)
    fpr = sample_size(0.3, metric="fpr", evidence=(10, 50), look_every=every)
    assert (fpr.n, fpr.counts, fpr.looks) == (specificity.n, "negatives", specificity.looks)
    assert fpr.n % every == 0


@pytest.mark.slow
def test_looking_more_often_takes_fewer_and_a_matrix_is_as_its_counts():
    often, seldom = (sample_size(0.6, metric="accuracy", evidence=(40, 50), look_every=every) for every in (1, 50))
    assert often.n <= seldom.n
    assert often.looks.mean < seldom.looks.mean
    cm = bp.ConfusionMatrix.from_counts(tp=20, fn=5, fp=5, tn=20)
    of_matrix = sample_size(0.6, metric="accuracy", evidence=cm, prior=bp.prior.dirichlet([[0.5, 0.25], [0.25, 0.5]]),
                            look_every=1)  # fmt: skip
    of_counts = sample_size(0.6, metric="accuracy", evidence=(40, 50), prior=bp.prior.rate(1, 0.5), look_every=1)
    assert of_matrix.n == of_counts.n


@pytest.mark.slow
def test_words_figures_and_files(tmp_path):
    plan = sample_size(0.7, metric="recall", evidence=(40, 50), prevalence=0.1, look_every=10)
    assert plan.in_words() == (
        "790 new positives, in about 7,900 examples, are enough: with probability 80 % they will show recall ≥ 0.7, "
        "with 95 % confidence however often you look (80 % was asked for). If you look after every 10 and stop once "
        "it is decided either way, you need 296 of them on average; one look at the end, by the posterior probability, "
        "needs 138."
    )
    assert plan.plot() is not None
    plan.save(tmp_path / "plan.nc")
    assert bp.load(tmp_path / "plan.nc").looks == plan.looks
    each = sample_size(0.7, metric="recall", evidence=(40, 50), question="settle", look_every=1)
    assert "If you look after each and stop" in each.in_words()
    assert each.claim == "whether recall ≥ 0.7, with 95 % confidence however often you look"


def test_what_cannot_be_planned():
    with pytest.raises(UnreachableError, match=r"approaches this.*710 positives are enough") as caught:
        sample_size(0.7, metric="recall", evidence=(4, 5), look_every=10)
    assert caught.value.settles.looks.every == 10
    for metric in ("f1", "mcc"):
        cm = bp.ConfusionMatrix.from_counts(tp=20, fn=5, fp=5, tn=20)
        with pytest.raises(ValueError, match=rf"look_every: {'f1' if metric == 'f1' else 'matt'}.* not a proportion"):
            sample_size(0.6, metric=metric, evidence=cm, look_every=10)
    with pytest.raises(ValueError, match="look_every must be a whole number of at least 1"):
        sample_size(0.7, look_every=0)


def test_beyond_the_greatest_number(monkeypatch):
    monkeypatch.setattr("bayesperf.plan.looks.MOST", 2**11)
    monkeypatch.setattr("bayesperf.plan.sample_sizes.MOST_LOOKED", 2**11)
    with pytest.raises(ValueError, match=r"assurance: more than 2,048 positives are needed for 0\.99"):
        sample_size(0.7, metric="recall", evidence=(4, 5), question="settle", assurance=0.99, look_every=10)
    assert MOST == 2**17
