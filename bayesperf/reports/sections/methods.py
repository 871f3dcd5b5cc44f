"""Methods, to cite: a paragraph to be pasted, with the references that it names."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from platform import python_version

from bayesperf.core.words import enumerated, interval_name, sentence
from bayesperf.reports.analysis import Analysis
from bayesperf.reports.blocks import Block, Folded, Note
from bayesperf.reports.sections import REPORT, Section

_PACKAGES = ("bayesperf", "numpy", "scipy", "xarray")


def blocks(analysis: Analysis) -> list[Block]:
    """Return the paragraph, the references in BibTeX, and what made the page."""
    number = version("bayesperf")
    own = (
        f"@software{{bayesperf,\n  title = {{bayesperf: posterior distributions of the performance of classifiers}},\n"
        f"  version = {{{number}}}\n}}"
    )
    said = paragraph(analysis)
    bibtex = "\n\n".join([*(entry for key, entry in _references().items() if key in said), own])
    return [
        Note(said, "quote"),
        Folded("References (BibTeX)", [Note(bibtex, "verbatim")]),
        *made_by(analysis.command),
    ]


def _references() -> dict[str, str]:
    """Return entries of BibTeX, by the keys of citations."""
    entries = (Path(__file__).parents[1] / "references.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def made_by(command: str) -> list[Block]:
    """Return what made a page: the versions, and the command, if there was one."""
    versions = {"Python": python_version()} | {name: version(name) for name in _PACKAGES}
    made = ", ".join(f"{name} {number}" for name, number in versions.items())
    return [Note(f"Made by {made}{':' if command else '.'}"), *([Note(command, "verbatim")] if command else [])]


def paragraph(analysis: Analysis) -> str:
    """Return what was done, in the past tense of a paper."""
    settings = analysis.settings
    titles = [analysis.metric(name).title for name in analysis.metric_names]
    said = [
        *([] if settings.scores_alone else [analysis.pooled.source.modelled(analysis.pooled)]),
        f"we report the posterior mean and the {interval_name(settings.ci_prob, 'hdi')} of {enumerated(titles)}",
    ]
    if analysis.folds is not None:
        said.append("the counts of the folds were pooled")
    if analysis.slices is not None:
        found = analysis.slices.found
        said.append(
            f"rates of slices by {enumerated(list(found.dims))} were shrunk towards each other by a hierarchical model "
            f"({found.prior_text}) [gelman2007data]"
        )
    if analysis.requirements:
        asked = enumerated([str(requirement) for requirement in analysis.requirements])
        said.append(f"we report the posterior probability that each requirement is met ({asked})")
    if analysis.headline_comparison:
        shared = settings.cluster is not None and settings.judge is None
        apart = "on the clusters that they share" if shared else "as if tested on different examples"
        related = "on the same examples" if analysis.is_paired else apart
        rope = f", with differences of at most {settings.rope:g} treated as equivalent" if settings.rope else ""
        said.append(f"systems were compared {related} by the posterior of their difference{rope} [benavoli2017time]")
    if analysis.scores is not None:
        said.append("areas under curves were obtained by the Bayesian bootstrap [rubin1981bayesian]")
    said.append(f"figures were computed by bayesperf {version('bayesperf')} (seed {settings.seed})")
    return " ".join(map(sentence, said))


SECTION = Section(120, "methods", "Methods, to cite", blocks, (REPORT,))
