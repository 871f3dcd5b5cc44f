"""What users hold survives pickle, deepcopy and files, and says the same figures afterwards, to the last digit."""

import copy
import importlib
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from inspect import isabstract
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import expit, ndtr

import bayesperf as bp
from bayesperf.core.answer import Answer
from bayesperf.core.saving import Saved
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.paired_systems import joint_posterior
from tests.comparison.test_several_datasets import SCORES as SCORES_OF_DATASETS
from tests.comparison.test_several_datasets import TREE
from tests.shared.areas import reads
from tests.shared.counts import pair_of
from tests.shared.curves import DATA
from tests.shared.epc import DEV, TEST
from tests.shared.sequences import FRAMES, of_frames
from tests.shared.sources import modules

CM = bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45)
SYSTEMS = bp.ConfusionMatrix.from_table([[[15, 3], [2, 8]], [[14, 4], [1, 9]]], dims={"model": ["a", "b"]})
BATCHES = bp.ConfusionMatrix.from_table([[[8, 2], [1, 4]], [[9, 1], [1, 4]]], dims=["step"])
FOLDS = bp.ConfusionMatrix.from_table([[[18, 2], [3, 17]], [[19, 1], [5, 15]], [[16, 4], [2, 18]]], dims=["fold"])
PAIR = pair_of(
    [1] * 40, [1] * 26 + [0] * 2 + [1] * 6 + [0] * 6, [1] * 28 + [0] * 12, names=("new", "old"), labels=[0, 1]
)
SCORES = DATA["continuous"]
OTHER = SCORES[1] + np.random.default_rng(3).normal(size=len(SCORES[1]))
PROBABILITY = expit(SCORES[1])
MANY = (np.arange(600) % 2, np.clip(0.5 + 0.3 * np.sin(np.arange(600.0)), 0.1, 0.9))
LABELS = np.random.default_rng(4).integers(3, size=60)
CLASS_SCORES = LABELS, np.random.default_rng(5).dirichlet(np.ones(3), 60) * 0.6 + 0.4 * np.eye(3)[LABELS]
NS = [10, 100]


def epcs():
    dev, test = ((y, {"a": score, "b": score**3}) for y, score in (DEV, TEST))
    return bp.curves.epc(dev, test, alphas=[0.2, 0.5, 0.8], draws=50)


def epc(**options):
    return bp.curves.epc(DEV, TEST, alphas=[0.2, 0.5, 0.8], draws=50, **options)


def decisions(**options):
    return bp.decision_curve(SCORES[0], {"a": ndtr(SCORES[1]), "b": ndtr(OTHER)}, draws=50, **options)


def clusters():
    cm = bp.ConfusionMatrix.from_predictions(LABELS % 2, LABELS > 0, by={"patient": np.arange(60) % 15})
    return bp.pool(cm, "patient", "clusters", method="bayesian_bootstrap", draws=50)


ATTEMPTS = bp.Outcomes.from_counts(right=[3, 0, 1, 4, 2, 4], n=4, dims={"question": range(6)})


def verified(**options):
    truth = np.where(np.arange(60) % 2, np.nan, LABELS % 2)
    return bp.labels.verify(truth, {"a": LABELS > 0, "b": LABELS > 1}, draws=50, **options)


def verified_one():
    return bp.labels.verify(np.where(np.arange(60) % 2, np.nan, LABELS % 2), LABELS > 0, draws=50)


def of_datasets():
    from bayesperf.comparison.several_datasets import comparison_of_fit

    return comparison_of_fit(TREE, SCORES_OF_DATASETS, 0.01, 1 / 6, True)


def unreachable():
    with pytest.raises(bp.plan.UnreachableError) as caught:
        bp.plan.sample_size(0.7, metric="recall", evidence=(4, 5))
    return caught.value


def curve(make, **options):
    return lambda: make(*SCORES, draws=50, **options)


def draws(marginal):
    return marginal.joint_draws(20), marginal.joint_draws(20, 1), marginal.eti()


def of_curve(curve):
    return curve.dataset, curve.band(), curve.operating_point(recall=0.8)["recall"].mean()


def posterior(prior=None, **options):
    return bp.posterior(SYSTEMS, prior, **options)


def of_comparison(comparison):
    return (
        comparison.prob_greater,
        comparison.prob_rope,
        comparison.expected_loss,
        comparison.ranks,
        draws(comparison.difference),
    )


# How one of each kind is made, and figures of it.
KINDS = {
    "counts": (lambda: SYSTEMS, lambda cm: cm.counts),
    "systems on the same examples": (lambda: PAIR, lambda cm: (cm.counts, cm.patterns.counts)),
    "exact posterior": (posterior, lambda post: draws(post["f1"])),
    "rate posterior": (lambda: bp.posterior(CM, bp.prior.rate(1, 1)), lambda post: draws(post["balanced_accuracy"])),
    "posterior of classes that share a prior": (
        lambda: posterior("shared"), lambda post: (draws(post["mcc"]), draws(post.source.dispersion))
    ),
    "posterior at a prevalence": (lambda: posterior().at_prevalence(0.1), lambda post: draws(post["precision"])),
    "rate": (lambda: bp.posterior_of_rate([4, 5], 9, dims=["site"]), draws),
    "area of a report": (lambda: bp.curves.auc_from_summary(0.8, 20, 30), draws),
    "comparison of two test sets": (
        lambda: bp.compare(bp.curves.auc_from_summary(0.8, 20, 30), bp.curves.auc_from_summary(0.9, 30, 30)),
        of_comparison,
    ),
    "comparison of weighted scores": (
        lambda: bp.compare(
            bp.curves.weighted_score("average_precision", SCORES[0], {"a": SCORES[1], "b": OTHER}, draws=50
        )),
        of_comparison,
    ),
    "comparison of parts of areas": (
        lambda: bp.compare(bp.roc_auc(SCORES[0], {"a": SCORES[1], "b": OTHER}, fpr=(0, 0.2), draws=50)), of_comparison,
    ),
    "expected performance": (lambda: epc().expected_performance(), draws),
    "prediction": (lambda: posterior().predict(50, draws=100), lambda post: draws(post["recall"])),
    **{
        f"marginal by {name}": (lambda name=name: posterior()[name], draws)
        for name in ("recall", "f1", "f2", "balanced_accuracy", "diagnostic_odds_ratio", "mcc", "recall_per_class")
    },
    "average over folds": (lambda: bp.folds.average(bp.posterior(FOLDS), "recall", draws=100), draws),
    "comparison of many": (lambda: bp.compare(posterior(), metric="recall", independent=True), of_comparison),
    "comparison of two": (
        lambda: bp.compare(bp.posterior(CM), bp.posterior(CM), "f1", independent=True),
        lambda comparison: (of_comparison(comparison), draws(comparison.ratio)),
    ),
    "comparison on the same examples": (lambda: bp.compare(PAIR, metric="accuracy"), of_comparison),
    "comparison by joint draws": (lambda: bp.compare(PAIR, metric="f1", draws=100), of_comparison),
    "comparison with a rule": (lambda: bp.compare(bp.posterior(CM), "majority", "accuracy"), of_comparison),
    "comparison of predictions": (
        lambda: bp.compare(posterior().predict(20, 100), metric="recall", independent=True), of_comparison,
    ),
    "correlated t-test": (
        lambda: bp.folds.correlated_ttest([0.8, 0.7, 0.75], [0.7, 0.72, 0.7], test_fraction=0.1), of_comparison,
    ),
    "sign test": (
        lambda: bp.folds.sign_test([0.8, 0.7, 0.75], [0.7, 0.72, 0.7], draws=50),
        lambda test: (test.shares, test.prob_largest),
    ),
    "signed-rank test": (
        lambda: bp.folds.signed_rank_test([0.8, 0.7, 0.75], [0.7, 0.72, 0.7], draws=50),
        lambda test: (test.shares, test.prob_largest),
    ),
    "plan of one count": (lambda: bp.plan.sample_size(0.7, evidence=(40, 50)), lambda plan: plan.curve(NS)),
    "plan of f1": (lambda: bp.plan.sample_size(0.7, metric="f1", evidence=(40, 50)), lambda plan: plan.curve(NS)),
    "plan of simulated outcomes": (
        lambda: bp.plan.sample_size(0.5, metric="mcc", evidence=CM, question="settle", simulations=100),
        lambda plan: plan.curve(NS),
    ),
    "plan of two systems": (
        lambda: bp.plan.comparison((32, 40), (20, 40), "recall", margin=0.05), lambda plan: plan.curve(NS)
    ),
    "plan of a pair": (lambda: bp.plan.comparison(PAIR, metric="recall"), lambda plan: plan.curve(NS)),
    "plan of a width": (lambda: bp.plan.interval_width(0.1, evidence=(4, 5)), lambda plan: plan.curve(NS)),
    "plan of a width's assurance": (
        lambda: bp.plan.interval_width(0.1, evidence=(4, 5), assurance=0.9), lambda plan: plan.curve(NS)
    ),
    "monitor": (lambda: bp.monitor(BATCHES, 0.7), lambda monitor: (monitor.dataset, draws(monitor.marginal))),
    "pooled": (
        lambda: bp.pool(FOLDS, draws=200), lambda pooled: (pooled.new_group["recall"].eti(), draws(pooled.dispersion))
    ),
    "dispersion": (lambda: bp.pool(FOLDS, draws=200).dispersion, draws),
    "prior of the dispersion": (lambda: bp.pool(FOLDS, draws=200).model.dispersion_prior, draws),
    "pooled posterior": (lambda: bp.pool(FOLDS, draws=200).by_group, lambda post: draws(post["f1"])),
    "areas of readers": (
        lambda: bp.curves.reader_areas(reads(), draws=50),
        lambda study: (draws(study.average_reader), study.new_reader.eti(), study.obuchowski_rockette().to_xarray()),
    ),
    "meta-analysis": (
        lambda: bp.groups.meta_analysis(FOLDS, draws=100),
        lambda found: (found.new_group["recall"].eti(), draws(found.spread), found.region("new_group")),
    ),
    "summary ROC curve": (
        lambda: bp.curves.summary_roc(bp.groups.meta_analysis(FOLDS, draws=100)),
        lambda curve: (curve.dataset, curve.band()),
    ),
    "outcomes": (lambda: ATTEMPTS, lambda outcomes: outcomes.counts),
    "plan of attempts": (lambda: bp.plan.attempts(ATTEMPTS, draws=200), lambda plan: plan.standard_error(2, 3)),
    "plan of calls or labels": (
        lambda: bp.plan.prevalence(9, {"recall": (18, 3), "specificity": (40, 2)}, n=60), lambda plan: plan.dataset
    ),
    "labels to add": (
        lambda: bp.labels.next_labels(verified_one(), 9, metric="f1"),
        lambda advice: xr.DataArray(advice.advised),
    ),
    "slices": (
        lambda: bp.slices(FOLDS, draws=100),
        lambda found: (found.prob_worst(), draws(found["f1"]), draws(found.largest_gap("fold", "fpr"))),
    ),
    "a metric of slices": (lambda: bp.slices(FOLDS, draws=100)["precision"], draws),
    "levels of slices": (lambda: bp.slices(FOLDS, draws=100).levels("fold", "recall"), draws),
    "parity of groups": (
        lambda: bp.groups.parity(FOLDS, draws=100),
        lambda found: (draws(found["recall"]), draws(found.largest_gap("equalised odds"))),
    ),
    "population of strata": (
        lambda: bp.posterior(FOLDS, strata="fold", shares={fold: 1 + i for i, fold in enumerate(
            FOLDS.counts["fold"].values.tolist())}, draws=100),
        lambda post: (draws(post["accuracy"]), post.source.effective_number("recall"))
    ),
    "metrics before labels": (
        lambda: bp.curves.expected_metrics(MANY[1], bp.curves.recalibrate(*MANY, draws=50)),
        lambda post: draws(post["f1"])
    ),
    "plan of an area": (lambda: bp.plan.area(0.2, auc=(8, 2), prevalence=0.3, draws=50), lambda plan: plan.curve(NS)),
    "plan of a calibration": (
        lambda: bp.plan.calibration(0.9, auc=0.8, prevalence=0.3), lambda plan: plan.curve(NS)
    ),
    "plan of a net benefit": (
        lambda: bp.plan.net_benefit(0.2, threshold=0.2, recall=0.8, specificity=0.8, prevalence=0.3),
        lambda plan: plan.curve(NS)
    ),
    "the largest gap": (lambda: bp.slices(FOLDS, draws=100).largest_gap("fold"), draws),
    "roc curve": (curve(bp.roc_curve), of_curve),
    "binormal roc curve": (curve(bp.roc_curve, method="binormal"), of_curve),
    "roc curve by thresholds": (curve(bp.roc_curve, method="beta", prior="jeffreys"), of_curve),
    "roc curve by thresholds with a prior": (curve(bp.roc_curve, method="beta", prior=bp.prior.flat()), of_curve),
    "precision-recall curve": (curve(bp.precision_recall_curve), of_curve),
    "det curve": (curve(bp.curves.det_curve), of_curve),
    "roc curves": (
        lambda: bp.roc_curve(SCORES[0], {"a": SCORES[1], "b": OTHER}, draws=50),
        lambda curves: (*of_curve(curves), draws(curves.area), draws(curves.operating_point(fpr=0.2)["recall"])),
    ),
    "roc curves of clusters": (
        lambda: bp.roc_curve(
            SCORES[0], {"a": SCORES[1], "b": OTHER}, draws=50, cluster=np.arange(len(SCORES[0])) % 20
        ),
        lambda curves: (*of_curve(curves), draws(curves.area)),
    ),
    **{
        f"reliability curve by {method}": (
            lambda method=method: bp.reliability_curve(SCORES[0], PROBABILITY, method=method, draws=50),
            lambda curve: (curve.dataset, curve.band()),
        )
        for method in ("isotonic", "bins", "logistic")
    },
    "reliability curves": (
        lambda: bp.reliability_curve(SCORES[0], {"a": PROBABILITY, "b": PROBABILITY**2}, method="bins", bins=4),
        lambda curves: (curves.dataset, curves.band(0.8, "pointwise")),
    ),
    "calibration": (
        lambda: bp.curves.calibration(SCORES[0], PROBABILITY, draws=50),
        lambda calibration: draws(calibration["calibration_slope"]),
    ),
    "calibration of classes": (
        lambda: bp.curves.calibration(SCORES[0], np.stack([1 - PROBABILITY, PROBABILITY], 1), draws=50),
        lambda calibration: draws(calibration["brier"]),
    ),
    **{
        f"recalibration, {method}": (
            lambda method=method: bp.curves.recalibrate(*MANY, method=method, draws=20),
            lambda recalibration: draws(recalibration.predict([0.3, 0.6])),
        )
        for method in ("logistic", "isotonic")
    },
    "prior": (lambda: bp.prior.elicited(recall=(0.7, 0.9, 0.9)), lambda prior: xr.DataArray(prior.concentration(CM))),
    "posterior of rates known apart": (
        lambda: bp.posterior(CM, bp.prior.elicited(recall=(0.7, 0.9, 0.9))),
        lambda post: (post["prevalence"].mean(), draws(post["precision"])),
    ),
    "recalibrated probability": (lambda: bp.curves.recalibrate(*MANY, draws=20).predict(0.3), draws),
    "parameter of recalibration": (lambda: bp.curves.recalibrate(*MANY, draws=20)["slope"], draws),
    "measure of calibration": (lambda: bp.curves.calibration(SCORES[0], PROBABILITY, draws=50)["brier"], draws),
    "operating point": (
        lambda: bp.roc_curve(*SCORES, draws=50).operating_point(cost=(1, 5))["threshold"],
        lambda threshold: (threshold.observed, draws(threshold)),
    ),
    "partial area": (lambda: bp.roc_curve(*SCORES, draws=50).partial_area(0, 0.2), draws),
    "area": (lambda: bp.roc_auc(*SCORES, draws=100), draws),
    "area of a part": (lambda: bp.roc_auc(*SCORES, recall=(0.5, 1), standardized=True, draws=100), draws),
    "area of clusters": (
        lambda: bp.roc_auc(*SCORES, cluster={"patient": np.arange(len(SCORES[0])) % 20}, draws=100), draws
    ),
    "areas of classes": (
        lambda: bp.roc_auc(*CLASS_SCORES, multi_class="ovr", average=None, draws=100),
        lambda areas: (draws(areas), areas.observed),
    ),
    "areas of classes compared": (
        lambda: bp.roc_auc(
            CLASS_SCORES[0], {"a": CLASS_SCORES[1], "b": CLASS_SCORES[1][:, ::-1]}, multi_class="ovo", draws=100
        ),
        lambda areas: (areas.observed, bp.compare(areas).prob_greater),
    ),
    "weighted scores of clusters compared": (
        lambda: bp.curves.weighted_score("brier", SCORES[0], {"a": PROBABILITY, "b": 1 - PROBABILITY}, draws=50,
                                  cluster=np.arange(len(SCORES[0])) % 20),
        lambda scores: bp.compare(scores).prob_greater,
    ),
    "binned scores": (
        lambda: bp.curves.BinnedScores.from_counts(positives=[1, 2, 7], negatives=[8, 3, 1], edges=[0, 0.3, 0.6, 1]),
        lambda binned: (of_curve(bp.roc_curve(binned, draws=50)), draws(bp.roc_auc(binned, draws=100))),
    ),
    "area by DeLong": (lambda: bp.roc_auc(*SCORES, method="delong", transform="logit"), draws),
    "weighted score": (lambda: bp.curves.weighted_score("average_precision", *SCORES, draws=100), draws),
    "areas compared": (
        lambda: bp.compare(bp.roc_auc(SCORES[0], {"a": SCORES[1], "b": OTHER}, draws=100)),
        lambda comparison: (comparison.prob_greater, comparison.prob_best, comparison.difference.eti()),
    ),
    "areas compared by DeLong": (
        lambda: bp.compare(bp.roc_auc(SCORES[0], {"a": SCORES[1], "b": OTHER}, method="delong")),
        lambda comparison: (comparison.prob_greater, comparison.prob_best, comparison.difference.eti()),
    ),
    "chosen threshold": (
        lambda: bp.choose_threshold(*SCORES, best="f1", requirements={"recall": 0.5}, draws=50),
        lambda chosen: (chosen.prob_met, draws(chosen["f1"]), chosen.apparent.counts),
    ),
    "threshold of a test set": (
        lambda: bp.choose_threshold(*SCORES, cost=(1, 2), prevalence=0.1, test=(SCORES[0], OTHER)),
        lambda chosen: draws(chosen["recall"]),
    ),
    "abstention": (
        lambda: bp.curves.abstention(*SCORES, max_abstention=0.2, draws=50),
        lambda two: (two.apparent.counts, draws(two.abstention_rate), draws(two["npv"])),
    ),
    "abstention of a test set": (
        lambda: bp.curves.abstention(*SCORES, cost=(3, 3, 1), test=(SCORES[0], OTHER)),
        lambda two: draws(two.abstention_rate),
    ),
    "decision plan": (
        lambda: bp.plan.decision(SCORES[0], PROBABILITY, threshold=0.3, draws=200),
        lambda plan: plan.curve([10, 100]),
    ),
    "plan of labels": (
        lambda: bp.plan.labels(verified_one(), metric="accuracy", requirement=0.05), lambda plan: plan.curve(NS)
    ),
    "decision curve": (
        lambda: decisions(thresholds=[0.2, 0.5], by={"half": np.arange(100) % 2}),
        lambda curve: (curve.dataset, curve.band(), curve.prob_best, curve.value_of_perfect_information),
    ),
    "decision curve elsewhere": (
        lambda: decisions().at_prevalence((2, 98)), lambda curve: (curve.band(), draws(curve.standardised_net_benefit))
    ),
    "net benefit": (lambda: decisions().net_benefit, draws),
    "standardised net benefit": (lambda: decisions().standardised_net_benefit, draws),
    "difference of net benefits": (lambda: decisions().difference("a", "treat_all"), draws),
    "expected performance curve": (
        epc, lambda curve: (curve.dataset, curve.band(), draws(curve.area))
    ),
    "comparison of expected performance": (
        lambda: epcs().contrast(), lambda comparison: (comparison.prob_better, draws(comparison.difference))
    ),
    "expected performance curves": (
        epcs, lambda curve: (curve.band(), curve.difference(), curve.percentile_test(draws=50))
    ),
    "chain": (
        lambda: of_frames(bp.sequences.posterior, draws=100),
        lambda post: (post.source.parameters, draws(post["recall"]), post.predict(20, draws=50)["recall"].mean()),
    ),
    "independent samples": (
        lambda: of_frames(bp.sequences.posterior, order=0), lambda post: draws(post["recall"])
    ),
    "bootstrap of clusters": (clusters, lambda pooled: draws(pooled.mean["recall"])),
    "posterior of clusters": (lambda: clusters().mean, lambda post: draws(post["f1"])),
    "verified part": (verified, lambda post: (draws(post["recall"]), post.source.sample.counts)),
    "verified sample": (lambda: verified().source.sample, lambda sample: sample.verified),
    "joint posterior": (
        lambda: joint_posterior(PAIR.patterns, bp.prior.flat(), 50), lambda post: post["f1"].mean()
    ),
    "wrong labels": (lambda: bp.labels.noise(SYSTEMS, 0.05, draws=50), lambda post: draws(post["f1"])),
    "raters": (lambda: bp.Ratings.from_table([[1, 2, 1], [2, 2, 1]]), lambda ratings: ratings.patterns),
    "comparison on data sets": (
        of_datasets, lambda found: (found.next_dataset.shares, found.tree["posterior"]["tail"])
    ),
    "design effect": (lambda: of_frames(bp.sequences.design_effect), lambda effect: effect),
    "check of independence": (
        lambda: of_frames(bp.sequences.check_independence, FRAMES[:100], metric="accuracy", factor=10, draws=100),
        lambda check: check,
    ),
    "autocorrelation": (lambda: of_frames(bp.sequences.autocorrelation, draws=100), lambda check: check),
    "delta": (lambda: bp.intervals.delta(CM, "f1"), lambda interval: interval),
    "bootstrap": (lambda: bp.intervals.bootstrap(CM, "f1", n_resamples=50, random_seed=1), lambda interval: interval),
}  # fmt: skip


def pickled(kind):
    return pickle.loads(pickle.dumps(kind))


def flat(figures):
    return [leaf for part in figures for leaf in flat(part)] if isinstance(figures, tuple) else [figures]


@pytest.fixture
def filed(tmp_path):
    def saved_and_loaded(kind):
        kind.save(tmp_path / "file.nc")
        return bp.load(tmp_path / "file.nc")

    return saved_and_loaded


@pytest.mark.few
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_copies_and_files_say_the_same(name, filed):
    make, figures = KINDS[name]
    original = make()
    fresh = pickled(original)
    says = [method for method in ("summary", "in_words") if hasattr(original, method)]
    expected, said = flat(figures(original)), [getattr(original, method)() for method in says]
    # Once more after figures were computed: what is cached on the way must not stand in the way.
    copies = [fresh, copy.deepcopy(original)]
    if isinstance(original, Saved):
        copies.append(filed(filed(original)))
    for one in copies:
        assert type(one) is type(original)
        assert repr(one) == repr(original)
        for found, figure in zip(flat(figures(one)), expected, strict=True):
            xr.testing.assert_identical(found, figure)
        for method, words in zip(says, said, strict=True):
            again = getattr(one, method)()
            if isinstance(words, pd.DataFrame):
                pd.testing.assert_frame_equal(again, words, check_exact=True)
            else:
                assert again == words


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_class_that_can_be_saved_is_tried():
    for name in modules():
        if name.startswith("bayesperf.") and not name.startswith(("bayesperf.cli", "bayesperf.models")):
            importlib.import_module(name)
    waiting, found = [Saved], set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        found.add(kind)
    answers = [kind for kind in found if issubclass(kind, Answer) and not isabstract(kind)]
    assert all(kind.plot is not Answer.plot or hasattr(bp.plots, kind.drawn_by) for kind in answers)
    tried = {type(make()) for make, _ in KINDS.values()}
    assert {kind.__name__ for kind in found - tried} == {
        "Saved", "Answer", "AnswersOverGroups", "Counted", "Curve", "CurveOfParts",
    }  # fmt: skip


@pytest.mark.slow
def test_results_go_to_other_processes_and_threads():
    original = [KINDS[name][0]() for name in ("exact posterior", "roc curve", "comparison of two", "plan of f1")]
    words = [one.in_words() for one in original]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(in_words, original)) == words
    # Metrics of one's own go there, too.
    cost = bp.metrics.cost([[0, 1], [5, 0]])
    own = Metric("gain", lambda tp, fp: tp - 2 * fp)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(in_words, original)) == words
        futures = [pool.submit(bp.score, CM, metric) for metric in (cost, own)]
        assert [future.result().item() for future in futures] == [bp.score(CM, cost).item(), 30]


def in_words(one):
    return one.in_words()


def test_errors_of_plans_are_copied():
    error = unreachable()
    same = pickled(error)
    assert (str(same), same.limit, same.settles.n) == (str(error), error.limit, error.settles.n)


# ── Metrics and priors ──

PRIORS = [
    bp.prior.flat(), bp.prior.jeffreys(), bp.prior.perks(), bp.prior.haldane(), bp.prior.rate(1, 2),
    bp.prior.dirichlet([[2, 1], [1, 3]]), bp.prior.elicited(precision=0.6, recall=0.65, accuracy=0.6, weight=2),
]  # fmt: skip


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
def test_copies_of_priors_have_the_same_weights(prior, copied):
    same = copied(prior)
    assert (same.name, same.rates, same.describe(CM)) == (prior.name, prior.rates, prior.describe(CM))
    np.testing.assert_array_equal(same.concentration(CM), prior.concentration(CM))


NAMES = [
    *bp.metrics.names("cells"),
    "f2",
    "f0.5",
    "recall_macro",
    "precision_micro",
    "specificity_micro",
    "jaccard_micro",
]


@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
def test_copies_of_metrics_are_equal(copied):
    for name in NAMES:
        metric = bp.metrics.get(name)
        assert copied(metric) == metric
        assert copied(metric).evaluate(CM.counts.values, 1) == metric.evaluate(CM.counts.values, 1)


def test_the_error_names_a_metric_whose_function_cannot_be_pickled():
    lock = threading.Lock()
    metric = Metric("guarded", lambda tp: tp if lock else 0)
    with pytest.raises(pickle.PicklingError, match="metric 'guarded' cannot be pickled, because its function cannot"):
        pickle.dumps(metric)
