"""A study: what is varied, one simulation, and what comes of all of them; how it is run, and how its table is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesperf.core.errors import InputError
from bayesperf.studies import running
from bayesperf.studies.running import interval_outcomes, monte_carlo_means

Arrays = Mapping[str, Any]
COLUMNS = ("coverage", "coverage_mcse", "width")
# Where the simulations behind tables are kept: an interrupted table continues, and a longer one extends it.
FOLDER = Path(".venv/validation")


def means(results: Arrays, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the means over the simulations in which a figure is defined, and their Monte Carlo standard errors."""
    found: dict[str, Any] = {}
    for name, values in results.items():
        found |= monte_carlo_means({name: values}, np.isfinite(values))
    return found


def interval_figures(lower: Any, upper: Any, true: Any) -> dict[str, Any]:
    """Return whether intervals cover, where they miss, and their width; NaN where there is none."""
    there = np.isfinite(upper - lower)
    return {name: np.where(there, values, np.nan) for name, values in interval_outcomes(lower, upper, true).items()}


@dataclass(frozen=True)
class Study:
    """A simulation of data whose truth is known, and what a method says of them.

    Parameters
    ----------
    grid : mapping of sequences
        What is varied. Each simulation goes through all combinations in order, with one stream of random numbers.
    simulate : callable (Generator, **settings) -> mapping of arrays
        Draw data at one place of the grid and return figures of them: arrays over `rows`, or the first few of these.
    reduce : callable (results, settings) -> mapping
        From arrays (simulation, *grid, *rows) to what is reported, by name: arrays (*grid, *rows), or pairs of dims and
        an array. By default the `means`.
    rows : mapping
        The dims of what one simulation returns: their labels, the name of the setting that lists them, or a function of
        the settings.
    settings : mapping
        What else is set, the same everywhere on the grid.
    batch : int
        If above 1, how many simulations are made at once where that is faster: `simulate` is then given a mapping of
        their numbers to their generators, and returns a list.
    """

    grid: Mapping[str, Sequence[Any]]
    simulate: Callable[..., Arrays]
    reduce: Callable[[Arrays, Mapping[str, Any]], Mapping[str, Any]] = means
    rows: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    batch: int = 1


def run(
    study: Study,
    simulations: int,
    *,
    random_seed: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progressbar: bool = True,
    **changes: Any,
) -> xr.Dataset:
    """Run a study, with changes of its grid and of its settings; return its figures over (*rows, *grid).

    Results depend on the seed alone; simulations that a `folder` holds are not run again (see `bayesperf.studies`).
    """
    known = {**study.grid, **study.settings}
    if unknown := sorted(changes.keys() - known.keys()):
        raise InputError("settings", f"the study has no {', '.join(unknown)}; it has {', '.join(known)}.")
    chosen = {name: changes.get(name, value) for name, value in known.items()}
    grid = {name: np.atleast_1d(chosen[name]).tolist() for name in study.grid}
    fixed = {name: chosen[name] for name in study.settings}
    rows = {dim: np.atleast_1d(chosen[of] if isinstance(of, str) else of(chosen) if callable(of) else of)
            for dim, of in study.rows.items()}  # fmt: skip
    places = [dict(zip(grid, place, strict=True)) for place in product(*grid.values())]
    shape = [len(values) for values in grid.values()]

    def simulate(indices: Sequence[int], rngs: Sequence[np.random.Generator]) -> list[Arrays]:
        given: Any = [dict(zip(indices, rngs, strict=True))] if study.batch > 1 else rngs
        # By place, then by simulation.
        found = [[study.simulate(each, **place, **fixed) for each in given] for place in places]
        found = [of_place[0] for of_place in found] if study.batch > 1 else found
        return [_stacked(of_one, shape) for of_one in zip(*found, strict=True)]

    settings = {**grid, **fixed, "simulations": simulations, "random_seed": random_seed}
    results = running.run(
        simulate, simulations, settings, study.batch, n_jobs=n_jobs, progressbar=progressbar, folder=folder
    )
    dims = (*grid, *rows)
    figures = {
        name: value if isinstance(value, tuple) else (dims[: np.ndim(value)], value)
        for name, value in study.reduce(results, settings).items()
    }
    return xr.Dataset(figures, {**rows, **grid}, settings).transpose(*rows, *grid, ..., missing_dims="ignore")


def _stacked(found: Sequence[Arrays], shape: Sequence[int]) -> Arrays:
    """Return arrays over the grid from those of its places."""
    return {name: np.reshape([each[name] for each in found], (*shape, *np.shape(found[0][name]))) for name in found[0]}


def table(
    study: Study,
    cases: Iterable[tuple[Mapping[str, Any], int, Mapping[str, Any]]],
    jobs: int = 1,
    *,
    name: str,
    columns: Sequence[str] = COLUMNS,
    digits: int = 4,
) -> pd.DataFrame:
    """Return the table of several runs of a study.

    Parameters
    ----------
    study : Study
    cases : iterable of (labels, simulations, changes)
        The runs: what the first columns say of each, how many simulations it has, and what is changed in it.
    jobs : int
        Simulations run in parallel.
    name : str
        That of the folder in which simulations are kept.
    columns : sequence of str
        The figures.
    digits : int
        After the decimal point.
    """
    tables = []
    for number, (labels, simulations, changes) in enumerate(cases):
        folder = FOLDER / name / str(number)
        found = run(study, simulations, n_jobs=jobs, folder=folder, **changes)
        rows = found[list(columns)].to_dataframe().dropna(how="all").reset_index().round(digits)
        rows = rows[[name for name in rows if name not in labels]].assign(**labels, simulations=simulations)
        tables.append(rows[[*labels, *rows.columns.drop([*labels])]])
    return pd.concat(tables, ignore_index=True)
