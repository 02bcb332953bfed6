"""What tests of one family say to mypy: that the model they have built is of it."""

from heedful.models.interfaces import EncoderDecoder
from heedful.models.transformer import Transformer


def as_transformer(model: EncoderDecoder) -> Transformer:
    assert isinstance(model, Transformer)
    return model
