"""The speed of recurrent models: against JoeyNMT's of the same shape, and against PyTorch's fused LSTM alone.

    python -m benchmarks.recurrent_speed [--threads N] [--rounds N]

Both sides get the same drawn sentences, in the lengths of a small corpus, and take turns in one process; what is
compared is the time of this process's threads, so that a busy machine costs neither side. Decoding is a beam search of
five that may not end before the longest length, on both sides; ours runs in floats, and with the output projection of
the int8 engine, as `heedful translate` does. Training is forward, loss, backward and a step of Adam. Without the
package `joeynmt` (2.3) only the comparison with PyTorch's LSTM is made. Prints JSON.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from heedful.config.models import RecurrentConfig
from heedful.config.training import NoRegularizer
from heedful.data.batch import collate
from heedful.decoding import Decodable, SearchRequest
from heedful.decoding.beam import beam_search
from heedful.engines.int8.output import Int8Recurrent
from heedful.models import build_model
from heedful.models.recurrent import RecurrentModel
from heedful.nn.recurrent import BothWays
from heedful.training.losses.sequence import SequenceLoss

VOCAB, DIM, SENTENCES, SOURCE_LEN, TARGET_LEN, BEAM, STEPS = 10_000, 256, 64, 16, 16, 5, 20
PAD_ID, BOS_ID, EOS_ID = 1, 2, 3  # as JoeyNMT has them


def sentences(seed: int) -> tuple[list[list[int]], list[list[int]]]:
    """Draw the two sides of a batch, lengths between half of the longest and all of it."""
    generator = torch.Generator().manual_seed(seed)

    def side(longest: int) -> list[list[int]]:
        lengths = torch.randint(longest // 2, longest, (SENTENCES,), generator=generator).tolist()
        lengths[0] = longest - 1
        return [[*torch.randint(4, VOCAB, (length,), generator=generator).tolist(), EOS_ID] for length in lengths]

    return side(SOURCE_LEN), side(TARGET_LEN)


def ours(
    attention: str, *, input_feeding: bool
) -> tuple[Callable[[int], None], Callable[[int], None], Callable[[int], None]]:
    """Return a training step and two searches of our model, in floats and by the engine, each a function of a seed."""
    config = RecurrentConfig.model_validate(
        {"kind": "recurrent", "cell": "lstm", "dim": DIM, "attention": attention, "input_feeding": input_feeding}
    )
    model = build_model(config, source_vocab_size=VOCAB, target_vocab_size=VOCAB, pad_id=PAD_ID)
    assert isinstance(model, RecurrentModel)
    engine = Int8Recurrent(model, threads=torch.get_num_threads())
    loss = SequenceLoss(model, label_smoothing=0.1, regularizer=NoRegularizer())
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def train(seed: int) -> None:
        model.train()
        batch = collate(*sentences(seed), bos_id=BOS_ID, pad_id=PAD_ID)
        optimizer.zero_grad()
        loss(batch).loss_sum.backward()
        optimizer.step()

    def decode(seed: int, searched: Decodable[Any] = model) -> None:
        model.eval()
        batch = collate(*sentences(seed), bos_id=BOS_ID, pad_id=PAD_ID)
        request = SearchRequest(
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            max_lengths=[STEPS] * SENTENCES,
            beam_size=BEAM,
            min_length=STEPS,
            forbidden_ids=(PAD_ID, BOS_ID),
        )
        found = beam_search(searched, batch.source_ids, batch.source_mask, request)
        assert all(len(one[0].token_ids) == STEPS for one in found), "both sides must take all steps"

    return train, decode, partial(decode, searched=engine)


def joeys(attention: str, *, input_feeding: bool) -> tuple[Callable[[int], None], Callable[[int], None]]:
    """Return the same of JoeyNMT's model."""
    from joeynmt.model import build_model as build_theirs  # type: ignore[import-not-found]
    from joeynmt.search import beam_search as search_theirs  # type: ignore[import-not-found]
    from joeynmt.vocabulary import Vocabulary  # type: ignore[import-not-found]

    symbols = SimpleNamespace(
        unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None,
        unk_id=0, pad_id=1, bos_id=2, eos_id=3, sep_id=None, lang_tags=[],
    )  # fmt: skip
    vocabulary = Vocabulary([f"w{number}" for number in range(VOCAB - 4)], symbols)
    stack = {
        "type": "recurrent", "rnn_type": "lstm", "hidden_size": DIM, "num_layers": 2, "dropout": 0.2,
        "embeddings": {"embedding_dim": DIM, "scale": False, "dropout": 0.2},
    }  # fmt: skip
    model = build_theirs(
        {
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": {**stack, "hidden_size": DIM // 2, "bidirectional": True},
            "decoder": {
                **stack, "attention": attention, "input_feeding": input_feeding, "init_hidden": "bridge",
                "hidden_dropout": 0.2,
            },
        },
        src_vocab=vocabulary,
        trg_vocab=vocabulary,
    )  # fmt: skip
    model.loss_function = ("crossentropy", 0.1)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def given(seed: int) -> dict[str, Any]:
        batch = collate(*sentences(seed), bos_id=BOS_ID, pad_id=PAD_ID)
        lengths, order = batch.source_mask.sum(dim=1).sort(descending=True)
        target: Tensor = batch.target_output_ids[order]
        return {
            "src": batch.source_ids[order],
            "src_mask": batch.source_mask[order].unsqueeze(1),
            "src_length": lengths,
            "trg_input": batch.target_input_ids[order],
            "trg": target,
            "trg_mask": (target != PAD_ID).unsqueeze(1),
        }

    def train(seed: int) -> None:
        model.train()
        optimizer.zero_grad()
        model(return_type="loss", **given(seed))[0].backward()
        optimizer.step()

    @torch.no_grad()
    def decode(seed: int) -> None:
        model.eval()
        batch = given(seed)
        output, hidden, _, _ = model(return_type="encode", **batch)
        written, _, _ = search_theirs(
            model=model, beam_size=BEAM, encoder_output=output, encoder_hidden=hidden, src_mask=batch["src_mask"],
            max_output_length=STEPS, alpha=1.0, n_best=1, min_output_length=STEPS,
        )  # fmt: skip
        assert written.shape == (SENTENCES, STEPS), "both sides must take all steps"

    return train, decode


def fused() -> tuple[Callable[[int], None], Callable[[int], None]]:
    """Return forward and backward of our layer that reads both ways, and of PyTorch's."""
    our_layer, their_layer = BothWays(DIM, "lstm"), nn.LSTM(DIM, DIM // 2, batch_first=True, bidirectional=True)

    def inputs(seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(SENTENCES, SOURCE_LEN, DIM, generator=generator, requires_grad=True)

    mask = torch.ones(SENTENCES, SOURCE_LEN, dtype=torch.bool)
    return (
        lambda seed: our_layer(inputs(seed), mask).sum().backward(),
        lambda seed: their_layer(inputs(seed))[0].sum().backward(),
    )


def seconds(work: Callable[[int], None], seed: int) -> float:
    """Return the processor time of one piece of work."""
    start = time.process_time()
    work(seed)
    return time.process_time() - start


def compare(one: Callable[[int], None], other: Callable[[int], None], rounds: int) -> dict[str, float]:
    """Let two take turns; return the median milliseconds of each, and how many times the second takes the first's."""
    one(0), other(0)
    times = [(seconds(one, seed), seconds(other, seed)) for seed in range(1, rounds + 1)]
    medians = [1000 * statistics.median(column) for column in zip(*times, strict=True)]
    return {
        "ours_ms": round(medians[0], 1),
        "theirs_ms": round(medians[1], 1),
        "ratio": round(medians[1] / medians[0], 2),
    }


def main() -> None:
    """Run all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    found: dict[str, object] = {"both ways against nn.LSTM": compare(*fused(), options.rounds * 3)}
    print(json.dumps(found), flush=True)
    pairs = {"additive": "bahdanau", "general": "luong"}
    for name, theirs in pairs.items():
        for feeding in (True, False):
            (train, decode, decode_int8) = ours(name, input_feeding=feeding)
            try:
                (their_train, their_decode) = joeys(theirs, input_feeding=feeding)
            except ImportError:
                return
            label = f"{name}{', input feeding' if feeding else ''}"
            contests = {
                "decoding": (decode, their_decode),
                "decoding, int8 output": (decode_int8, their_decode),
                "training": (train, their_train),
            }
            for what, sides in contests.items():
                print(json.dumps({f"{what}, {label}": compare(*sides, options.rounds)}), flush=True)


if __name__ == "__main__":
    main()
