"""Files of predictions: what is read of them, and what is refused."""

import gzip
import io
import os
import threading

import numpy as np
import pandas as pd
import pytest

from bayesperf.files import formats
from bayesperf.files import reading as files
from bayesperf.files.option_table import Settings
from bayesperf.files.reading import read

ROWS = Settings(id="id")


def of_text(folder, content, settings=ROWS, name="p.csv"):
    path = folder / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return read([path], settings)


# ── What is read ──

# Fields of a column, and those that it is read as.
COLUMNS = {
    "whole numbers": (["1", "0", "-3"], [1, 0, -3]),
    "signs, zeros and blanks": (["+1", "01", " 2 "], [1, 1, 2]),
    "floats": (["1", "2.5", "1e3"], [1.0, 2.5, 1000.0]),
    "points": (["5.", ".5", "-0.25"], [5.0, 0.5, -0.25]),
    "infinite": (["inf", "-Infinity", "1"], [np.inf, -np.inf, 1.0]),
    "booleans": (["True", "false", "TRUE"], [True, False, True]),
    "text": (["cat", "dog", "1"], ["cat", "dog", "1"]),
    "blanks in text": ([" cat", "cat ", "cat"], [" cat", "cat ", "cat"]),
    "words for nothing": (["NA", "None", "nan"], ["NA", "None", "nan"]),
    "no numbers": (["1_000", "0x10", "1"], ["1_000", "0x10", "1"]),
    "other digits": (["١", "2", "3"], ["١", "2", "3"]),
    "booleans and numbers": (["True", "1", "0"], ["True", "1", "0"]),
    "commas and quotes": (["a,b", 'say "x"', "two\nlines"], ["a,b", 'say "x"', "two\nlines"]),
    "accents": (["é", "日本", "🙂"], ["é", "日本", "🙂"]),
}


@pytest.mark.few
@pytest.mark.parametrize(("fields", "expected"), COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz"])
def test_a_column_is_typed_by_all_of_its_fields(tmp_path, fields, expected, name):
    source = pd.DataFrame({"id": range(3), "actual": fields, "other": "x", "predicted": fields[::-1]})
    separator = "\t" if name == "p.tsv" else ","
    text = source.to_csv(index=False, sep=separator)
    predictions = of_text(tmp_path, text, name=name)
    frame, rows = predictions.frame, predictions.rows
    assert rows is None
    assert frame.set_index("id")["actual"].tolist() == expected
    assert [type(value) for value in frame["actual"]] == [type(value) for value in expected]
    # As pandas types them.
    by_pandas = pd.read_csv(io.StringIO(text), sep=separator, keep_default_na=False, na_values=[""])
    assert frame["predicted"].tolist() == by_pandas["predicted"].tolist()


def test_whole_numbers_too_great_stay_apart(tmp_path):
    frame = of_text(tmp_path, "actual,predicted,id\n1,1,99999999999999999998\n0,0,99999999999999999999\n").frame
    assert sorted(frame["id"]) == ["99999999999999999998", "99999999999999999999"]


def test_rows_are_counted_where_they_lie_unless_examples_matter(tmp_path):
    text = "actual,predicted,id,model\n" + "1,1,7,a\n0,1,8,b\n" * 500
    predictions = of_text(tmp_path, text, Settings(by=("model",)))
    frame, rows = predictions.frame, predictions.rows
    assert sorted(zip(*(frame[name] for name in ("model", "actual", "predicted")), rows, strict=True)) == [
        ("a", 1, 1, 500),
        ("b", 0, 1, 500),
    ]
    assert len(of_text(tmp_path, text, Settings(score="id")).frame) == 1000


@pytest.mark.few
@pytest.mark.parametrize(
    "text",
    [
        "actual,predicted\r\n1,0\r\n\r\n0,1\r\n",
        "\n\nactual,predicted\n1,0\n0,1",
        "\ufeffactual,predicted\n1,0\n0,1\n",
        ',"actual","predicted"\n0,1,0\n1,0,1\n',
        "actual,predicted\r1,0\r0,1\r",
    ],
    ids=["windows", "blank lines", "byte order mark", "an index", "old mac"],
)
def test_well_formed_files_of_other_hands_are_read(tmp_path, text):
    frame = of_text(tmp_path, text, Settings()).frame
    assert sorted(zip(frame["actual"], frame["predicted"], strict=True)) == [(0, 1), (1, 0)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a[1].csv", "a*.csv", "a?.csv", "it's.csv", "~a.csv", "m=1.csv", "two words\n.csv"])
def test_a_file_is_read_whatever_it_is_called(tmp_path, monkeypatch, name):
    (tmp_path / "a1.csv").write_text("actual,predicted,id\n1,1,1\n")
    assert of_text(tmp_path, "actual,predicted,id\n0,0,7\n", name=name).frame["id"].tolist() == [7]
    monkeypatch.chdir(tmp_path)
    assert read([(tmp_path / name).relative_to(tmp_path)], ROWS).frame["id"].tolist() == [7]


def test_a_folder_that_says_a_column_adds_none(tmp_path):
    (tmp_path / "actual=3").mkdir()
    frame = of_text(tmp_path / "actual=3", "actual,predicted,id\n0,0,7\n").frame
    assert frame["actual"].tolist() == [0]


def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=["actual,predicted,id\n0,1,7\n"])
    writer.start()
    frame = read([tmp_path / "pipe"], ROWS).frame
    writer.join()
    assert frame.to_dict("list") == {"id": [7], "predicted": [1], "actual": [0]}


@pytest.mark.slow
def test_files_are_typed_together(tmp_path):
    (tmp_path / "a.csv").write_text("actual,predicted,id\n1,0,1\n0,1,2\n")
    (tmp_path / "b.csv").write_text("id,predicted,actual\n3,none,1\n4,0,0\n")
    settings = Settings(by=("file",), id="id")
    frame = read([tmp_path / "a.csv", tmp_path / "b.csv"], settings).frame
    assert frame.set_index("id").sort_index().to_dict("list") == {
        "file": ["a", "a", "b", "b"],
        "predicted": ["0", "1", "none", "0"],
        "actual": ["1", "0", "1", "0"],
    }
    # A file with types and one without: as if neither had.
    pd.DataFrame({"actual": [1.0, 0.0], "predicted": [0, 1], "id": [5, 6]}).to_parquet(tmp_path / "c.parquet")
    frame = read([tmp_path / "a.csv", tmp_path / "c.parquet"], settings).frame
    assert frame.set_index("id").sort_index()["actual"].tolist() == [1, 0, 1, 0]


def test_parquet_keeps_its_types_and_the_order_of_categories(tmp_path):
    source = pd.DataFrame(
        {
            "actual": pd.Categorical(["low", "high"], ["low", "middle", "high"]),
            "predicted": pd.Categorical(["low", "low"], ["low", "middle", "high"]),
            "text": ["01", "1"],
            "flag": [True, False],
            "id": [1, 2],
        }
    )
    source.to_parquet(tmp_path / "p.parquet")
    predictions = read([tmp_path / "p.parquet"], Settings(by=("text", "flag")))
    frame, rows = predictions.frame, predictions.rows
    assert frame["actual"].cat.categories.tolist() == ["low", "middle", "high"]
    assert sorted(frame["text"]) == ["01", "1"]
    assert frame["flag"].dtype == bool
    assert rows.tolist() == [1, 1]


# ── What is refused ──

GOOD = "actual,predicted,id\n1,0,1\n0,1,2\n"
BAD = {
    "a long row": (f"{GOOD}1,0,3,4\n", "line 4: cannot be read: it has 4 fields, and the header has 3."),
    "long rows": (
        "actual,predicted,id\n1,0,1,9\n0,1,2,9\n",
        "line 2: cannot be read: it has 4 fields, and the header has 3.",
    ),
    "a short row": (f"{GOOD}1,0\n1,0,4\n", "line 4: cannot be read: it has 2 fields, and the header has 3."),
    "two columns of one name": ("id,actual,predicted,actual\n1,0,1,0\n", "line 1: two columns are called 'actual'."),
    "after a blank line": ("\nactual,actual\n1,0\n", "line 2: two columns are called 'actual'."),
    "no text": (
        b"actual,predicted,id\n1,0,1\n\x81,1,2\n",
        "line 3: cannot be read: it is not UTF-8; name its encoding, as --encoding cp1250",
    ),
    "utf-16 cut in two": (GOOD.encode("utf-16")[:-1], "cannot be read as UTF-16, which its first bytes or --encoding"),
    "a NUL byte": (f"{GOOD}1,a\0b,3\n", "line 4: cannot be read: it holds a NUL byte."),
    "NUL bytes at the end": (f"{GOOD}\0\0\0\0", "line 4: cannot be read: it has 1 fields"),
    "an open quote": (f'{GOOD}1,"0,3\n1,0,4\n', "line 4: cannot be read: a quote is opened there and not closed"),
    "an open quote in the header": ('actual,"predicted,id\n1,0,1\n', "line 2: cannot be read: "),
    "text after a quote": (
        f'{GOOD}"1"x,0,3\n',
        "line 4: cannot be read: a quote is opened there and not closed, or text",
    ),
    "line ends of two kinds": (
        "actual,predicted,id\n1,0,1\r\n0,1,2\n",
        "cannot be read: its lines end in different ways",
    ),
    "an endless line": (f"{GOOD}1,{'x' * 3_000_000},3\n", "line 4: cannot be read: the line is longer than 2 MB."),
    "nothing": ("", "cannot be read: the file is empty."),
    "blank lines": ("\n\n", "cannot be read: the file is empty."),
    "a header alone": ("actual,predicted,id\n", "holds no rows."),
    "no such column": (
        "actual,guess,id\n1,0,1\n",
        "no column 'predicted', for --predicted; its columns are 'actual', ",
    ),
}


@pytest.mark.few
@pytest.mark.parametrize(("content", "words"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("settings", [Settings(by=("id",)), ROWS], ids=["counted", "rows"])
def test_a_bad_file_is_refused_with_its_name_and_line(tmp_path, content, words, settings):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        of_text(tmp_path, content, settings)
    assert str(refused.value).startswith(f"{tmp_path / 'p.csv'}: {words}")


def test_the_line_is_right_far_down(tmp_path):
    text = GOOD + "1,0,3\n" * 200_000 + "1,0\n" + "1,0,3\n" * 200_000
    for settings in (Settings(), ROWS):
        with pytest.raises(ValueError, match=r"p\.csv: line 200004: cannot be read: it has 2 fields"):
            of_text(tmp_path, text, settings)


def broken(data, how):
    damaged = bytearray(data)
    if how == "cut":
        return bytes(damaged[: len(damaged) // 2])
    damaged[{"flipped": len(damaged) // 2, "checksum": len(damaged) - 6}[how]] ^= 255
    return bytes(damaged)


@pytest.mark.parametrize("how", ["cut", "flipped", "checksum"])
def test_damaged_files_are_named(tmp_path, how):
    frame = pd.DataFrame({"actual": [1, 0] * 500, "predicted": 1, "id": np.random.default_rng(0).permutation(1000)})
    (tmp_path / "p.csv.gz").write_bytes(broken(gzip.compress(frame.to_csv(index=False).encode()), how))
    with pytest.raises(ValueError, match=r"p\.csv\.gz: (line \d+: )?cannot be read: "):
        read([tmp_path / "p.csv.gz"], Settings())
    if how == "cut":
        frame.to_parquet(tmp_path / "p.parquet")
        (tmp_path / "p.parquet").write_bytes(broken((tmp_path / "p.parquet").read_bytes(), how))
        with pytest.raises(ValueError, match=r"p\.parquet: cannot be read: "):
            read([tmp_path / "p.parquet"], ROWS)


@pytest.mark.parametrize("name", ["absent.csv", "absent.parquet", "folder.csv", "folder.parquet", "p.zip", "p.csv.xz"])
def test_files_that_are_none_are_named(tmp_path, name):
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    elif name.startswith("p."):
        (tmp_path / name).write_bytes(b"PK")
    words = (
        "unpack it"
        if name.startswith("p.")
        else "(cannot be read: No such file|the folder holds no Parquet, CSV or JSON)"
    )
    with pytest.raises(ValueError, match=f"{name}: {words}"):
        read([tmp_path / name], Settings())


@pytest.mark.slow
@pytest.mark.parametrize("settings", [Settings(), ROWS], ids=["counted", "rows"])
def test_ids_are_no_labels(tmp_path, settings):
    def read_labels(rows, labels):
        frame = pd.DataFrame({"actual": np.arange(rows) % labels, "predicted": 1, "id": np.arange(rows)})
        of_text(tmp_path, frame.to_csv(index=False), settings)

    for rows, labels in ((100_000, 100_000), (5_000, 1_001), (60, 57)):
        with pytest.raises(ValueError, match=f"'actual' holds {labels:,} different values in {rows:,} rows, as ids"):
            read_labels(rows, labels)
    # Few rows can have as many labels as there are.
    for rows, labels in ((5_000, 1_000), (60, 50), (20, 20)):
        read_labels(rows, labels)


def test_rows_are_the_same_with_pyarrow_and_without(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    lines = [
        "id,actual,predicted,score,fold,site",
        "a,true,1,0.5,x,1",
        "b,,2,,ü,",
        '"c,1",false,,1e3,,3',
        ',true,3,inf,"q",4',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    settings = Settings(by=("fold", "site"), id="id", score="score")
    looked_for = []
    with_it = files.read([path], settings).frame
    monkeypatch.setattr(files, "find_spec", looked_for.append)
    pd.testing.assert_frame_equal(with_it, files.read([path], settings).frame)
    assert looked_for == ["pyarrow"]
    assert with_it["id"].iloc[2] == "c,1"
    assert with_it["actual"].isna().tolist() == [False, True, False, False]


# ── Many files, many rows ──


def test_a_folder_is_its_parts_and_what_its_folders_say(tmp_path):
    for model, fold in (("old", 1), ("new", 2)):
        (tmp_path / f"model={model}" / f"fold={fold}").mkdir(parents=True)
        frame = pd.DataFrame({"actual": [0, 1], "predicted": [1, fold % 2]})
        frame.to_parquet(tmp_path / f"model={model}" / f"fold={fold}" / "part-0.parquet")
    (tmp_path / "_SUCCESS").touch()
    predictions = read([tmp_path], Settings(by=("model", "fold")))
    frame, rows = predictions.frame, predictions.rows
    found = frame[["model", "fold", "actual", "predicted"]].assign(rows=rows)
    assert sorted(found.itertuples(index=False, name=None)) == [
        ("new", 2, 0, 1, 1), ("new", 2, 1, 0, 1), ("old", 1, 0, 1, 1), ("old", 1, 1, 1, 1),
    ]  # fmt: skip


def test_parts_of_different_kinds_are_refused_by_name(tmp_path):
    pd.DataFrame({"actual": [0, 1], "predicted": [1, 0]}).to_parquet(tmp_path / "a.parquet")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    pd.DataFrame({"actual": ["0", "1"], "predicted": [1, 0]}).to_parquet(paths[1])
    with pytest.raises(ValueError, match=r"b\.parquet: column 'actual' holds strings, and numbers in .*a\.parquet"):
        read(paths, Settings())
    pd.DataFrame({"actual": [0, 1], "guess": [1, 0]}).to_parquet(paths[1])
    with pytest.raises(ValueError, match=r"b\.parquet: no column 'predicted'"):
        read(paths, Settings())


def test_an_example_that_several_parts_hold_is_remarked_on(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("actual,predicted,id\n1,0,1\n0,1,2\n")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert "2 of 4 rows" in read(paths, Settings()).repeats
    assert read(paths, Settings(by=("file",))).repeats == ""


@pytest.mark.slow
@pytest.mark.parametrize("digits", [1, 9])
def test_many_scores_are_counted_without_loss_of_any(tmp_path, monkeypatch, digits):
    rng = np.random.default_rng(0)
    actual = rng.integers(2, size=200_000)
    frame = pd.DataFrame({"actual": actual, "predicted": 1 - actual, "model": rng.choice(["a", "b"], actual.size)})
    frame["score"] = np.round(rng.normal(actual), digits)
    frame.to_parquet(tmp_path / "p.parquet")
    monkeypatch.setattr(files, "_MOST_SCORED", 1_000)
    predictions = read([tmp_path / "p.parquet"], Settings(score="score", by=("model",)))
    found, rows, edges = predictions.frame, predictions.rows, predictions.edges
    limits = np.append(np.unique(frame["score"]), np.inf) if digits == 1 else edges
    assert (edges is None) == (digits == 1)
    assert len(found) < 50_000
    for (model, label), of_one in frame.groupby(["model", "actual"]):
        of_both = found.assign(rows=rows)[(found["model"] == model) & (found["actual"] == label)]
        counted = of_both.groupby("score")["rows"].sum()
        counts, _ = np.histogram(of_one["score"], limits)
        assert counted.to_dict() == {limits[i]: counts[i] for i in np.flatnonzero(counts)}
        assert digits == 1 or counts.max() < len(of_one) / 1_000


def test_the_separator_is_the_one_that_finds_the_columns_asked_for(tmp_path):
    (tmp_path / "f.csv").write_text("actual;a,b,c\n1;2,3,4\n")
    for asked, names in ((["actual"], ["actual", "a,b,c"]), ([], ["actual;a", "b", "c"])):
        assert formats._header(tmp_path / "f.csv", asked, (",", ";"))[0] == names
