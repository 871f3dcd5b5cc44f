"""Names of classes: which ones look like one class in several spellings, and how errors list them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from unicodedata import normalize

from bayesperf.core.words import enumerated

# So many classes are listed, the most frequent first.
_LISTED = 12
# Labels that mean the same in different codings, and those by which programs write that a label is missing.
_SAME = {
    "yes": "1 yes y true t positive pos ja oui si sí sì tak evet",
    "no": "0 no n false f negative neg nein non nie hayır",
}
MISSING = {"na", "nan", "n/a", "null", "none", "nil", "?", "-", "#n/a", "<na>", "missing"}


def classes_in_words(counts: Mapping[str, int], wanted: str = "") -> str:
    """Return a sentence with the classes, their counts, and the nearest to a wanted one."""
    order = sorted(counts, key=lambda label: -counts[label])
    shown = enumerated([f"{label} ({counts[label]:,})" for label in order], _LISTED)
    near = nearest(wanted, order)
    return f"the classes are {shown}.{f' The nearest is {near!r}.' if near else ''}"


def nearest(wanted: str, labels: list[str], alike: float = 0.6) -> str:
    """Return the label most similar to a text; nothing if none is."""
    by_key = {plain(label): label for label in reversed(labels)}
    found = get_close_matches(plain(wanted), by_key, 1, alike)
    return by_key[found[0]] if found else ""


def plain(label: str) -> str:
    """Return a label in lower case, without blanks and hyphens, its accents in one form."""
    return re.sub(r"(?<=\w)[\s_-]+(?=\w)", "", normalize("NFKC", label).strip().casefold()) or label


def yes_of(labels: Collection[str]) -> str:
    """Return the label that means yes beside one that means no; nothing if they are other labels."""
    yes, no = ([label for label in labels if plain(label) in coding.split()] for coding in _SAME.values())
    return yes[0] if yes and no else ""


def merged_by(old: str, new: str) -> str:
    """Return the option that reads a label as another, or as missing if that is empty."""
    return f"--map {shlex.quote(f'{old}={new}')}"


def spellings(counts: Mapping[str, int], kept: Collection[str] = ()) -> list[list[str]]:
    """Return the labels that are probably one class, by spelling or coding, the one to keep first.

    It is the most frequent one, of those in `kept` if they have one.
    """
    groups: dict[str, list[str]] = {}
    for text in sorted(counts, key=lambda label: (label not in kept, -counts[label])):
        groups.setdefault(plain(text), []).append(text)
    codings = [coding.split() for coding in _SAME.values()]
    # Letters among others are classes of their own.
    for words in codings if groups.keys() <= {word for coding in codings for word in coding} else ():
        same = [label for key, labels in groups.items() if key in words for label in labels]
        if sum(key in words for key in groups) > 1:
            groups = {key: labels for key, labels in groups.items() if key not in words} | {same[0]: same}
    return [labels for labels in groups.values() if len(labels) > 1]


def about_labels(counts: Mapping[str, int]) -> list[str]:
    """Return warnings about labels that are probably one, by spelling or coding, or that stand for missing values."""
    said = []
    for first, *others in spellings(counts):
        named = enumerated([f"{label!r} ({counts[label]:,})" for label in (first, *others)])
        said.append(
            f"Labels {named} look like one class, and count as {1 + len(others)}. To merge them: "
            f"{' '.join(merged_by(other, first) for other in others)}."
        )
    if gaps := [text for text in counts if text.strip().lower() in MISSING]:
        named = enumerated([*map(repr, gaps)])
        said.append(
            f"{'Label' if len(gaps) == 1 else 'Labels'} {named} may stand for a missing value, and "
            f"{'counts as a class' if len(gaps) == 1 else 'count as classes'}. If so: "
            f"{' '.join(merged_by(gap, '') for gap in gaps)} --drop-missing."
        )
    return said
