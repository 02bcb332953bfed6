"""A translated file of every kind is its source in all but the words: compared by other programs than ours."""

import io
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from lxml import html as lxml_html
from markdown_it import MarkdownIt

from heedful.documents.formats import format_of
from heedful.documents.safeguard import KEPT, Translate, in_rounds, run_rounds
from tests.support.documents import HTML, JSON, MARKDOWN, SAMPLES, SRT, TEXT, VTT, shout, shout_around_tags

TRANSLATORS = [shout, shout_around_tags]


def translated(name: str, translate: Translate = shout, target: str = "de", data: bytes | None = None) -> bytes:
    document = format_of(name).read(SAMPLES[name] if data is None else data, target)
    return document.write([one.segments for one in run_rounds(in_rounds(document.passages), translate)])


@pytest.fixture(params=TRANSLATORS, ids=lambda translate: translate.__name__)
def translate(request: pytest.FixtureRequest) -> Translate:
    chosen: Translate = request.param
    return chosen


@pytest.mark.parametrize("name", SAMPLES)
def test_words_are_translated(name: str) -> None:
    done = translated(name)
    if done.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(done)) as archive:
            done = b"".join(archive.read(one) for one in archive.namelist())
    text = done.decode("utf-8", "replace")
    words = {"units.xlf": "BUTTON", "units2.xlf": "BUTTON", "memory.tmx": "WORLD", "messages.json": "FIRST POINT"}
    words |= {"messages.po": "STATION", "film.srt": "COLD", "film.vtt": "TOMORROW", "page.md": "NESTED"}
    assert words.get(name, "GOOD" if name == "page.html" else "WEATHER") in text


def test_plain_text_keeps_lines_paragraphs_and_addresses(translate: Translate) -> None:
    done = translated("letter.txt", translate).decode()
    assert [not line for line in done.split("\n")] == [not line for line in TEXT.split("\n")]
    assert "    SEE https://example.org/pictures FOR MORE.\n- BREAD\n- WATER\n" in done
    assert max(map(len, done.split("\n"))) <= max(map(len, TEXT.split("\n")))


def test_markdown_keeps_its_blocks_signs_and_addresses(translate: Translate) -> None:
    def shape(text: str) -> list[tuple[Any, ...]]:
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        inline = [
            child for token in tokens for child in token.children or [] if child.type not in ("text", "softbreak")
        ]
        return [
            (token.type, token.tag, token.markup, *sorted((token.attrs or {}).items())) for token in [*tokens, *inline]
        ]

    done = translated("page.md", translate).decode()
    assert shape(done) == shape(MARKDOWN)
    for kept in ('text = "not for translators"', "`code`", "<b>raw</b>", "title: A page", "    indented code"):
        assert kept in done


def test_html_keeps_every_tag_and_attribute(translate: Translate) -> None:
    read_by_people = ("alt", "title", "lang")

    def shape(page: str) -> list[Any]:
        return [
            (element.tag, [(name, "" if name in read_by_people else value) for name, value in element.attrib.items()])
            for element in lxml_html.fromstring(page).iter()
        ]

    done = translated("page.html", translate).decode()
    assert shape(done) == shape(HTML)
    assert '<html lang="de">' in done
    assert "TOM &amp; ANN" in done or translate is shout  # which takes the sign for one that may be lost
    for kept in ('say("<p>no</p>")', '<p translate="no">Not this one</p><pre>nor\n  this</pre>', "<code>x = 1</code>"):
        assert kept in done


@pytest.mark.parametrize(("name", "source"), [("film.srt", SRT), ("film.vtt", VTT)])
def test_subtitles_keep_numbers_times_and_tags(name: str, source: str, translate: Translate) -> None:
    def frame(text: str) -> list[str]:
        return re.findall(r"^\d+$|^.*-->.*$|<[^>]*>|\{\\an8\}|^NOTE.*|^::cue.*|^intro$|^$", text, re.MULTILINE)

    done = translated(name, translate).decode()
    assert frame(done) == frame(source)
    assert len(done.split("\n")) == len(source.split("\n"))


def test_a_break_does_not_part_a_tag_from_its_words() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n<i>one two three</i> four\nfive <b>six seven</b> eight nine\n"
    document = format_of("film.srt").read(cue.encode(), "de")
    for segments in (
        ("", "eins zwei drei vier", " fünf ", " sechs", ""),
        ("", "eins ", " zwei drei vier fünf ", " sechs ", ""),
        ("", "eins zwei drei vier fünf ", "", " sechs sieben acht neun zehn", ""),
        ("eins zwei drei vier ", " fünf sechs sieben ", "", "", ""),
        ("", "eins zwei drei vier ", " fünf", "", ""),
    ):
        done = document.write([segments]).decode()
        for line in done.split("\n"):
            assert not re.match(r"\s*</", line), done
            assert not re.search(r"<[a-z]>\s*$", line), done
        assert re.findall(r"<[^>]*>", done) == ["<i>", "</i>", "<b>", "</b>"]
        words = re.sub(r"<[^>]*>", " ", done).split()[4:]
        assert words == " ".join(segments).split()


def test_a_catalogue_keeps_its_messages_and_its_translations() -> None:
    source = SAMPLES["messages.po"].decode().replace('msgid "Open"\nmsgstr ""', 'msgid "Open"\nmsgstr "Öffnen"')
    done = translated("messages.po", data=source.encode()).decode()
    keys = re.compile(r"^msg(?:id|ctxt|id_plural) .*|^#[.:].*|^msgstr\[\d\]", re.MULTILINE)
    assert keys.findall(done) == keys.findall(source)
    assert 'msgstr "Öffnen"' in done
    assert 'msgstr[0] "%d FILE WAS FOUND.\\n"' in done


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs gettext's msgfmt")
@pytest.mark.parametrize("target", ["de", "fr", "zh", "cs"])
def test_msgfmt_finds_nothing_wrong_with_a_translated_catalogue(target: str, tmp_path: Path) -> None:
    path = tmp_path / "messages.po"
    for translate in TRANSLATORS:
        path.write_bytes(translated("messages.po", translate, target))
        command = ["msgfmt", "--check", "--statistics", "--output-file", str(tmp_path / "out.mo"), str(path)]
        result = subprocess.run(command, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
        assert result.returncode == 0, result.stderr
        assert "5 translated messages." in result.stderr


@pytest.mark.parametrize("name", ["units.xlf", "units2.xlf", "memory.tmx"])
def test_units_keep_sources_and_get_targets_with_the_same_inline_elements(name: str, translate: Translate) -> None:
    def inside(element: Any) -> list[tuple[str, dict[str, str]]]:
        return [(child.tag, dict(child.attrib)) for child in element.iterdescendants()]

    source, done = etree.fromstring(SAMPLES[name]), etree.fromstring(translated(name, translate))
    if name == "memory.tmx":
        first, second = done.iter("tu")
        assert [variant.get("{http://www.w3.org/XML/1998/namespace}lang") for variant in first] == ["fr", "en-US", "de"]
        assert inside(first[2]) == inside(first[1])
        assert "".join(first[2].itertext()) == "HELLO ALL THE %s WORLD"
        assert etree.tostring(second) == etree.tostring(list(source.iter("tu"))[1])
        return
    space = done.tag.removesuffix("xliff")
    assert [etree.tostring(one, with_tail=False) for one in done.iter(f"{space}source")] == [
        etree.tostring(one, with_tail=False) for one in source.iter(f"{space}source")
    ]
    targets = list(done.iter(f"{space}target"))
    assert len(targets) == 2
    assert inside(targets[0]) == inside(next(done.iter(f"{space}source")))
    assert "THE BUTTON" in "".join(targets[0].itertext())
    assert targets[1].text == "Fertig."
    assert done.get("trgLang") == "de" or next(done.iter(f"{space}file")).get("target-language") == "de"


def test_json_keeps_keys_placeholders_and_layout(translate: Translate) -> None:
    done = translated("messages.json", translate).decode()
    before, after = json.loads(JSON), json.loads(done)
    assert list(after) == list(before)
    assert after["greeting"] == "HELLO {name}, HOW ARE YOU?"
    assert after["@@locale"] == "de"
    assert after["nested"] == {"list": ["FIRST POINT", 2, True, None, "img/logo.png"], "empty": ""}
    for kept in ("@greeting", "items"):
        assert after[kept] == before[kept]
    assert [len(line) - len(line.lstrip()) for line in done.split("\n")] == [
        len(line) - len(line.lstrip()) for line in JSON.split("\n")
    ]
    assert "\\u00c9" in done


@pytest.mark.parametrize("name", ["letter.docx", "letter.odt", "letter.epub"])
def test_an_archive_keeps_members_order_and_every_element(name: str, translate: Translate) -> None:
    def members(data: bytes) -> list[tuple[str, int]]:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None
            return [(info.filename, info.compress_type) for info in archive.infolist()]

    def shape(data: bytes) -> list[Any]:
        skipped = "{http://www.w3.org/XML/1998/namespace}space"
        return [
            (one.tag, {key: value for key, value in one.attrib.items() if key != skipped})
            for one in etree.fromstring(data).iter()
        ]

    done = translated(name, translate)
    assert members(done) == members(SAMPLES[name])
    with zipfile.ZipFile(io.BytesIO(SAMPLES[name])) as before, zipfile.ZipFile(io.BytesIO(done)) as after:
        texts = {"word/document.xml", "content.xml", "styles.xml"}
        for member in before.namelist():
            if member in texts or member.endswith((".xhtml", ".ncx", ".opf")):
                assert shape(after.read(member)) == shape(before.read(member)), member
            else:
                assert after.read(member) == before.read(member), member


def test_runs_that_look_alike_are_translated_together_and_others_are_not() -> None:
    def document(paragraph: str) -> bytes:
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
            archive.writestr("[Content_Types].xml", "<Types/>")
            archive.writestr(
                "word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{paragraph}</w:body></w:document>'
            )
        return written.getvalue()

    cut = (
        '<w:p><w:r w:rsidR="1"><w:t xml:space="preserve">The wea</w:t></w:r><w:proofErr w:type="x"/>'
        '<w:r w:rsidR="2"><w:rPr><w:lang w:val="en"/></w:rPr><w:t xml:space="preserve">ther is </w:t></w:r>'
        "<w:r><w:rPr><w:b/></w:rPr><w:t>very</w:t></w:r><w:del><w:r><w:delText>so</w:delText></w:r></w:del>"
        '<w:r><w:t xml:space="preserve"> nice.</w:t></w:r></w:p>'
    )
    found = format_of("a.docx").read(document(cut), "de")
    assert [passage.text for passage in found.passages] == ["The weather is <g1>very</g1> nice."]
    texts = etree.fromstring(
        zipfile.ZipFile(io.BytesIO(found.write([("A ", "B", " C")]))).read("word/document.xml")
    ).findall(".//{*}t")
    assert [text.text or "" for text in texts] == ["A ", "", "B", " C"]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_written_can_be_read_again(name: str) -> None:
    again = format_of(name).read(translated(name), "de")
    texts = [KEPT.sub("", passage.text) for passage in again.passages]
    assert [text for text in texts if text != text.upper()] == []


@pytest.mark.parametrize("name", ["letter.docx", "letter.odt"])
def test_a_sentence_is_seen_whole_with_its_formatting_as_marks(name: str) -> None:
    texts = [passage.text for passage in format_of(name).read(SAMPLES[name], "de").passages]
    assert "You can find pictures at <g1>this address</g1>, or ask me." in texts
    assert "First line\nsecond line of the same paragraph." in texts
