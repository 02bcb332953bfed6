"""A classifier that answers concurrent callers. Knows classifiers and the queue in front of them; it knows no HTTP."""

from collections.abc import Sequence

from heedful.serving.limits import Limits
from heedful.serving.request_queue import IsAbandoned, Observer
from heedful.serving.workplace import Workplace, checking
from heedful.tasks.classification.classifier import Classification, Classifier


class LabellingEngine(Workplace):
    """A classifier at work."""

    task = "classification"

    def __init__(self, model_id: str, classifier: Classifier, limits: Limits, observer: Observer) -> None:
        self.classifier = classifier
        super().__init__(model_id, limits, observer)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return how much of each text the model reads."""
        return [len(ids) for ids in self.classifier.encode(texts).ids] if texts else []

    async def classify(self, texts: Sequence[str], counts: Sequence[int], *, explain: bool) -> list[Classification]:
        """Classify texts of so many tokens, together with whatever else is waiting; raises `RefusedError`."""
        items = [self.item(explain, text, count) for text, count in zip(texts, counts, strict=True)]
        return await self.results(items)

    def run_batch(self, key: bool, texts: Sequence[str], is_abandoned: IsAbandoned) -> Sequence[Classification]:
        """Classify texts of which all, or none, are to be explained, which can be interrupted between two passes."""
        return self.classifier.classify_detailed(texts, explain=key, before_pass=checking(is_abandoned))
