"""How classes are told to a reader."""

from bayesperf.data.label_encoding import positive_label
from bayesperf.files.class_names import classes_in_words, spellings, yes_of


def test_the_most_frequent_class_stands_first():
    assert classes_in_words({"rare": 2, "common": 40}) == "the classes are common (40) and rare (2)."


def test_the_positive_one_of_two_labels():
    assert positive_label([0, 1], None) == positive_label([1, -1], None) == 1
    assert positive_label([1, 2], None) is None
    assert positive_label([0, 1, 2], None) is None


def test_yes_is_one_class_with_its_accent_and_without_it():
    counts = {"Sì": 9, "no": 8, "SI": 3}
    assert spellings(counts) == [["Sì", "SI"]]
    # Beside others they are names.
    assert spellings(counts | {"RE": 4}) == []


def test_yes_is_the_positive_class_beside_no_alone():
    assert yes_of(["Nein", "Ja"]) == "Ja"
    assert yes_of({"tak": 9, "nie": 2}) == "tak"
    # Codes and letters that could mean yes are classes like others.
    assert yes_of(["1", "2"]) == yes_of(["x", "y"]) == ""
