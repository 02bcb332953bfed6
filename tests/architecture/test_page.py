"""The page as files: nothing is built, so nothing but these tests sees a wrong import before a browser does."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

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
NO_FILE = ROOTS["/web/"] / "no file"
NAMESPACES = {"http://www.w3.org/2000/svg"}


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def resolve(importer: Path, address: str) -> Path:
    """Find the file an address stands for; what is neither ours nor relative stands for no file."""
    for prefix, root in ROOTS.items():
        if address.startswith(prefix):
            return root / address.removeprefix(prefix)
    return (importer.parent / address).resolve() if address.startswith(".") else NO_FILE


def import_faults(path: Path) -> Iterator[str]:
    """Say what a module imports that is not there, is not exported there, or is not used here."""
    text = path.read_text(encoding="utf-8")
    body = NAMED.sub("", text)
    for address in IMPORT.findall(text):
        if not resolve(path, address).is_file():
            yield f"imports {address}, which is no file of the page"
    for names, address in NAMED.findall(text):
        target = resolve(path, address)
        if target.parent == VENDOR or not target.is_file():
            continue
        exported = set(EXPORT.findall(target.read_text(encoding="utf-8")))
        for name in filter(None, map(str.strip, names.split(","))):
            if (wanted := name.split(" as ")[0].strip()) not in exported:
                yield f"imports {wanted}, which {named(target)} does not export"
            if not re.search(rf"\b{name.split(' as ')[-1].strip()}\b", body):
                yield f"imports {name} and does not use it"


def test_every_import_is_there_and_used() -> None:
    modules = [path for path in OURS if path.suffix == ".js"]
    wrong = [f"{named(path)} {fault}" for path in modules for fault in import_faults(path)]
    assert not wrong, "\n".join(wrong)


def test_a_file_is_small() -> None:
    sizes = {named(path): path.read_text(encoding="utf-8").splitlines() for path in OURS}
    wrong = [f"{name} has {len(lines)} lines; split it." for name, lines in sizes.items() if len(lines) > 400]
    wrong += [
        f"{name}:{number} has {len(line)} characters; at most 120 fit."
        for name, lines in sizes.items()
        if name.endswith(".js")
        for number, line in enumerate(lines, start=1)
        if len(line) > 120
    ]
    assert not wrong, "\n".join(wrong)


def test_a_file_asks_nobody_else() -> None:
    asked = [
        f"{named(path)} names {address}"
        for path in OURS
        for address in re.findall(r"https?://[^\s\"'`)]+", path.read_text(encoding="utf-8"))
        if address not in NAMESPACES
    ]
    assert not asked, "\n".join(asked)


def test_text_never_becomes_markup_or_code() -> None:
    unsafe = re.compile(r"innerHTML|dangerouslySetInnerHTML|\beval\(|new Function|document\.write")
    found = [
        f"{named(path)}: {use}"
        for path in OURS
        if path.suffix == ".js"
        for use in unsafe.findall(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_a_module_says_what_it_is_for() -> None:
    modules = [path for path in OURS if path.suffix == ".js"]
    wrong = [named(path) for path in modules if not path.read_text(encoding="utf-8").startswith("//")]
    assert not wrong, "\n".join(wrong)


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
    stand_alone = {
        ROOTS["/insight/"] / name
        for name in (
            "explained.js",
            "explained_labels.js",
            "explained_parallel.js",
            "explained_text.js",
        )
    }
    lost = {path for path in OURS if path.name != "index.html"} - reached - stand_alone
    lost -= {
        resolve(one, address) for one in stand_alone for address in IMPORT.findall(one.read_text(encoding="utf-8"))
    }
    assert not lost, ", ".join(map(named, lost))


def test_what_is_not_ours_is_what_its_note_says() -> None:
    digest = hashlib.sha256((VENDOR / "preact.js").read_bytes()).hexdigest()
    assert f"`{digest}`" in (VENDOR / "VENDOR.md").read_text(encoding="utf-8")
    assert {path.name for path in VENDOR.iterdir()} == {"preact.js", "VENDOR.md"}


def test_a_script_reads_fields_in_camel_case() -> None:
    """The server writes them so; a script that reads `log_prob`, or maps names, has missed it."""
    field = re.compile(r"(?<![\w/])[\w)\]]+\??\.[a-z]+_\w+|\{[^{}]*\b[a-z]+_[a-z_]+\b[^{}:]*\} = ")
    found = [
        f"{named(path)}: {use}"
        for path in OURS
        if path.suffix == ".js"
        for use in field.findall(re.sub(r"^(?:import|//|export .* from).*$", "", path.read_text("utf-8"), flags=re.M))
    ]
    assert not found, "\n".join(found)
