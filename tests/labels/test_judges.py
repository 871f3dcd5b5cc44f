"""Several judges, scores of judges, and clusters beside them: their limits, what they are cut into, and refusals."""

import numpy as np
import pandas as pd
import pytest

import bayesperf as bp
from bayesperf import labels
from bayesperf.core.errors import DependenceWarning, InputError
from bayesperf.labels import judges
from bayesperf.labels.sample import VerifiedSample
from bayesperf.labels.voter_cells import _weighted_counts

N, RNG = 1200, np.random.default_rng(8)
TRUTH = RNG.integers(0, 2, N)
SYSTEM, GOOD, FAIR = (np.where(RNG.random(N) < error, 1 - TRUTH, TRUTH) for error in (0.2, 0.1, 0.2))
SCORE = 1 / (1 + np.exp(RNG.normal(size=N) - 2 * TRUTH + 1))
VERIFIED = np.where(RNG.permutation(N) < 150, TRUTH, np.nan)
PATIENT = np.arange(N) // 6


def draws(post):
    return post.source.cells.values


def mean_and_sd(post, metric="accuracy"):
    return np.array([post[metric].mean().item(), post[metric].sd().item()])


# ── Limits ──


@pytest.mark.parametrize("by", ["mapping", "frame", "array"])
def test_who_repeats_another_or_says_the_same_of_all_is_no_judge(by):
    alone = labels.verify(VERIFIED, SYSTEM, judge=GOOD)
    columns = {"a": GOOD, "again": GOOD, "all": np.ones(N, int)}
    several = {"mapping": columns, "frame": pd.DataFrame(columns), "array": np.stack([*columns.values()], 1)}[by]
    np.testing.assert_array_equal(draws(labels.verify(VERIFIED, SYSTEM, judge=several)), draws(alone))
    for constant in (np.ones(N, int), np.full(N, 0.3)):
        without = labels.verify(VERIFIED, SYSTEM, judge=constant)
        np.testing.assert_array_equal(draws(without), draws(labels.verify(VERIFIED, SYSTEM)))
    outcomes = [labels.verify(VERIFIED, judge=each) for each in (GOOD, {"a": GOOD, "again": GOOD})]
    np.testing.assert_array_equal(*map(draws, outcomes))


@pytest.mark.parametrize("positive", [1, 0])
def test_a_score_of_two_values_is_a_judge_who_gives_labels(positive):
    score = np.where(positive == GOOD, 0.8, 0.1)
    scored, labelled = (
        labels.verify(VERIFIED, SYSTEM, judge=judge, pos_label=positive, prior=prior)
        for judge, prior in ((score, None), (GOOD, None))
    )
    np.testing.assert_array_equal(draws(scored), draws(labelled))
    assert scored.source.judge["accuracy"].mean().item() == labelled.source.judge["accuracy"].mean().item()


def test_a_score_that_is_turned_speaks_for_the_other_class():
    up, down = (labels.verify(VERIFIED, SYSTEM, judge=SCORE, pos_label=positive, draws=10_000) for positive in (1, 0))
    turned = labels.verify(VERIFIED, SYSTEM, judge=1 - SCORE, pos_label=0, draws=10_000)
    # Bins that begin with their lower limit hold the same examples but for those on a limit.
    np.testing.assert_allclose(mean_and_sd(up), mean_and_sd(turned), rtol=0.05, atol=0.004)
    assert down.source.sample.cuts == up.source.sample.cuts
    best = VerifiedSample.from_predictions(TRUTH, SYSTEM, judge=SCORE, pos_label=0).table()
    assert best.groupby("judge")["truth 1"].sum()[f"from {up.source.sample.cuts[0][-1]:.3g}"] > 150


def test_bins_are_equally_full_of_the_whole_sample_whoever_is_verified():
    said = {"score": np.log(SCORE / (1 - SCORE)).round(2), "fair": FAIR}
    frame = pd.DataFrame({"truth": VERIFIED, "system": SYSTEM} | said)
    one, other = (VerifiedSample.from_predictions(known, SYSTEM, judge=said) for known in (VERIFIED, TRUTH))
    counted = VerifiedSample.from_frame(frame, actual="truth", predicted="system", judge=["score", "fair"])
    assert one.cuts == other.cuts == counted.cuts
    assert one.bins == counted.bins
    pd.testing.assert_frame_equal(one.table(), counted.table())
    sizes = one.table().groupby("score")["examples"].sum()
    assert len(sizes) == judges.BINS
    np.testing.assert_allclose(sizes, N / judges.BINS, atol=25)
    # A bin speaks by its median, from 0 to 1.
    ranks = np.searchsorted(one.cuts[0], said["score"], side="right")
    medians = np.array([np.quantile(said["score"][ranks == place], 0.5, method="inverted_cdf") for place in range(6)])
    np.testing.assert_allclose(one.bins[0], (medians - medians[0]) / np.ptp(medians))
    # Of scores in [0, 1], ½ is a limit.
    probability = VerifiedSample.from_predictions(VERIFIED, SYSTEM, judge=SCORE)
    assert 0.5 in probability.cuts[0]
    assert len(probability.cuts[0]) == judges.BINS
    # Few values have a bin each.
    stars = VerifiedSample.from_predictions(VERIFIED, SYSTEM, judge=1 + np.arange(N) % 4)
    assert stars.cuts == ((2, 3, 4),)
    assert stars.answers(0) == ["below 2", "2 to 3", "3 to 4", "from 4"]


# ── Clusters ──


def test_weighted_counts_have_the_moments_of_the_weights():
    """Of G clusters of one size with verified examples in each, weights are Dirichlet with the sum G − 2."""
    sample = VerifiedSample.from_predictions(np.where(np.arange(60) % 2, np.nan, TRUTH[:60]), SYSTEM[:60],
                                             judge=GOOD[:60], cluster=np.arange(60) // 6)  # fmt: skip
    (strata,) = sample.strata_of([0, 1])
    table = strata.clusters.toarray().reshape(10, -1, 3)
    np.testing.assert_array_equal(table.sum(0)[:, 0], strata.counts)
    np.testing.assert_array_equal(table.sum(0)[:, 1:], strata.verified)
    drawn = _weighted_counts(strata, strata.clusters, np.random.default_rng(0))(40_000)
    share = drawn[..., 0] / drawn[..., 0].sum(-1, keepdims=True)
    counts = table[..., 0] / 6
    sd = counts.std(0, ddof=1) / np.sqrt(10)
    np.testing.assert_allclose(share.mean(0), counts.mean(0), atol=4 * sd.max() / 200)
    np.testing.assert_allclose(share.std(0), sd, rtol=4 / np.sqrt(2 * 40_000) * 1.5)
    # A cluster's examples and its verified ones have one weight.
    np.testing.assert_allclose(drawn[..., 1:].sum((1, 2)) * 2, drawn[..., 0].sum(1), rtol=1e-5)


def test_clusters_of_which_all_is_verified_are_the_bootstrap_of_pool():
    post = labels.verify(TRUTH, SYSTEM, judge=GOOD, cluster={"patient": PATIENT}, draws=20_000)
    cm = bp.ConfusionMatrix.from_predictions(TRUTH, SYSTEM, cluster={"patient": PATIENT})
    pooled = bp.pool(cm, method="bayesian_bootstrap", draws=20_000).mean
    for metric in ("accuracy", "f1"):
        (mean, sd), (expected, spread) = mean_and_sd(post, metric), mean_and_sd(pooled, metric)
        assert mean == pytest.approx(expected, abs=4 * spread * np.sqrt(2 / 20_000) + 1e-3)
        assert sd == pytest.approx(spread, rel=0.04)


def test_clusters_of_examples_that_are_alike_say_less_and_words_say_so():
    alike = np.repeat(np.arange(0, N, 6), 6)
    columns = VERIFIED[:], SYSTEM[alike], GOOD[alike]
    verified = np.where(np.arange(N) % 6 < 3, TRUTH[alike], np.nan)
    independent, clustered = (
        labels.verify(verified, columns[1], judge=columns[2], cluster=cluster)
        for cluster in (None, {"patient": PATIENT})
    )
    assert clustered["accuracy"].sd().item() > 1.5 * independent["accuracy"].sd().item()
    words = clustered.in_words("accuracy")
    assert words.startswith("600 of 1,200 examples in 200 patients are verified.")
    assert "independent examples" in words
    assert clustered.prior_text.startswith("Bayesian bootstrap of patients; Jeffreys")
    with pytest.raises(ValueError, match="advice is for independent ones"):
        labels.next_labels(clustered, 10, metric="f1")


@pytest.mark.slow
def test_systems_are_compared_beside_judges_and_clusters(tmp_path):
    post = labels.verify(VERIFIED, {"old": SYSTEM, "new": FAIR}, judge={"good": GOOD, "score": SCORE},
                         cluster={"patient": PATIENT}, draws=500)  # fmt: skip
    compared = bp.compare(post, metric="f1", draws=500)
    assert "old − new" in compared.in_words()
    post.save(tmp_path / "post.nc")
    again = bp.load(tmp_path / "post.nc")
    assert bp.compare(again, metric="f1", draws=500).prob_greater.equals(compared.prob_greater)
    assert again.source.judge["recall"].mean().to_series().index.tolist() == ["good"]
    assert "labels or bins of a score from judges and system" in post.in_words("f1")
    assert "judges" in repr(again.source.sample)


def test_outcomes_by_judges_who_score():
    post = labels.verify(VERIFIED, judge={"label": GOOD, "score": SCORE}, cluster=PATIENT)
    alone = bp.posterior(bp.Outcomes.from_correct(TRUTH[~np.isnan(VERIFIED)]))
    assert abs(post["pass_rate"].mean().item() - TRUTH.mean()) < 3 * post["pass_rate"].sd().item()
    assert post["pass_rate"].sd().item() < 0.7 * alone["pass_rate"].sd().item()
    words = post.in_words()
    assert words.startswith("150 of 1,200 outcomes by the judges, in 200 clusters, are verified. Pass rate is ")
    assert "same outcomes or bins of scores by the judges" in words
    assert "same bin of the score by the judge" in labels.verify(VERIFIED, judge=SCORE).in_words()


# ── Refusals ──


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judge": {}}, "^judge: name one judge or more"),
        ({"judge": {"a": GOOD, "b": GOOD[1:]}}, r"judge\['b'\]"),
        ({"judge": np.where(np.arange(N) == 3, np.nan, SCORE)}, "^judge:? has 1 missing value"),
        ({"judge": {"a": np.where(np.arange(N) == 3, np.nan, GOOD)}}, r"^judge\['a'\]:? has 1 missing value"),
        ({"judge": SCORE, "y_pred": np.where(SYSTEM, "yes", "no"), "y_true": np.where(TRUTH, "yes", "no")},
         "^pos_label: which of the labels"),
        ({"judge": SCORE, "labels": [0, 1, 2]}, "^judge holds a score, which speaks for one of two"),
        ({"judge": {"a": ["x"] * N}}, "holds strings"),
        ({"judge": GOOD, "cluster": PATIENT[1:]}, "cluster"),
        ({"judge": GOOD, "cluster": np.arange(N) // 600}, "^cluster: 2 clusters with verified examples say little"),
    ],
)  # fmt: skip
def test_refused(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        labels.verify(**({"y_true": VERIFIED, "y_pred": SYSTEM} | change))


def test_few_clusters_are_named():
    with pytest.warns(DependenceWarning, match="10 clusters with verified examples are few"):
        labels.verify(VERIFIED, SYSTEM, judge=GOOD, cluster=np.arange(N) // 120)
    with pytest.raises(InputError, match="has its own"):
        labels.verify(VerifiedSample.from_predictions(VERIFIED, SYSTEM), cluster=PATIENT)
