"""Markup left in text: tags and character references of HTML and XML, and the text without them.

What Moses' tokenizer escapes (&apos; &quot; &amp; and five more) is a convention of tokenised corpora and no fault.
This file knows no document format.
"""

import html
import re

_NAMES = (
    "a|abbr|b|big|blockquote|body|br|caption|center|cite|code|col|dd|div|dl|dt|em|font|footer|form|h[1-6]|head|header|hr"
    "|html|i|iframe|img|input|ins|kbd|label|li|link|meta|nav|ol|option|p|param|pre|q|s|script|section|select|small|span"
    "|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|tt|u|ul|var|video"
    "|doc|hl|para|ref|refset|seg|source|srcset|trans|tstset|tu|tuv"
)
"""The elements of HTML, and of the formats in which corpora are kept; `<name>` in a text about programs is none."""

_TAG = re.compile(rf"<!--.*?-->|</?(?:{_NAMES})(?:\s[^<>]*)?/?>|<!\[CDATA\[|\]\]>|<![a-z][^<>]*>", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_MOSES = frozenset({"&amp;", "&apos;", "&quot;", "&lt;", "&gt;", "&#124;", "&#91;", "&#93;"})
_SPACES = re.compile(r"[ \t]{2,}")


def has_markup(text: str) -> bool:
    """Say whether a text holds a tag, or a character reference that no tokenizer writes."""
    return ("<" in text and _TAG.search(text) is not None) or (
        "&" in text and any(found not in _MOSES for found in _REFERENCE.findall(text))
    )


def without_markup(text: str) -> str:
    """Return a text with tags taken out and character references resolved, those of Moses left as they are."""
    plain = _REFERENCE.sub(lambda found: found[0] if found[0] in _MOSES else html.unescape(found[0]), text)
    return _SPACES.sub(" ", _TAG.sub(" ", plain)).strip()
