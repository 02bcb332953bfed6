"""Files of the page: what is there is served as what it is, and nothing else is."""

from pathlib import Path

from heedful.serving.pages import read_pages


def test_files_are_found_by_address_with_their_kind(tmp_path: Path) -> None:
    web = tmp_path / "serving" / "web"
    (web / "views").mkdir(parents=True)
    (web / "index.html").write_text("<!doctype html>")
    (web / "views" / "translate.js").write_text("export {};")
    (web / ".hidden").write_text("no")
    (tmp_path / "insight" / "page").mkdir(parents=True)
    (tmp_path / "insight" / "page" / "VENDOR.md").write_text("from there")
    (tmp_path / "insight" / "trace.py").write_text("secret")
    files = read_pages(tmp_path)
    assert {address: file.kind.partition(";")[0] for address, file in files.items()} == {
        "/": "text/html",
        "/web/index.html": "text/html",
        "/web/views/translate.js": "text/javascript",
        "/insight/VENDOR.md": "text/plain",
    }
    assert len({file.tag for file in files.values()}) == 3


def test_a_package_without_pages_serves_none(tmp_path: Path) -> None:
    assert read_pages(tmp_path) == {}
