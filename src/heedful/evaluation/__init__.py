"""How good and how fast: scores with signatures, intervals and significance; tokens a second. Knows no model."""

from heedful.evaluation.scores import Comparison, Score, bleu, compare_systems, score_corpus
from heedful.evaluation.speed import Speed, measure_speed

__all__ = ["Comparison", "Score", "Speed", "bleu", "compare_systems", "measure_speed", "score_corpus"]
