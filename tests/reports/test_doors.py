"""What a shell, a file or an option can be that is not as usual: an answer, or one line and code 2."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from bayesperf.cli import commands as cli

GOOD = "actual,predicted\n" + "1,1\n0,0\n1,0\n0,1\n" * 5
PROGRAM = [sys.executable, "-m", "bayesperf"]


@pytest.fixture
def run(tmp_path):
    """Run the command line in a folder with files."""

    def run_there(*arguments, closed=None, **environment):
        done = subprocess.run(
            [*PROGRAM, *arguments], cwd=tmp_path, capture_output=True, check=False, timeout=100,
            env={"PATH": "", "COLUMNS": "100", "PYTHONPATH": os.pathsep.join(sys.path)} | environment,
            preexec_fn=None if closed is None else lambda: os.close(closed),
        )  # fmt: skip
        done.stdout, done.stderr = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        return done

    (tmp_path / "g.csv").write_text(GOOD)
    return run_there


def refused(done):
    """Return the one line of a refusal."""
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert not done.stdout
    return line


# ── Options ──


COMMANDS = cli.app.commands
SINGLE = [
    (name, option.opts[-1])
    for name, command in COMMANDS.items()
    for option in command.params
    if option.param_type_name == "option" and not (option.multiple or option.is_flag)
]


@pytest.mark.few
@pytest.mark.parametrize(("command", "option"), SINGLE)
def test_an_option_of_one_value_is_given_once(monkeypatch, capsys, command, option):
    monkeypatch.setattr(sys, "argv", ["bayesperf", command, option, "1", f"{option}=1"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("it takes one value and is given 2 times.")


@pytest.mark.slow
def test_systems_of_the_same_clusters_are_not_said_to_be_matched(shell, tmp_path):
    rows = [(i % 2, (i + m) % 3 % 2, "ab"[m], i % 10, i) for i in range(60) for m in range(2)]
    text = "actual,predicted,model,patient,id\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "m.csv").write_text(text)
    said = {}
    for options in ("--cluster patient", "--id id", ""):
        done = shell("compare", "m.csv", "--by", "model", "--metric", "accuracy", "--pos-label", "1", *options.split())
        said[options] = [word for word in ("By cluster: ", "Paired: ", "Independent: ") if word in done.stdout]
    assert said == {"--cluster patient": ["By cluster: "], "--id id": ["Paired: "], "": ["Independent: "]}


# ── Labels ──


@pytest.mark.slow
def test_labels_become_text_together(shell, tmp_path):
    (tmp_path / "z.csv").write_text("actual,predicted\n" + "007,007\n012,012\n007,none\n" * 5)
    done = shell("summary", "z.csv", "--json", "--metrics", "accuracy")
    found = json.loads(done.stdout)
    assert found["labels"] == ["007", "012", "none"]
    assert found["counts"]["values"] == [[5, 0, 5], [0, 5, 0], [0, 0, 0]]


@pytest.mark.parametrize(("first", "second"), [("007", "7"), ("1.0", "1")])
def test_one_number_in_two_spellings_is_refused_among_text(shell, tmp_path, first, second):
    (tmp_path / "z.csv").write_text(f"actual,predicted\n{first},{second}\n12,12\n{first},other\n")
    assert f"{first!r} and {second!r} are one number" in refused(shell("summary", "z.csv"))


# ── Files ──


def test_json_with_nul_is_refused(shell, tmp_path):
    (tmp_path / "n.jsonl").write_text('{"actual":1,"predicted":0}\n{"actual":"\\u0000","predicted":1}\n')
    assert refused(shell("summary", "n.jsonl")) == "bayesperf: n.jsonl: line 2: cannot be read: it holds a NUL byte."


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_name_of_bytes_is_read_and_written(run, tmp_path):
    name = os.fsdecode(b"b\xff.csv")
    (tmp_path / name).write_text(GOOD)
    compared = run("report", "g.csv", name, "-o", os.fsdecode(b"o\xff.html"), "--metrics", "accuracy")
    assert compared.returncode == 0, compared.stderr
    assert "b\\udcff" in (tmp_path / os.fsdecode(b"o\xff.html")).read_text()


@pytest.mark.slow
def test_twenty_thousand_columns_are_read_and_missed(shell, tmp_path):
    columns = [f"c{i}" for i in range(20_000)]
    row = ",".join("1" for _ in columns)
    rows = "".join(f"{i % 2},{i // 2 % 2},{row}\n" for i in range(4))
    (tmp_path / "w.csv").write_text(f"actual,predicted,{','.join(columns)}\n{rows}")
    assert "no column 'nope', for --actual" in refused(shell("summary", "w.csv", "--actual", "nope"))
    assert shell("summary", "w.csv", "--metrics", "accuracy").returncode == 0


def test_a_great_file_is_announced(shell, tmp_path):
    part = gzip.compress(b"1,1\n0,0\n" * 1_000, 1)
    (tmp_path / "g.csv.gz").write_bytes(gzip.compress(b"actual,predicted\n") + part)
    assert "reading" not in shell("summary", "g.csv.gz", "--metrics", "accuracy").stderr
    # The size that the end of a packed file says, which the file itself does not have.
    (tmp_path / "g.csv.gz").write_bytes(part[:-4] + (10**9).to_bytes(4, "little"))
    done = shell("summary", "g.csv.gz")
    assert done.stderr.startswith("bayesperf: reading 1.0 GB, which may take")
    assert done.returncode == 2


@pytest.mark.slow
def test_systems_that_are_examples_are_refused_before_the_work(shell, tmp_path):
    (tmp_path / "i.csv").write_text("actual,predicted,id\n" + "".join(f"{i % 2},0,e{i}\n" for i in range(25_000)))
    assert "25,000 systems or groups" in refused(shell("summary", "i.csv", "--by", "id", "--metrics", "accuracy"))


# ── The shell ──


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_an_interrupt_while_duckdb_reads_ends_with_130(tmp_path):
    (tmp_path / "g.csv").write_text("actual,predicted\n" + "1,1\n0,0\n" * 4_000_000)
    # The interrupt comes soon after DuckDB has been asked.
    program = (
        "import os, signal, sys, threading, duckdb\n"
        "from bayesperf.cli import commands as cli\n"
        "connect = duckdb.connect\n"
        "def connected(*a, **k):\n"
        "    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    return connect(*a, **k)\n"
        "duckdb.connect = connected\n"
        "sys.argv = ['bayesperf', 'summary', 'g.csv', '--metrics', 'accuracy', '--pos-label', '1']\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    # A line is ended, so that the prompt of the shell begins one.
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="descriptors are others there")
def test_closed_streams_are_written_nowhere(run):
    lost = run("summary", "absent.csv", closed=2)
    assert (lost.returncode, lost.stdout) == (2, "")
    assert run("summary", "g.csv", "--metrics", "accuracy", closed=1).returncode == 0


@pytest.mark.slow
def test_characters_that_an_encoding_lacks_are_written_as_escapes(run, tmp_path):
    (tmp_path / "u.csv").write_text("actual,predicted\n" + "ж,ж\nд,д\nж,д\n" * 5, encoding="utf-8")
    done = run("summary", "u.csv", "--metrics", "accuracy", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u0436" in done.stdout


def test_no_columns_are_as_many_as_usual(shell, tmp_path):
    (tmp_path / "g.csv").write_text(GOOD)
    done = shell("summary", "g.csv", "--metrics", "accuracy", columns=0)
    assert done.returncode == 0
    assert "How good is it?" in done.stdout
