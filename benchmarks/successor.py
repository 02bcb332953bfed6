"""A model for measuring speed: the paper's base shape, random weights, and decisions that are never close.

With purely random weights the best two of 32,000 tokens lie within the rounding of 8-bit arithmetic every few steps, so
no two engines would write the same text and nothing could be checked. Here one thing is not random: each token's
embedding is a fixed rotation of its predecessor's, and the decoder's last layer applies that rotation. The model reads
its source, begins with the successor of the token that is most frequent there, and goes on from successor to successor,
each with a clear margin. The amount of arithmetic is that of any model of this shape.
"""

import torch
from torch import Tensor

from heedful.config.models import SinusoidalPositions, TransformerConfig
from heedful.config.training import DecodingConfig
from heedful.models.build import build_model
from heedful.models.transformer import Transformer
from heedful.storage.descriptions import TranslatorDescription
from heedful.storage.folder_files import SpecialIds
from heedful.storage.model_folder import ModelFolder, weights_of
from heedful.text.normalization import Untouched
from heedful.text.subwords import Scores, Subwords
from heedful.text.tokenizer import SpecialIds as TokenizerIds
from heedful.text.tokenizer import Tokenizer

PAD, BOS, EOS, UNK = 0, 1, 2, 3


def build_successor_model(vocab: int, config: TransformerConfig, seed: int = 0) -> Transformer:
    """Build the model that writes successors; positions are laid out as Marian's, so that all engines take it."""
    generator = torch.Generator().manual_seed(seed)
    config = config.model_copy(update={"positions": SinusoidalPositions(layout="halves"), "dropout": 0.0})
    model = build_model(
        config, source_vocab_size=vocab, target_vocab_size=vocab, pad_id=PAD, generator=generator
    ).eval()
    rotation = torch.linalg.qr(torch.randn(config.dim, config.dim, generator=generator, dtype=torch.float64))[0]
    with torch.no_grad():
        model.source_embedding.weight.copy_(_orbit(rotation, vocab, generator) * config.dim**-0.5)
        # The start symbol says nothing, so that the source alone decides the first token.
        model.source_embedding.weight[BOS] = 0
        for name, parameter in model.named_parameters():
            # Sub-layers whisper, so that the token just read is still there to be rotated at the end.
            if name.endswith((".output.weight", ".contract.weight")):
                parameter.mul_(0.2)
        half = config.dim
        cross = model.decoder.layers[-1].cross_attention
        # What the source says, on average: loud enough to be heard over the positions, not over a token just written.
        cross.key_value.weight[half:] = cross.output.weight[:] = 1.2 * torch.eye(half)
        last = model.decoder.layers[-1].feed_forward
        # relu(Mx) - relu(-Mx) = Mx: the rotation, loud enough to drown what it is added to.
        last.expand.weight[:half] = rotation.float()
        last.expand.weight[half : 2 * half] = -rotation.float()
        last.contract.weight.zero_()
        last.contract.weight[:, :half] = 4 * torch.eye(half)
        last.contract.weight[:, half : 2 * half] = -4 * torch.eye(half)
    return model


def _orbit(rotation: Tensor, vocab: int, generator: torch.Generator) -> Tensor:
    """Return a vector of length sqrt(dim) and all that repeated rotation makes of it, [vocab, dim]."""
    first = torch.randn(rotation.size(0), generator=generator, dtype=torch.float64)
    vectors = [first * (rotation.size(0) ** 0.5 / first.norm())]
    for _ in range(vocab - 1):
        vectors.append(rotation @ vectors[-1])
    return torch.stack(vectors).float()


def draw_sentences(vocab: int, count: int, generator: torch.Generator) -> list[list[int]]:
    """Draw sentences of 11 to 31 tokens, the end symbol included, in each of which one token keeps coming back."""
    sentences = []
    for length in torch.randint(10, 31, (count,), generator=generator).tolist():
        tokens = torch.randint(4, vocab - 64, (length,), generator=generator)
        tokens[::3] = tokens[0].item()
        sentences.append([*tokens.tolist(), EOS])
    return sentences


def as_folder(model: Transformer, config: TransformerConfig) -> ModelFolder[TranslatorDescription]:
    """Wrap the model for the exporters, with a vocabulary whose pieces are called w4, w5, ..."""
    vocab = model.output_projection.weight.size(0)
    pieces = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{index}" for index in range(4, vocab))]
    side = Subwords(
        pieces,
        unk_id=UNK,
        reserved_ids={PAD, BOS, EOS, UNK},
        byte_ids=(),
        segmentation=Scores(tuple((piece, -1.0) for piece in pieces[4:])),
        splitting="spaces",
    )
    ids = TokenizerIds(pad=PAD, bos=BOS, eos=EOS, unk=UNK)
    tokenizer = Tokenizer(source=side, target=side, normalization=Untouched(), special_ids=ids)
    return ModelFolder(
        TranslatorDescription(
            model=config.model_copy(update={"positions": SinusoidalPositions(layout="halves"), "dropout": 0.0}),
            special_ids=SpecialIds(pad=PAD, bos=BOS, eos=EOS, unk=UNK),
            source_vocab_size=vocab,
            target_vocab_size=vocab,
            source_language="source",
            target_language="target",
            languages=(),
            decoding=DecodingConfig(),
            facts={},
        ),
        weights_of(model),
        tokenizer.to_json(),
        "",
    )
