"""Errors that answer a user, and warnings, which end in a code that the site's page of warnings explains.

InputError (ValueError)          an argument cannot be used
└── InputTypeError (TypeError)   … because of its type
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = [
    "ConvergenceWarning",
    "DependenceWarning",
    "IdentifiabilityWarning",
    "InputError",
    "InputTypeError",
    "LabelWarning",
    "PriorWarning",
    "SelectionWarning",
]


def __dir__() -> list[str]:
    return __all__


_PACKAGE = str(Path(__file__).parents[1])

# A file, or an option with its value, after which a problem follows a colon, whatever it is.
_WITH_VALUE = re.compile(r"^--\S+ |[./\\]")
# What is quoted after one of these is its name; after another argument it is what was given for it.
_NAMED = frozenset({"column", "metric", "requirement", "transform"})
# A problem that begins with one of these words says it of the argument; any other follows a colon.
_PREDICATES = frozenset({
    "must", "has", "have", "holds", "hold", "is", "are", "needs", "need", "may", "takes", "does", "do",
    "cannot", "differ", "differs", "says", "got", "applies", "apply",
})  # fmt: skip


class InputError(ValueError):
    """An argument that cannot be used.

    Attributes
    ----------
    argument : str
        Name of the argument, as it was typed; empty if the problem concerns several.
    problem : str
        What is wrong with it: "must be in [0, 1]; it is 3.".
    advice : str
        What to do, as an imperative. Arguments named in it are in backticks, so that a shell can name its options.

    Examples
    --------
    >>> error = InputError("prior", "must be proper; it is 'haldane'.", "Give `prior` another, as 'flat'.")
    >>> print(error)
    prior must be proper; it is 'haldane'. Give `prior` another, as 'flat'.
    >>> print(error.phrased({"prior": "--prior"}))
    --prior must be proper; it is 'haldane'. Give --prior another, as 'flat'.
    """

    def __init__(self, argument: str, problem: str, advice: str = "") -> None:
        super().__init__(argument, problem, advice)
        self.argument, self.problem, self.advice = argument, problem, advice

    def __str__(self) -> str:
        return self.phrased()

    def phrased(self, names: Mapping[str, str] | None = None) -> str:
        """Return the error in one line; `names` gives the arguments' names in a shell.

        The shell's names replace the argument's name and the names in backticks; others stay as they are.
        """
        names = names or {}
        argument = _named(self.argument, names)
        first = self.problem.split(" ", 1)[0]
        is_name = first[:1] in "'\"" and self.argument in _NAMED
        says_it = first in _PREDICATES and not _WITH_VALUE.search(self.argument)
        joint = " " if says_it or is_name else ": "
        text = f"{argument}{joint}{self.problem}" if argument else self.problem
        text = f"{text} {self.advice}" if self.advice else text
        return re.sub(r"`(\w+)`", lambda found: names.get(found[1], found[0]), text)


class InputTypeError(InputError, TypeError):
    """An argument that cannot be used because of its type."""


class FileFaultError(ValueError):
    """A fault of a file. The message is a predicate, to which the catcher puts the file's name."""


def _named(argument: str, names: Mapping[str, str]) -> str:
    """Return an argument's name where it was typed; a column, such as ``by['site']``, follows its option."""
    name, _, column = argument.partition("[")
    return f"{names[name]} {column.strip(chr(39) + ']')}" if column and name in names else names.get(argument, argument)


# ── Warnings ──


def warn(category: type[UserWarning], code: str, text: str) -> None:
    """Warn the caller, at the line outside the package; the code has a section on the page of warnings."""
    warnings.warn(f"{text} ({code})", category, skip_file_prefixes=(_PACKAGE,))


class DependenceWarning(UserWarning):
    """Samples depend on each other in a way that the model ignores."""


class ConvergenceWarning(UserWarning):
    """A sampler may not have converged, so its draws cannot be trusted yet."""


class PriorWarning(UserWarning):
    """The data say little about a quantity, so that its posterior is mostly its prior."""


class LabelWarning(UserWarning):
    """Labels look the same and count as different ones."""


class SelectionWarning(UserWarning):
    """Examples seem to have been chosen in a way that the figures do not account for."""


class IdentifiabilityWarning(UserWarning):
    """The data do not determine a quantity: its prior decides, several values fit equally well, or classes swapped."""


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Raise KeyboardInterrupt if it interrupted DuckDB, which raises an error like others then."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise
