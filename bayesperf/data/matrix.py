"""Confusion matrices, and the constructors that make them from predictions, scores, tables and data frames.

Everything is one labelled array of counts with last dims ``("actual", "predicted")``, whatever the leading dims are:
folds, models, thresholds, data sets. ``ConfusionMatrix`` holds it and refuses anything that is not a table of counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesperf.core import checks
from bayesperf.core.arguments import checked, refuse_unreadable
from bayesperf.core.errors import InputError, InputTypeError
from bayesperf.data.axis_names import LABEL, MODEL
from bayesperf.data.classifier_scores import Scores
from bayesperf.data.clusters import Clusters, check_within, cluster_column, clusters_of_rows
from bayesperf.data.count_arrays import (
    CELL_DIMS,
    COUNTED_AGAIN,
    SAME_EXAMPLES,
    UNCOUNTED,
    checked_cells,
    has_uncounted_negatives,
    labelled_arrays,
    marked,
    refuse_margins,
    refuse_uncounted_cells,
    table_to_counts,
    with_labels,
)
from bayesperf.data.counted import Counted
from bayesperf.data.cross_tabulation import (
    Indicators,
    are_indicators,
    cross_tabulate,
    encode_columns,
    encode_predictions,
)
from bayesperf.data.cross_validation import fold_of_each, held_out_predictions
from bayesperf.data.display import matrix_html, matrix_text
from bayesperf.data.label_encoding import check_labels, encode, merge_labels, positive_label
from bayesperf.data.response_patterns import (
    ResponsePatterns,
    of_columns,
    of_examples,
    of_table,
)
from bayesperf.data.totals import clusters_of_totals, encode_totals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesperf.plots.style import Panels


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionMatrix(Counted):
    """Counts of (actual, predicted) label pairs, with any leading dims.

    Immutable. Make one with a constructor below: `from_predictions`, `from_counts`, `from_table`, `from_joint_counts`,
    `from_scores`, `from_frame`, `from_estimator`, `from_cross_validation`, `from_cross_val_predict`.

    Parameters
    ----------
    counts : xarray.DataArray
        Non-negative whole numbers with dims ``(..., actual, predicted)``; both have the labels as coordinates.
    pos_label : label, optional
        The positive class of a binary matrix. Inferred for labels {0, 1}, {-1, 1} and {False, True}.
    patterns : ResponsePatterns, optional
        The predictions of several systems for the same examples, with margins `counts`. Constructors supply them if
        they can. ``counts.attrs["same_examples"]`` then names the systems' dim.
    clusters : Clusters, optional
        The cells of each cluster's examples, if they were counted with clusters (``cluster=``).

    Raises
    ------
    ValueError
        If the counts are negative, fractional or missing, the table is not square, or `pos_label` is not a label.

    Examples
    --------
    >>> import bayesperf as bp
    >>> cm = bp.ConfusionMatrix.from_predictions(["cat", "dog", "dog"], ["cat", "dog", "cat"], pos_label="dog")
    >>> cm
    <bayesperf.ConfusionMatrix: 3 examples, positive 'dog'>
    predicted  cat  dog
    actual
    cat          1    0
    dog          1    1
    """

    cell_dims: ClassVar[tuple[str, ...]] = CELL_DIMS

    counts: xr.DataArray
    pos_label: Any = None
    patterns: ResponsePatterns | None = None
    clusters: Clusters | None = None

    def __post_init__(self) -> None:
        refuse_unreadable({"counts": self.counts, "pos_label": self.pos_label})
        counts = self._checked_counts()
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "pos_label", positive_label(self.labels, self.pos_label))
        if has_uncounted_negatives(counts) and counts.attrs[UNCOUNTED] == self.pos_label:
            refuse_uncounted_cells(counts, "pos_label", f"{self.pos_label!r} as the positive class needs")

    @classmethod
    @checked
    def from_counts(
        cls,
        *,
        tp: ArrayLike,
        fn: ArrayLike,
        fp: ArrayLike,
        tn: ArrayLike | None,
        dims: Sequence[str] | Mapping[str, Sequence[Any]] | None = None,
    ) -> ConfusionMatrix:
        """Make binary matrices from their four cells.

        Parameters
        ----------
        tp, fn, fp, tn : int or array-like or xarray.DataArray
            True positives, false negatives, false positives, true negatives. They broadcast against each other; dims of
            a DataArray become leading dims. If nobody counts true negatives, as in retrieval, entity recognition and
            detection, `tn` is None: metrics that need them are refused.
        dims : sequence of str or mapping, optional
            Names of the axes of arrays, or a mapping of names to their coordinates.

        Returns
        -------
        ConfusionMatrix
            A matrix with labels 0 and 1; 1 is positive.

        Raises
        ------
        ValueError
            If a cell is not a number of examples, the cells do not broadcast, or `dims` does not fit them.

        Examples
        --------
        >>> import bayesperf as bp
        >>> bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=45).total.item()
        100
        >>> cm = bp.ConfusionMatrix.from_counts(tp=[40, 42], fn=[10, 8], fp=5, tn=45, dims={"model": ["old", "new"]})
        >>> cm.sel(model="new").counts.values
        array([[45,  5], [ 8, 42]])
        >>> found = bp.posterior(bp.ConfusionMatrix.from_counts(tp=40, fn=10, fp=5, tn=None))
        >>> found["f1"].mean().round(2).item()
        0.83
        """
        cells = {"tp": tp, "fn": fn, "fp": fp, "tn": 0 if tn is None else tn}
        for name, value in cells.items():
            checks.whole_numbers(name, xr.DataArray(value).values)
        tp_, fn_, fp_, tn_ = labelled_arrays(cells, dims)
        rows = [xr.concat(row, "predicted", coords="minimal") for row in ((tn_, fp_), (fn_, tp_))]
        counts = xr.concat(rows, "actual").transpose(..., *CELL_DIMS)
        counts = counts.assign_coords(actual=[0, 1], predicted=[0, 1])
        return cls(marked(counts, UNCOUNTED, 0 if tn is None else None))

    @classmethod
    @checked
    def from_table(
        cls,
        table: ArrayLike | xr.DataArray | pd.DataFrame,
        *,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
        dims: Sequence[str] | Mapping[str, Sequence[Any]] | None = None,
    ) -> ConfusionMatrix:
        """Make matrices from tables of counts, rows actual and columns predicted.

        Parameters
        ----------
        table : array-like (..., K, K), xarray.DataArray or pandas.DataFrame
            A DataArray has dims ``actual`` and ``predicted``, or names such as ``y_true`` and ``y_pred``. A DataFrame
            has the actual labels as its index and the same labels, in any order, as its columns; the names of its axes
            may say that it is the other way round.
        labels : sequence, optional
            The K labels, in the order of the rows (0..K-1 if not given). If the table has labels, the wanted order.
        pos_label : label, optional
            The positive class.
        dims : sequence of str or mapping, optional
            Names of the leading axes of an array, or a mapping of names to their coordinates.

        Raises
        ------
        ValueError
            If the names of a table's axes do not tell which is which, or the last row and column are margins: called
            "All", or the sums of the others (unless `labels` names it as a class).

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_table([[[8, 2], [1, 9]], [[7, 3], [2, 8]]], dims={"fold": [1, 2]})
        >>> cm.dims, cm.total.values.tolist()
        (('fold',), [20, 20])

        A cross-tabulation carries the names of its columns, so that either order is understood:

        >>> import pandas as pd
        >>> y_true = pd.Series(["cat", "cat", "dog"], name="y_true")
        >>> y_pred = pd.Series(["cat", "dog", "dog"], name="y_pred")
        >>> bp.ConfusionMatrix.from_table(pd.crosstab(y_pred, y_true)).counts.values
        array([[1, 1], [0, 1]])
        """
        counts = table_to_counts(table, dims)
        cm = cls(counts if labels is None else with_labels(counts, labels), pos_label)
        if labels is None:
            refuse_margins(cm.counts)
        return cm

    @classmethod
    @checked
    def from_joint_counts(
        cls, counts: ArrayLike, *, names: Sequence[Any], labels: Iterable[Any] | None = None, pos_label: Any = None
    ) -> ConfusionMatrix:
        """Make the matrix of systems tested on the same examples from a table of their response patterns.

        Parameters
        ----------
        counts : array-like (K, K, …, K)
            Count of each pattern: the actual class, then each system's prediction.
        names : sequence
            Names of the systems, in the order of the axes after the first.
        labels : sequence, optional
            The K labels, in the order of each axis (0..K-1 if not given).
        pos_label : label, optional
            The positive class.

        Returns
        -------
        ConfusionMatrix
            A matrix with leading dim ``model``.

        Examples
        --------
        >>> import bayesperf as bp
        >>> table = [[[50, 5], [3, 12]], [[4, 2], [9, 45]]]  # table[actual][old][new]
        >>> cm = bp.ConfusionMatrix.from_joint_counts(table, names=["old", "new"])
        >>> cm.sel(model="new").counts.values
        array([[53, 17], [13, 47]])
        """
        systems, values = list(names), np.asarray(counts)
        if isinstance(names, str) or len(set(systems)) < max(2, len(systems)) or values.ndim != 1 + len(systems):
            raise InputError(
                "names",
                "must be different names of two systems or more, one for each axis of the counts after the first, "
                f"of {values.ndim - 1}; they are {names!r}.",
            )
        checked_cells(values, values.ndim)
        known = np.arange(len(values)) if labels is None else check_labels(labels)
        checks.equal_lengths({"labels": len(known), "counts": len(values)})
        patterns = of_table(values, known.tolist(), systems, pos_label)
        return cls(patterns.margins(), patterns.pos_label, patterns)

    @classmethod
    @checked
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
        by: Mapping[str, Any] | None = None,
        example: Any = None,
        cluster: Any = None,
        sample_weight: None = None,
    ) -> ConfusionMatrix:
        """Count label pairs.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            Labels: strings, whole numbers or booleans, none missing. A categorical fixes the labels and their order;
            otherwise they are the sorted labels of both columns. If examples have several labels or none, pass arrays
            or frames (n, L) of 0 and 1 with a column for each label: each label gets a binary matrix along the last
            leading dim, ``label``. For several systems on the same examples, `y_pred` maps names to columns, and the
            systems become the dim ``model``.
        labels : sequence, optional
            All labels, in the wanted order, or the names of the columns of 0 and 1; other labels are an error.
        pos_label : label, optional
            The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.
        by : mapping of str to array-like of shape (n,), optional
            Columns that become leading dims: ``{"model": names, "fold": ids}``. Missing combinations get zeros.
        example : array-like of shape (n,), optional
            Ids (hashable) of the examples. They say that the systems of the dim ``model`` (or the only one in `by`)
            were tested on the same examples, each system once on each, so that they can be compared example by example.
        cluster : array-like of shape (n,) or mapping of str to array-like, optional
            The patient, image or document of each row, if it has several rows: examples in a cluster are alike, and
            carry less information than independent ones. `bayesperf.pool` uses it. A mapping names the clusters:
            ``{"patient": ids}``. If they are nested, ``{"hospital": …, "patient": …}``, the first are drawn whole; an
            id that occurs in two of them means two patients. Clusters are not a dim, and take no more memory than the
            rows.
        sample_weight : None
            Refused, because weights are no numbers of examples: ``bp.posterior(cm, strata="group", shares={…})``.

        Raises
        ------
        TypeError
            If labels are of several kinds, or of a kind that cannot be a label.
        ValueError
            If columns are empty, unequally long or have gaps; if only one label occurs and `labels` does not name the
            other; if a system lacks an example or has it twice, or its rows differ in more than system and prediction.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_predictions([1, 0, 1, 0], [1, 0, 0, 0], by={"fold": ["a", "a", "b", "b"]})
        >>> cm.sel(fold="b").counts.values
        array([[1, 0], [1, 0]])

        Two systems on three examples, with a column for each system, or with a row for each answer:

        >>> cm = bp.ConfusionMatrix.from_predictions([1, 1, 0], {"old": [1, 0, 0], "new": [1, 1, 1]})
        >>> cm.sel(model="old").counts.values
        array([[1, 0], [1, 1]])
        >>> cm = bp.ConfusionMatrix.from_predictions([1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 1],
        ...                                          by={"model": ["old"] * 3 + ["new"] * 3}, example=[1, 2, 3] * 2)
        >>> cm.counts.attrs
        {'same_examples': 'model'}

        Several labels for each example:

        >>> import numpy as np
        >>> cm = bp.ConfusionMatrix.from_predictions(np.array([[1, 0], [1, 1], [0, 0]]),
        ...                                          np.array([[1, 0], [0, 1], [0, 1]]), labels=["red", "round"])
        >>> cm.sel(label="round").counts.values
        array([[1, 1], [0, 1]])
        """
        if sample_weight is not None:
            raise InputError(
                "sample_weight",
                "is not supported: counts are numbers of examples, and a posterior from weighted "
                "counts would claim another amount of evidence than there is.",
                "If examples weigh more because their group is rare in the sample, count by group and give its share: "
                "bp.posterior(cm, strata='group', shares={...}).",
            )
        of_clusters = None if cluster is None else cluster_column(cluster)
        if are_indicators(y_true, y_pred):
            given = {"example": example, "pos_label": pos_label, "cluster": cluster}
            if refused := [name for name, value in given.items() if value is not None]:
                raise InputError(
                    f"{refused[0]}",
                    f"is for one label an example: y_true has {y_true.shape[1]} columns, each of a label "
                    "that is there (1, the positive class) or not (0).",
                )
            counts = cross_tabulate(Indicators.of(y_true, y_pred, labels).columns({} if by is None else by))
            return cls(marked(counts, SAME_EXAMPLES, LABEL))
        if isinstance(y_pred, Mapping):
            if len(y_pred) < 2 or example is not None:
                raise InputError(
                    "y_pred", "name two systems or more, with a column each, and then no example: a row is one."
                )
            named = {"y_true": y_true} | {f"y_pred[{name!r}]": values for name, values in y_pred.items()}
            encoded = {name: encode(values, name) for name, values in named.items()}
            columns = encode_columns(encoded, {} if by is None else by, labels, tuple(named))
            systems = of_columns(columns, MODEL, list(y_pred), pos_label)
            clusters = None if of_clusters is None else clusters_of_rows(of_clusters, columns)
            return cls(systems.margins(), pos_label, systems, clusters)
        columns = encode_predictions(y_true, y_pred, {} if by is None else by, labels)
        patterns = None if example is None else of_examples(columns, example, pos_label)
        if example is not None and of_clusters is not None:
            check_within(of_clusters.codes, example)
        clusters = None if of_clusters is None else clusters_of_rows(of_clusters, columns)
        return cls(cross_tabulate(columns), pos_label, patterns, clusters)

    @classmethod
    @checked
    def from_scores(
        cls, y_true: Any, y_score: ArrayLike, *, thresholds: ArrayLike, pos_label: Any = None
    ) -> ConfusionMatrix:
        """Count the predictions of thresholded scores: positive if the score is at least the threshold.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels of two classes.
        y_score : array-like of shape (n,)
            Scores, greater for the positive class; infinite ones are allowed, missing ones are not.
        thresholds : float or array-like
            Different thresholds, in the wanted order.
        pos_label : label, optional
            The positive class; inferred for {0, 1}, {-1, 1} and {False, True}.

        Returns
        -------
        ConfusionMatrix
            A matrix with leading dim ``threshold``.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_scores([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], thresholds=[0.3, 0.5])
        >>> cm.sel(threshold=0.5).counts.values
        array([[1, 1], [1, 1]])
        """
        return cls(Scores.of(y_true, y_score, pos_label).counts(thresholds), pos_label)

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Any,
        *,
        actual: str,
        predicted: str | Sequence[str],
        by: str | Sequence[str] = (),
        example: str | None = None,
        cluster: str | Sequence[str] | None = None,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
    ) -> ConfusionMatrix:
        """Count in a data frame; the group-by runs in the frame's own engine, which returns only counts.

        Rows that do not fit in memory are counted in place: a DuckDB relation or a lazy Polars frame over files in
        batches, a Dask or PySpark frame by its workers, an Ibis table in its database.

        Parameters
        ----------
        frame : native frame
            One row per example: pandas, Polars (`DataFrame` or `LazyFrame`), PyArrow table, DuckDB relation, Dask, Ibis
            or PySpark; each gives the same counts. Other frames that Narwhals supports are accepted but not tested.
        actual : str
            Column of the actual labels.
        predicted : str or sequence of str
            Column of the predicted labels. Several columns hold systems tested on the same examples, one row per
            example: they become the dim ``model``, named by their columns, and are compared example by example.
        by : str or sequence of str
            Columns that become leading dims.
        example : str, optional
            Column of ids, if each system has its own row for every example, like `example` in `from_predictions`. The
            engine matches the rows, and reads the frame once more for each system.
        cluster : str or sequence of str, optional
            Column that says what each row belongs to, such as ``"patient"``, if there are several rows of one; see
            `from_predictions`. For nested clusters, ``["hospital", "patient"]``, the engine counts only by the first.
        labels, pos_label
            As in `from_predictions`. A type that lists its values fixes the labels and their order: a categorical in
            pandas or Dask, an Enum in Polars, an ENUM in DuckDB.

        Raises
        ------
        TypeError
            If the frame is not supported, a column has a type that labels cannot have (dates, decimals, lists), or one
            column holds strings and the other numbers.
        ValueError
            If a column is absent, named twice or has missing values, the frame has no rows, or its engine fails; if,
            with `example`, some system has an example twice or not at all, or the rows of an example disagree.

        Examples
        --------
        >>> import bayesperf as bp
        >>> frame = bp.datasets.load("breast_cancer")
        >>> bp.ConfusionMatrix.from_frame(frame, actual="actual", predicted="predicted", by="model",
        ...                               pos_label="malignant").dims
        ('model',)

        Out of core, as from files of Parquet by ``duckdb.read_parquet("predictions/*.parquet")``:

        >>> import duckdb
        >>> relation = duckdb.sql("SELECT i % 2 AS actual, i % 3 % 2 AS predicted FROM range(1_000_000) AS rows(i)")
        >>> bp.ConfusionMatrix.from_frame(relation, actual="actual", predicted="predicted").counts.values
        array([[333334, 166666], [333333, 166667]])

        A column a system:

        >>> relation = duckdb.sql("SELECT i % 2 AS actual, i % 3 % 2 AS old, i % 2 AS new FROM range(6) AS rows(i)")
        >>> cm = bp.ConfusionMatrix.from_frame(relation, actual="actual", predicted=["old", "new"])
        >>> cm.sel(model="new").counts.values
        array([[3, 0], [0, 3]])
        """
        from bayesperf.data.frames import column_names, count_rows, lazy_frame
        from bayesperf.data.matched_rows import matched_columns

        keys, systems, within = column_names(by), column_names(predicted), column_names(cluster)
        if not systems or (example is not None and len(systems) > 1):
            raise InputError(
                "predicted", "name a column; or one for each system, and then no `example`: a row is an example."
            )
        lazy_frame(frame, [actual, *systems, *keys, *within])
        values, rows = count_rows(frame, [actual, *systems, *keys, *within[:1]])
        dims = CELL_DIMS if len(systems) == 1 else (actual, *systems)
        columns = encode_totals(values, rows, [actual, *systems], keys, labels, dims)
        clusters = clusters_of_totals(values, rows, within[0], columns) if within else None
        if len(systems) > 1:
            patterns = of_columns(columns, MODEL, systems, pos_label, rows)
            return cls(patterns.margins(), pos_label, patterns, clusters)
        counts = cross_tabulate(columns, rows)
        if example is None:
            return cls(counts, pos_label, None, clusters)
        found = matched_columns(frame, [actual], systems[0], keys, example, counts, *within[:1])
        named, classes = (actual, *found.predicted), counts["actual"].values.tolist()
        matched = encode_totals(found.predicted | found.facts, found.rows, named, found.leading, classes, named)
        return cls(counts, pos_label, of_columns(matched, found.dim, found.systems, pos_label, found.rows), clusters)

    @classmethod
    @checked
    def from_cross_validation(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803
        y: Any,
        *,
        cv: Any = 10,
        groups: Any = None,
        n_jobs: int | None = None,
        pos_label: Any = None,
    ) -> ConfusionMatrix:
        """Fit a scikit-learn classifier on every fold's training part and count its predictions on the held-out part.

        Parameters
        ----------
        estimator : scikit-learn classifier, or mapping of names to such
            Cloned for every fold. The classifiers of a mapping are fitted on the same folds: they become the dim
            ``model``.
        X, y : array-like
            Features and labels of one data set.
        cv : int, splitter or iterable of (train, test) indices
            As in scikit-learn; an integer means stratified folds.
        groups : array-like, optional
            Passed to the splitter.
        n_jobs : int, optional
            Folds fitted at once (joblib).
        pos_label : label, optional
            The positive class of a binary problem; inferred for {0, 1}, {-1, 1} and {False, True}.

        Returns
        -------
        ConfusionMatrix
            A matrix with leading dim ``fold`` (0, 1, …); for repeated cross-validation with ``repeat`` and ``fold``,
            where all repeats share the same examples. Sums over repeats, or over random splits that share examples, are
            refused. For several classifiers with repeats, the examples are clusters: `bayesperf.pool` draws whole
            examples, with all their predictions, and `bayesperf.compare` of its ``mean`` compares in pairs.

        Raises
        ------
        ImportError
            If scikit-learn is not installed.

        Examples
        --------
        >>> import bayesperf as bp
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import RepeatedStratifiedKFold
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> splits = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
        >>> cm = bp.ConfusionMatrix.from_cross_validation(GaussianNB(), X, y, cv=splits)
        >>> cm.dims
        ('repeat', 'fold')
        >>> bp.pool(cm)
        <bayesperf.groups.Pooled: 6 folds of 2 repeats, one prevalence, ρ ~ Beta(1, 24)>

        Two classifiers, compared over the repeats:

        >>> from sklearn.tree import DecisionTreeClassifier
        >>> both = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}
        >>> cm = bp.ConfusionMatrix.from_cross_validation(both, X, y, cv=splits)
        >>> bp.compare(bp.pool(cm).mean, metric="accuracy").difference.mean().round(2).item()
        0.02
        """
        classes = _classes(y)
        held = held_out_predictions(estimator, X, y, cv, groups, n_jobs)
        several = isinstance(held.y_pred, dict) and held.again is not None
        cluster = {"example": held.example} if several else None
        cm = cls.from_predictions(
            held.y_true, held.y_pred, labels=classes, pos_label=pos_label, by=held.by, cluster=cluster
        )
        return replace(cm, counts=marked(cm.counts, COUNTED_AGAIN, held.again))

    @classmethod
    @checked
    def from_cross_val_predict(
        cls, y: Any, y_pred: Any, *, cv: Any = None, groups: Any = None, pos_label: Any = None
    ) -> ConfusionMatrix:
        """Count what scikit-learn's ``cross_val_predict`` returned, fold by fold.

        Parameters
        ----------
        y : array-like (n,)
            The labels that were predicted.
        y_pred : array-like (n,)
            The result of ``cross_val_predict(estimator, X, y, cv=cv, groups=groups)``.
        cv, groups
            The arguments of that call: they say which fold tested each example.
        pos_label : label, optional
            The positive class of a binary problem; inferred for {0, 1}, {-1, 1} and {False, True}.

        Returns
        -------
        ConfusionMatrix
            A matrix with leading dim ``fold`` (0, 1, …).

        Raises
        ------
        ImportError
            If scikit-learn is not installed.
        ValueError
            If `cv` draws other folds each time, or does not test each example once.

        Examples
        --------
        >>> import bayesperf as bp
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.model_selection import cross_val_predict
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> cm = bp.ConfusionMatrix.from_cross_val_predict(y, cross_val_predict(GaussianNB(), X, y, cv=3), cv=3)
        >>> cm.total.values
        array([190, 190, 189])
        """
        by = {"fold": fold_of_each(y, cv, groups)}
        return cls.from_predictions(y, y_pred, labels=_classes(y), pos_label=pos_label, by=by)

    @classmethod
    @checked
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803
        y: Any,
        *,
        labels: Iterable[Any] | None = None,
        pos_label: Any = None,
        by: Mapping[str, Any] | None = None,
    ) -> ConfusionMatrix:
        """Count the predictions of a fitted scikit-learn classifier, or a pipeline that ends in one, for a test set.

        Parameters
        ----------
        estimator : fitted classifier
            Anything with a method ``predict``.
        X, y : array-like
            Features and labels of the test set, which was not used to fit or to choose the classifier.
        labels, pos_label, by
            As in `from_predictions`; without `labels` they include the classes that the estimator knows, even if none
            of them is in the test set.

        Raises
        ------
        TypeError
            If the estimator cannot predict.

        Examples
        --------
        >>> import bayesperf as bp
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> fitted = GaussianNB().fit(X[::2], y[::2])
        >>> bp.ConfusionMatrix.from_estimator(fitted, X[1::2], y[1::2])
        <bayesperf.ConfusionMatrix: 75 examples>
        predicted   0   1   2
        actual
        0          25   0   0
        1           0  24   1
        2           0   2  23
        """
        if not callable(getattr(estimator, "predict", None)):
            raise InputTypeError(
                "estimator", f"must be a fitted classifier, with predict; it is {type(estimator).__name__}."
            )
        y_pred = estimator.predict(X)
        if labels is None and not are_indicators(y, y_pred) and hasattr(estimator, "classes_"):
            labels = merge_labels(
                [encode(v, n) for v, n in ((estimator.classes_, "classes_"), (y, "y"))], ["classes_", "y"]
            )
        return cls.from_predictions(y, y_pred, labels=labels, pos_label=pos_label, by=by)

    @property
    def labels(self) -> list[Any]:
        """The K class labels, in the order of rows and columns."""
        labels: list[Any] = self.counts.get_index("actual").tolist()
        return labels

    @property
    def cells(self) -> xr.DataArray:
        """The counts."""
        return self.counts

    def one_vs_rest(self) -> ConfusionMatrix:
        """Return a binary matrix for each class (1 is that class, 0 any other), along a last leading dim ``label``.

        Examples
        --------
        >>> import bayesperf as bp
        >>> cm = bp.ConfusionMatrix.from_table([[5, 1, 0], [2, 4, 1], [0, 0, 7]])
        >>> cm.one_vs_rest().sel(label=1).counts.values.tolist()
        [[12, 1], [3, 4]]
        """
        refuse_uncounted_cells(self.counts, needs="one_vs_rest needs")
        if "label" in self.dims:
            raise InputError("", "one_vs_rest adds a dim label, and there is one already.", "Rename it.")
        counts = self.counts.values
        tp = np.einsum("...ii->...i", counts)
        fn, fp = counts.sum(-1) - tp, counts.sum(-2) - tp
        tn = counts.sum((-2, -1))[..., None] - tp - fn - fp
        coords = {dim: self.counts[dim] for dim in self.dims} | {"label": self.labels}
        cells = {name: xr.DataArray(value, coords, (*self.dims, "label"))
                 for name, value in {"tp": tp, "fn": fn, "fp": fp, "tn": tn}.items()}  # fmt: skip
        rest = ConfusionMatrix.from_counts(**cells, dims=None)
        patterns = None if self.patterns is None else self.patterns.one_vs_rest()
        clusters = None if self.clusters is None else self.clusters.one_vs_rest(len(self.labels))
        return ConfusionMatrix(rest.counts.assign_attrs(self.counts.attrs), rest.pos_label, patterns, clusters)

    def plot(self, *, ax: Panels | None = None) -> Figure:
        """Plot the counts as a heat map, rows actual; see `bayesperf.plots.confusion_matrix`."""
        from bayesperf import plots

        return plots.confusion_matrix(self, ax=ax)

    def __repr__(self) -> str:
        return matrix_text(self.counts, self.pos_label)

    def _repr_html_(self) -> str:
        return matrix_html(self.counts, self.pos_label)


def _classes(y: Any) -> Any:
    """Return the labels of a column, all of which a fold may not have; None if examples have several labels."""
    return None if are_indicators(y, y) else encode(y, "y").labels
