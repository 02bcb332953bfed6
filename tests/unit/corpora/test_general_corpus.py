"""General text: PO files, Europarl, TICO-19, XQuAD and WMT's XML as their publishers have them, made into pairs."""

import gzip
import io
import json
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sacrebleu.dataset.wmt_xml import WMTXMLDataset

from heedful.corpora.catalogue import find_corpus
from heedful.corpora.download import BackOff
from heedful.corpora.fetch import fetch_corpus
from heedful.corpora.general import lay_out_general
from heedful.corpora.po_pairs import pairs_of_po
from heedful.corpora.progress import PlainDownloadDisplay
from heedful.errors import HeedfulError
from tests.support.publisher import File, publishing

PO = r"""
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#: C/accounts.page:37(item/p)
msgid ""
"A list of services is shown under <gui>Use this account for</gui>. See <link xref=\"a"
"\">help</link>."
msgstr "Eine Liste steht unter <gui>Konto verwenden für</gui>. Siehe <link xref=\"a\">Hilfe</link>."

#: library/os.po
msgid "Use :func:`~os.path.join`, see :ref:`the manual <os-path>` or ``help()`` &amp; **read**."
msgstr "Nimm :func:`os.path.join`, siehe :ref:`das Handbuch <os-path>` oder ``help()`` &amp; **lies**."

#, fuzzy
msgid "Guessed by a program."
msgstr "Von einem Programm geraten."

msgid "Not yet translated."
msgstr ""

msgid "GNOME"
msgstr "GNOME"

msgid "1. 2. 3."
msgstr "1. 2. 3!"

msgid "One. Two."
msgstr "Eins, zwei."

msgid "One file"
msgid_plural "%d files"
msgstr[0] "Eine Datei"
msgstr[1] "%d Dateien"

#~ msgid "Old."
#~ msgstr "Alt."
"""

XML = """<?xml version='1.0' encoding='utf-8'?>
<dataset id="newstest2021"><collection id="general">
<doc origlang="en" id="a"><src lang="en"><p><seg id="1">Two dogs &amp; a cat.</seg>
<seg id="2">They sleep.</seg></p></src>
<ref lang="de" translator="B"><p><seg id="1">Anders.</seg><seg id="2">Noch anders.</seg></p></ref>
<ref lang="de" translator="REF"><p><seg id="1">Zwei Hunde &amp; eine Katze.</seg>
<seg id="2">Sie schlafen.</seg></p></ref>
</doc>
<doc origlang="en" id="b" testsuite="x"><src lang="en"><p><seg id="1">Not this.</seg></p></src>
<ref lang="de" translator="REF"><p><seg id="1">Dies nicht.</seg></p></ref></doc>
</collection></dataset>
"""


def tar_of(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def zip_of(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def news_members(year: str) -> dict[str, str]:
    ways = ("en-de", "de-en", "en-zh", "zh-en")
    match year:
        case "newstest2021":
            return {f"test/newstest2021.{way}.xml": XML.replace("REF", "A") for way in ways}
        case "generaltest2022":
            return {f"wmt22-news-systems-1.1/xml/wmttest2022.{way}.all.xml": XML.replace("REF", "A") for way in ways}
        case "generaltest2023":
            return {
                f"wmt23-news-systems-v.0.1/xml/wmttest2023.{way}.all.xml": XML.replace("REF", "refA") for way in ways
            }
        case _:
            return {f"xml/wmttest2024.{way}.all.xml": XML.replace("REF", "refA") for way in ways}


def contents() -> dict[str, bytes]:
    """What each download holds, by its name here, in the form its publisher has it."""
    tico = "sourceLang\ttargetLang\tsourceString\ttargetString\tstringID\n"
    questions = {"en": "Who  plays?", "de": "Wer spielt?", "zh": "谁在玩？"}
    files = {
        f"europarl.{language}.tsv.gz": gzip.compress(
            f"{text}\tResumption of the session\t1\tMe\n\t\t\t\n{text} 2\tAgain\t2\tMe\n".encode()
        )
        for language, text in (("de", "Wiederaufnahme"), ("fr", "Reprise"))
    }
    for project in ("gnome", "godot"):
        files |= {f"{project}.{language}.po": PO.encode() for language in ("de", "fr", "zh")}
    files["python.fr.tar.gz"] = tar_of({"python-docs-fr-588/library/os.po": PO, "python-docs-fr-588/README": "no"})
    files["python.zh.tar.gz"] = tar_of({"python-docs-zh-cn-a8e/os.po": PO})
    django = "django-docs-translations-714/translations"
    files["django.fr-zh.tar.gz"] = tar_of(
        {
            f"{django}/fr/LC_MESSAGES/faq.po": PO,
            f"{django}/zh_Hans/LC_MESSAGES/faq.po": PO.replace("Handbuch", "手册"),
            f"{django}/ja/LC_MESSAGES/faq.po": PO.replace("Handbuch", "マニュアル"),
        }
    )
    files["tico19.zip"] = zip_of(
        {
            f"tico19-testset/{split}/{split}.en-{language}.tsv": f"{tico}en\t{language}\tStay home.\tX {split}\t1\n"
            for split in ("dev", "test")
            for language in ("fr", "zh")
        }
    )
    for language, question in questions.items():
        asked = [{"id": "1", "question": question, "answers": []}]
        if language == "en":
            asked.append({"id": "2", "question": "Only in English?", "answers": []})
        article = {"title": "T", "paragraphs": [{"context": "C", "qas": asked}]}
        files[f"xquad.{language}.json"] = json.dumps({"data": [article]}).encode()
    for year in ("newstest2021", "generaltest2022", "generaltest2023", "generaltest2024"):
        files[f"{year}.tar.gz"] = tar_of(news_members(year))
    return files


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name, content in contents().items():
        (folder / name).write_bytes(content)
    return folder


def lines_of(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]


def test_messages_become_plain_sentences_and_what_is_no_prose_is_passed_over() -> None:
    assert list(pairs_of_po(PO)) == [
        ("A list of services is shown under Use this account for.", "Eine Liste steht unter Konto verwenden für."),
        ("See help.", "Siehe Hilfe."),
        (
            "Use os.path.join, see the manual or help() & read.",
            "Nimm os.path.join, siehe das Handbuch oder help() & lies.",
        ),
        ("One. Two.", "Eins, zwei."),
    ]


@pytest.mark.parametrize("text", ["", "#", 'msgid "', 'msgid "a"\nmsgid "b"', "\x00\n\nmsgstr", 'msgstr "only"'])
def test_what_is_no_catalogue_gives_nothing(text: str) -> None:
    assert list(pairs_of_po(text)) == []


def test_the_files_of_all_publishers_are_laid_out(downloads: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    lay_out_general(downloads, folder)
    assert lines_of(folder / "europarl.de.tsv.gz") == [
        "Resumption of the session\tWiederaufnahme",
        "Again\tWiederaufnahme 2",
    ]
    assert len(lines_of(folder / "gnome.zh.tsv.gz")) == 4
    assert "\tNimm os.path.join, siehe das 手册 oder help() & lies." in "\n".join(lines_of(folder / "django.zh.tsv.gz"))
    assert "マニュアル" not in "".join(lines_of(folder / "django.fr.tsv.gz"))
    assert lines_of(folder / "tico19.fr.dev.tsv.gz") == ["Stay home.\tX dev"]
    assert lines_of(folder / "xquad.zh.tsv.gz") == ["Who plays?\t谁在玩？"]
    expected = ["Two dogs & a cat.\tZwei Hunde & eine Katze.", "They sleep.\tSie schlafen."]
    for name in ("newstest2021.en-de", "generaltest2022.zh-en", "generaltest2023.de-en", "generaltest2024.en-zh"):
        assert lines_of(folder / "news" / f"{name}.tsv.gz") == expected
    assert len(list(folder.glob("*.tsv.gz"))) == 18
    assert len(list((folder / "news").iterdir())) == 14


def test_a_news_set_is_read_as_sacrebleu_reads_it(downloads: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    lay_out_general(downloads, folder)
    fields = WMTXMLDataset._unwrap_wmt21_or_later(io.BytesIO(XML.replace("REF", "A").encode()))
    theirs = [f"{source}\t{reference}" for source, reference in zip(fields["src"], fields["ref:A"], strict=True)]
    assert lines_of(folder / "news" / "newstest2021.en-de.tsv.gz") == theirs


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("europarl.de.tsv.gz", b"no gzip", "europarl.de.tsv.gz is not the file that was expected"),
        ("europarl.fr.tsv.gz", gzip.compress(b"one column\n"), "europarl.fr.tsv.gz must have pairs"),
        ("gnome.de.po", b"\xff\xfe", "gnome.de.po must be UTF-8 text"),
        ("python.zh.tar.gz", b"cut off", "python.zh.tar.gz is not the file that was expected"),
        ("tico19.zip", zip_of({"other": ""}), "there is no tico19-testset/dev/dev.en-fr.tsv in it"),
        ("xquad.de.json", b"[]", "xquad.de.json is not the file that was expected"),
        ("newstest2021.tar.gz", tar_of({"test/x": ""}), "there is no test/newstest2021.de-en.xml in it"),
        ("generaltest2022.tar.gz", tar_of(dict.fromkeys(news_members("generaltest2022"), "<a>")), "it is no XML"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith((".gz", ".po", ".zip", ".json")) else "",
)
def test_a_damaged_file_is_named(downloads: Path, tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (downloads / name).write_bytes(content)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(HeedfulError) as caught:
        lay_out_general(downloads, folder)
    assert sentence in str(caught.value)


def test_it_is_fetched_from_its_publishers_and_a_broken_download_goes_on(tmp_path: Path) -> None:
    corpus = find_corpus("general")
    held = contents()
    assert set(held) == {item.name for item in corpus.downloads}
    assert all(item.pin is not None for item in corpus.downloads if "test20" in item.name)
    corpus = replace(corpus, downloads=tuple(replace(item, pin=None) for item in corpus.downloads))
    files = {
        urlsplit(item.url).netloc + urlsplit(item.url).path: File(held[item.name], cut_after=[20])
        for item in corpus.downloads
    }
    with publishing(files) as publisher, (tmp_path / "said.txt").open("w") as stream:
        assert fetch_corpus(
            corpus,
            tmp_path / "data",
            listener=PlainDownloadDisplay(stream),
            mirror=publisher.url,
            back_off=BackOff(num_retries=1, first_wait=0.0),
        )
        assert publisher.ranges.count("bytes=20-") == len(corpus.downloads)
    provenance = json.loads((tmp_path / "data" / "general" / "provenance.json").read_text())
    assert len(provenance["downloads"]) == len(held)
    assert "never to learn from" in (tmp_path / "data" / "general" / "NOTICE.txt").read_text()
