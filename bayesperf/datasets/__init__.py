"""Small data sets of real predictions: those of classifiers for held-out examples.

=============  ========  =======  ===============  ===============================================
name           examples  classes  positive label   models
=============  ========  =======  ===============  ===============================================
breast_cancer  569       2        ``"malignant"``  logistic_regression, naive_bayes, decision_tree
digits         1797      10       none             logistic_regression, nearest_neighbors
=============  ========  =======  ===============  ===============================================

The classifiers are scikit-learn's; the repository's ``tests/datasets/make.py`` trained them. Beside these,
``anaesthetists`` are ratings of patients by several observers, whose actual classes nobody knows.
"""

from __future__ import annotations

from importlib import resources

import pandas as pd

from bayesperf.core import checks

__all__ = ["load", "names"]


def __dir__() -> list[str]:
    return __all__


_FOLDER = resources.files(__name__)


def names() -> list[str]:
    """Return the names that `load` takes.

    Examples
    --------
    >>> import bayesperf as bp
    >>> bp.datasets.names()
    ['anaesthetists', 'breast_cancer', 'digits']
    """
    files = [file.name for file in _FOLDER.iterdir()]
    return sorted(name.removesuffix(".csv") for name in files if name.endswith(".csv"))


def load(name: str) -> pd.DataFrame:
    """Return the out-of-fold predictions of several classifiers for one data set, or ratings by several observers.

    Parameters
    ----------
    name : {"breast_cancer", "digits", "anaesthetists"}
        ``"breast_cancer"``: is a tumour malignant, from 30 measurements of cell nuclei in a fine
        needle aspirate? Labels ``"malignant"`` (the positive one, 212 examples) and ``"benign"``
        (357). ``"digits"``: which digit is it, from an image of 8 by 8 pixels? Labels 0 to 9.
        ``"anaesthetists"``: how fit for a general anaesthetic is a patient, on a scale from 1 to 4?

    Returns
    -------
    pandas.DataFrame
        A row for each example and model, with the columns

        - ``example``: position in the source, from 0; the same for all models
        - ``fold``: 0 to 9, the stratified fold that held the example out; the same for all models
        - ``model``: name of the classifier
        - ``actual``, ``predicted``: labels
        - ``score``: probability, to 4 decimals, of ``"malignant"`` (breast_cancer) or of the
          predicted digit (digits)

        Of ``"anaesthetists"`` a row for each answer: ``patient`` (1 to 45), ``observer`` (1 to 5, the first of
        whom answered three times) and ``grade``.

    Raises
    ------
    ValueError
        If there is no data set of that name; the error lists them.

    Notes
    -----
    Sources, both as bundled with scikit-learn: the UCI data sets Breast Cancer Wisconsin
    (Diagnostic), by Wolberg, Mangasarian, Street and Street (1995), and the test part of Optical
    Recognition of Handwritten Digits, by Alpaydin and Kaynak (1998). The anaesthetists' ratings are
    Table 1 of Dawid & Skene (1979), Applied Statistics 28:20-28.

    Examples
    --------
    >>> import bayesperf as bp
    >>> frame = bp.datasets.load("breast_cancer")
    >>> frame.columns.tolist()
    ['example', 'fold', 'model', 'actual', 'predicted', 'score']
    >>> frame["model"].value_counts().to_dict()
    {'logistic_regression': 569, 'naive_bayes': 569, 'decision_tree': 569}
    """
    checks.one_of("name", name, names())
    with _FOLDER.joinpath(f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)
