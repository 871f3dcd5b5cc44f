"""Areas of readers who score the same cases: printed figures, the crossed bootstrap, and what is refused."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesperf as bp

# Ratings of Van Dyke et al. 1993 (69 healthy cases, then 45 with a dissection): two treatments of five readers. And
# scores of iMRMC's test, by their order (40 cases of each class), in characters.
VAN_DYKE = [
    "122151111111411111111131311214111113121211233131133111111221111332111555545554555434245555555154454553555115554451",
    "232222222322522232222222422223222222222222222222222222222432232222222535555542555442225555555243354552425225555352",
    "222235112242422232221232411322112224121412112222223211211221151421212545555555555542355555555252255552555225555552",
    "111111311111111111112111211112111111111111111111331111111111111311111555555555555555155555555554544553555125555555",
    "351211112221211122113221111211211231221113332111211111111341231212113525255551545452235555554144322151515115553552",
    "333222223213122222211111421312214323123122233111333113412421241442111535555554555544335555555355355554455535555551",
    "322222223222222122221222322222212212222231223222222222322322222222122535555552555344245455545252355532425525555552",
    "242222322211132222121121411512112122212221132111233113221232341242121525555555555354145555555253355543555534555551",
    "221111312111122111211111321212111122112111112121212211111212111323211545555554555455555555555455445555555535555555",
    "223122221222111222122212322321212222112121132122332122221222231233111525455555455343335555555251332532545533555553",
]
IMRMC = [
    "9QLVjX6B0&7+I/qK;rZ)ig2b.c_%3M5*=HeJ-D4'E#Tonasp`>^[(fFmW@O$dlYGkASh1,?N:<PU]R8C",
    "$g?Im;)&T'E+W#GKX3-9[o.C<@n1A48M7HN0P>B/f2DchlrqYRF`:eUpi%SO_a]Ls=Jd*Qbj(Z^,Vk56",
    "FH(4[A%$;*LC.0>O'^G5RV1D&P/,2<#B:J+Q)7-3m6Ed]SspbnNe9lZifU?Mj8harX_g=`IoKWk@qcTY",
    "IpHUsW%8&'9/=*bjKkG[hrQ.;Bf)FeMiPO<mZ20A7#-oCSq_`D@>+YVcl6Nd1a34g^TLJX?:(]E5nR$,",
    "-BF;o.*8$,13G#KNPO`(VR5A'Mb%ZH7[9E=2)Q6&U/>hgasnLelXIf<mT?+D^i]@p_JdWkSr:YjCqc04",
    "+cW[mS0,'BM)V#q?IY_9G`J7&Po%/E415nC(Q=$*ZKgU<srhL36A;b2k^ae:l]f8j@Fp.R-d>DiHTONX",
    "'g:J[F.+<2L9A#8O>13CMa$60=^&5*;e)TH,P-%/di_QRsnqh@IVK`W]fZmlkXcUoS4rEbBp(Gj7NYD?",
    "2lFCQ(3*0@bIO=DG,YT-8gBXH?;&1'%V$oAK:/#.pNaJ<rnWSP>`]cM5hj^fq9U6d_4i7Z)sELm+kRe[",
    "1rGTpA%,'7i0Q*HW?U;YRc/&5<J#9-+hCP=3k)$2_dDg4m^Ij>]KbSB6nVFsNELX`e.l8[:MOfq(oZa@",
    "*gZ8NB7E(6[0A)+^D@I9?`M4'<a/L%1e3R,.H:#&T_d5;siOPWl=XKSCbVJp]Qfckh>jUmFr$Go2qnY-",
]


def frame_of(rows, negatives):
    """Return a row for each read of two modalities and five readers."""
    scores = np.array([np.frombuffer(row.encode(), np.uint8) for row in rows]).reshape(2, 5, -1)
    places = list(product(range(1, 3), range(1, 6), range(scores.shape[-1])))
    frame = pd.DataFrame(places, columns=["modality", "reader", "case"])
    return frame.assign(truth=(frame["case"] >= negatives).astype(int), score=scores.ravel())


@pytest.fixture(scope="module")
def van_dyke():
    return bp.curves.reader_areas(frame_of(VAN_DYKE, 69), draws=4000)


def simulated(rng, readers, cases, between=0.4, effect=0.5):
    """Return a frame of reads that are correlated by case and by reader."""
    truth = np.repeat([0, 1], cases)
    case, reader = rng.standard_normal((2 * cases,)), between * rng.standard_normal((readers, 1))
    rows = []
    for m in range(2):
        separation = 1.2 + effect * m + reader + 0.2 * rng.standard_normal((readers, 1))
        score = truth * separation + 0.7 * case + rng.standard_normal((readers, 2 * cases))
        rows.append(score)
    places = list(product("AB", range(readers), range(2 * cases)))
    frame = pd.DataFrame(places, columns=["modality", "reader", "case"])
    return frame.assign(truth=truth[frame["case"]], score=np.stack(rows).ravel())


# ── Printed figures ──


def test_areas_of_van_dyke(van_dyke):
    """MRMCaov's ten areas, ties counted half."""
    printed = [[0.9196457, 0.8587762, 0.9038647, 0.9731079, 0.8297907],
               [0.9478261, 0.9053140, 0.9217391, 0.9993559, 0.9299517]]  # fmt: skip
    np.testing.assert_allclose(van_dyke.observed, printed, atol=5e-8)


def test_obuchowski_rockette_of_van_dyke(van_dyke):
    """MRMCaov's table with DeLong's covariances: random readers and cases, Hillis' degrees of freedom."""
    table = van_dyke.obuchowski_rockette()
    printed = [
        [0.897037, 0.03307642, 12.59597, 0.8253461, 0.968728],
        [0.9408374, 0.02150464, 12.5653, 0.8942155, 0.9874592],
        [-0.04380032, 0.0206825, 15.06611, -0.087867196, 0.0002665519],
    ]
    columns = ["estimate", "se", "df", "ci_lower", "ci_upper"]
    np.testing.assert_allclose(table[columns], printed, rtol=1e-6, atol=2e-9)
    assert table["p_value"].iloc[2] == pytest.approx(0.05123303, rel=1e-6)
    assert table[["modality", "versus"]].to_numpy().tolist() == [[1, ""], [2, ""], [1, 2]]
    components = {"reader": 0.0015364254, "modality_reader": 0.000204584, "error": 0.0007921325,
                  "cov1": 0.000342009, "cov2": 0.0003395265, "cov3": 0.0002358497}  # fmt: skip
    for name, value in components.items():
        assert table.attrs[name] == pytest.approx(value, rel=1e-6), name


@pytest.mark.parametrize(
    ("options", "attributes", "printed"),
    [
        (
            {"random": "cases", "covariance": "jackknife"},
            {"error": 0.0008022883, "cov1": 0.0003466137, "cov2": 0.0003440748, "cov3": 0.0002390284,
             "denominator": 0.0008758604, "f": 5.475953, "df2": np.inf},
            [(0.897037, 0.02428971, 0.8494301, 0.944644), (0.9408374, 0.01677632, 0.9079564, 0.9737183),
             (-0.04380032, 0.01871748, -0.08048591, -0.00711473), 0.01927984],
        ),
        (
            {"random": "readers"},
            {"ms_modality": 0.004796171, "ms_modality_reader": 0.0005510306, "f": 8.704, "df1": 1, "df2": 4},
            [(0.897037, 0.02482994, 0.8280981, 0.965976), (0.9408374, 0.01615303, 0.8959894, 0.9856854),
             (-0.04380032, 0.01484629, -0.08502022, -0.00258042), 0.04195875],
        ),
    ],
)  # fmt: skip
def test_only_cases_or_only_readers_are_a_sample(van_dyke, options, attributes, printed):
    """MRMCaov's tables of fixed readers, with the jackknife of all cases, and of fixed cases."""
    table = van_dyke.obuchowski_rockette(**options)
    for name, value in attributes.items():
        assert table.attrs[name] == pytest.approx(value, rel=1e-6), name
    *rows, p_value = printed
    np.testing.assert_allclose(table[["estimate", "se", "ci_lower", "ci_upper"]], rows, rtol=0, atol=5e-8)
    assert table["p_value"].iloc[2] == pytest.approx(p_value, rel=1e-6)


def test_the_posterior_beside_the_analysis_of_variance(van_dyke):
    """The average reader's interval is about as wide as Obuchowski & Rockette's; these readers alone say more."""
    table = van_dyke.obuchowski_rockette()
    ours = van_dyke.average_reader
    np.testing.assert_allclose(ours.mean(), table["estimate"][:2], atol=0.004)
    np.testing.assert_allclose(ours.sd(), table["se"][:2], rtol=0.2)
    difference = bp.compare(ours, dim="modality").difference
    assert difference.mean().item() == pytest.approx(-0.0438, abs=0.004)
    assert difference.sd().item() == pytest.approx(0.0207, rel=0.35)
    assert (van_dyke.these_readers.sd() < ours.sd()).all()
    assert (van_dyke.new_reader.sd() > ours.sd()).all()


def unbiased_variance(wins):
    """The U-statistic of the variance of a mean over readers and pairs, (reader, positive, negative); Gallas 2006."""
    total = 0.0
    for equal in product([False, True], repeat=3):
        free = tuple(axis for axis in range(3) if not equal[axis])
        total += (-1) ** sum(equal) * (wins.sum(axis=free) ** 2).sum()
    distinct = np.prod([size * (size - 1) for size in wins.shape])
    return wins.mean() ** 2 - total / distinct


def test_variances_of_imrmc():
    """iMRMC's unbiased variances of the average reader and of the difference; the posterior's are a little larger."""
    study = bp.curves.reader_areas(frame_of(IMRMC, 40))
    scores = study.scores.values.astype(float)
    positive, negative = scores[..., 40:, None], scores[..., None, :40]
    wins = (positive > negative) + (positive == negative) / 2
    np.testing.assert_allclose(wins.mean((1, 2, 3)), [0.704375, 0.7585])
    printed = [0.00631393024, 0.00237205276, 0.00498950905]
    found = [unbiased_variance(each) for each in (wins[0], wins[1], wins[0] - wins[1])]
    np.testing.assert_allclose(found, printed, rtol=1e-8)
    # The same by Obuchowski & Rockette's components; iMRMC rounds degrees of freedom down for its intervals.
    table = study.obuchowski_rockette(covariance="unbiased")
    np.testing.assert_allclose(table["se"] ** 2, printed, rtol=1e-8)
    np.testing.assert_allclose(table["df"], [6.85458885, 35.0001533, 7.43533593], rtol=1e-8)
    components = [0.00425427, 0.00839892, 0.00152498, 0.00153042, 0.000865483, 0.00294008]
    names = ["reader", "modality_reader", "cov1", "cov2", "cov3", "error"]
    np.testing.assert_allclose([table.attrs[name] for name in names], components, rtol=2e-6)
    average = study.drawn["average_reader"]
    ours = [*average.var("draw").values, (average[0] - average[1]).var().item()]
    np.testing.assert_allclose(ours, printed, rtol=0.25)


# ── The bootstrap ──


def test_one_modality_whose_readers_agree_has_the_area_of_roc_auc():
    """All readers give the same scores: only cases vary, as in `roc_auc`."""
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1], 30)
    score = rng.normal(truth * 1.3)
    frame = pd.concat([pd.DataFrame({"case": range(60), "truth": truth, "score": score, "reader": r}) for r in "abcd"])
    study = bp.curves.reader_areas(frame.assign(modality="only"), draws=8000)
    alone = bp.roc_auc(truth, score, draws=8000)
    for found in (study.by_reader.sel(reader="a", modality="only"), study.average_reader.sel(modality="only")):
        assert found.mean().item() == pytest.approx(alone.mean().item(), abs=5 * alone.sd().item() * np.sqrt(2 / 8000))
        assert found.sd().item() == pytest.approx(alone.sd().item(), rel=5 / np.sqrt(8000))
    table = study.obuchowski_rockette()
    delong = bp.roc_auc(truth, score, method="delong")
    assert table["se"].tolist() == pytest.approx([delong.sd().item()], rel=1e-9)
    assert "For a new reader" in study.in_words()


@pytest.mark.parametrize("perfect", [True, False])
def test_few_perfect_or_tied_reads_do_not_show_equivalence(perfect):
    """Each modality has its own unseen half case in either class, beside the four that both read."""
    places = list(product("AB", range(3), range(8)))
    reads = pd.DataFrame(places, columns=["modality", "reader", "case"])
    reads = reads.assign(truth=(reads["case"] >= 4).astype(int))
    study = bp.curves.reader_areas(reads.assign(score=reads["truth"] * perfect), draws=20_000)
    rng = np.random.default_rng(7)
    seen, half = rng.gamma(4.0, size=(2, 1, 40_000)), rng.gamma(0.5, size=(2, 2, 40_000))
    (p, n), (above, below) = half / (seen + half), rng.random((2, 2, 40_000))
    area = (1 - p) * ((1 - n) * (1 if perfect else 0.5) + n * below) + p * ((1 - n) * above + n / 2)
    small = (abs(area[0] - area[1]) < 0.05).mean()
    found = bp.compare(study.average_reader, dim="modality", rope=0.05)
    assert small < 0.8
    assert found.prob_rope[0, 1, 1].item() == pytest.approx(small, abs=5 * np.sqrt(0.25 / 20_000))
    assert found.difference.sd().item() == pytest.approx((area[0] - area[1]).std(), rel=0.05)


def test_weights_of_readers_have_the_variance_of_a_sample():
    """With so many cases that they do not matter, the variance of the average reader is S²/J."""
    rng = np.random.default_rng(4)
    study = bp.curves.reader_areas(simulated(rng, 6, 500), draws=2000)
    observed = study.observed
    expected = observed.var("reader", ddof=1) / 6
    np.testing.assert_allclose(study.average_reader.sd() ** 2, expected, rtol=0.2)


def test_planned_sizes(van_dyke):
    table = van_dyke.plan(0.0438, [5, 10], [114, 228])
    known = van_dyke.obuchowski_rockette().iloc[2]
    first = table.iloc[0]
    np.testing.assert_allclose(first[["se", "df"]].astype(float), known[["se", "df"]].astype(float), rtol=1e-9)
    t = stats.nct(known["df"], 0.0438 / known["se"])
    reach = stats.t.ppf(0.975, known["df"])
    assert first["power"] == pytest.approx(t.sf(reach) + t.cdf(-reach))
    assert first["half_width"] == pytest.approx((known["ci_upper"] - known["ci_lower"]) / 2)
    # Twice the cases halve what cases contribute; ten readers halve the rest, but for what readers have in common.
    components = van_dyke.obuchowski_rockette().attrs
    apart = components["cov2"] - components["cov3"]
    own = components["modality_reader"] + (components["error"] - components["cov1"] - apart) / 2
    assert table.iloc[3]["se"] == pytest.approx(np.sqrt(2 / 10 * (own + 10 * apart / 2)))


# ── Words, tables, figures, and what is refused ──


def test_words_table_and_figure(van_dyke):
    words = van_dyke.in_words(rope=0.05)
    assert words.startswith("For the average reader, among readers like these 5, ROC AUC is 0.89")
    assert "On ROC AUC, 2 is very probably better than 1" in words
    table = van_dyke.summary()
    assert table["answer"].value_counts().to_dict() == {
        "reader": 10, "average reader": 2, "new reader": 2, "these readers": 2
    }  # fmt: skip
    (axes,) = van_dyke.plot().axes
    np.testing.assert_allclose([line.get_ydata() for line in axes.lines[:5]], van_dyke.observed.values.T)


def test_what_is_refused():
    reads = frame_of(VAN_DYKE, 69)
    for frame, message in (
        (reads.iloc[1:], "has 0 reads of modality 1, reader 1, case 0; every reader must read every case once"),
        (pd.concat([reads, reads.iloc[:1]]), "has 2 reads of modality 1, reader 1, case 0"),
        (reads[reads["reader"] < 3], "has 2 readers, which say nothing of others"),
        (reads.assign(truth=np.where(reads.index == 5, 1, reads["truth"])), "has two labels for case 5"),
        (reads.assign(score=np.nan), "column 'score'"),
        (reads.drop(columns="reader"), "has no column 'reader'"),
    ):
        with pytest.raises(ValueError, match=message):
            bp.curves.reader_areas(frame)


def test_components_of_one_modality():
    """The variance of readers' areas, less DeLong's variance and plus their covariance, from own placements."""
    reads = frame_of(VAN_DYKE, 69)
    study = bp.curves.reader_areas(reads[reads["modality"] == 1].drop(columns="modality"), draws=10)
    scores = study.scores.values[0]
    positive, negative = scores[:, 69:, None], scores[:, None, :69]
    wins = (positive > negative) + (positive == negative) / 2
    covariance = np.cov(wins.mean(2)) / 45 + np.cov(wins.mean(1)) / 69
    error, others = np.trace(covariance) / 5, covariance[~np.eye(5, dtype=bool)].mean()
    expected = {"reader": wins.mean((1, 2)).var(ddof=1) - error + others, "error": error, "cov2": others}
    assert study.obuchowski_rockette().attrs == pytest.approx(expected | {"confidence": 0.95}, rel=1e-9)
    with pytest.raises(ValueError, match="this study has one"):
        study.plan(0.05, [5], [100])


def test_perfect_readers_plan_nothing():
    reads = frame_of(VAN_DYKE, 69)
    study = bp.curves.reader_areas(reads.assign(score=reads["truth"]), draws=10)
    with pytest.raises(ValueError, match="readers are perfect"):
        study.plan(0.05, [5], [100])


def test_draws_of_the_variance_between_readers(van_dyke):
    """Each variance of observed areas is (J − 1) S²/χ² with J − 1 degrees of freedom, less what cases contribute."""
    anova = van_dyke._anova
    drawn = anova.between_readers(40_000, np.random.default_rng(0))
    for i in (0, 1):
        total = drawn[:, i, i] + anova.error - anova.cov2
        expected = stats.chi2(4).ppf([0.9, 0.5, 0.1])
        found = 4 * anova.areas[i].var(ddof=1) / np.quantile(total, [0.1, 0.5, 0.9])
        np.testing.assert_allclose(found, expected, rtol=0.03)
