"""The doctor for texts: sizes, symbols, splits, segments, and what it finds."""

from pathlib import Path
from typing import Any

from heedful.config.language_modeling import LanguageModelRun
from heedful.tasks.language_modeling.doctor import TextExamination, examine_texts
from heedful.text.symbols import ByteSymbols

TEXT = b"the star and the moon\n" * 100


def run_of(data: dict[str, object], **more: Any) -> LanguageModelRun:
    return LanguageModelRun.model_validate(
        {
            "task": "language_modeling",
            "name": "x",
            "data": data,
            "training": {"max_steps": 20, "batch_tokens": 64, "segment_len": 16, "memory_len": 16},
            **more,
        }
    )


def files(
    folder: Path, train: bytes = TEXT, validation: bytes = b"a sun\n", test: bytes = b"rain\n"
) -> dict[str, object]:
    for name, content in (("train", train), ("validation", b"a sun\n"), ("test", test)):
        (folder / name).write_bytes(content)
    return {"kind": "files", "train": [str(folder / "train")], "validation": [str(folder / "validation")],
            "test": {"unseen": str(folder / "test")}}  # fmt: skip


def examine(run: LanguageModelRun) -> TextExamination:
    return examine_texts(run, symbols_of=lambda _: ByteSymbols())


def sentences(found: TextExamination) -> list[tuple[str, str]]:
    return [(finding.severity, finding.sentence) for finding in found.findings]


def test_sizes_symbols_and_segments_are_counted(tmp_path: Path) -> None:
    found = examine(run_of(files(tmp_path)))
    assert [(text.setting, text.num_bytes, text.num_symbols) for text in found.texts] == [
        ("data.train", 2200, 2200),
        ("data.validation", 6, 6),
        ("data.test.unseen", 5, 5),
    ]
    cost = found.estimate
    assert cost is not None
    assert cost.num_streams == 4
    assert cost.num_segments == (2200 - 16) // 4 // 16
    assert cost.num_run_symbols == 20 * 64
    assert cost.num_epochs == 20 / 34
    assert sentences(found) == [("note", "`training.max_steps` = 20 sees only 59% of the training text.")]


def test_one_file_is_cut_as_the_config_says(tmp_path: Path) -> None:
    (tmp_path / "all").write_bytes(TEXT)
    data = {"kind": "split", "path": str(tmp_path / "all"), "train_bytes": 2000, "validation_bytes": 150}
    found = examine(run_of({**data, "test_bytes": 50}))
    assert [(text.setting, text.num_bytes) for text in found.texts] == [
        ("data.train_bytes", 2000),
        ("data.validation_bytes", 150),
        ("data.test_bytes", 50),
    ]
    short = examine(run_of({**data, "test_bytes": 51}))
    assert short.has_errors
    assert "must have at least 2,201 bytes" in short.findings[0].sentence


def test_a_held_out_text_that_is_in_the_training_text_is_told(tmp_path: Path) -> None:
    found = examine(run_of(files(tmp_path, test=b"the moon\nthe rain")))
    assert not [finding for finding in found.findings if finding.severity == "warning"]
    found = examine(run_of(files(tmp_path, test=TEXT[:40])))
    warning = ("warning", "`data.test.unseen`: the whole text is also in the training text; scores will flatter.")
    assert warning in sentences(found)


def test_what_is_no_utf8_matters_to_pieces_and_not_to_bytes(tmp_path: Path) -> None:
    data = files(tmp_path, train=TEXT + b"\xff\xfe" + TEXT)
    assert not any("UTF-8" in sentence for _, sentence in sentences(examine(run_of(data))))
    pieces = sentences(examine(run_of(data, tokenizer={"kind": "subwords"})))
    assert any(sentence.startswith("`data.train`: not all of the text is valid UTF-8") for _, sentence in pieces)
    cut = files(tmp_path, train="é".encode()[1:] + TEXT + "é".encode()[:1])  # characters that a cut has broken
    assert not any("UTF-8" in it for _, it in sentences(examine(run_of(cut, tokenizer={"kind": "subwords"}))))


def test_what_a_run_would_refuse_is_an_error(tmp_path: Path) -> None:
    data = files(tmp_path, train=b"too short")
    short = examine(run_of(data))
    assert short.has_errors
    assert "The training text must have at least 80 symbols" in short.findings[0].sentence
    (tmp_path / "validation").unlink()
    missing = examine(run_of(data))
    assert missing.has_errors
    assert missing.findings[0].sentence.startswith("`data.validation`: The file ")
