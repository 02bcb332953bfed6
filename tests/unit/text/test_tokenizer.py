"""Tokenizers by example: the layout of the ids, where pieces come from, tags, and exact sentences."""

import json

import pytest

from heedful.config.data import TokenizerConfig
from heedful.errors import UserError
from heedful.text.learning import learn_tokenizer
from heedful.text.tokenizer import Tokenizer

ENGLISH = ["the tower is lower", "the lower towers"] * 5
GERMAN = ["der Turm ist niedriger", "die niedrigen Türme"] * 5


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return learn_tokenizer(TokenizerConfig(kind=request.param, vocab_size=360), ENGLISH, GERMAN, ["de", "fr"])


def test_the_layout_of_a_vocabulary(tokenizer: Tokenizer) -> None:
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2, 3)
    names = [tokenizer.source_piece(number) for number in range(6)]
    assert names == ["<pad>", "<s>", "</s>", "<unk>", "<2de>", "<2fr>"]
    assert [tokenizer.source_piece(number) for number in (6, 6 + 0x41, 261)] == ["<0x00>", "<0x41>", "<0xFF>"]
    assert tokenizer.source_piece(262)
    assert tokenizer.languages == ("de", "fr")
    assert tokenizer.shared
    assert tokenizer.source_vocab_size == tokenizer.target_vocab_size <= 360


def test_source_and_target_sequences(tokenizer: Tokenizer) -> None:
    pieces = tokenizer.trace_source("the tower").ids
    assert tokenizer.encode_source("the tower", "fr") == [5, *pieces, 2]
    assert tokenizer.encode_target("the tower") == [*pieces, 2]
    assert tokenizer.encode_source("", "de") == [4, 2]
    assert tokenizer.encode_target("") == [2]
    assert tokenizer.encode_source_batch(["the", "tower"], ["de", "fr"]) == [
        tokenizer.encode_source("the", "de"),
        tokenizer.encode_source("tower", "fr"),
    ]


def test_decoding_stops_at_the_end_and_passes_over_symbols(tokenizer: Tokenizer) -> None:
    ids = tokenizer.trace_target("the tower").ids
    assert tokenizer.decode_target([1, 4, *ids, 0, 2, *ids]) == "the tower"
    assert tokenizer.decode_target([]) == ""
    broken = [6 + byte for byte in "é".encode()[:1]]
    assert tokenizer.decode_target([*ids, *broken]) == "the tower\ufffd"


def test_offsets_point_into_the_original_text(tokenizer: Tokenizer) -> None:
    text = "  the  ﬁ  tower日"
    trace = tokenizer.trace_source(text)
    # Pieces of the ligature, which is two letters once it is normalised, all point to the one character typed.
    assert {text[start:end].strip() for start, end in trace.offsets if start in (5, 7)} <= {"ﬁ", ""}
    assert any(text[start:end].strip() == "ﬁ" for start, end in trace.offsets)
    spelled = [offset for piece, offset in zip(trace.pieces, trace.offsets, strict=True) if piece == "<0xE6>"]
    assert spelled == [(15, 16)]
    assert (min(trace.offsets)[0], max(trace.offsets)[1]) == (2, 16)


def test_two_vocabularies_when_they_are_not_shared() -> None:
    config = TokenizerConfig(vocab_size=330, shared=False)
    tokenizer = learn_tokenizer(config, ENGLISH, GERMAN, ["de", "fr"])
    assert not tokenizer.shared
    assert "<2de>" in tokenizer.source.vocabulary
    assert "<2de>" not in tokenizer.target.vocabulary
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.encode_target("die Türme") == tokenizer.encode_target("die Türme")
    assert not again.shared


def test_rare_characters_get_pieces_when_more_of_the_text_is_to_be_covered() -> None:
    lines = ["aaaa bbbb " * 300, "猫"]
    spelled = learn_tokenizer(TokenizerConfig(vocab_size=300), lines, [])
    whole = learn_tokenizer(TokenizerConfig(vocab_size=300, character_coverage=1.0), lines, [])
    assert "猫" not in spelled.source.vocabulary
    assert "猫" in whole.source.vocabulary


def test_text_too_small_for_the_vocabulary_gives_a_smaller_one() -> None:
    assert learn_tokenizer(TokenizerConfig(vocab_size=8000), ["ab ab"], []).source_vocab_size < 280
    silent = learn_tokenizer(TokenizerConfig(vocab_size=300), [], [])
    assert silent.decode_target(silent.encode_target("any text at all")) == "any text at all"


def test_refusals(tokenizer: Tokenizer) -> None:
    with pytest.raises(UserError, match=r"^`tokenizer.vocab_size` must be above 310, but is 300\.$"):
        learn_tokenizer(TokenizerConfig(vocab_size=300), ENGLISH, GERMAN, [f"l{number}" for number in range(50)])
    with pytest.raises(
        UserError, match=r"^The target language must be said, because this model knows several: de, fr\.$"
    ):
        tokenizer.encode_source("the")
    with pytest.raises(UserError, match=r'takes no tag, but was asked for "de"\.$'):
        learn_tokenizer(TokenizerConfig(vocab_size=300), ENGLISH, GERMAN).encode_source("the", "de")


def test_a_register_is_asked_for_by_the_tag_of_its_language() -> None:
    registers = [("everyday", "de"), ("formal", "de"), ("formal", "fr")]
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=320), ENGLISH, GERMAN, ["de", "fr"], registers=registers)
    formal = tokenizer.in_register("formal")
    plain = tokenizer.encode_source("the", "de")
    assert formal.encode_source("the", "de")[1:] == plain[1:]
    assert tokenizer.source_piece(plain[0]) == "<2de>"
    assert tokenizer.source_piece(formal.encode_source("the", "de")[0]) == "<2de:formal>"
    everyday = tokenizer.in_register("everyday")
    assert everyday.tag_of("fr") == tokenizer.tag_of("fr")  # nothing was learned there
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.to_json() == tokenizer.to_json()
    assert json.loads(tokenizer.to_json())["version"] == 2
    assert again.in_register("formal").tag_of("fr") == formal.tag_of("fr")
    with pytest.raises(UserError, match=r'must be one of everyday, formal, but is "fromal"\. Did you mean "formal"\?$'):
        tokenizer.in_register("fromal")
    with pytest.raises(UserError, match=r'has learned it, "de", but was asked for with "fr"\.$'):
        tokenizer.in_register("everyday", "fr")


def test_a_tokenizer_without_registers_says_so_and_is_written_as_before(tokenizer: Tokenizer) -> None:
    content = json.loads(tokenizer.to_json())
    assert content["version"] == 1
    assert "register_ids" not in content
    with pytest.raises(UserError, match=r'must be left out: this model knows none, but is "formal"\.$'):
        tokenizer.in_register("formal")


def test_a_newer_or_damaged_file_is_refused(tokenizer: Tokenizer) -> None:
    content = json.loads(tokenizer.to_json())
    with pytest.raises(UserError, match="has format version 3, but this Heedful reads up to 2"):
        Tokenizer.from_json(json.dumps({**content, "version": 3}))
    with pytest.raises(UserError, match=r"damaged at `special_ids\.pad`"):
        Tokenizer.from_json(json.dumps({**content, "special_ids": {**content["special_ids"], "pad": -1}}))
    with pytest.raises(UserError, match="damaged at `source`: an id is not below"):
        Tokenizer.from_json(json.dumps({**content, "language_ids": {"de": 10_000}}))


def test_case_can_be_folded_away_and_offsets_still_point_into_the_original() -> None:
    tokenizer = learn_tokenizer(TokenizerConfig(vocab_size=320, normalization="nfkc_casefold"), ["straße good"] * 3, [])
    assert tokenizer.encode_source("GOOD Straße") == tokenizer.encode_source("good STRASSE")
    assert tokenizer.decode_source(tokenizer.encode_source("GOOD")) == "good"
    encoding = tokenizer.trace_source("GOOD Straße")
    assert encoding.offsets[-1][1] == len("GOOD Straße")
    assert Tokenizer.from_json(tokenizer.to_json()).normalize("ÀΣ") == "àσ"
