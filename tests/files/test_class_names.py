"""How classes are told to a reader."""

from bayesperf.files.class_names import classes_in_words


def test_the_most_frequent_class_stands_first():
    assert classes_in_words({"rare": 2, "common": 40}) == "the classes are common (40) and rare (2)."
