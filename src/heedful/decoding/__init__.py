"""Stage ⑤: from a model to token ids. Knows the protocol of a model, no tokenizer and no concrete model."""

from heedful.decoding.beam import beam_search
from heedful.decoding.drafting import Drafter, Guessing, Lookup, OwnGuesses
from heedful.decoding.ensemble import Ensemble
from heedful.decoding.fertile import Fertile
from heedful.decoding.generation import Generator, Stepwise, batch_tokens_of, searched_model
from heedful.decoding.greedy import greedy_search
from heedful.decoding.hypothesis import FinishReason, Hypothesis
from heedful.decoding.parallel import Parallel
from heedful.decoding.protocol import Decodable, Extendable
from heedful.decoding.reading import KeptReading
from heedful.decoding.recorded import Recorded
from heedful.decoding.recorder import BeamStep, Recorder, StepList
from heedful.decoding.request import Beginning, SearchRequest
from heedful.decoding.sampling import sample
from heedful.decoding.speculative import Round, Speculative
from heedful.decoding.terms import Term
from heedful.decoding.ways import Diverse, Sampling

__all__ = [
    "BeamStep",
    "Beginning",
    "Decodable",
    "Diverse",
    "Drafter",
    "Ensemble",
    "Extendable",
    "Fertile",
    "FinishReason",
    "Generator",
    "Guessing",
    "Hypothesis",
    "KeptReading",
    "Lookup",
    "OwnGuesses",
    "Parallel",
    "Recorded",
    "Recorder",
    "Round",
    "Sampling",
    "SearchRequest",
    "Speculative",
    "StepList",
    "Stepwise",
    "Term",
    "batch_tokens_of",
    "beam_search",
    "greedy_search",
    "sample",
    "searched_model",
]
