"""Blocks: tensors in, tensors out, plain keyword arguments. Nothing here knows a tokenizer, a config or a task."""

from heedful.nn.additive_attention import AdditiveAttention, attend_additive
from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention, attend, attend_fused
from heedful.nn.conditioned_attention import ConditionedAttention
from heedful.nn.convolution import GatedConvolution
from heedful.nn.embedding import OutputProjection, TokenEmbedding
from heedful.nn.feed_forward import FeedForward
from heedful.nn.initialization import initialize
from heedful.nn.layers import DecoderLayer, EncoderLayer, PostNormResidual, PreNormResidual
from heedful.nn.masks import causal_mask, padding_mask
from heedful.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions, sinusoidal_table
from heedful.nn.recurrent import BothWays, GatedRecurrence
from heedful.nn.relative_attention import (
    RelativePositions,
    RelativeSelfAttention,
    attend_relative,
    attend_relative_fused,
)

__all__ = [
    "AdditiveAttention",
    "BothWays",
    "ConditionedAttention",
    "DecoderLayer",
    "EncoderLayer",
    "FeedForward",
    "GatedConvolution",
    "GatedRecurrence",
    "LearnedPositions",
    "MultiHeadAttention",
    "MultiHeadSelfAttention",
    "NoPositions",
    "OutputProjection",
    "PostNormResidual",
    "PreNormResidual",
    "RelativePositions",
    "RelativeSelfAttention",
    "SinusoidalPositions",
    "TokenEmbedding",
    "attend",
    "attend_additive",
    "attend_fused",
    "attend_relative",
    "attend_relative_fused",
    "causal_mask",
    "initialize",
    "padding_mask",
    "sinusoidal_table",
]
