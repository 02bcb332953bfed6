"""Where sentences end: rules for full stops that end nothing, in English, German, French and Chinese.

For text whose language nobody has said: the rules are those the four share, with the abbreviations of the first three.
Every rule looks at a bounded number of characters, so the time is linear in the text.
"""

import re
from collections.abc import Iterator

from heedful.text.words import HAN

# A sentence may end after . ! ? … (and closing quotes or brackets) before white space, and after the full-width forms
# of Chinese, which no space follows; so may half-width . ! and ? between Chinese characters. The white space belongs to
# the sentence before it. The quantifiers are possessive (`++`): a run of a thousand dots is read once, not from every
# dot again. A guillemet after a space closes only before a space: in German it may open.
_BOUNDARY = re.compile(
    r"(?<![.!?…])(?P<marks>[.!?…]++)(?P<closing>(?:[\"'”“’‘)\]»«]|[ \u00a0\u202f]»(?=[\s.,;:!?]|\Z))*+)\s++"
    r"|(?P<wide>[。！？]++[”’」』）\"'】]*+)(?![，、；：》〉])\s*+"
    r"|(?<=[" + HAN + r"])[.!?]++[”’」』）\"']*+(?=[" + HAN + r"])"
    r"|\n++"
)
_LAST_WORD = re.compile(r"[^\s(\[\"'„“«»‘’]+$")
_LOOK_BACK = 48
"""Characters before a full stop that are looked at."""

_LONGEST_BEGINNING = 24
"""Characters of a text that tell whether it is written without capitals."""

_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)*[^\W\d_]")
"""Single letters with dots between them: "J", "U.S", "z.B", "J.-P"."""

_NUMBER = re.compile(r"\d{1,3}")
_ROMAN = re.compile(r"[IVX]+")
_LIST_LETTER = re.compile(r"[^\W\d_]\)")

# What makes of a number with a full stop a German ordinal ("am 3. Mai", "im 19. Jahrhundert", "der 2. Versuch"):
# what comes after it, or what stands before it. In English "I am 12." is none.
AFTER_ORDINAL = re.compile(
    r"(?:jan|feb|mär|april|mai|jun|jul|aug|sep|okt|nov|dez|jahr|welt|klass|stock|etage|platz|liga|mal\b|geburtstag"
    r"|kapitel|auflage|tag\b|woche|semester|stunde|runde|preis|bundes|jubiläum|änderung|sitzung)",
    re.IGNORECASE,
)
_BEFORE_ORDINAL = re.compile(
    r"(?:^|[\s(])(?:(?<!\bI )am|der|die|das|den|dem|des|im|zum|zur|vom|beim|ins|ans|nach|bis|seit|und|oder"
    r"|[kmds]?ein(?:e[rsnm]?)?|ihre?[rsnm]?|unsere?[rsnm]?|diese[rsnm]?|jede[rsnm]?)\s\d{1,3}$",
    re.IGNORECASE,
)
_DAY_BEFORE = re.compile(r"\b\d{1,2}\.\s?\d{1,2}$")
"""A day and the number of its month."""

# Words that a full stop does not end, whatever follows.
_TITLE = re.compile(
    "Mr|Mrs|Ms|Messrs|Dr|Drs|Prof|Pr|Rev|Gen|Col|Capt|Cmdr|Lt|Sgt|Gov|Sen|Rep|Hon|Mt|Ft|Hr|Hrn|Fr|Frl"
    "|Dipl(?:\\.?-\\w+)?|Mag|Ing|Hl|M|Mme|Mmes|Mlle|Mlles|MM|Mgr|Sta?|Ste"
)
_NEVER_LAST = re.compile(
    "e\\.g|i\\.e|z\\.b|d\\.h|u\\.a|p\\.ex|c\\.-à-d|c\\.à\\.d|vs|viz|cf|resp|bzw|bspw|rd|evtl|ggf|inkl|exkl|einschl"
    "|zzgl|vgl|sog|urspr|approx|env|hrsg|geb|gest|verh|ehem|stellv|allg|insb|insbes|lat|griech|engl|dt|frz|med|phil|rer"
    "|nat|jur|[Mm]io|[Mm]rd|[Tt]sd|bd|boul|éd|trad|coll|incl|excl|nr"
)
_BEFORE_NUMBER = re.compile(
    "nos?|nr|n|vol|pp?|ss?|t|v|figs?|abb|abs|art|bd|kap|chap|ch|sec|sect|tel|tél|max|min|mind|ca|ziff|rn|vers|ver|approx|anm|jan"
    "|janv|feb|f[eé]vr|mär|mar|apr|avr|jun|jul|juil|aug|ao|sept?|o[kc]t|nov|de[cz]|déc|\\w*str",
    re.IGNORECASE,
)
# Words that may end a sentence, if what follows begins one.
_MAY_BE_LAST = re.compile(
    "ca|Inc|Ltd|Co|Corp|Bros|Jr|Sr|Ph\\.?D|Chr|Jh|Jhdt|Jhs|St|Ave|Blvd|Rd|Dept|Univ|Hbf|Std|apr|av|ex"
)
_AFTER_TIME = re.compile(
    "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|E[SD]?T\\b|C[SDE]?T\\b|P[SD]?T\\b|M[SD]T\\b|GMT|UTC|Eastern|Pacific|Central|local"
)

# Words that begin sentences far more often than they are names; a single letter with a full stop ("A. Smith") does not.
_BEGINNING = re.compile(
    r"(?:The|An?|This|That|These|Those|He|She|It|We|They|I|You|In|On|At|But|And|So|If|When|While|After|Before|However"
    r"|There|Then|What|Why|How|Who|Where|Which|My|His|Her|Its|Our|Their|Your|Not?|For|From|With|As|Since|Although"
    r"|Because|Some|Many|Most|All|Each|Every|One|Both|Another|Today|Now|Here|Let|Please|Do|Did|Does|Is|Are|Was|Were|Can"
    r"|Could|Would|Should|Have|Has|Had|Nobody|Everyone|Nothing|Yes|To|By|Of|Or|Also|Still|Only|Even|Perhaps|Maybe|Later"
    r"|Der|Die|Das|Eine?|Einer|Er|Sie|Es|Wir|Ihr|Ich|Du|Man|Dies|Diese[rs]?|Im|Am|Auf|Aber|Und|Oder|Doch|Denn|Wenn|Als"
    r"|Da|Dann|Dort|Hier|Nach|Vor|Mit|Bei|Für|Von|Zu|Zum|Zur|Wer|Wie|Wo|Warum|Wann|Keine?|Nicht|Auch|Nur|Seit|Seine?"
    r"|Ihre|Meine?|Unsere?|Danach|Damit|Dabei|Davor|Trotzdem|Heute|Gestern|Jetzt|Alle|Viele|Jede[rs]?|Bitte|Nein|Später"
    r"|Zuerst|Daher|Deshalb|Darum|Außerdem|Niemand|Wenig|Einige|Beide|Wegen|Während|Obwohl|Ob|Über|Unter|Durch|Ohne"
    r"|Les?|La|Une?|Des|Du|Ce|Cet|Cette|Ces|Ils?|Elles?|On|Nous|Vous|Je|Tu|En|Dans|Mais|Et|Où|Puis|Si|Quand|Qui|Que"
    r"|Quels?|Quelles?|Pour|Par|Sur|Avec|Sans|Aux?|Mon|Ma|Mes|Son|Sa|Ses|Leurs?|Notre|Votre|Pourquoi|Comment|Alors"
    r"|Après|Avant|Tout|Tous|Toutes|Chaque|Aucune?|Rien|Ne|Oui|Non|Ensuite|Depuis|Selon|Personne|Cela|Ça|Donc|Ainsi)"
    r"(?=[\s,:;]|['’](?!s\b))(?<!\b[Dd]e La)"
    r"|[CLJDNSTM]['’]|Qu['’]"
)
_NAME_PARTICLE = re.compile(r"(?:Les?|La|Du|Des|De|Da|Di|Von|Van)\b")

# What follows a closing quotation mark in Chinese and belongs to the same sentence: who said it, or what it was.
_SAYING = re.compile(
    r"(?:[A-Za-z .·-]{1,40}|[^，。！？；：“”「」『』\s]{0,8}?)"
    r"(?:说|說|问|問|(?<!知)道|喊|叫|答|嚷|想)[^。！？；“”「」『』\s]{0,6}[，。：！？]"
    r"|[就便而的]|[一二三四五六七八九十两兩]个?[字词]"
)
_REPORT = re.compile(r"[A-Z][\w’'-]* (?:said|asked|cried|replied|answered|shouted|whispered|added|called|exclaimed)\b")
"""The same in English, where it begins with a name."""


def sentence_ends(text: str) -> Iterator[int]:
    """Yield where sentences end, the white space after each included."""
    start = 0
    for match in _BOUNDARY.finditer(text):
        if _is_end(text, match, start):
            start = match.end()
            yield start


def _is_end(text: str, match: re.Match[str], start: int) -> bool:
    """Say whether a sentence that begins at `start` ends at a place that looks like it."""
    end, marks = match.end(), match["marks"]
    if end == len(text):
        return True
    if marks is None:
        wide = match["wide"]
        return not wide or wide[-1] not in '”」』’"' or not _SAYING.match(text, end)
    following = text[end]
    if following.islower():
        # "z. B. heute", "... and so on", "“Really?” he asked", "Ach! wie schön": it goes on, unless nobody writes
        # capitals here, or the next item of a list begins.
        if marks == "." and _LIST_LETTER.match(text, end):
            return True
        return not match["closing"] and marks[-1] not in "…" and marks != "..." and _is_written_small(text)
    if match["closing"]:
        return not _REPORT.match(text, end)
    return marks != "." or _ends_with_full_stop(text, match.start(), end, start)


def _ends_with_full_stop(text: str, stop: int, end: int, start: int) -> bool:
    """Say whether a sentence ends at a full stop before something that is not written small."""
    before = text[max(start, stop - _LOOK_BACK) : stop]
    found = _LAST_WORD.search(before)
    word = found[0] if found else ""
    is_first = stop - start - len(word) <= 1
    if _NUMBER.fullmatch(word):
        return _ends_with_number(text, before, end, is_item=is_first)
    if text[end].isdigit() and _BEFORE_NUMBER.fullmatch(word):
        return False
    begins = _BEGINNING.match(text, end) is not None
    if word in ("a.m", "p.m"):
        return not _AFTER_TIME.match(text, end)
    if word == "I":
        name = before[:-2].rpartition(" ")[2][:1]
        return begins or not name.isupper()
    if _NEVER_LAST.fullmatch(word.lower() if is_first else word):
        return False
    if _MAY_BE_LAST.fullmatch(word):
        return begins
    if _INITIALS.fullmatch(word):
        return begins and word not in ("M", "z", "d", "u") and not (len(word) == 1 and _NAME_PARTICLE.match(text, end))
    return not _TITLE.fullmatch(word)


def _ends_with_number(text: str, before: str, end: int, *, is_item: bool) -> bool:
    """Say whether a sentence ends after a number with a full stop: not if it numbers an item, a day or a century."""
    if is_item or AFTER_ORDINAL.match(text, end):
        return False
    if text[end].isdigit() and (_BEFORE_ORDINAL.search(before) or _DAY_BEFORE.search(before)):
        return False
    return _BEGINNING.match(text, end) is not None or not _BEFORE_ORDINAL.search(before)


def _is_written_small(text: str) -> bool:
    """Say whether a text begins with a small letter, as texts do whose sentences do."""
    return next((character.islower() for character in text[:_LONGEST_BEGINNING] if character.isalnum()), False)
