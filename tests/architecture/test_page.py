"""The page as files: nothing is built, so nothing but these tests sees a wrong import before a browser does."""

import hashlib
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "heedful"
ROOTS = {"/web/": PACKAGE / "serving" / "web", "/insight/": PACKAGE / "insight" / "page"}
VENDOR = ROOTS["/insight/"] / "vendor"
OURS = sorted(
    path
    for root in ROOTS.values()
    for path in root.rglob("*")
    if path.suffix in {".js", ".css", ".html"} and path.parent != VENDOR
)
IMPORT = re.compile(r'^(?:import|export)\s[^;"]*?from "([^"]+)";', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
NAMED = re.compile(r'^import \{([^}]*)\} from "([^"]+)";', re.MULTILINE)
NAMESPACES = {"http://www.w3.org/2000/svg"}


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def resolve(importer: Path, address: str) -> Path:
    for prefix, root in ROOTS.items():
        if address.startswith(prefix):
            return root / address.removeprefix(prefix)
    assert address.startswith("."), f"{named(importer)} imports {address}, which is no file of the page"
    return (importer.parent / address).resolve()


@pytest.mark.parametrize("path", [path for path in OURS if path.suffix == ".js"], ids=named)
def test_every_import_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for address in IMPORT.findall(text):
        assert resolve(path, address).is_file(), f"{named(path)} imports {address}"
    for names, address in NAMED.findall(text):
        target = resolve(path, address)
        if target.parent == VENDOR:
            continue
        exported = set(EXPORT.findall(target.read_text(encoding="utf-8")))
        wanted = {name.split(" as ")[0].strip() for name in names.split(",") if name.strip()}
        assert wanted <= exported, f"{named(path)} imports {wanted - exported} of {named(target)}"
        body = NAMED.sub("", text)
        for name in (name.split(" as ")[-1].strip() for name in names.split(",") if name.strip()):
            assert re.search(rf"\b{name}\b", body), f"{named(path)} imports {name} and does not use it"


@pytest.mark.parametrize("path", OURS, ids=named)
def test_a_file_is_small_and_asks_nobody_else(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assert set(re.findall(r"https?://[^\s\"'`)]+", text)) <= NAMESPACES
    if path.suffix == ".js":
        assert text.startswith("//"), f"{named(path)} must say what it is for"
        assert not re.search(r"innerHTML|dangerouslySetInnerHTML|\beval\(|new Function|document\.write", text)
        assert max(map(len, text.splitlines())) <= 120


def test_every_file_is_used() -> None:
    index = (ROOTS["/web/"] / "index.html").read_text(encoding="utf-8")
    reached = {
        resolve(ROOTS["/web/"], address) for address in re.findall(r'(?:href|src)="(/(?:web|insight)/[^"]+)"', index)
    }
    waiting = list(reached)
    while waiting:
        path = waiting.pop()
        if path.suffix != ".js" or path.parent == VENDOR:
            continue
        for address in IMPORT.findall(path.read_text(encoding="utf-8")):
            if (target := resolve(path, address)) not in reached:
                reached.add(target)
                waiting.append(target)
    stand_alone = {ROOTS["/insight/"] / "explained.js"}
    lost = {path for path in OURS if path.name != "index.html"} - reached - stand_alone
    lost -= {
        resolve(one, address) for one in stand_alone for address in IMPORT.findall(one.read_text(encoding="utf-8"))
    }
    assert not lost, ", ".join(map(named, lost))


def test_what_is_not_ours_is_what_its_note_says() -> None:
    digest = hashlib.sha256((VENDOR / "preact.js").read_bytes()).hexdigest()
    assert f"`{digest}`" in (VENDOR / "VENDOR.md").read_text(encoding="utf-8")
    assert {path.name for path in VENDOR.iterdir()} == {"preact.js", "VENDOR.md"}
