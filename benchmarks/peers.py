"""Do the same work here and by other packages, and write ``RESULTS.md``: ``make bench-peers``.

Times are of the CPU, in all threads: medians of several repeats, taken in turns. Memory is the most that the work takes
beyond what the process holds without it. Errors are the largest differences from figures that are computed apart from
both. Words after the command choose rows whose description has any of them; the table is then printed, not written.

A row in which a peer is ahead on equal work must say why (`Contest.why`), or the command fails.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median

import growth
import numpy as np
import peer_rows
from budgets import in_turns
from peak_memory import work_bytes
from peer_rows import Contest
from rich.progress import track

RESULTS = Path(__file__).with_name("RESULTS.md")
PACKAGES = (
    "bayesperf", "baycomp", "confidenceinterval", "credible", "MLstatkit", "prob_conf_mat", "scikit-learn", "scipy",
    "statsmodels", "numpy", "pandas", "xarray",
)  # fmt: skip
# Seconds that the repeats of a row may take.
PATIENCE = 1.5
# Peers that are as fast as ours within this are not called ahead: medians differ by as much from run to run.
NOISE = 1.1

ROWS = {
    "confusion matrix, 10⁶ integers": partial(peer_rows.counting, 1_000_000, 2, False),
    "confusion matrix, 10⁷ integers": partial(peer_rows.counting, 10_000_000, 2, False),
    "confusion matrix, 10⁶ integers, 50 classes": partial(peer_rows.counting, 1_000_000, 50, False),
    "confusion matrix, 10⁶ strings": partial(peer_rows.counting, 1_000_000, 2, True),
    "confusion matrix, 10⁷ strings": partial(peer_rows.counting, 10_000_000, 2, True),
    "MCC of 10⁶ labels": peer_rows.mcc_of_labels,
    "Wilson intervals of 10⁵ rates": peer_rows.wilson,
    "Clopper–Pearson intervals of 20,000 rates": peer_rows.clopper_pearson,
    "Newcombe intervals of 10⁵ differences": peer_rows.newcombe,
    "recall of 1,000 matrices, equal-tailed": peer_rows.equal_tails,
    "recall of 1,000 matrices, highest density": peer_rows.highest_density,
    "F1 of 10⁴ labels, equal-tailed": peer_rows.f1_of_labels,
    "F1, balanced accuracy, MCC of a matrix": peer_rows.summaries_of_two_classes,
    "macro F1 of ten classes": peer_rows.macro_f1_of_ten_classes,
    "P(recall a > recall b), two test sets": peer_rows.greater_recall,
    "P(accuracy a > b), the same 10⁴ examples": peer_rows.paired,
    "P(accuracy a > b), the same examples, counted before": peer_rows.paired_counts,
    "correlated t-test, 100 splits": peer_rows.correlated_t,
    "sign test, 30 data sets": peer_rows.sign,
    "signed-rank test, 30 data sets": peer_rows.signed_rank,
    "AUC by DeLong, 10⁴ scores": peer_rows.delong,
    "two AUCs by DeLong, 10⁴ scores": peer_rows.delong_of_two,
    "AUC by bootstrap, 3,000 scores": peer_rows.bootstrapped_area,
    "points of a ROC curve, 10⁶ scores": peer_rows.points_of_roc,
    "ROC curve with intervals, 3,000 scores": peer_rows.band_of_roc,
    "accuracy of 10⁵ labels, Wilson": peer_rows.accuracy,
    "F1 of 10⁵ labels, delta method": peer_rows.delta_of_f1,
    "macro F1 of 10⁵ labels, delta method": peer_rows.delta_of_macro_f1,
    "kappa of a matrix, delta method": peer_rows.delta_of_kappa,
    "F1 of 1,000 labels, bootstrap": peer_rows.bootstrapped_f1,
}
LEFT_OUT = (
    "baycomp's hierarchical test, whose sampler is Stan: pystan 3.14 cannot read what its own server answers (a "
    "`JSONDecodeError` on Python 3.13). `make bench` has the time of ours.",
)


# ── Measuring ──


def row(work: str, contest: Contest) -> list[list[str]]:
    """Return the row of each peer."""
    works = [contest.ours, *contest.theirs.values()]
    errors = [error_of(one(), contest.exact) for one in works]
    start = time.process_time()
    memory = [work_bytes(one) for one in works]
    once = time.process_time() - start
    repeats = int(np.clip(PATIENCE / once, 3, 101))
    ours, *theirs = in_turns(*works, repeats=repeats, choose=median, clock=time.process_time)
    rows = []
    for i, (peer, theirs_of) in enumerate(zip(contest.theirs, theirs, strict=True), 1):
        behind = theirs_of * NOISE < ours
        notes = [contest.differs, f"**Behind**: {contest.why}" if behind else ""]
        if behind and not contest.why:
            notes[1] = "**Behind**, unexplained."
        cells = [work if i == 1 else "", peer, time_text(ours), time_text(theirs_of), two_digits(theirs_of / ours)]
        cells += [megabytes(memory[0]), megabytes(memory[i]), errors[0], errors[i], ". ".join(filter(None, notes))]
        rows.append(cells)
    return rows


def error_of(found: object, exact: object) -> str:
    """Return the largest error of the figures that have an exact one."""
    if exact is None:
        return "–"
    right = np.array(exact, float).ravel()
    error = np.abs(np.ravel(np.array(found, float))[: len(right)] - right).max()
    return "0" if error == 0 else f"{error:.0e}"


def time_text(seconds: float) -> str:
    """Return a time in milliseconds."""
    return two_digits(1000 * seconds)


def two_digits(value: float) -> str:
    """Return a number to two digits, or whole from 100."""
    return f"{value:.2g}" if value < 99.5 else f"{value:,.0f}"


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f}" if size >= 1e6 else "< 1"


# ── The page ──


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown, whose figures stand on the right."""
    rule = ["---" if name in ("work", "peer", "call", "of", "why") else "---:" for name in header]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *rows])


def machine() -> str:
    """Return what this was measured on."""
    model = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))[0]
    memory = int(re.findall(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(encoding="ascii"))[0])
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{model}, {os.cpu_count()} cores, {memory / 1024**2:.0f} GB, load {os.getloadavg()[1]:.1f}; "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}; {packages}."
    )


def growth_rows() -> list[list[str]]:
    rows = []
    for call in track(growth.ROWS, "Growth", transient=True):
        times = growth.measured(call)
        sizes = " / ".join(f"{size:,}" for size in call.sizes)
        milliseconds = " / ".join(time_text(of_size) for of_size in times)
        rows.append([call.call, call.of, sizes, milliseconds, f"{growth.exponent(call.sizes, times):.2f}"])
    return rows


PAGE = """# bayesperf and its peers

Written by `make bench-peers`, in an environment of its own.

{machine}

Times are milliseconds of the CPU, in all threads: medians of several repeats in which the packages take turns, after a
first run. The ratio is theirs to ours: above 1 ours is faster. Memory is the most, in MB, that the work takes beyond
what the process holds without it. Errors are the largest differences from figures computed apart from both: by mpmath
to thirty digits, by integration, or by counting pairs. The last column says how the work differs, where it does, and
why a peer is ahead, where it is by more than a tenth. Where other programs share the cores (a load above their number)
times are up to half as long again, on both sides: the ratios say more.

{peers}

Left out: {left_out}

## Growth

CPU times in milliseconds at three sizes, and the exponent between the last two: 1 is proportional to the size, 0 does
not depend on it. Below 1, a fixed cost is still in it. More classes are drawn fewer times by default, so that time does
not grow at first.

{growth}
"""


def main(words: list[str]) -> int:
    """Write the page, or print some rows; return 1 if a peer is ahead and nothing says why, else 0."""
    # Peers warn of their own defaults and of what newer versions of others will do.
    warnings.simplefilter("ignore")
    chosen = {name: make for name, make in ROWS.items() if not words or any(word in name for word in words)}
    rows = [cells for name, make in track(chosen.items(), "Peers", transient=True) for cells in row(name, make())]
    header = ["work", "peer", "ours", "theirs", "ratio", "MB", "theirs, MB", "error", "their error", "why"]
    peers = table(header, rows)
    if words:
        print(peers)
    else:
        of_growth = table(["call", "of", "sizes", "milliseconds", "exponent"], growth_rows())
        page = PAGE.format(machine=machine(), peers=peers, left_out=" ".join(LEFT_OUT), growth=of_growth)
        RESULTS.write_text(page, encoding="utf-8")
    return int(any("unexplained" in cells[-1] for cells in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
