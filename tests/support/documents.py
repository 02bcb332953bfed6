"""A file of every kind that can be translated: those of programs as the programs wrote them, the others by hand."""

import re
from pathlib import Path

FILES = Path(__file__).parents[1] / "unit" / "documents" / "files"
"""letter.docx, .odt and .epub are written by LibreOffice 7.4, messages.pot by xgettext 0.21."""

TEXT = """Dear Ann,

the weather is nice today, and I am writing to you from a small
town near Berlin, where we have been for two weeks now and where
the food is good.

    See https://example.org/pictures for more.
- Bread
- Water
"""

MARKDOWN = """---
title: A page
---

# The *first* heading #

A paragraph with `code`, a [link](https://example.org "Title") and **bold
words** that goes on in the next line. A snake_case_name stays.

* one item
* another item,
  which goes on
    1. a nested one

> Somebody said this,
> and that.

| day | what we do |
|-----|:----------:|
| Monday | We *rest* |

```python
text = "not for translators"
```

    indented code

<div align="center">
<b>raw</b>
</div>

[reference]: https://example.org

Second heading
--------------

![a picture](picture.png) and a hard break\\
here.
"""

HTML = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>My page</title>
<style>p > b { color: red }</style><script>if (1 < 2) { say("<p>no</p>"); }</script></head>
<body onload='start("a>b")'>
  <h1>Tom &amp; Ann</h1>
  <p>This is <b>very</b> <a href="x?a=1&amp;b=2" title="A tip">good</a>.<br>
     The next line has <code>x = 1</code> <!-- and a remark --> in it.</p>
  <p translate="no">Not this one</p><pre>nor
  this</pre>
  <ul><li>one<li>two things</ul><img alt="A picture" src=a.png>
  <p>5 < 6, and more
</body>
</html>
"""

SRT = """1
00:00:01,000 --> 00:00:02,500
We are in <i>New York</i>
and it is cold.

2
00:00:03,000 --> 00:00:04,000
- Hello.
- {\\an8}Good bye!

3
00:01:03,000 --> 00:01:04,250 X1:10
♪ ♪
"""

VTT = """WEBVTT - a film

STYLE
::cue { color: white }

NOTE nobody reads this

intro
00:01.000 --> 00:02.500 align:start
<v Roger Bingham>We are in <00:01.500>New York &amp; it
is cold.

00:00:03.000 --> 00:00:04.000
See you tomorrow.
"""

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a.html" source-language="en" datatype="html">
    <body>
      <trans-unit id="1">
        <source>Press <g id="g1">the button</g> to <ph id="p1">&lt;br&gt;</ph>start.</source>
      </trans-unit>
      <trans-unit id="2"><source>Done.</source><target>Fertig.</target></trans-unit>
      <trans-unit id="3" translate="no"><source>Heedful</source></trans-unit>
    </body>
  </file>
</xliff>
"""

XLIFF_2 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
  <file id="f1">
    <unit id="u1">
      <segment><source>Press <pc id="1">the button</pc>.</source></segment>
      <ignorable><source> </source></ignorable>
      <segment state="final"><source>Done.</source><target>Fertig.</target></segment>
    </unit>
  </file>
</xliff>
"""

TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header creationtool="X" creationtoolversion="1" segtype="sentence" o-tmf="x" adminlang="en" srclang="en-US"/>
  <body>
    <tu>
      <tuv xml:lang="fr"><seg>Bonjour <hi>tout</hi> le monde</seg></tuv>
      <tuv xml:lang="en-US"><seg>Hello <hi>all</hi> the <ph x="1">%s</ph> world</seg></tuv>
    </tu>
    <tu>
      <tuv xml:lang="en"><seg>Yes</seg></tuv>
      <tuv xml:lang="de"><seg>Ja</seg></tuv>
    </tu>
  </body>
</tmx>
"""

JSON = """{
  "@@locale": "en",
  "greeting": "Hello {name}, how are you?",
  "@greeting": {"description": "Said first", "placeholders": {"name": {}}},
  "items": "{count, plural, one {# item} other {# items}}",
  "nested": {"list": ["First point", 2, true, null, "img/logo.png"], "empty": ""},
  "unicode": "caf\\u00e9 and bar"
}
"""

PO = (FILES / "messages.pot").read_text(encoding="utf-8")

SAMPLES: dict[str, bytes] = {
    "letter.txt": TEXT.encode(),
    "page.md": MARKDOWN.encode(),
    "page.html": HTML.encode(),
    "film.srt": SRT.encode(),
    "film.vtt": VTT.encode(),
    "messages.po": PO.encode(),
    "units.xlf": XLIFF.encode(),
    "units2.xlf": XLIFF_2.encode(),
    "memory.tmx": TMX.encode(),
    "messages.json": JSON.encode(),
    "letter.docx": (FILES / "letter.docx").read_bytes(),
    "letter.odt": (FILES / "letter.odt").read_bytes(),
    "letter.epub": (FILES / "letter.epub").read_bytes(),
}
"""By name."""


def shout(texts: list[str]) -> list[str]:
    """Translate into capitals, and lose every sign that must not be lost: the worst of translators."""
    return [re.sub(r"[<>{}%&@:/]", "", text).upper() for text in texts]


def shout_around_tags(texts: list[str]) -> list[str]:
    """Translate into capitals and keep tags and placeholders: the best."""
    kept = re.compile(r"(<[^<>]*>|\{[^\s]*\}|%\w|https?://\S+)")
    return ["".join(part if kept.fullmatch(part) else part.upper() for part in kept.split(text)) for text in texts]
