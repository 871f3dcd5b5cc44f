"""What the README shows is what a reader gets."""

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesperf as bp
from bayesperf import metrics
from tests.shared.markdown import rows

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOW_TO = (ROOT / "docs" / "how_to" / "index.md").read_text(encoding="utf-8")
FIRST_PAGE = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_first_example_prints_what_is_shown():
    code, output = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL).groups()
    *lines, last = code.strip().splitlines()
    names = {}
    exec("\n".join(lines), names)
    assert repr(eval(last, names)) == output.rstrip()


@pytest.mark.slow
def test_every_answer_in_the_table_runs(tmp_path, monkeypatch):
    # Where files are written.
    monkeypatch.chdir(tmp_path)
    cm = bp.ConfusionMatrix.from_counts(tp=45, fn=5, fp=10, tn=90)
    tp = xr.DataArray([9, 8, 10, 7], dims="site")
    y_true, y_pred, ids = (np.arange(40) // n % 2 for n in (5, 4, 20))
    scope = {
        "bp": bp,
        "pm": pm,
        "duckdb": duckdb,
        "post": bp.posterior(cm),
        "cm": cm,
        "ConfusionMatrix": bp.ConfusionMatrix,
        "frame": bp.datasets.load("breast_cancer"),
        **{"y_true": y_true, "y_pred": y_pred, "ids": ids},
        "post_a": bp.posterior(cm),
        # Of other examples.
        "post_b": bp.posterior(bp.ConfusionMatrix.from_counts(tp=50, fn=5, fp=8, tn=87)),
        "new": bp.posterior(cm),
        "old": bp.posterior(bp.ConfusionMatrix.from_counts(tp=50, fn=5, fp=8, tn=87)),
        "scores_a": [0.8, 0.9, 0.85],
        "scores_b": [0.8, 0.85, 0.9],
        "y_score": np.random.default_rng(0).normal(y_true),
        "y_prob": np.random.default_rng(0).beta(1 + y_true, 2 - y_true),
        "y_probs": np.random.default_rng(0).dirichlet([1, 1], 40),
        "y_new": np.arange(40) // 3 % 2,
        "other": np.random.default_rng(1).normal(y_true),
        # Attempts and grades.
        **{"json": json, "pd": pd, "lines": '{"doc_id": 0}', "grades": [5, 4, 1]},
        "rows": pd.DataFrame({"passed": [1, 0, 1, 1], "question": [1, 1, 2, 2]}),
        "attempts": bp.Outcomes.from_counts(right=np.arange(30) % 5, n=4, dims=["question"]),
        "votes": pd.DataFrame([("x", "y", "a"), ("y", "z", "tie"), ("z", "x", "b")] * 9, columns=["a", "b", "winner"]),
        "asked": bp.Outcomes.from_counts(right=np.arange(12).reshape(3, 4) % 2, n=1, dims=["model", "item"]),
        "graded": bp.Outcomes.from_grades({"x": [0, 1, 2], "y": [2, 2, 0]}, by={"item": [1, 2, 3]}),
        "few": bp.Outcomes.from_counts(right=[1, 0], n=1, dims={"item": [0, 2]}),
        # Calls whose errors are known.
        "validated": bp.ConfusionMatrix.from_counts(tp=103, fn=19, fp=2, tn=399),
        # Numbers of credit, counts of positives found so far, and scores of cases by readers.
        "credit": [0.5, 1.0, 0.25, 0.75],
        **{"found": np.array([8, 17, 25]), "positives": np.array([10, 20, 30])},
        "reads": pd.DataFrame(
            [
                (r, c, m, c % 2, (7 * r + 5 * c + 3 * len(m)) % 11 + c % 2)
                for r in range(3)
                for c in range(12)
                for m in "ab"
            ],
            columns=["reader", "case", "modality", "truth", "score"],
        ),
        "calls": None,
        # Of test sets of their own.
        "systems": bp.posterior(bp.ConfusionMatrix.from_counts(tp=[9, 8], fn=[1, 3], fp=2, tn=8, dims=["model"])),
    }
    of_sites = bp.ConfusionMatrix.from_counts(tp=tp, fn=10 - tp, fp=2, tn=18)
    question = np.arange(240) // 8
    names = {"model": ["new", "old"], "week": [1, 2]}
    weeks = bp.ConfusionMatrix.from_counts(tp=[[9, 8], [8, 7]], fn=[[1, 2], [2, 3]], fp=2, tn=8, dims=names)
    two_sites = bp.ConfusionMatrix.from_counts(tp=9, fn=[1, 3], fp=2, tn=8, dims={"site": ["north", "south"]})
    passed = np.arange(60).reshape(2, 30) // 2 % 7
    both = bp.ConfusionMatrix.from_counts(tp=passed, fn=6 - passed, fp=0, tn=0, dims=["model", "question"])
    # What an answer is about, by what stands in it.
    special = {
        "_macro": {"post": bp.posterior(bp.ConfusionMatrix.from_table([[9, 1, 0], [2, 7, 3], [0, 0, 11]]))},
        'dim="site"': {"cm": of_sites},
        "parity(": {"cm": of_sites},
        "expected_metrics(": {
            "new": np.linspace(0.1, 0.9, 40),
            "line": bp.curves.recalibrate(y_true, np.random.default_rng(0).beta(1 + y_true, 2 - y_true)),
        },
        "meta_analysis(": {"cm": bp.ConfusionMatrix(of_sites.counts.rename(site="study"), 1)},
        '"reference"': {"studies": bp.ConfusionMatrix(of_sites.counts.rename(site="study"), 1)},
        "majority_vote(": {"answers": np.arange(240) % 3 % 2, "y_true": question % 2, "question": question},
        'strata="site"': {"cm": two_sites, "shares": {"north": 0.8, "south": 0.2}},
        "cluster=": {"ids": np.arange(40) // 2},
        "both": {"both": both},
        "pass_at_k": {"cm": bp.ConfusionMatrix(of_sites.counts.rename(site="question"), 1)},
        "versus=": {"both": weeks},
        'dim="run"': {"cm": bp.ConfusionMatrix(of_sites.counts.rename(site="run"), 1)},
        'dim="step"': {"cm": bp.ConfusionMatrix(of_sites.counts.rename(site="step"), 1)},
    }
    special["bp.slices("] = special["slices="] = {"cm": of_sites}
    special["_per_class"] = special["_macro"]
    partly, truth = np.where(np.arange(200) % 4 == 0, 1.0, np.nan), np.arange(200) // 5 % 2
    many = np.arange(400) // 4 % 2
    special['requirements={"recall"'] = special["bp.curves.abstention("] = {
        "y_true": many,
        "y_score": np.random.default_rng(0).normal(5 * many),
    }
    special["judge="] = {"y_true": partly * truth, "y_pred": np.arange(200) // 4 % 2, "judge": truth}
    special["next_labels"] = {"post": bp.labels.verify(**special["judge="])}
    replaced = {
        "actual=…, predicted=…": "actual='actual', predicted='predicted'",
        "tn: …": "tn: tp - fp",
        # The same kind of relation without files.
        'duckdb.read_parquet("predictions/*.parquet")': "duckdb.from_df(frame)",
        # The same call without a sampler.
        "bp.fit(cm,": "bp.fit(cm, method='exact',",
        "bp.fit(votes,": "ranked(votes,",
        "bp.fit(asked,": "answered(asked,",
        "bp.fit(calls,": "(lambda data, model: data)(calls,",
        "bp.fit(graded,": "bp.models.build(graded,",
        "bp.fit(studies,": "(lambda data, model, options: bp.models.build(data, model, options=options))(studies,",
        "bp.fit(bp.Ratings": "(lambda ratings, model: ratings)(bp.Ratings",
        "item=…, rater=…, rating=…": "item='example', rater='model', rating='predicted'",
    }
    tree = bp.fit(scope["votes"], "preferences", draws=500, random_seed=0)
    scope["ranked"] = lambda *_, **__: tree
    of_items = bp.fit(scope["asked"], "items", draws=500, random_seed=0)
    scope["answered"] = lambda *_, **__: of_items
    answers = [answer for _, answer in rows(HOW_TO, "| question | answer |")]
    assert len(answers) > 50
    # What is typed in a shell runs in the tests of its command.
    for code in re.findall(r"`(.*?)`", " ".join(answers)):
        if code.startswith("bayesperf "):
            continue
        runs = code
        for shown, meant in replaced.items():
            runs = runs.replace(shown, meant)
        here = scope | {name: value for mark, own in special.items() if mark in code for name, value in own.items()}
        exec(f"dict({runs})" if code.startswith("prior=") else runs, here)
    metrics.unregister("cost_saved")


def test_the_table_names_every_model():
    named = [name.strip("`") for names, _ in rows(README, "| model | describes |") for name in names.split(", ")]
    assert sorted(named) == bp.models.names()


def test_the_first_page_of_the_site_has_the_same_words_and_the_same_unusual_questions():
    opening, listed = README.split("\n\n")[1:3]
    words = re.search(r"^bayesperf says .*?(?=\n\n)", FIRST_PAGE, re.DOTALL | re.MULTILINE).group()
    assert opening.startswith(words)
    questions = re.findall(r"- \*\*\[(.*)\]\(docs/(.*)\.md\)\*\*: (.*)", listed)
    assert len(questions) == len(listed.splitlines()) == 6
    cards = re.findall(r"\{grid-item-card\} (.*)\n(?::.*\n)*:link: (.*)\n:link-type: doc\n(.*)\n", FIRST_PAGE)
    assert cards == [(title, page, question[0].upper() + question[1:]) for title, page, question in questions]
