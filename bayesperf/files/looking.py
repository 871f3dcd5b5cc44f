"""The first look at a file as a data frame."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from bayesperf.core.arguments import checked
from bayesperf.files.first_look import ROLES, look_at


@checked
def look(path: str | os.PathLike[str]) -> pd.DataFrame:
    r"""Describe a file of predictions: one row per column, what it probably is, and what to type next.

    Parameters
    ----------
    path : path
        A file, or a folder of files, as the command line reads them.

    Returns
    -------
    pandas.DataFrame
        Columns ``column``, ``holds`` (in words), ``distinct``, ``missing``, ``role`` (one of "actual", "predicted",
        "correct", "score", "system", "fold", "part", "cluster", "id", "group", of judged pairs "a", "b", "winner",
        "prompt", "judge", or empty) and ``option`` of the command line. ``attrs["rows"]`` is the number of rows,
        ``attrs["notes"]`` what had to be found out of the format, ``attrs["commands"]`` a command for each question
        that the file can answer; none if it has no column of actual labels, of right and wrong, or of winners.
        ``attrs["in_python"]`` is what to call in Python for each question that no command answers.

    Raises
    ------
    ValueError
        If the file cannot be read.

    Examples
    --------
    >>> import bayesperf as bp
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "wards.csv")
    ...     _ = file.write_text("case,truth,forest\n1,sick,sick\n2,well,sick\n3,well,well\n")
    ...     found = bp.files.look(file)
    >>> found[["column", "role"]].values.tolist()
    [['case', 'id'], ['truth', 'actual'], ['forest', 'predicted']]
    >>> list(found.attrs["commands"])
    ['How good is it?', 'Is it good enough?', 'Are there enough data?', 'A page for a colleague']
    """
    seen = look_at(Path(path))
    rows = [(*column, ROLES[column[-1]][0]) for column in seen.columns]
    found = pd.DataFrame(rows, columns=["column", "holds", "distinct", "missing", "role", "option"])
    found.attrs = {"notes": seen.notes, "rows": seen.rows, "commands": seen.commands, "in_python": seen.in_python}
    return found
