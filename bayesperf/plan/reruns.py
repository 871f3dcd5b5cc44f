"""What more attempts at each question, or more questions, would add to what we know about a pass rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.arguments import checked
from bayesperf.core.arrays import Array
from bayesperf.core.errors import InputError
from bayesperf.core.random_streams import streams
from bayesperf.core.words import chance, format_value, place_names, places_in_words, plural
from bayesperf.data.outcomes import Outcomes
from bayesperf.distributions.beta_binomial import posterior
from bayesperf.distributions.draws import Draws
from bayesperf.groups.group_quadrature import QUESTIONS
from bayesperf.posteriors.marginal import Marginal
from bayesperf.posteriors.quantity import Quantity, Scope

# Attempts and questions, as multiples of those made, that a summary shows. With infinitely many attempts only questions
# vary.
_PLANS = {"now": (1, 1), "2 × attempts": (1, 2), "infinitely many attempts": (1, np.inf), "2 × questions": (2, 1),
          "4 × questions": (4, 1)}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AttemptsPlan(Answer):
    """Whether reruns or questions make a pass rate uncertain. Made by `bayesperf.plan.attempts`.

    Attributes
    ----------
    passed, asked : xarray.DataArray
        Numbers of attempts that passed, and of all attempts, with the dim of the questions last.
    mean, dispersion : array (systems, draws)
        Draws of the mean pass rate over questions, and of the proportion of an attempt's variance that lies between
        questions.
    random_seed : int
        Of the draws.
    """

    passed: xr.DataArray
    asked: xr.DataArray
    mean: Array
    dispersion: Array
    random_seed: int

    drawn_by = "attempts"

    @property
    def dim(self) -> str:
        """The name of the questions' dim."""
        return str(self.asked.dims[-1])

    @property
    def questions(self) -> xr.DataArray:
        """Number of questions that were asked."""
        return (self.asked > 0).sum(self.dim).rename("questions")

    @property
    def attempts(self) -> xr.DataArray:
        """Harmonic mean of the numbers of attempts at the questions that were asked."""
        return (self.questions / (1 / self.asked.where(self.asked > 0)).sum(self.dim)).rename("attempts")

    @property
    def always(self) -> xr.DataArray:
        """Number of questions with a pass in every attempt."""
        return ((self.passed == self.asked) & (self.asked > 0)).sum(self.dim).rename("always")

    @property
    def never(self) -> xr.DataArray:
        """Number of questions with no pass in any attempt."""
        return ((self.passed == 0) & (self.asked > 0)).sum(self.dim).rename("never")

    @property
    def rerun_share(self) -> Marginal:
        """Posterior of the proportion of the pass rate's variance due to reruns; the rest lies between questions."""
        noise = (1 - self.dispersion) / self.attempts.values.reshape(-1, 1)
        share = noise / (self.dispersion + noise)
        quantity = Quantity("rerun_share", Scope("itself"), words="share of variance by reruns", bounds=(0.0, 1.0))
        leading = xr.zeros_like(self.questions, dtype=float).rename(None)
        return Marginal(quantity, Draws(share[:, None], (0.0, 1.0)), leading, random_seed=self.random_seed)

    def standard_error(self, questions: float = 1, attempts: float = 1) -> xr.DataArray:
        """Return the expected standard error of the pass rate with more or fewer questions and attempts.

        Parameters
        ----------
        questions, attempts : float
            Multiples of the current numbers; infinitely many attempts leave the variance between questions.

        Returns
        -------
        xarray.DataArray
            An array over the systems.

        Raises
        ------
        ValueError
            If one of them is not above 0, or `questions` is infinite.
        """
        checks.above_zero("attempts", attempts)
        if np.isinf(checks.above_zero("questions", questions)):
            raise InputError("questions", "must be finite.")
        errors = self._errors(questions, attempts).mean(-1).reshape(self.questions.shape)
        return self.questions.copy(data=errors).rename("standard_error")

    def _errors(self, questions: float, attempts: float | Array) -> Array:
        """Return draws of the standard error, (systems, draws)."""
        noise = (1 - self.dispersion) / (attempts * self.attempts.values.reshape(-1, 1))
        variance = self.mean * (1 - self.mean) * (self.dispersion + noise)
        return np.asarray(np.sqrt(variance / (questions * self.questions.values.reshape(-1, 1))))

    def questions_for(self, width: float, attempts: int | None = None, ci_prob: float = 0.95) -> xr.DataArray:
        """Return how many questions the interval of the pass rate needs for a given width, by its expected variance.

        Parameters
        ----------
        width : float
            Width of the interval.
        attempts : int, optional
            Attempts at each question; by default the current number.
        ci_prob : float
            Probability of the interval.

        Returns
        -------
        xarray.DataArray of int
            An array over the systems.

        Raises
        ------
        ValueError
            If the width is not above 0, or another argument is out of its range.
        """
        checks.above_zero("width", width)
        now = self.attempts.values.reshape(-1, 1)
        times = np.ones_like(now) if attempts is None else checks.count("attempts", attempts) / now
        z = -special.ndtri((1 - checks.probability("ci_prob", ci_prob)) / 2)
        variance = (self._errors(1, times) ** 2).mean(-1).reshape(self.questions.shape) * self.questions.values
        return self.questions.copy(data=np.ceil(variance * (2 * z / width) ** 2).astype(int))

    def summary(self) -> pd.DataFrame:
        """Return the standard error of the pass rate now, and with more attempts or more questions."""
        rows = []
        for index, name in enumerate(place_names(self.questions)):
            for plan, (questions, attempts) in _PLANS.items():
                error = self._errors(questions, attempts)[index]
                low, high = np.quantile(error, [0.025, 0.975])
                now = self.questions.values.ravel()[index], self.attempts.values.ravel()[index]
                rows.append((name, plan, now[0] * questions, now[1] * attempts, error.mean(), low, high))
        columns = ["system", "plan", "questions", "attempts", "standard_error", "ci_lower", "ci_upper"]
        table = pd.DataFrame(rows, columns=columns)
        return table if self.questions.ndim else table.drop(columns="system")

    def in_words(self) -> str:
        """Return sentences on what makes the pass rate uncertain, and what would reduce the uncertainty.

        Examples
        --------
        >>> import bayesperf as bp
        >>> passed = [0] * 12 + [1] * 8 + [3] * 10 + [4] * 10
        >>> print(bp.plan.attempts(bp.Outcomes.from_counts(right=passed, n=4, dims=["question"])).in_words())
        10 of 40 questions passed in every attempt, and 12 in none. Noise of reruns is 19 % of the variance of the \
        pass rate; the rest is between questions. The standard error is 0.063. It would be 0.060 with twice the \
        attempts, and 0.044 with twice the questions.
        """
        shares = self.rerun_share.mean().values.ravel()
        errors = [self.standard_error(*times).values.ravel() for times in ((1, 1), (1, 2), (2, 1))]
        counted = (each.values.ravel() for each in (self.questions, self.always, self.never))
        said = []
        for name, asked, always, never, share, *error in zip(
            place_names(self.questions), *counted, shares, *errors, strict=True
        ):
            now, attempts, questions = map(format_value, error)
            system = f"{name}: " * bool(self.questions.ndim)
            said.append(
                f"{system}{always:,} of {asked:,} {plural(self.dim)} passed in every attempt, "
                f"and {never:,} in none. Noise of reruns is {chance(share)} of the variance of the pass rate; the rest "
                f"is between {plural(self.dim)}. The standard error is {now}. It would be {attempts} with twice the "
                f"attempts, and {questions} with twice the {plural(self.dim)}."
            )
        return " ".join(said)

    def __repr__(self) -> str:
        sizes = [f"{int(self.questions.max()):,} {plural(self.dim)}"]
        sizes += [f"{dim}: {size}" for dim, size in self.questions.sizes.items()]
        return f"<bayesperf.plan.AttemptsPlan: {', '.join(sizes)}>"


@checked
def attempts(outcomes: Outcomes, dim: str | None = None, *, draws: int = 10_000, random_seed: Any = 0) -> AttemptsPlan:
    """Return what makes a pass rate uncertain, reruns or questions, and what more of either would change.

    Parameters
    ----------
    outcomes : Outcomes
        Right or wrong attempts, with a dim for the questions, or counted with the questions as clusters (``cluster=``).
    dim : str, optional
        The dim of the questions, if they are a dim; by default ``question``. Other dims are systems, each by itself.
    draws, random_seed
        Of the posterior.

    Returns
    -------
    AttemptsPlan

    Raises
    ------
    TypeError, ValueError
        If `outcomes` have another type or more than two grades, or some system was asked no question twice.

    Notes
    -----
    The probability that an attempt passes differs between questions, x ~ Beta(κp, κ(1 − p)); ρ = 1/(1 + κ) ~ Beta(1, 1)
    is the proportion of an attempt's variance p(1 − p) that lies between questions. The pass rate is the mean over
    questions, and each question counts once, however often it was asked. With R attempts at each of Q questions its
    variance is p(1 − p)(ρ + (1 − ρ)/R)/Q: more attempts reduce only the second part. With unequal numbers of attempts,
    R is their harmonic mean.

    Examples
    --------
    >>> import bayesperf as bp
    >>> passed = [0] * 12 + [1] * 8 + [3] * 10 + [4] * 10
    >>> plan = bp.plan.attempts(bp.Outcomes.from_counts(right=passed, n=4, dims=["question"]))
    >>> plan.always.item(), plan.never.item(), plan.questions_for(width=0.1).item()
    (10, 12, 243)
    """
    checks.instance("outcomes", outcomes, Outcomes)
    if len(outcomes.labels) > 2:
        raise InputError("outcomes", f"attempts are right or wrong; these have {len(outcomes.labels)} grades.")
    counts = _by_question(outcomes, dim)
    right, asked = counts.sel(outcome=outcomes.labels[1], drop=True), counts.sum("outcome")
    _refuse_without_reruns(asked)
    seed, n = checks.seed(random_seed), checks.count("draws", draws, least=2)
    successes, trials = (each.values.reshape(-1, each.shape[-1]).astype(float) for each in (right, asked))
    model = posterior(successes, trials, QUESTIONS)
    systems = xr.zeros_like(asked.isel({asked.dims[-1]: 0}, drop=True), dtype=float).rename(None)
    logits = model.draws_of_mean(n, streams(seed, "attempts: mean", systems, successes))
    log_odds = model.draws_of_dispersion(logits, streams(seed, "attempts: dispersion", systems, successes))
    return AttemptsPlan(
        passed=right, asked=asked, mean=special.expit(logits), dispersion=special.expit(log_odds), random_seed=seed
    )


def _refuse_without_reruns(asked: xr.DataArray) -> None:
    """Refuse systems that were asked no question twice."""
    dim = str(asked.dims[-1])
    few = asked.max(dim) < 2
    if few.any():
        where = places_in_words(few)[few.values.argmax()]
        problem = f"no {dim} has two attempts{f' by {where}' if where else ''}."
        raise InputError("outcomes", problem, "Reruns are needed to tell their noise.")


def _by_question(outcomes: Outcomes, dim: str | None) -> xr.DataArray:
    """Return the counts with the questions as the last leading dim."""
    if outcomes.clusters is not None:
        if dim is not None:
            raise InputError("dim", f"the questions are the clusters, {outcomes.clusters.name!r}.", "Remove `dim`.")
        clusters, counts = outcomes.clusters, outcomes.counts
        values = np.moveaxis(clusters.table.toarray().reshape(clusters.size, *counts.shape), 0, -2)
        coords = {name: counts[name] for name in (*outcomes.dims, "outcome")}
        return xr.DataArray(values, coords, (*outcomes.dims, clusters.name, "outcome"))
    name = "question" if dim is None else dim
    checks.leading_dim("dim", name, outcomes.dims, "Name the questions.")
    return outcomes.counts.transpose(..., name, "outcome")
