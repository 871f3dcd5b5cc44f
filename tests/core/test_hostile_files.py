"""Files that somebody else made to harm: nothing in them runs, and each is refused in words before it takes memory."""

import dataclasses
import json
import os
import resource
import subprocess
import sys
from contextlib import suppress

import h5py
import numpy as np
import pytest

import bayesperf as bp
from bayesperf.core import saving
from bayesperf.core.field_checks import MOST_DEPTH, check_contents
from bayesperf.core.fields import Applied, Contents, contents_of, made_of

POST = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5), "flat")
FLAT = {"class": "Applied", "fields": {"name": "in_every_cell", "arguments": {"kind": "tuple", "values": [1.0]}}}


def file_of(path, parts, arrays=None):
    """Write a file of any contents as save would write it, its checksum included."""
    text = parts if isinstance(parts, bytes) else json.dumps(parts).encode()
    with h5py.File(path, "w") as file:
        file.attrs.update({"bayesperf_format": saving.FORMAT, "bayesperf_version": "0.1.0", "kind": "Posterior"})
        file["contents"] = np.frombuffer(text, np.uint8)
        file.create_group("arrays").update(arrays or {})
        with suppress(ValueError, RecursionError):
            parts = json.loads(text)
            named = {name: array for name, array in (arrays or {}).items() if f'"name": "{name}"' in text.decode()}
            file.attrs["checksum"] = saving._checksum(Contents(parts, named))


def with_argument(value):
    """Return parts with any value as a field of a class that is there."""
    return [FLAT, {"class": "Applied", "fields": {"name": "in_every_cell", "arguments": value}}]


def array(**fields):
    return with_argument({"kind": "array", "name": "x", "order": [0], "dtype": "<f8"} | fields)


def values(of=(), shape=(0,), dtype="<f8"):
    return with_argument({"kind": "values", "values": list(of), "shape": list(shape), "dtype": dtype})


def nested(deep, value=None):
    for _ in range(deep):
        value = [value]
    return value


# ── Contents ──

CONTENTS = {
    "a function of the system": (
        [{"class": "os.system", "fields": {"command": "touch RAN"}}], "holds a 'os.system', which this version does not"
    ),
    "a function of ours that no object holds": (
        [{"class": "Applied", "fields": {"name": "saving.write", "arguments": []}}], "holds a 'saving.write', which"
    ),
    "an import": ([{"class": "subprocess:Popen", "fields": {}}], "holds a 'subprocess:Popen', which"),
    "a name that is none": ([{"class": ["Applied"], "fields": {}}], r"\['Applied'\] is not the name of a class"),
    "a payload of pickle": (
        with_argument({"__reduce__": ["os.system", ["touch RAN"]]}), "does not have the fields dims, values, attrs"
    ),
    "a kind of its own": (with_argument({"kind": "pickle", "values": "gASV"}), "there is no 'pickle' in this format"),
    "a kind that is none": (with_argument({"kind": ["array"]}), "does not have the fields"),
    "other arguments": ([{"class": "Beta", "fields": {"a": 1, "c": 1}}], "unexpected keyword argument|missing"),
    "no parts": ([], "it has no parts"),
    "no list": ({"class": "Applied"}, "it has no parts"),
    "no object": ([3], "a part of it is not an object"),
    "IndexError: a part that is not there": (with_argument({"kind": "object", "part": 7}), "needs part 7"),
    "a part of itself": (with_argument({"kind": "object", "part": 1}), "needs part 1, which is not before it"),
    "a part from the end": (with_argument({"kind": "object", "part": -1}), "needs part -1"),
    "RecursionError": (with_argument(nested(500)), f"more than {MOST_DEPTH} deep"),
    "RecursionError in JSON": (b"[" * 400_000 + b"]" * 400_000, "is damaged|more than"),
    "a whole number without end": (b"[" + b"9" * 100_000 + b"]", "is damaged"),
    "no JSON": (b'[{"class": ', "is damaged"),
    "no text": (b"\xff\xfe\x00", "is damaged"),
    "OverflowError": (values(["a"], (1,), "<U99999999999999"), "is not the type of an array"),
    "MemoryError: texts": (values(["a"] * 1000, (1000,), "<U100000000"), "1000 texts are said to be"),
    "MemoryError: a shape": (values(["a"], (2**40,), "|O"), r"1 values do not have the shape \[1099511627776\]"),
    "a shape that is none": (values(["a"], (-1, -1), "|O"), "do not have the shape"),
    "a type of types": (values([], (0,), "(1000000,)f8,O"), "is not the type of an array"),
    "objects from memory": (array(dtype="|O"), "holds float64, which is no object"),
    "a name that leaves the arrays": (array(name="/recipe"), "is not the name of an array"),
    "an array that is not there": (array(name="y"), "there is no 'y' in it"),
    "other axes": (array(order=[0, 1]), "has 1 axes"),
    "another size": (array(dtype="<f4"), "holds float64, which is no float32"),
    "draws": ([{"class": "SimulatedCounts", "fields": {"simulations": 10**12}}], "simulations=10000000"),
    "draws without end": ([{"class": "Dirichlet", "fields": {"n_draws": float("nan")}}], "n_draws=nan"),
    "what the class refuses": ([{"class": "ConfusionMatrix", "fields": {"counts": 3}}], "cannot be made again"),
    "groups in groups": (with_argument({"kind": "DataTree", "groups": [["/a" * 5000, None]]}), "groups stand in"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTENTS)
def test_contents(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts, message = CONTENTS[name]
    file_of("file.nc", parts, {"x": np.arange(3.0)})
    with pytest.raises(ValueError, match=rf"(?s)'file\.nc'.*({message})"):
        bp.load("file.nc")
    assert os.listdir() == ["file.nc"]


def test_files_are_written_here_as_save_writes_them(tmp_path):
    """What is refused above is refused for what it holds."""
    file_of(tmp_path / "file.nc", array(order=[0, 1]), {"x": np.ones((2, 2))})
    assert np.array_equal(bp.load(tmp_path / "file.nc").arguments, np.ones((2, 2)))


# ── HDF5 ──


def rewrite(act):
    """Return what changes a file that save wrote."""

    def change(path):
        POST.save(path)
        with h5py.File(path, "a") as file:
            act(file)

    return change


def replace(name, **options):
    def act(file):
        data = file[name][()]
        del file[name]
        file.create_dataset(name, data=data, **options)

    return act


def declare(name, shape, **options):
    def act(file):
        if name in file:
            del file[name]
        file.create_dataset(name, shape, **options)

    return act


def put(name, value):
    def act(file):
        del file[name]
        file[name] = value

    return act


def virtual(file):
    layout = h5py.VirtualLayout((4,), "u1")
    layout[:] = h5py.VirtualSource("/etc/hostname", "x", (4,), "u1")
    del file["contents"]
    file.create_virtual_dataset("contents", layout)


def fact(name, value):
    return lambda file: file.attrs.__setitem__(name, value)


GREAT = 3 * 2**30
FILES = {
    "a soft link": (put("contents", h5py.SoftLink("/arrays")), "'contents' in it is a link"),
    "an external link": (put("contents", h5py.ExternalLink("/etc/passwd", "/")), "'contents' in it is a link"),
    "arrays elsewhere": (put("arrays", h5py.ExternalLink("other.nc", "/")), "'arrays' in it is a link"),
    "nothing there": (lambda file: file.__delitem__("contents"), "there is no 'contents'"),
    "a group": (lambda file: (file.__delitem__("contents"), file.create_group("contents")), "'contents' in it is not"),
    "a virtual dataset": (virtual, "'contents' is compressed, in chunks or in another file"),
    "a file beside": (declare("contents", (4,), dtype="u1", external="/etc/hostname"), "in another file"),
    "compression": (replace("contents", compression="gzip"), "'contents' is compressed, in chunks"),
    "a bomb": (declare("contents", (GREAT,), dtype="u1", chunks=(2**20,), compression="gzip"), "is compressed"),
    "a fill value": (declare("contents", (GREAT,), dtype="u1", fillvalue=32), "that were never written|larger than"),
    "chunks never written": (declare("contents", (GREAT,), dtype="u1", chunks=(2**20,)), "in chunks"),
    "texts": (put("contents", ["a"] * 3), "'contents' does not hold numbers"),
    "references": (lambda file: put("contents", np.array([file.ref], h5py.ref_dtype))(file), "does not hold numbers"),
    "records": (put("contents", np.zeros(3, "i4,f8")), "does not hold numbers"),
    "a checksum of many": (fact("checksum", np.zeros(9_000)), "attribute 'checksum' is neither"),
    "a checksum of none": (fact("checksum", h5py.Empty("u1")), "attribute 'checksum' is neither|damaged"),
    "a format in words": (fact("bayesperf_format", "one"), "the number of its format is a text"),
    "a format before all": (fact("bayesperf_format", -(2**62)), "no longer read"),
    "a long version": (fact("bayesperf_version", np.bytes_(b"9" * 60_000)), "'bayesperf_version' is too long"),
}  # fmt: skip


@pytest.mark.few
@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    act, message = FILES[name]
    rewrite(act)(tmp_path / "file.nc")
    with pytest.raises(ValueError, match=rf"file\.nc'.*({message})"):
        bp.load(tmp_path / "file.nc")


@pytest.mark.parametrize("of", ["the file", "a group", "many groups"])
def test_what_is_not_asked_for_is_not_looked_at(of, tmp_path):
    def act(file):
        if of == "the file":
            file["itself"] = file["/"]
        elif of == "a group":
            group = file
            for _ in range(2_000):
                group = group.create_group("a")
        else:
            file.update({f"group_{number}": h5py.ExternalLink("/dev/zero", "/") for number in range(2_000)})

    rewrite(act)(tmp_path / "file.nc")
    assert repr(bp.load(tmp_path / "file.nc")) == repr(POST)


def test_one_array_under_many_names_counts_many_times(tmp_path):
    names = [f"x_{number}" for number in range(100)]
    parts = with_argument([{"kind": "array", "name": name, "order": [0], "dtype": "<f8"} for name in names])
    file_of(tmp_path / "file.nc", parts, {"x_0": np.arange(100_000.0)})
    with h5py.File(tmp_path / "file.nc", "a") as file:
        for name in names[1:]:
            file["arrays"][name] = file["arrays"]["x_0"]
    with pytest.raises(ValueError, match="claims to be larger than the file that holds it"):
        bp.load(tmp_path / "file.nc")


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "file.nc")
    with pytest.raises(ValueError, match="is not a file"):
        bp.load(tmp_path / "file.nc")


MEASURED = """
import resource, sys
import bayesperf as bp, h5py
bp.load(sys.argv[1])
before, refused = resource.getrusage(resource.RUSAGE_SELF), 0
resource.setrlimit(resource.RLIMIT_CPU, (int(before.ru_utime + before.ru_stime) + 5,) * 2)
for path in sys.argv[2:]:
    try:
        bp.load(path)
    except ValueError:
        refused += 1
after = resource.getrusage(resource.RUSAGE_SELF)
print(refused, after.ru_maxrss - before.ru_maxrss)
"""


@pytest.mark.slow
def test_memory_and_time(tmp_path):
    """All files together take less than 100 MB (in kB here), and less than 5 s of the processor, where it ends."""
    POST.save(tmp_path / "good.nc")
    paths = [tmp_path / f"{number}.nc" for number in range(len(CONTENTS) + len(FILES))]
    for path, (parts, _) in zip(paths, CONTENTS.values(), strict=False):
        file_of(path, parts, {"x": np.arange(3.0)})
    for path, (act, _) in zip(paths[len(CONTENTS) :], FILES.values(), strict=True):
        rewrite(act)(path)
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, [tmp_path / "good.nc", *paths])],
        capture_output=True, text=True, check=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )  # fmt: skip
    refused, memory = map(int, done.stdout.split())
    assert (refused, memory < 100_000) == (len(paths), True)


# ── Both ends check ──


def test_save_refuses_what_load_would_refuse(tmp_path):
    post = bp.posterior(bp.ConfusionMatrix.from_counts(tp=4, fn=1, fp=0, tn=5))
    with pytest.raises(ValueError, match="save: n_draws=20000000: a file may ask for 10,000,000 at most"):
        dataclasses.replace(post, source=dataclasses.replace(post.source, n_draws=20_000_000)).save(
            tmp_path / "file.nc"
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_texts_of_very_different_lengths_come_back():
    y = np.array(["no", "yes", "y" * 8000] * 750)
    assert y.nbytes > 2**26
    contents = contents_of(Applied("one_in_all", (y,)))
    check_contents(contents)
    assert made_of(contents).arguments[0].tolist() == y.tolist()
