"""The glossary: terms are told apart, defined, and found where they are used."""

import pytest

from bayesperf.reports.glossary import glossary, terms_of


def test_terms_are_in_order_and_have_meanings():
    names = [term.name for term in glossary()]
    assert len(set(names)) == len(names)
    latin = [name.casefold() for name in names if name.isascii()]
    assert latin == sorted(latin)
    assert all(term.meaning[0].isupper() and term.meaning.endswith(".") for term in glossary())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Recall is 0.75 (95 % HDI 0.44–1.00; observed 4 of 5).", ["HDI", "observed", "recall"]),
        ("thresholds for every α; G and E_V1 (by FAR)", ["α", "E_V1, E_V2", "FAR", "G"]),
        ("P(beats chance)", ["chance"]),
        ("by chance", []),
        ("Gaussian recalls of F10", []),
    ],
)
def test_terms_are_found_as_words(text, names):
    assert [term.name for term in terms_of(text)] == names
