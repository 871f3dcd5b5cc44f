"""Names of axes: of the leading dims, and of which axis of a table holds the actual and which the predicted labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Sequence

from bayesperf.core.errors import InputError

# Leading dims: the systems; the folds, and the repeats, of cross-validation; the labels of rows that have several.
MODEL, FOLD, REPEAT, LABEL = "model", "fold", "repeat", "label"
# Words that say what an axis holds; the weak ones say it only if none of the others is there: "predicted label".
# They are without accents, as names are read.
_WORDS = {
    "predicted": (
        "predicted prediction predictions predict pred preds hat yhat ypred forecast estimated output vorhersage "
        "vorhergesagt vorhergesagte prognose predit predite prediccion predicho predicha previsione predetto "
        "predetta previsto prevista przewidywanie przewidywany przewidywana przewidywane predykcja prognoza tahmin"
    ),
    "actual": (
        "actual actuals true truth ytrue reference references ref gold wahrheit wahr wahre tatsachlich tatsachliche "
        "verite reel reelle real verdad verdadero verdadera verita vero vera prawda faktyczny faktyczna "
        "rzeczywisty rzeczywista rzeczywiste gercek"
    ),
}
_WEAK_WORDS = {
    "actual": (
        "label labels target targets observed test ytest y human humain humano umano mensch człowiek etiqueta etiquette"
    )
}
# Days, weeks, months, quarters and years that stand in order as texts.
_TIME = re.compile(r"(19|20)[0-9]{2}([-/.]?([0-9]{2}|Q[1-4]|W[0-9]{2})([-/.]?[0-9]{2})?)?( 00:00:00)?")
# Names that have an order of their own, whole or cut off after three letters or more.
_CALENDARS = (
    "january february march april may june july august september october november december",
    "monday tuesday wednesday thursday friday saturday sunday",
)
# What pandas calls the axes of a cross-tabulation of columns without names.
_NAMELESS = (None, "row_0", "col_0")


def are_times(labels: Sequence[Hashable]) -> bool:
    """Return whether labels are times in order, the earliest first.

    Examples
    --------
    >>> are_times(["2026-01", "2026-02"]), are_times(["2026-02", "2026-01"]), are_times(["May", "June"])
    (True, False, False)
    """
    texts = [*map(str, labels)]
    return all(map(_TIME.fullmatch, texts)) and texts == sorted(texts)


def in_calendar(labels: Sequence[Hashable]) -> list[Hashable]:
    """Return labels in the order of the calendar if all are names of months, or all of weekdays; else nothing.

    Examples
    --------
    >>> in_calendar(["Apr", "Feb", "Sept"]), in_calendar(["Sunday", "Monday"]), in_calendar(["May", "Ann"])
    (['Feb', 'Apr', 'Sept'], ['Monday', 'Sunday'], [])
    """
    for names in map(str.split, _CALENDARS):
        texts = {label: str(label).lower() for label in labels} if len(labels) <= len(names) else {}
        found = {label: [name.startswith(text) and len(text) > 2 for name in names] for label, text in texts.items()}
        if found and all(map(any, found.values())):
            return sorted(labels, key=lambda label: found[label].index(True))
    return []


def axis_role(name: Hashable) -> str | None:
    """Return the role that an axis name states: "actual", "predicted", or None if it states neither.

    Examples
    --------
    >>> [axis_role(name) for name in ("y_true", "Predicted label", "species")]
    ['actual', 'predicted', None]
    """
    if not isinstance(name, str):
        return None
    letters = "".join(char for char in unicodedata.normalize("NFKD", name.lower()) if not unicodedata.combining(char))
    words = set(re.findall(r"[^\W\d_]+", letters))
    for table in (_WORDS, _WEAK_WORDS):
        roles = [role for role, known in table.items() if words & set(known.split())]
        if roles:
            return roles[0] if len(roles) == 1 else None
    return None


def is_transposed(rows: Sequence[Hashable], columns: Sequence[Hashable]) -> bool:
    """Return whether the axis names say that a table's rows are predicted labels; rows without a name are actual.

    Names that state no role are refused.
    """
    if all(name in _NAMELESS for name in (*rows, *columns)):
        return False
    roles = [axis_role(names[0]) if len(names) == 1 else None for names in (rows, columns)]
    if not any(roles) or roles[0] == roles[1]:
        named = " and ".join(", ".join(map(repr, names)) for names in (rows, columns))
        raise InputError(
            "table",
            f"rows and columns are called {named}: which are the actual labels?",
            "Say so, as table.rename_axis(index='actual', columns='predicted').",
        )
    return roles[0] == "predicted" or roles[1] == "actual"
