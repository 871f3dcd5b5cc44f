"""What counts over groups (folds, sites, studies) answer: for the population of groups, a new group, and each group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import pandas as pd

from bayesperf.core import checks
from bayesperf.core.answer import Answer
from bayesperf.metrics.metric import Metric
from bayesperf.posteriors.marginal import Kind
from bayesperf.posteriors.posterior import Posterior
from bayesperf.posteriors.sentences import estimate_in_words
from bayesperf.posteriors.summary_table import Summary


class AnswersOverGroups(Answer):
    """Base class of results that are posteriors: of the population of groups, of a new group, and of each group."""

    @property
    @abstractmethod
    def dim(self) -> str:
        """The dim of the groups."""

    @abstractmethod
    def _answers(self) -> dict[str, Posterior]:
        """Return the posteriors by the name of the answer, "mean" among them."""

    @abstractmethod
    def _estimand(self) -> str:
        """Return what the answers are of, in words."""

    def _usual_metrics(self) -> Sequence[str] | None:
        """Return the metrics of the table if none are named; None for those of `Posterior.summary`."""
        return None

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
        metrics, answers, tables = self._usual_metrics() if metrics is None else metrics, self._answers(), []
        if len(answers) == 1:
            return answers["mean"].summary(metrics, ci_prob, ci_kind)
        for answer, post in answers.items():
            table = post.summary(metrics, ci_prob, ci_kind)
            if self.dim not in table:
                table.insert(1 + len(post.dims), self.dim, "")
            table.insert(0, "answer", answer)
            tables.append(table.astype({self.dim: object}))
        joined = pd.concat(tables, ignore_index=True)
        # Draws of one answer may be undefined where those of another are all defined.
        joined = joined.fillna({"undefined": 0.0}) if "undefined" in joined else joined
        return Summary.of(joined, ci_prob, ci_kind, prior=answers["mean"].prior_text, estimand=self._estimand())


def answers_in_words(
    answers: Mapping[str, Posterior], metrics: Sequence[str | Metric], ci_prob: float, ci_kind: Kind
) -> list[str]:
    """Return what each answer, by how its sentence begins, says of some metrics."""
    checks.probability("ci_prob", ci_prob)
    return [
        f"{beginning} {' and '.join(estimate_in_words(each, ci_prob, ci_kind) for each in post.several(metrics))}"
        for beginning, post in answers.items()
    ]
