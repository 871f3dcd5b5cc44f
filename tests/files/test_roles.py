"""Roles of columns: which one tells systems apart, which one folds, and what has a column of its own."""

import pytest

from bayesperf.core.errors import InputError
from bayesperf.files.option_table import FILE, Settings
from bayesperf.files.roles import with_predicted, with_roles


def test_systems_come_first_and_folds_last_in_any_case():
    read = with_roles(Settings(by=(" FOLD", "site", "Modell ")), files=1)
    assert (read.system_column, read.fold_column) == ("Modell ", " FOLD")
    assert (read.by[:2], len(read.by)) == (("Modell ", "site"), 3)


def test_a_column_for_each_system_leaves_one_called_so_to_the_groups():
    read = with_roles(Settings(predictions=("old", "new"), by=("run", "site")), files=1, compared=True)
    assert read.system_column is None
    assert read.by[1:] == ("run", "site")


def test_one_of_two_groups_is_asked_to_be_the_system_unless_files_are():
    settings = Settings(by=("site", "age"))
    assert with_roles(settings, files=2, compared=True).by == (FILE, "site", "age")
    for refused in ({"files": 1}, {"files": 2, "settings": Settings(by=("site", "age"), parts=True)}):
        with pytest.raises(InputError, match="tells the systems apart"):
            with_roles(**{"settings": settings} | refused, compared=True)


def test_parts_of_one_data_set_are_not_told_apart():
    with pytest.raises(InputError, match="--parts"):
        with_roles(Settings(by=(FILE,), parts=True), files=2)


APART = {
    "--predicted": {"predictions": ("x",)}, "--system": {"system_column": "x"}, "--fold": {"fold_column": "x"},
    "--by": {"by": ("x",)}, "--slice": {"slices": ("x",)}, "--cluster": {"clusters": ("x",)}, "--split": {"split": "x"},
    "--id": {"id": "x"}, "--judge": {"judges": ("x",)}, "--correct": {"correct": "x"}, "--grade": {"grade": "x"},
}  # fmt: skip


@pytest.mark.parametrize("option", APART)
def test_every_role_has_a_column_of_its_own(option):
    with pytest.raises(InputError, match="is --actual already"):
        with_roles(Settings(actual="x", **APART[option]), files=1)


@pytest.mark.parametrize(
    ("scores", "columns", "alone"), [((), ["predicted"], False), ((), ["y"], True), (("a", "b"), ["predicted"], True)]
)
def test_predictions_of_the_usual_name_stand_beside_one_column_of_scores(scores, columns, alone):
    read = with_predicted(Settings(scores_alone=True, scores=scores), [columns])
    assert read.scores_alone == alone


def test_the_first_of_several_judges():
    assert Settings(judges=("ann", "bob")).judge == "ann"
    assert Settings().judge is None
