"""Teaching a drafter (models/drafter.py) what its model writes, so that the model can check several tokens at once.

The model translates text greedily, once; from then on it is only asked what it computed while it wrote, and the drafter
learns to go on from there: one token further, then from its own guess. It begins as the best linear guess, with the
attention of the model's last layer, so that minutes are enough. The model itself stays as it is.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from heedful.config.data import Corpus, DataConfig
from heedful.data.readers import read_pairs
from heedful.decoding import SearchRequest, searched_model
from heedful.engines.int8.engine import Int8Transformer
from heedful.errors import HeedfulError, UserError, count_of
from heedful.models.drafter import Drafter, DrafterShape
from heedful.models.transformer import Transformer
from heedful.nn.layers import DecoderLayer
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.locate import find_model_folder
from heedful.storage.model_folder import load_model_folder, save_model_folder
from heedful.tasks.translation.data import direction_of
from heedful.tasks.translation.load import load_translator
from heedful.tasks.translation.padding import batches_by_length, padded
from heedful.tasks.translation.plan import Unit
from heedful.tasks.translation.request import TranslationRequest
from heedful.tasks.translation.translator import Translator

_BATCH_TOKENS = 1500
_LONGEST = 80
_HELD_OUT = 20  # one batch in so many is not learned from, but measured with


@dataclass(frozen=True)
class DraftingRules:
    """How a drafter is made."""

    hidden_dim: int = 384
    rank: int = 64
    """Width of the projection to tokens."""

    num_tokens: int = 8000
    """The most frequent tokens, which it can guess."""

    num_guesses: int = 3
    """How far ahead it learns to guess, from its own guesses."""

    epochs: float = 2.0
    peak: float = 1e-3
    """The highest learning rate."""

    seed: int = 1


@dataclass(frozen=True)
class Outputs:
    """What a model wrote for some sentences, and what it computed meanwhile."""

    source_mask: Tensor  # bool [batch, source_len]
    token_ids: Tensor  # int64 [batch, target_len]: what was written, the end symbol included
    is_real: Tensor  # bool [batch, target_len]
    hidden: Tensor  # bfloat16 [batch, target_len, dim]: what each was projected from
    key: Tensor  # bfloat16 [batch, heads, source_len, head_dim]: of the last layer
    value: Tensor  # likewise


@dataclass(frozen=True)
class Accuracy:
    """How often guesses were right, of the first token ahead, of the second, ... if all before were."""

    shares: tuple[float, ...]

    @property
    def tokens_a_pass(self) -> float:
        """How many tokens a pass that checks all of them writes, on average."""
        total = product = 1.0
        for share in self.shares:
            product *= share
            total += product
        return total


def add_drafter(
    data: DataConfig,
    model: Path | None,
    out: Path,
    *,
    sentences: int,
    rules: DraftingRules,
    device: str | None = None,
    say: Callable[[str], None],
) -> Accuracy:
    """Write the folder of a model, None being the bundled one, with a drafter to `out`, which must not exist yet.

    It learns from `sentences` sources of each training corpus of `data`, drawn by the seed of `rules`.
    """
    if out.exists():
        raise UserError(f"`--out` must name a new folder, but {out} exists.")
    found = find_model_folder(model)
    translator = load_translator(found, device=device, fast=False, say=say)
    units = [unit for corpus in data.train for unit in _units_of(corpus, data, translator, sentences, rules.seed)]
    drafter, accuracy = train_drafter(translator, units, rules, say)
    save_model_folder(out, replace(load_model_folder(found, TranslatorDescription), drafter=drafter.cpu()))
    return accuracy


def _units_of(corpus: Corpus, data: DataConfig, translator: Translator, count: int, seed: int) -> list[Unit]:
    """Draw sources of a corpus and cut them as all texts are."""
    sources = sorted({source for pair in read_pairs(corpus) if (source := pair.source.strip())})
    chosen = random.Random(seed).sample(sources, min(count, len(sources)))  # noqa: S311 - no secret
    source_language, target_language = direction_of(corpus, data)
    several = len(translator.target_languages) > 1
    request = TranslationRequest(source_language, target_language) if several else TranslationRequest()
    units = [unit for plan in translator.plan(chosen, request) for unit in plan.units]
    return [unit for unit in units if 2 < len(unit.source_ids) <= _LONGEST]


def train_drafter(
    translator: Translator, units: Sequence[Unit], rules: DraftingRules, say: Callable[[str], None]
) -> tuple[Drafter, Accuracy]:
    """Make a drafter for the model of `translator` from units, and say how often it is right on some held out."""
    reader = _Reader(translator)
    say(f"Translating {count_of(len(units), 'sentence')}.")
    batches = list(reader.outputs_of(units))
    random.Random(rules.seed).shuffle(batches)  # noqa: S311 - no secret
    held_out, learned = batches[: 1 + len(batches) // _HELD_OUT], batches[1 + len(batches) // _HELD_OUT :]
    if not learned:
        raise HeedfulError(f"There must be more to learn from than {count_of(len(units), 'sentence')}.")
    torch.manual_seed(rules.seed)
    drafter = _beginning(reader, learned, rules)
    say(f"At the beginning: {_told(_accuracy(drafter, reader, held_out, rules))}.")
    optimizer = torch.optim.AdamW(drafter.parameters(), lr=rules.peak, betas=(0.9, 0.98))
    num_steps = max(1, round(rules.epochs * len(learned)))
    for step in range(num_steps):
        rate = min(1.0, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * step / num_steps))
        optimizer.param_groups[0]["lr"] = rules.peak * rate
        # The further guesses cost as much as the first and are learned from it: they come late.
        num_guesses = 1 if 2 * step < num_steps else rules.num_guesses
        with torch.autocast(reader.device.type, torch.bfloat16):
            losses, _ = _losses(drafter, reader, learned[step % len(learned)], num_guesses)
        optimizer.zero_grad()
        total = torch.stack([loss * 0.8**ahead for ahead, loss in enumerate(losses)]).sum()
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(drafter.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 50 == 0:
            say(f"Step {step + 1} of {num_steps}: {_told(_accuracy(drafter, reader, held_out[:2], rules))}.")
    return drafter.eval(), _accuracy(drafter.eval(), reader, held_out, rules)


def _told(accuracy: Accuracy) -> str:
    shares = ", ".join(f"{share:.1%}" for share in accuracy.shares)
    return f"guesses are right in {shares} of cases, {accuracy.tokens_a_pass:.2f} tokens a pass"


class _Reader:
    """A model that has written, asked about what it computed."""

    def __init__(self, translator: Translator) -> None:
        self.translator, self.device = translator, translator.device
        model = translator.readable_model
        if not isinstance(model, Transformer):
            raise UserError("Only a Transformer can have a drafter, but this model is none.")
        self.model = model
        table = model.target_embedding
        self.embeddings = table.weight.detach() * table.scale  # [vocab, dim]
        self.output_weight = model.output_projection.weight.detach()

    @torch.inference_mode()
    def outputs_of(self, units: Sequence[Unit]) -> Iterator[Outputs]:
        """Translate units greedily, those of one length together, and yield what came of it."""
        searched = searched_model(self.translator.generator)
        engine = None
        if isinstance(searched, Int8Transformer):
            shape = DrafterShape(self.model.dim, self.model.num_heads, 64, 32, 64)  # only so that it keeps its states
            engine = Int8Transformer(self.model, drafter=Drafter(shape))
        lengths = [len(unit.source_ids) for unit in units]
        for numbers in batches_by_length(lengths, _BATCH_TOKENS):
            ids, mask = padded([units[number].source_ids for number in numbers], self.translator.tokenizer.pad_id)
            ids, mask = ids.to(self.device), mask.to(self.device)
            written = self._write(ids, mask)
            kept = torch.tensor([row for row, it in enumerate(written) if it], device=self.device)
            if not kept.numel():
                continue
            targets, is_real = padded([it for it in written if it], self.translator.tokenizer.pad_id)
            targets, is_real, ids, mask = targets.to(self.device), is_real.to(self.device), ids[kept], mask[kept]
            begin = torch.full_like(targets[:, :1], self.translator.tokenizer.bos_id)
            inputs = torch.cat([begin, targets[:, :-1]], dim=1)
            if engine is not None:
                hidden, (key, value) = engine.states_of(ids, mask, inputs)
            else:
                memory = self.model.encode(ids, mask)
                hidden = self.model.decode(inputs, memory, mask)
                key, value = self.last_layer.cross_attention.project_key_value(memory)
            yield Outputs(mask, targets, is_real, hidden.bfloat16(), key.bfloat16(), value.bfloat16())

    @property
    def last_layer(self) -> DecoderLayer:
        """The last layer of the decoder, whose keys and values the drafter looks at."""
        layer = self.model.decoder.layers[-1]
        assert isinstance(layer, DecoderLayer)
        return layer

    def _write(self, ids: Tensor, mask: Tensor) -> list[list[int]]:
        """Translate ids where mask, [batch, source_len]: the tokens, with the end symbol where there is one."""
        tokenizer = self.translator.tokenizer
        request = SearchRequest(
            bos_id=tokenizer.bos_id,
            eos_id=tokenizer.eos_id,
            beam_size=1,
            forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id),
            max_lengths=[2 * int(length) + 10 for length in mask.sum(dim=1)],
        )
        found = self.translator.generator.generate(ids, mask, request)
        return [[*one.token_ids, *[tokenizer.eos_id] * (one.finish_reason == "eos")] for (one,) in found]


def _beginning(reader: _Reader, batches: Sequence[Outputs], rules: DraftingRules) -> Drafter:
    """Make a drafter that guesses the next hidden vector linearly and looks at the source as the last layer does."""
    model, layer = reader.model, reader.last_layer
    vocab = reader.embeddings.size(0)
    counts = sum(torch.bincount(batch.token_ids[batch.is_real], minlength=vocab) for batch in batches)
    assert isinstance(counts, Tensor)
    num_tokens = min(rules.num_tokens, vocab)
    rank = min(rules.rank, model.dim, num_tokens)
    shape = DrafterShape(model.dim, model.num_heads, rules.hidden_dim, rank, num_tokens, rules.num_guesses)
    drafter = Drafter(shape).to(reader.device)
    with torch.no_grad():
        drafter.token_ids.copy_(counts.argsort(descending=True, stable=True)[:num_tokens])
        solution, spread, centre = _linear_guess(reader, batches)
        drafter.join.weight.copy_(solution[:-1].T)
        drafter.join.bias.copy_(solution[-1])
        drafter.final_norm.weight.copy_(spread)
        drafter.final_norm.bias.copy_(centre)
        cross = layer.cross_attention
        for own, theirs in ((drafter.query, cross.query), (drafter.output, cross.output)):
            own.weight.copy_(theirs.weight)
            own.bias.copy_(theirs.bias)
        drafter.output.weight.mul_(0.3)
        drafter.output.bias.mul_(0.3)
        drafter.contract.weight.mul_(0.1)
        # The best narrow projection: the largest singular vectors of the wide one.
        left, sizes, right = torch.linalg.svd(reader.output_weight[drafter.token_ids].float(), full_matrices=False)
        drafter.widen.weight.copy_(left[:, :rank] * sizes[:rank].sqrt())
        drafter.narrow.weight.copy_(right[:rank] * sizes[:rank].sqrt().unsqueeze(1))
        drafter.widen.bias.zero_()
        drafter.narrow.bias.zero_()
    return drafter


def _linear_guess(reader: _Reader, batches: Sequence[Outputs]) -> tuple[Tensor, Tensor, Tensor]:
    """Regress the next hidden vector on this one and the token chosen: [2 dim + 1, dim]; its spread and mean [dim]."""
    width = 2 * reader.model.dim + 1
    left = torch.zeros(width, width, device=reader.device)
    right = torch.zeros(width, width // 2, device=reader.device)
    squares = torch.zeros(width // 2, device=reader.device)
    for batch in batches:
        pairs = batch.is_real[:, 1:]
        given = torch.cat([batch.hidden[:, :-1].float(), reader.embeddings[batch.token_ids[:, :-1]]], dim=-1)[pairs]
        given = torch.cat([given, given.new_ones(len(given), 1)], dim=-1)
        wanted = batch.hidden[:, 1:].float()[pairs]
        left += given.T @ given
        right += given.T @ wanted
        squares += wanted.square().sum(dim=0)
    count = left[-1, -1]
    centre = right[-1] / count
    solution = torch.linalg.solve(left + 1e-2 * count * torch.eye(width, device=left.device), right)
    return solution, (squares / count - centre.square()).clamp(min=1e-6).sqrt(), centre


def _losses(
    drafter: Drafter, reader: _Reader, batch: Outputs, num_guesses: int
) -> tuple[list[Tensor], list[tuple[Tensor, Tensor]]]:
    """Let the drafter guess from every position of a batch at once.

    Returns the loss of each token ahead, and for each which guesses were right and which there were to make.
    """
    place = torch.full((len(reader.embeddings),), -1, device=reader.device)
    place[drafter.token_ids] = torch.arange(len(drafter.token_ids), device=reader.device)
    memory = (batch.key.float(), batch.value.float())
    memory_mask = batch.source_mask[:, None, None, :]
    embedded = reader.embeddings[batch.token_ids]
    hidden, length = batch.hidden.float(), batch.token_ids.size(1)
    losses: list[Tensor] = []
    rights: list[tuple[Tensor, Tensor]] = []
    for ahead in range(min(num_guesses, length - 1)):
        hidden = drafter(hidden[:, : length - ahead - 1], embedded[:, ahead : length - 1], memory, memory_mask)
        is_real = batch.is_real[:, ahead + 1 :]
        wanted = place[batch.token_ids[:, ahead + 1 :]]
        known = is_real & (wanted >= 0)
        scores = drafter.scores(hidden[known]).float()
        losses.append(functional.cross_entropy(scores, wanted[known]))
        right = torch.zeros_like(is_real)
        right[known] = scores.argmax(dim=-1) == wanted[known]
        rights.append((right, is_real))
    return losses, rights


@torch.no_grad()
def _accuracy(drafter: Drafter, reader: _Reader, batches: Sequence[Outputs], rules: DraftingRules) -> Accuracy:
    """Count how often a guess is right, of those whose predecessors were."""
    num_right, num_made = [0] * rules.num_guesses, [0] * rules.num_guesses
    for batch in batches:
        so_far: Tensor | None = None
        for ahead, (right, is_real) in enumerate(_losses(drafter, reader, batch, rules.num_guesses)[1]):
            made = is_real if so_far is None else is_real & so_far[:, : is_real.size(1)]
            so_far = made & right
            num_right[ahead] += int(so_far.sum())
            num_made[ahead] += int(made.sum())
    return Accuracy(tuple(right / max(1, made) for right, made in zip(num_right, num_made, strict=True)))
