"""Formats of a file of predictions: CSV with any separator, JSON lines or Parquet, and how DuckDB reads each."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from bayesperf.core.errors import FileFaultError
from bayesperf.files.harness_logs import as_rows, unpacked

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PARQUET = (".parquet", ".pq")
JSON = (".jsonl", ".ndjson", ".json")
TEXT = (".csv", ".tsv", ".tab", *JSON)
_PACKED = (".zip", ".bz2", ".xz", ".zst", ".7z")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers")
_GZIP = b"\x1f\x8b"
# How files begin that are spreadsheets whatever they are called: new and old ones of Excel.
_ZIP = b"PK\x03\x04"
_OF_SPREADSHEETS = (_ZIP, b"\xd0\xcf\x11\xe0")
_INSPECT = ".eval"
_SEPARATORS = (",", ";", "\t")
# What a last line is called that adds up the others.
TOTALS = ("total", "totals", "grand total", "gesamt", "summe", "total general", "totale")
# Lines of a title before the header, and bytes in which the last line is sought.
_TITLE_LINES, _END = 20, 1 << 16
NOT_UTF8 = (
    "it is not UTF-8; name its encoding, as --encoding cp1250 (Central Europe) or cp1252 (Western Europe), or save the "
    "file as UTF-8"
)
# Western text that is not UTF-8 is Windows-1252, of which ISO 8859-1 is a part: letters with accents stand alone or in
# twos there, between letters without, and not in whole words as in an alphabet of its own. So much text is looked at.
_WESTERN = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüœŒ°–—‘’“”„…«»€§"
_LOOKED_AT = 1 << 26
_OLD = "cp1252"
# The signs of nº, n.º and 1ª, which after other letters are letters of Romanian, Turkish or Ukrainian.
_ORDINAL = re.compile(r"[ºª](?:(?<=[nN\d].)|(?<=[nN\d]\..))(?!\w)")
# Objects in JSON with more fields than this are not taken apart.
_MOST_FIELDS = 200
# Text is recoded in pieces of this many characters.
_BLOCK = 1 << 20
# More characters than this are no line of names.
_LONGEST = 20_000_000


@dataclass(frozen=True)
class DataFile:
    """A file as DuckDB reads it."""

    # The file, or the copy of a pipe; errors use this name.
    named: Path
    # The file that is read.
    path: Path
    # The SQL that reads it.
    scan: str
    # The SQL of each column, by name.
    columns: Mapping[str, str]
    # The type of each column, if the file says it.
    types: Mapping[str, str] = field(default_factory=dict)
    # A sentence on the file's format, if it had to be detected.
    note: str = ""

    @property
    def has_types(self) -> bool:
        """Whether the file states the types of its columns."""
        return bool(self.types)


def open_file(
    connection: DuckDBPyConnection,
    named: Path,
    path: Path,
    recoded: Path,
    asked: Sequence[str],
    encoding: str | None,
) -> DataFile:
    """Return a file as DuckDB reads it, by its contents rather than by its name.

    `named` is its name in errors, `recoded` the place for a copy in UTF-8. The requested columns determine its
    separator, and the text its encoding unless it is known. FileFaultError if the format is unknown, or the header
    cannot be read.
    """
    suffixes = [suffix.lower() for suffix in named.suffixes]
    with path.open("rb") as file:
        first = file.read(4)
    if suffixes[-1:] and suffixes[-1] in PARQUET:
        return _parquet(connection, named, path)
    is_json = bool({*suffixes} & {*JSON})
    if suffixes[-1:] == [_INSPECT] and first == _ZIP:
        path, first, is_json = unpacked(path, recoded.with_suffix(".json")), b"", True
    if {*suffixes[-1:]} & {*_SPREADSHEETS} or (first in _OF_SPREADSHEETS and not {*suffixes} & {*_PACKED}):
        raise FileFaultError(
            "it is a spreadsheet. Save the sheet of predictions as CSV, as by File, Save As, CSV UTF-8."
        )
    if suffixes[-1:] and suffixes[-1] in _PACKED:
        raise FileFaultError("unpack it, or pack it by gzip (.gz).")
    if first.startswith(_GZIP):
        _check_packed(path)
    found = encoding or _encoding(path)
    if not found.startswith("utf-8") or (is_json and found == "utf-8-sig"):
        path = _recode(path, recoded, found)
    source = _json(connection, named, path, recoded, asked) if is_json else _csv(named, path, asked)
    return replace(source, note=f"{named.name} is not UTF-8 and is read as Windows-1252.") if found == _OLD else source


def open_bytes(path: Path) -> BinaryIO:
    """Open a file to read its bytes, unpacked if it is packed by gzip."""
    with path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
    return cast("BinaryIO", gzip.open(path) if is_packed else path.open("rb"))


def bytes_of(path: Path) -> int:
    """Return the number of bytes of a file or a folder; for one packed by gzip, unpacked, as its end says."""
    if path.is_dir():
        return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    size = path.stat().st_size
    if size < len(_GZIP) + 4 or not path.is_file():
        return size
    with path.open("rb") as file:
        if file.read(2) != _GZIP:
            return size
        file.seek(-4, io.SEEK_END)
        return max(size, int.from_bytes(file.read(), "little"))


def _check_packed(path: Path) -> None:
    """Read a packed file whole, for DuckDB does not compare checksums."""
    with gzip.open(path) as packed:
        while packed.read(_BLOCK):
            pass


def _encoding(path: Path) -> str:
    """Return the encoding of text, from its byte order mark, or from the zero bytes of UTF-16."""
    with open_bytes(path) as file:
        first = file.read(64)
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(first) >= 4 and not any(first[1::2]):
        return "utf-16-le"
    if len(first) >= 4 and not any(first[::2]):
        return "utf-16-be"
    if first.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    return _OLD if _is_western(path) else "utf-8"


def _is_western(path: Path) -> bool:
    """Return whether text is not UTF-8, and without doubt Windows-1252, as far as it is looked at."""
    with open_bytes(path) as file:
        text = file.read(_LOOKED_AT)
    if text.isascii():
        return False
    try:
        # A letter may be cut in two at the end.
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        runs = re.findall(r"[^\x00-\x7f]+", _ORDINAL.sub("", text.decode(_OLD, "replace")))
        return all(len(run) <= 2 and set(run) <= set(_WESTERN) for run in runs)
    return False


def _recode(path: Path, copy: Path, encoding: str) -> Path:
    """Copy text as UTF-8, which is what DuckDB reads of both byte orders; return the copy."""
    try:
        with (
            io.TextIOWrapper(open_bytes(path), encoding, newline="") as text,
            copy.open("w", encoding="utf-8", newline="") as file,
        ):
            while block := text.read(_BLOCK):
                file.write(block)
    except UnicodeError:
        raise FileFaultError(
            f"cannot be read as {encoding.upper()}, which its first bytes or --encoding say it is."
        ) from None
    return copy


# ── CSV ──


def _csv(named: Path, path: Path, asked: Sequence[str]) -> DataFile:
    """Return a CSV file; its columns are numbered, for DuckDB takes names that differ by case for the same."""
    tabs = {*named.suffixes} & {".tsv", ".tab"}
    separators = ("\t", ",", ";") if tabs else _SEPARATORS
    names, line, separator, title = _header(path, asked, separators)
    typed = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(names)))
    scan = (
        f"read_csv({file_name(path)}, columns = {{{typed}}}, auto_detect = false, header = false, skip = {line}, "
        f"delim = '{separator}', quote = '\"', escape = '\"', compression = '{_compression(path)}', "
        "strict_mode = true, hive_partitioning = false)"
    )
    notes = [f"The first line is read as a title: {title!r}."] if title else []
    if total := _total_line(path, separator, len(names)):
        is_total = " AND ".join(f"c{place} IS NOT DISTINCT FROM {text}" for place, text in enumerate(total))
        scan = f"(FROM {scan} WHERE NOT ({is_total}))"
        notes.append("The last line adds up the others and is left out.")
    columns = {name: f"c{place}" for place, name in enumerate(names)}
    return DataFile(named, path, scan, columns, note=" ".join(notes))


def _total_line(path: Path, separator: str, fields: int) -> list[str]:
    """Return in SQL the fields of the last line if it is called a total, as spreadsheets have it; else nothing.

    The end of a file that is packed is not sought.
    """
    if _compression(path) != "none":
        return []
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, io.SEEK_END) - _END))
        lines = file.read().decode("utf-8", "replace").splitlines()
    last = next((line for line in reversed(lines) if line.strip(separator + " ")), "")
    record = next(csv.reader([last], delimiter=separator), [])
    name = next((text for text in record if text.strip()), "")
    figures = [text for text in record if text.strip() and text != name]
    is_total = name.strip().strip(":").lower() in TOTALS and all(map(is_number, figures))
    if len(record) != fields or not (is_total and figures):
        return []
    again = sum(line.lower().startswith(name.lower()) for line in lines)
    return [sql_text(text) if text else "NULL" for text in record] if again == 1 else []


def _header(path: Path, asked: Sequence[str], separators: Sequence[str]) -> tuple[list[str], int, str, str]:
    """Return the names of the columns, the number of the line that ends the header, what separates them, and a title.

    It is the separator that finds most of the requested columns; else the one that finds most columns.
    """
    found, faults = [], []
    for separator in separators:
        try:
            found.append((*_names(path, separator), separator))
        except FileFaultError as fault:
            faults.append(fault)
    found.sort(key=lambda header: (-len({*asked} & {*header[0]}), -len(header[0])))
    title = "" if not found or any(found[0][0][1:]) else found[0][0][0]
    below = [(*under, each) for each in separators if title and (under := _names_below_title(path, each))]
    if below:
        found = [max(below, key=lambda header: len(header[0]))]
    elif not found or (faults and len(found[0][0]) < 2):
        raise faults[0]
    names, line, separator = found[0]
    if any("\udc80" <= char <= "\udcff" for char in "".join(names)):
        raise FileFaultError(f"line {line}: cannot be read: {NOT_UTF8}.")
    names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
    for name, times in Counter(names).items():
        if times > 1:
            fix = "The first line must name the columns." if is_number(name) else "Rename one."
            raise FileFaultError(f"line {line}: two columns are called {name!r}. {fix}")
    return names, line, separator, title if below else ""


def _names_below_title(path: Path, separator: str) -> tuple[list[str], int] | None:
    """Return the fields of the first line of names below lines of one field, and its number; None if there is none.

    The line after it must have as many fields.
    """
    with io.TextIOWrapper(open_bytes(path), "utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(_lines(file), delimiter=separator, strict=True)
        try:
            records = [(record, reader.line_num) for record in islice(reader, _TITLE_LINES) if any(record)]
        except csv.Error:
            return None
    place = next((place for place, (record, _) in enumerate(records) if any(record[1:])), 0)
    if not 0 < place < len(records) - 1:
        return None
    (names, line), (after, _) = records[place], records[place + 1]
    is_header = len(names) == len(after) and not any(map(is_number, names)) and sum(map(bool, names)) > 1
    return (names, line) if is_header else None


def _names(path: Path, separator: str) -> tuple[list[str], int]:
    """Return the fields of the first line that is not empty, and its number."""
    with io.TextIOWrapper(open_bytes(path), "utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(_lines(file), delimiter=separator, strict=True)
        try:
            names = next((record for record in reader if record), None)
        except csv.Error as error:
            raise FileFaultError(f"line {reader.line_num}: cannot be read: {error}.") from None
        if names is None:
            raise FileFaultError("cannot be read: the file is empty.")
        return names, reader.line_num


def _lines(file: io.TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a file, none of which is read whole if it has no end."""
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST:
            raise FileFaultError(f"the first line is longer than {_LONGEST:,} characters: it is no CSV file.")
        yield line


def is_number(text: str) -> bool:
    """Return whether a field is a number, and so not a name."""
    return re.fullmatch(r"\s*[-+]?[0-9.,]+\s*", text) is not None


def _compression(path: Path) -> str:
    with path.open("rb") as file:
        return "gzip" if file.read(2) == _GZIP else "none"


# ── JSON lines and Parquet ──


def _json(connection: DuckDBPyConnection, named: Path, path: Path, copy: Path, asked: Sequence[str]) -> DataFile:
    """Return a file with one JSON object per line, or an array of them; its fields are read as text.

    The rows of a harness's log are written to a copy.
    """
    with open_bytes(path) as file:
        note = as_rows(file, rows := copy.with_suffix(".rows.jsonl"))
    path = rows if note else path
    scan = f"read_json_objects({file_name(path)}, format = 'auto', compression = '{_compression(path)}')"
    keys = [row[0] for row in connection.execute(f"SELECT DISTINCT json_keys(json) FROM {scan}").fetchall()]
    if not keys:
        raise FileFaultError("cannot be read: the file is empty.")
    if not all(keys):
        raise FileFaultError('each line must be an object, as {"actual": 1, "predicted": 0}.')
    for names in keys:
        if twice := next((name for name, times in Counter(names).items() if times > 1), None):
            raise FileFaultError(f"an object has two fields called {twice!r}. Rename one.")
    names = dict.fromkeys(name for of_one in sorted(keys, key=len, reverse=True) for name in of_one)
    paths = {name: _step(name) for name in names}
    if not asked or not paths.keys() >= {*asked}:
        paths = _apart(connection, scan, paths, asked)
    columns = {name: _json_field(place, name, name in asked) for name, place in paths.items()}
    return DataFile(named, path, scan, columns, note=note)


def _apart(connection: DuckDBPyConnection, scan: str, paths: Mapping[str, str], asked: Sequence[str]) -> dict[str, str]:
    """Return the paths of fields, with the fields of an object in its place: prediction.label.

    An object that an option names stays, to be refused.
    """
    tests = ", ".join(
        f"list_distinct(flatten(list(DISTINCT json_keys(json, {sql_text(path)})) FILTER "
        f"(json_type(json, {sql_text(path)}) = 'OBJECT')))"
        for path in paths.values()
    )
    keys = connection.execute(f"SELECT {tests} FROM {scan}").fetchall()[0]
    apart: dict[str, str] = {}
    for (name, path), of_one in zip(paths.items(), keys, strict=True):
        inner = {f"{name}.{key}": path + _step(key) for key in sorted(of_one or ())}
        inner = _apart(connection, scan, inner, asked) if 0 < len(inner) <= _MOST_FIELDS else {}
        apart |= inner | ({name: path} if name in asked or not inner else {})
    return apart | {name: path for name, path in paths.items() if name in apart}


def _step(name: str) -> str:
    """Return the step of a path in JSON to a field."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _json_field(path: str, name: str, is_asked: bool) -> str:
    """Return the SQL of a field as text; as in CSV, empty text is missing.

    A field that an option names may not hold lists or objects.
    """
    place = sql_text(path)
    if not is_asked:
        return f"nullif(json->>{place}, '')"
    fault = sql_text(
        f"field {name!r} holds lists or objects. Name a field inside of an object, as {name}.label, or write one value"
    )
    return (
        f"CASE WHEN json_type(json, {place}) IN ('ARRAY', 'OBJECT') THEN error({fault}) "
        f"ELSE nullif(json->>{place}, '') END"
    )


def _parquet(connection: DuckDBPyConnection, named: Path, path: Path) -> DataFile:
    """Return a Parquet file."""
    scan = f"read_parquet({file_name(path)}, hive_partitioning = false)"
    types = {row[0]: str(row[1]) for row in connection.execute(f"DESCRIBE FROM {scan}").fetchall()}
    return DataFile(named, path, scan, {name: sql_name(name) for name in types}, types)


def file_name(path: Path) -> str:
    """Write the name of a file in SQL; none of its characters is a pattern."""
    return sql_text(re.sub(r"([*?[])", r"[\1]", str(path.absolute())))


def sql_text(text: str) -> str:
    """Write a text in SQL, bytes of the names of files that are none as escapes."""
    return "'{}'".format(text.replace("'", "''").encode("utf-8", "backslashreplace").decode())


def sql_name(name: str) -> str:
    """Write the name of a column in SQL."""
    return '"{}"'.format(name.replace('"', '""'))
