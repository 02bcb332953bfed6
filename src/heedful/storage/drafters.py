"""The file of a drafter in a model folder: matrices as bytes with their scales, and the tokens it can guess.

Its shape is that of its tensors. What is missing, altered or of another model is refused with a sentence. Knows files
and tensors; knows no search.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from heedful.config.models import TransformerConfig
from heedful.errors import ModelFolderError
from heedful.models.build import parameter_shapes
from heedful.models.drafter import Drafter, DrafterShape
from heedful.storage.descriptions import Description, TranslatorDescription
from heedful.storage.quantized_weights import QuantizedWeights

TOKENS = "token_ids"
GUESSES = "num_guesses"
_MOST_GUESSES = 32


def pack_drafter(drafter: Drafter) -> dict[str, Tensor]:
    """Return the tensors of a drafter as they are stored, such as [dim, dim] in bytes."""
    stored = QuantizedWeights.of({name: it.detach().cpu() for name, it in drafter.named_parameters()}).stored
    return {
        **stored,
        TOKENS: drafter.token_ids.to(torch.int32).cpu(),
        GUESSES: torch.tensor([drafter.shape.num_guesses]),
    }


def unpack_drafter(path: Path, stored: Mapping[str, Tensor], description: Description) -> Drafter:
    """Make the drafter of the file `path`, which must fit the model that is described."""
    if not isinstance(description, TranslatorDescription) or not isinstance(description.model, TransformerConfig):
        raise ModelFolderError(f"{path} must be beside a Transformer that translates, but is not. Remove it.")
    dim, num_heads = description.model.dim, description.model.num_heads
    tensors = dict(stored)
    token_ids = tensors.pop(TOKENS, torch.empty(0, dtype=torch.int32))
    num_guesses = int(tensors.pop(GUESSES, torch.tensor([DrafterShape.num_guesses])).flatten()[:1].sum())
    weights = QuantizedWeights(tensors)
    if problem := weights.find_problem():
        raise ModelFolderError(f"{path}: {problem}.")
    hidden, narrow = tensors.get("expand.weight"), tensors.get("narrow.weight")
    if token_ids.dtype != torch.int32 or hidden is None or narrow is None:
        raise ModelFolderError(f"{path} must hold the tensors of a drafter, but does not.")
    shape = DrafterShape(dim, num_heads, hidden.size(0), narrow.size(0), token_ids.numel(), num_guesses)
    if not 1 <= num_guesses <= _MOST_GUESSES:
        raise ModelFolderError(f"{path}: `{GUESSES}` must be between 1 and {_MOST_GUESSES}, but is {num_guesses}.")
    expected = parameter_shapes(lambda: Drafter(shape))
    found = {name: tuple(tensors[name].shape) for name in weights}
    if found != dict(expected):
        raise ModelFolderError(f"{path} must fit its model, but is for another one.")
    if not token_ids.numel() or int(token_ids.min()) < 0 or int(token_ids.max()) >= description.target_vocab_size:
        raise ModelFolderError(f"{path}: `{TOKENS}` must be tokens of the model, but are not.")
    drafter = Drafter(shape)
    drafter.load_state_dict({**weights, TOKENS: token_ids.long()})
    return drafter.eval()
