"""Ratings: answers counted by pattern, from long frames of any engine and from tables, and what is refused."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import bayesperf as bp

RNG = np.random.default_rng(0)
LONG = pd.DataFrame({
    "image": RNG.integers(0, 60, 400), "by": RNG.choice(["ann", "bob", "cai"], 400),
    "says": RNG.choice(["cat", "cow", "dog"], 400),
}).assign(site=lambda frame: np.where(frame["image"] % 3 == 0, "north", "south"))  # fmt: skip
LONG["truth"] = np.where(LONG["image"] % 10 == 0, "cow", None)
ROLES = {"item": "image", "rater": "by", "rating": "says", "population": "site", "actual": "truth"}
ENGINES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "lazy polars": lambda f: pl.from_pandas(f).lazy(),
           "duckdb": duckdb.from_df}  # fmt: skip


def answers_of_items(ratings):
    """Return for each item how often each rater gave each rating, its known class and its population."""
    answers, known = (ratings.patterns[name].values.tolist() for name in ("answers", "known"))
    columns = (ratings.items[name].values.tolist() for name in ("item", "pattern", "population"))
    return {item: (answers[p], known[p], site) for item, p, site in zip(*columns, strict=True)}


@pytest.mark.parametrize("engine", ENGINES)
def test_long_frame(engine):
    ratings = bp.Ratings.from_frame(ENGINES[engine](LONG), **ROLES)
    table = pd.crosstab(LONG["image"], [LONG["by"], LONG["says"]])
    expected = {
        int(image): (row.to_numpy().reshape(3, 3).tolist(), 1 if image % 10 == 0 else -1, int(image % 3 != 0))
        for image, row in table.iterrows()
    }
    assert answers_of_items(ratings) == expected
    assert ratings.counts.dims == ("population", "pattern")
    of_sites = [sum(site == place for *_, place in expected.values()) for site in (0, 1)]
    assert ratings.counts.sum("pattern").values.tolist() == of_sites
    assert (ratings.raters, ratings.labels) == (["ann", "bob", "cai"], ["cat", "cow", "dog"])
    counted = np.zeros_like(ratings.counts.values)
    np.add.at(counted, (ratings.items["population"].values, ratings.items["pattern"].values), 1)
    np.testing.assert_array_equal(counted, ratings.counts)


def test_table_and_long_frame_are_the_same():
    table = pd.DataFrame(RNG.integers(0, 2, (50, 4)).astype(float), columns=list("abcd"), index=np.arange(100, 150))
    table = table.mask(RNG.random(table.shape) < 0.2)
    table.loc[103, "a"] = 1
    long = table.reset_index().melt("index").dropna()
    from_table = bp.Ratings.from_table(table)
    from_long = bp.Ratings.from_frame(long, item="index", rater="variable", rating="value")
    xr.testing.assert_identical(from_table.patterns, from_long.patterns)
    of_item = from_long.items.sortby("item")
    xr.testing.assert_equal(from_table.items, of_item)
    assert from_table.pos_label == 1


def test_columns_of_one_name_are_repeats():
    ratings = bp.Ratings.from_table(pd.DataFrame([[1, 2, 1], [2, 2, None]], columns=["x", "x", "y"]))
    assert ratings.raters == ["x", "y"]
    assert ratings.patterns["answers"].values.tolist() == [[[1, 1], [1, 0]], [[0, 2], [0, 0]]]


def test_table_of_patterns_keeps_those_that_did_not_occur():
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "n": [5, 0, 2, 9]})
    ratings = bp.Ratings.from_table(frame, counts="n")
    assert ratings.counts.values.tolist() == [5, 0, 2, 9]
    assert ratings.items is None
    assert "16 items, 2 raters, 2 classes, 4 patterns, 32 answers" in repr(ratings)


def test_polars_and_arrays():
    rows = [[1, 0, None], [1, 1, 1], [0, 0, 1]]
    of_array = bp.Ratings.from_table(np.array(rows, float))
    of_polars = bp.Ratings.from_table(pl.DataFrame(rows, orient="row", schema=["0", "1", "2"]))
    np.testing.assert_array_equal(of_array.patterns["answers"], of_polars.patterns["answers"])


@pytest.mark.slow
def test_a_hundred_thousand_items_are_few_patterns():
    answers = RNG.integers(0, 2, (100_000, 5))
    ratings = bp.Ratings.from_table(answers)
    assert ratings.counts.sizes["pattern"] == 32
    np.testing.assert_array_equal(ratings.counts, np.bincount(answers @ [16, 8, 4, 2, 1]))


def test_it_is_saved(tmp_path):
    ratings = bp.Ratings.from_frame(LONG, **ROLES)
    ratings.save(tmp_path / "ratings.nc")
    loaded = bp.load(tmp_path / "ratings.nc")
    xr.testing.assert_identical(loaded.patterns, ratings.patterns)
    xr.testing.assert_identical(loaded.items, ratings.items)


TABLE = pd.DataFrame({"a": ["x", "y"], "b": ["x", "x"], "n": [1.5, 2]})
REFUSED = [
    (ValueError, "frame has no column 'who'", lambda: bp.Ratings.from_frame(LONG, **ROLES | {"rater": "who"})),
    (ValueError, "column 'says' has 1 missing value",
     lambda: bp.Ratings.from_frame(LONG.assign(says=LONG["says"].where(LONG.index > 0)), **ROLES)),
    (ValueError, "column 'site' differs between rows of image",
     lambda: bp.Ratings.from_frame(LONG.assign(site=LONG["says"]), **ROLES)),
    (ValueError, "column 'truth' differs between rows of image",
     lambda: bp.Ratings.from_frame(LONG.assign(truth=LONG["says"].where(LONG.index < 90)), **ROLES)),
    (ValueError, "frame has no rows", lambda: bp.Ratings.from_frame(LONG.iloc[:0], **ROLES)),
    (ValueError, "table has no column 'm'", lambda: bp.Ratings.from_table(TABLE, counts="m")),
    (ValueError, "column 'n' holds 1.5, which is fractional", lambda: bp.Ratings.from_table(TABLE, counts="n")),
    (ValueError, "only one label occurs", lambda: bp.Ratings.from_table([[1, 1]])),
    (ValueError, "table holds no answers", lambda: bp.Ratings.from_table([[None, None]])),
    (TypeError, "table is int: give an array", lambda: bp.Ratings.from_table(3)),
    (ValueError, "pos_label: 'z' is not among", lambda: bp.Ratings.from_table(TABLE[["a", "b"]], pos_label="z")),
    (ValueError, "not among the labels", lambda: bp.Ratings.from_table(TABLE[["a", "b"]], labels=["x", "z"])),
]  # fmt: skip


@pytest.mark.parametrize(("error", "words", "make"), REFUSED, ids=[words for _, words, _ in REFUSED])
def test_refused(error, words, make):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        make()
