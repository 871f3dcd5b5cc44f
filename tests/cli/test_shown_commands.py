"""Every command line that the README, the site and the help show runs on a file that has what it names."""

import re
import shlex

import click
import numpy as np
import pandas as pd
import pytest

from bayesperf.cli.commands import app
from tests.shared.sources import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = app.commands
# They read no file, take minutes, sample, or draw a page of ours: each has tests of its own.
APART = {"demo", "compile", "rank"}
RNG = np.random.default_rng(0)
N, LABELS = 240, ["red", "round", "ripe"]


def shown(text):
    """Return the command lines of a text: lines of their own, which a backslash continues, and those in backticks."""
    text = re.sub(r"\\\n\s*", " ", text)
    # A sentence may begin a line with the name of the package, too.
    alone = re.findall(rf"^ *(?:\$ )?bayesperf ((?:{'|'.join(COMMANDS)}|\S+\.csv)\b.*)$", text, re.MULTILINE)
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return alone + [" ".join(line.split()) for line in re.findall(r"`bayesperf ([^`]+)`", prose)]


def words_of(line):
    return shlex.split(line.replace(r"\|", "|").partition(" #")[0])


def texts():
    yield from ((path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in PAGES)
    yield from ((f"help of {name}", each.get_help(click.Context(each))) for name, each in COMMANDS.items())


# The same command on several pages is one.
LINES = {
    line: page
    for page, text in texts()
    for line in shown(text)
    # A command by its name alone is no line to type.
    if len(words_of(line)) > 1 or words_of(line)[0] not in COMMANDS
    if words_of(line)[0] not in APART
}


def named(words, option, default=()):
    return [words[place + 1] for place, word in enumerate(words) if word == option] or list(default)


def frame_of(words):
    """Return a frame with the columns that a line names: of systems one below the other, if it names their column."""
    truth = RNG.random(N) < 0.4
    positive = named(words, "--pos-label", ["1"])[0]
    labels = np.array(["0" if positive == "1" else "other", positive])

    def mostly(right):
        return labels[np.where(RNG.random(N) < right, truth, ~truth).astype(int)]

    columns = {}
    if "tags" in words:
        kinds = RNG.random((N, 3)) < 0.4
        for name in ("tags", *named(words, "--predicted")):
            there = kinds ^ (RNG.random((N, 3)) < 0.1 * (name != "tags"))
            columns[name] = ["|".join(np.array(LABELS)[row]) for row in there]
    elif name := named(words, "--correct"):
        columns[name[0]] = truth.astype(int)
        if judge := named(words, "--judge"):
            columns[judge[0]] = truth.astype(int)
            columns[name[0]] = np.where(np.arange(N) % 4 == 0, truth.astype(int).astype(str), "")
        columns |= {name: RNG.integers(1, 4, N) + 9 * truth for name in named(words, "--answer")}
    elif name := named(words, "--credit"):
        columns[name[0]] = RNG.random(N)
    elif "--error" in words:
        columns = {name: RNG.normal(size=N) for name in named(words, "--actual") + named(words, "--predicted")}
    elif name := named(words, "--grade"):
        columns[name[0]] = RNG.integers(1, 6, N)
    else:
        judged = "--judge" in words
        actual = np.where(np.arange(N) % 4 == 0, labels[truth.astype(int)], "") if judged else labels[truth.astype(int)]
        columns = dict.fromkeys(named(words, "--actual", ["actual"]), actual)
        of_labels = named(words, "--predicted", [] if "--score" in words else ["predicted"]) + named(words, "--judge")
        columns |= {name: mostly(0.95) for name in of_labels}
        columns |= {name: (RNG.normal(size=N) + 3 * truth).round(3) for name in named(words, "--score")}
    groups = {"--fold": 5, "--by": 3, "--slice": 3, "--cluster": 40, "--id": N}
    columns |= {name: np.arange(N) % k for option, k in groups.items() for name in named(words, option)}
    columns |= {name: np.where(np.arange(N) % 3, "test", "dev") for name in named(words, "--split")}
    systems = named(words, "--system") or [name for name in named(words, "--by") if name == "system"]
    frame = pd.DataFrame(columns)
    for name in systems:
        again = frame.assign(**{column: frame[column].sample(frac=1, random_state=0).tolist() for column in columns
                                if column in named(words, "--predicted", ["predicted"])})  # fmt: skip
        frame = pd.concat([frame.assign(**{name: "new"}), again.assign(**{name: "old"})])
    return frame


def files_of(words):
    """Return the words of a line that are files to read, which come before its options, and what --against names."""
    start = 1 if words[0] in COMMANDS else 0
    options = [place for place, word in enumerate(words) if word.startswith("--")]
    return words[start : options[0] if options else None] + named(words, "--against")


def test_lines_are_found_on_many_pages():
    assert len(LINES) > 35
    assert {"README.md", "docs/command_line.md", "docs/how_to/stop_a_release.md"} <= {*LINES.values()}
    assert {words_of(line)[0] for line in LINES} >= COMMANDS.keys() - APART - {"look"}


@pytest.mark.few
@pytest.mark.parametrize("line", LINES)
def test_a_command_that_is_shown_runs(shell, tmp_path, line):
    words = words_of(line)
    # Two versions are of the same examples, and slices by three columns are sampled, which tests of their own do.
    frame = frame_of(words)
    for name in files_of(words):
        if name.endswith(".json"):
            frame.to_json(tmp_path / name, orient="records")
        else:
            frame.to_csv(tmp_path / name, index=False)
    if words.count("--slice") > 1:
        words = [word for place, word in enumerate(words) if "--slice" not in words[max(0, place - 1) : place + 1]]
    done = shell(*words)
    assert done.returncode in ((0, 1, 3) if words[0] == "check" else (0,)), done.stderr
    assert "fault" not in done.stderr
