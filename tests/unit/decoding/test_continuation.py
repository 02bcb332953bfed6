"""Writing on: what is drawn follows the settings, and the reader has read every symbol once."""

from typing import Any

import pytest
import torch

from heedful.decoding.continuation import SamplingRequest, continue_text
from heedful.errors import UserError


class Successor:
    """Expects the symbol after the last one, most of all; remembers what it has read."""

    def __init__(self, vocab: int = 10, sure: float = 5.0) -> None:
        self.vocab, self.sure = vocab, sure
        self.pieces: list[Any] = []

    def read(self, token_ids: torch.Tensor) -> torch.Tensor:
        self.pieces.append(token_ids[0].tolist())
        return self.sure * torch.nn.functional.one_hot((token_ids + 1) % self.vocab, self.vocab).float()


def written(reader: Any = None, prompt: Any = (3, 4, 5), segment_len: int = 2, **settings: Any) -> list[int]:
    prompt_ids = torch.tensor([list(prompt)])
    return list(continue_text(reader or Successor(), prompt_ids, SamplingRequest(**settings), segment_len=segment_len))


def test_the_likeliest_is_taken_at_temperature_zero() -> None:
    reader = Successor()
    assert written(reader, max_tokens=4, temperature=0.0) == [6, 7, 8, 9]
    assert reader.pieces == [[3, 4], [5], [6], [7], [8]]  # the last symbol is read by nobody: nobody asked for more


@pytest.mark.parametrize("settings", [{"top_k": 1}, {"top_p": 0.5}, {"temperature": 1e-3}])
def test_every_way_to_be_sure_gives_the_same(settings: dict[str, int] | dict[str, float]) -> None:
    assert written(max_tokens=4, **settings) == [6, 7, 8, 9]


def test_a_seed_is_a_text_and_another_seed_another() -> None:
    texts = {seed: tuple(written(Successor(sure=0.5), max_tokens=20, seed=seed)) for seed in (1, 2)}
    assert texts[1] != texts[2]
    assert tuple(written(Successor(sure=0.5), max_tokens=20, seed=1)) == texts[1]


def test_a_symbol_is_drawn_when_it_is_asked_for() -> None:
    reader = Successor()
    request = SamplingRequest(max_tokens=5, temperature=0.0)
    symbols = continue_text(reader, torch.tensor([[1]]), request, segment_len=4)
    assert next(symbols) == 2
    assert reader.pieces == [[1]]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"max_tokens": 0}, "`max_tokens` must be at least 1, but is 0"),
        ({"max_tokens": 1, "temperature": -1.0}, "`temperature` must be 0 or greater, but is -1"),
        ({"max_tokens": 1, "temperature": float("nan")}, "`temperature` must be 0 or greater"),
        ({"max_tokens": 1, "top_k": 0}, "`top_k` must be at least 1"),
        ({"max_tokens": 1, "top_p": 1.5}, "`top_p` must be greater than 0 and at most 1"),
    ],
)
def test_impossible_wishes_are_refused(settings: dict[str, int] | dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        written(**settings)
