"""Blocks: tensors in, tensors out, plain keyword arguments. Nothing here knows a tokenizer, a config or a task."""

from heedful.nn.attention import MultiHeadAttention, MultiHeadSelfAttention, attend, attend_fused
from heedful.nn.conditioned_attention import ConditionedAttention
from heedful.nn.convolution import GatedConvolution
from heedful.nn.embedding import OutputProjection, TokenEmbedding
from heedful.nn.feed_forward import FeedForward
from heedful.nn.initialization import initialize
from heedful.nn.layers import DecoderLayer, EncoderLayer, PostNormResidual, PreNormResidual
from heedful.nn.masks import causal_mask, padding_mask
from heedful.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions, sinusoidal_table
from heedful.nn.recurrent import BothWays, GatedRecurrence, LongShortTermMemory
from heedful.nn.relative_attention import (
    RelativePositions,
    RelativeSelfAttention,
    attend_relative,
    attend_relative_fused,
)
from heedful.nn.single_head_attention import AdditiveAttention, DotAttention, GeneralAttention

__all__ = [
    "AdditiveAttention",
    "BothWays",
    "ConditionedAttention",
    "DecoderLayer",
    "DotAttention",
    "EncoderLayer",
    "FeedForward",
    "GatedConvolution",
    "GatedRecurrence",
    "GeneralAttention",
    "LearnedPositions",
    "LongShortTermMemory",
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
    "attend_fused",
    "attend_relative",
    "attend_relative_fused",
    "causal_mask",
    "initialize",
    "padding_mask",
    "sinusoidal_table",
]
