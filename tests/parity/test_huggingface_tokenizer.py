"""AutoTokenizer and AutoModelForSeq2SeqLM do with an exported model what Heedful does: tokens, logits, translations."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from heedful.interop import export_huggingface
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import ModelFolder, load_model_folder, restore_model
from heedful.text.tokenizer import Tokenizer
from tests.support.commands import Command
from tests.support.own_model import make_own_model
from tests.support.searches import search
from tests.support.small_run import write_corpus

Exported = tuple[ModelFolder[TranslatorDescription], Path]

EVERYDAY = Path(__file__).parents[2] / "benchmarks" / "everyday_sentences.tsv"
TEXTS = [line.split("\t")[1] for line in EVERYDAY.read_text(encoding="utf-8").splitlines()]
HARD_TEXTS = [
    "", "  two  spaces ", "ﬁne ① Ａ１ｂ", "e\u0301 n\u0303", "顯著 著名 走著 妳好 漢字", "ka\tlo\u00a0mi", "…«»",
    "😀 👩‍👩‍👧 x", "a\u2028b", "<0x41>", "it's 12,5 % of the 3rd", "\U0010ffff\U0010fffe", "日本語テスト",
    "ＡＢＣ，？！", "x" * 300, "\x1c\x85 \u3000",
]  # fmt: skip
ENGLISH = [
    f"{who} {does} {what}{end}"
    for who, end in (("I", "."), ("My old friend", "."), ("Why does nobody think that she", "?"), ("They", " today!"))
    for does in ("can see", "would like to buy", "has never read", "lost", "will bring")
    for what in ("the book", "a small dog", "our house by the sea", "these two red apples", "what you wrote")
]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def fresh(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, heedful: Command) -> Exported:
    """A pre-norm model that the command has just trained and exported."""
    root = tmp_path_factory.mktemp(request.param)
    write_corpus(root)
    shape = ["model.norm=pre", f"tokenizer.kind={request.param}", "training.max_steps=120"]
    for words in (
        ["train", "small.toml", "--device", "cpu", *shape],
        ["export", "runs/small", "--format", "huggingface", "--out", "theirs"],
    ):
        done = heedful(*words, cwd=root, HEEDFUL_CACHE=str(root / "cache"))
        assert done.returncode == 0, done.stderr.decode()
    return load_model_folder(root / "runs" / "small" / "model", TranslatorDescription), root / "theirs"


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = load_model_folder(find_model_folder("bundled"), TranslatorDescription)
    out = tmp_path_factory.mktemp("bundled") / "theirs"
    assert export_huggingface(folder, out) is None
    return folder, out


def tagged(tokenizer: Tokenizer, text: str, language: str | None) -> str:
    return text if language is None else f"{tokenizer.source_piece(tokenizer.language_ids[language])} {text}"


def assert_tokens_agree(folder: ModelFolder[TranslatorDescription], out: Path) -> None:
    ours, theirs = Tokenizer.from_json(folder.tokenizer_json), AutoTokenizer.from_pretrained(out)
    for text in TEXTS + ENGLISH + HARD_TEXTS:
        for language in ours.languages or (None,):
            assert theirs(tagged(ours, text, language))["input_ids"] == ours.encode_source(text, language), text
        ids = ours.encode_target(text)
        assert theirs.decode(ids, skip_special_tokens=True) == ours.decode_target(ids)


def assert_translations_agree(folder: ModelFolder[TranslatorDescription], out: Path, texts: list[str]) -> None:
    """Compare what both write, greedily, and the logits of it."""
    ours, theirs = Tokenizer.from_json(folder.tokenizer_json), AutoTokenizer.from_pretrained(out)
    model, reference = AutoModelForSeq2SeqLM.from_pretrained(out).eval(), restore_model(folder)
    language = "de" if ours.languages else None
    batch = theirs([tagged(ours, text, language) for text in texts], padding=True, return_tensors="pt")
    written: Any = model.generate(**batch, num_beams=1, max_new_tokens=40)
    mask = batch["attention_mask"].bool()
    with torch.no_grad():
        logits = model(**batch, decoder_input_ids=written).logits
        torch.testing.assert_close(logits, reference(batch["input_ids"], mask, written), atol=1e-4, rtol=1e-4)
    found = search(
        reference,
        batch["input_ids"],
        mask,
        bos_id=ours.bos_id,
        eos_id=ours.eos_id,
        max_lengths=[40] * len(texts),
        beam_size=1,
        forbidden_ids=(ours.pad_id, ours.bos_id, ours.unk_id),
    )
    translations = theirs.batch_decode(written, skip_special_tokens=True)
    assert translations == [ours.decode_target(hypotheses[0].token_ids) for hypotheses in found]
    assert len(set(translations)) > len(texts) / 2, "they should say something"


def test_the_bundled_model_has_its_tokens_there(bundled: Exported) -> None:
    assert_tokens_agree(*bundled)


def test_the_bundled_model_translates_a_hundred_sentences_there_as_here(bundled: Exported) -> None:
    assert len(ENGLISH) == 100
    assert_translations_agree(*bundled, ENGLISH)


def test_a_fresh_pre_norm_model_is_the_same_there(fresh: Exported) -> None:
    assert_tokens_agree(*fresh)
    assert_translations_agree(*fresh, (fresh[1].parent / "train.en").read_text(encoding="utf-8").split("\n")[:100])


def test_what_autotokenizer_cannot_read_is_told(tmp_path: Path) -> None:
    why = export_huggingface(make_own_model(shared=False, tying="two_way"), tmp_path / "out")
    assert why is not None
    assert not (tmp_path / "out" / "tokenizer.json").exists()
    assert (tmp_path / "out" / "heedful_tokenizer.json").is_file()
