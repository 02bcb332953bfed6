"""Language detection: everyday sentences in many languages and scripts, none of those asked about, hostile text."""

import subprocess
import sys
import time
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import UserError
from heedful.text.language_detection import detect, known_languages
from heedful.text.ngram_table import read_table

ASKED = ["en", "de", "fr", "zh"]

SENTENCES = {
    "en": [
        "Where is the station?",
        "My brother bought a new bicycle yesterday.",
        "I don't think it will rain tomorrow.",
        "SHE HAS NEVER BEEN TO LONDON",
        "Attention is all you need.",
        "Thank you",
    ],
    "de": [
        "Wo ist der Bahnhof?",
        "Mein Bruder hat gestern ein neues Fahrrad gekauft.",
        "Ich glaube nicht, dass es morgen regnet.",
        "Können Sie mir bitte helfen?",
        "Guten Morgen",
        "Danke",
    ],
    "fr": [
        "Où est la gare ?",
        "Mon frère a acheté un vélo neuf hier.",
        "Je ne crois pas qu’il pleuve demain.",
        "L'eau est trop froide.",
        "Bonjour",
        "Merci",
    ],
    "zh": ["车站在哪里？", "我弟弟昨天買了一輛新的自行車。", "你好", "我喜欢 Python", "水"],
}

OTHERS = {
    "es": ["¿Dónde está la estación?", "Mi hermano compró ayer una bicicleta nueva."],
    "it": ["Ho perso le chiavi di casa.", "Mio fratello ha comprato ieri una bicicletta nuova."],
    "pt": ["Não sei onde fica a estação.", "O meu irmão comprou ontem uma bicicleta nova."],
    "nl": ["Ik weet het niet.", "Mijn broer heeft gisteren een nieuwe fiets gekocht."],
    "sv": ["Jag förstår inte.", "Min bror köpte en ny cykel i går."],
    "da": ["Hvad hedder du?", "Min bror købte en ny cykel i går."],
    "nb": ["Jeg vet ikke hva jeg skal gjøre.", "Broren min kjøpte ny sykkel i går."],
    "pl": ["Gdzie jest dworzec?", "Mój brat kupił wczoraj nowy rower."],
    "cs": ["Kde je nádraží?", "Můj bratr si včera koupil nové kolo."],
    "fi": ["Minulla on nälkä.", "Veljeni osti eilen uuden polkupyörän."],
    "hu": ["Hol van az állomás?", "A bátyám tegnap új biciklit vett."],
    "ro": ["Unde este gara?", "Fratele meu a cumpărat ieri o bicicletă nouă."],
    "tr": ["İstasyon nerede?", "Kardeşim dün yeni bir bisiklet aldı."],
    "ca": ["On és l'estació?", "El meu germà va comprar ahir una bicicleta nova."],
    "id": ["Saya tidak tahu.", "Kakak saya membeli sepeda baru kemarin."],
    "vi": ["Tôi không biết.", "Anh trai tôi đã mua một chiếc xe đạp mới hôm qua."],
    "ar": ["أين المحطة؟", "اشترى أخي دراجة جديدة أمس."],
    "fa": ["ایستگاه کجاست؟"],
    "he": ["איפה התחנה?"],
    "ru": ["Где находится вокзал?", "Информация"],
    "uk": ["Де знаходиться вокзал? Я її не бачу."],
    "bg": ["Къде е гарата?"],
    "el": ["Πού είναι ο σταθμός;"],
    "th": ["สถานีอยู่ที่ไหน"],
    "hi": ["स्टेशन कहाँ है?"],
    "ko": ["역이 어디에 있습니까?", "안녕하세요"],
    "ja": ["駅はどこですか。", "こんにちは世界", "東京大学は日本の国立大学である。"],
    "ta": ["நிலையம் எங்கே?"],
    "ka": ["სად არის სადგური?"],
    "hy": ["Որտե՞ղ է կայարանը:"],
}


def pairs(sentences: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, text) for language, texts in sentences.items() for text in texts]


@pytest.mark.parametrize(("language", "text"), pairs(SENTENCES))
def test_everyday_sentences(language: str, text: str) -> None:
    best = detect(text, ASKED)[0]
    assert best.language == language
    assert best.confidence > 0.8


@pytest.mark.parametrize(("language", "text"), pairs(OTHERS))
def test_sentences_in_none_of_the_languages_asked_about(language: str, text: str) -> None:
    found = detect(text, ASKED)
    assert sum(one.confidence for one in found if one.language in ASKED) < 0.25
    assert next(one.language for one in found if one.language not in ASKED) == language


@pytest.mark.parametrize("text", ["ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "𐌲𐌿𐍄𐌹𐍃𐌺"])
def test_a_script_nobody_knows_is_undetermined(text: str) -> None:
    assert (detect(text)[0].language, detect(text, ASKED)[0].language) == ("und", "und")


@pytest.mark.parametrize("text", ["", "   ", "12,345", "?!…", "🙂", "https://example.org/una/pagina", "x_i = {a: b}"])
def test_a_text_that_says_nothing_is_every_languages_alike(text: str) -> None:
    assert [(found.language, found.confidence) for found in detect(text, ASKED)] == [
        (language, 0.25) for language in ASKED
    ]
    assert [found.language for found in detect(text, ["zh", "de"])] == ["zh", "de"]
    assert [(found.language, found.confidence) for found in detect(text)] == [("und", 1.0)]


@pytest.mark.parametrize("text", ["Table", "Restaurant", "Tom", "Hotel", "Paris"])
def test_a_word_of_several_languages_is_not_claimed_with_confidence(text: str) -> None:
    assert detect(text)[0].confidence < 0.9


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Dear Ms. Müller,"),
        ("en", "Dear Mr. Schröder,"),
        ("en", "Jane Müller-Lüdenscheid lives in Köln."),
        ("en", "Thanks, André"),
        ("de", "Liebe Frau Smith,"),
        ("de", "Sehr geehrter Mr. Johnson,"),
        ("fr", "Cher Monsieur Schmidt,"),
    ],
)
def test_a_name_does_not_decide(language: str, text: str) -> None:
    assert detect(text, ASKED)[0].language == language


def test_a_quotation_does_not_decide() -> None:
    assert detect("The word 你好 means hello in Chinese.")[0].language == "en"
    assert detect("They say привет in Russian and ciao in Italian.")[0].language == "en"
    assert detect("他说 hello 的时候笑了。")[0].language == "zh"
    assert detect("这部漫画的日文名字里有一个“の”，意思是“的”，中文读者都很熟悉。")[0].language == "zh"


def test_letters_are_recognised_in_any_form() -> None:
    plain = detect("Où est la gare d'été ?")
    assert detect("Ou\u0300 est la gare d’e\u0301te\u0301 ?") == plain
    assert detect("ＨＯＷ ＡＲＥ ＹＯＵ")[0].language == "en"


def test_what_nobody_asked_about_is_one_answer_and_the_rest_another() -> None:
    found = detect("Where is the station?", ["fr", "de"])
    assert {detection.language for detection in found} == {"fr", "de", "en", "und"}
    assert found[0].language == "en"
    assert sum(detection.confidence for detection in found) == pytest.approx(1)
    assert detect("Where is the station?", ["zh"])[0].language == "en"


def test_languages_that_nobody_taught_are_refused() -> None:
    with pytest.raises(
        UserError, match=r"^The languages to detect must be some of en, de, fr, es, .*, but are: de, yo\.$"
    ):
        detect("x", ["de", "yo"])
    with pytest.raises(UserError, match=r"but are: none\.$"):
        detect("x", [])


@given(text=st.text(st.characters()) | st.text(st.sampled_from("aeé ß'’我の가عжᏣ\ud800\u0301İ5_")))
def test_any_text_gets_probabilities_that_sum_to_one(text: str) -> None:
    found = detect(text, ASKED)
    languages = [detection.language for detection in found]
    assert set(ASKED) <= set(languages) <= {*known_languages(), "und"}
    assert len(set(languages)) == len(languages)
    for answers in (found, detect(text)):
        assert sum(detection.confidence for detection in answers) == pytest.approx(1)
        assert [d.confidence for d in answers] == sorted((d.confidence for d in answers), reverse=True)


@pytest.mark.parametrize("text", ["Wo ist der Bahnhof? ", "a", "a_", "a/", "a.", "@", "=<", "'a", "の我", "é"])
def test_a_megabyte_takes_no_longer_than_a_page(text: str) -> None:
    def seconds(length: int) -> float:
        whole = (text * length)[:length]
        start = time.process_time()
        detect(whole)
        return time.process_time() - start

    # The shortest of three: others on the machine can only add, and the very first has to load the table.
    page, megabyte = (min(seconds(length) for _ in range(3)) for length in (10_000, 1_000_000))
    assert megabyte < 5 * page + 0.05
    assert page < 0.1


def test_the_table_is_small_and_credited() -> None:
    folder = resources.files("heedful") / "assets" / "language_detection"
    assert len((folder / "ngrams.npz").read_bytes()) <= 700_000
    assert len(read_table(folder / "ngrams.npz").rows) >= 10_000
    credit = (folder / "README.md").read_text(encoding="utf-8")
    assert all(name in credit for name in ("tatoeba.org", "manythings.org", "CC BY 2.0 FR", "Europarl", "Debian"))


def test_the_first_detection_is_not_slow() -> None:
    """Measured in a process of its own, against what every command does anyway: importing numpy."""
    code = (
        "import time, numpy; from heedful.text.language_detection import detect; start = time.process_time(); "
        "detect('Wo ist der Bahnhof?'); print(time.process_time() - start)"
    )
    seconds = min(
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    )
    assert seconds < 0.12  # about 0.02 on a free machine
