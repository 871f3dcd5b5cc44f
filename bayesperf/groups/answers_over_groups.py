"""What data of groups (folds, sites, studies, readers) answer: for their population, a new group, and each group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.core.words import sentence
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.marginal import Kind, Marginal
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.summary_table import Summary


class Part(NamedTuple):
    """One of the answers: its name in the table, how its sentence begins (empty if it has none), and what it says."""

    name: str
    beginning: str
    says: Posterior | Marginal


class AnswersOverGroups(Answer):
    """Base class of results on the population of groups, on a new group, and on each group."""

    # The metrics of the table if none are named; None for those of `Posterior.summary`.
    usual_metrics: ClassVar[Sequence[str] | None] = None

    @property
    @abstractmethod
    def dim(self) -> str:
        """The dim of the groups."""

    @abstractmethod
    def _parts(self) -> list[Part]:
        """Return the answers."""

    @abstractmethod
    def _estimand(self) -> str:
        """Return what the answers are of, in words."""

    def summary(
        self, metrics: str | Metric | Sequence[str | Metric] | None = None, ci_prob: float = 0.95, ci_kind: Kind = "hdi"
    ) -> pd.DataFrame:
        """Return a tidy table of all answers; if there is one, by the Bayesian bootstrap, that posterior's own table.

        Parameters
        ----------
        metrics, ci_prob, ci_kind
            As in `Posterior.summary`.

        Returns
        -------
        pandas.DataFrame
            As from `Posterior.summary`, with a first column ``answer``, and a column for the dim of the groups, empty
            except for the groups themselves.
        """
        return self._table(ci_prob, ci_kind, metrics=self.usual_metrics if metrics is None else metrics)

    def _table(self, ci_prob: float, ci_kind: Kind, **which: Any) -> pd.DataFrame:
        tables, parts = [], self._parts()
        for part in parts:
            table = part.says.summary(ci_prob=ci_prob, ci_kind=ci_kind, **which)
            if len(parts) == 1:
                return table
            if self.dim not in table:
                table.insert(1 + len(part.says.dims), self.dim, "")
            table.insert(0, "answer", part.name)
            tables.append(table.astype({self.dim: object}))
        joined = pd.concat(tables, ignore_index=True)
        # Draws of one answer may be undefined where those of another are all defined.
        joined = joined.fillna({"undefined": 0.0}) if "undefined" in joined else joined
        prior = {name: text for name, text in tables[0].attrs.items() if name == "prior"}
        return Summary.of(joined, ci_prob, ci_kind, estimand=self._estimand(), **prior)

    def _sentences(self, ci_prob: float, ci_kind: Kind, metrics: Sequence[str | Metric] = ()) -> list[str]:
        """Return what the answers say, of posteriors on some metrics."""
        checks.probability("ci_prob", ci_prob)
        said = []
        for _, beginning, says in self._parts():
            if beginning:
                marginals = [says] if isinstance(says, Marginal) else says.several(metrics)
                estimates = [estimate_in_words(each, ci_prob, ci_kind) for each in marginals]
                said.append(sentence(f"{beginning} {' and '.join(estimates)}"))
        return said
