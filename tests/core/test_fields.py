"""Files name classes and functions that have public names, so that a private name can change without a new format."""

import pytest

from bayesperf.core import fields


@pytest.mark.parametrize("table", [fields._FUNCTIONS, fields._FORMS], ids=["functions", "classes"])
def test_files_name_nothing_private(table):
    with pytest.raises(fields.HeldError):  # A name that no room has: all of them are loaded.
        fields._named(table, "unheard-of")
    assert {name for name in table if any(part.startswith("_") for part in name.split("."))} == set()
