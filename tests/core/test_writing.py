"""Pages are written whole or not at all."""

import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bayesperf.core.saving import write_whole


@pytest.fixture
def full_disk():
    """No file can grow beyond a thousand bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("old", ["the old page", None])
def test_a_full_disk_leaves_what_was_there_and_no_debris(tmp_path, full_disk, old):
    page = tmp_path / "page.html"
    if old is not None:
        page.write_text(old)
    with pytest.raises(OSError, match=r"File too large: .*page\.html"):
        write_whole(page, "x" * 100_000)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == ([("page.html", old)] if old else [])


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_an_interruption_leaves_what_was_there_and_no_debris(tmp_path, monkeypatch, moment):
    def interrupted(*_):
        raise KeyboardInterrupt

    page = tmp_path / "page.html"
    page.write_text("the old page")
    monkeypatch.setattr(moment, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(page, "the new page")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("page.html", "the old page")]


def test_the_new_page_has_the_rights_and_the_links_of_the_old(tmp_path):
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("the old page")
    page.chmod(0o640)
    link.symlink_to("page.html")
    write_whole(link, "the new pagé")
    assert link.is_symlink()
    assert page.read_text(encoding="utf-8") == "the new pagé"
    assert page.stat().st_mode & 0o777 == 0o640
    write_whole(tmp_path / "other.html", "")
    (tmp_path / "plain.html").write_text("")
    assert (tmp_path / "other.html").stat().st_mode == (tmp_path / "plain.html").stat().st_mode


def test_what_is_no_file_is_written_to_directly():
    write_whole(Path("/dev/null"), "page")
    with pytest.raises(OSError, match="No space left"):
        write_whole(Path("/dev/full"), "page")
    assert Path("/dev/full").is_char_device()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(OSError, match=r"No such file or directory: .*absent/page\.html"):
        write_whole(tmp_path / "absent" / "page.html", "page")


def test_the_name_may_be_as_long_as_a_name_can_be(tmp_path):
    page = tmp_path / ("é" * 125 + ".html")
    write_whole(page, "a page")
    write_whole(page, b"another")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(page.name, "another")]


def test_a_link_to_what_is_not_there_yet_stays_one(tmp_path):
    link = tmp_path / "link.html"
    link.symlink_to("page.html")
    write_whole(link, "the page")
    assert link.is_symlink()
    assert (tmp_path / "page.html").read_text() == "the page"


def test_of_writers_at_once_the_last_wins_and_no_page_is_broken(tmp_path):
    page = tmp_path / "page.html"
    texts = [str(number) * 200_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda text: [write_whole(page, text) or page.read_text() in texts or 1 / 0 for _ in range(5)], texts
            )
        )
    assert page.read_text() in texts
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
