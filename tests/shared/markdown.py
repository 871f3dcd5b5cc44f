"""What Markdown pages hold, for tests of the README and of the site."""

import re


def rows(text, heading=None):
    """Return the cells of the table under a heading of columns; without one, of all tables."""
    start = rf"^{re.escape(heading)}\n" if heading else r"^\|.*\n"
    tables = re.findall(rf"{start}\|[-:| ]+\n((?:\|.*\n?)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for table in tables for line in table.splitlines()]
