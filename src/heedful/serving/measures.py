"""What the server counts, in the words of Prometheus.

Labels have few values: a route of ours, a status, a model's id. Nothing a client writes becomes a label. Where several
processes serve one port, prometheus_client adds up what they count, in the folder of its environment variable.
"""

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from heedful.serving.engines import Engines

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Where processes put what they count, as prometheus_client has it: it must be known when that is imported."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Measures:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("heedful_requests", "Answered requests.", ["route", "status"], registry=self._registry)
        self._seconds = Histogram(
            "heedful_request_seconds", "Time to the answer.", ["route"], buckets=_SECONDS, registry=self._registry
        )
        self._vanished = Counter(
            "heedful_vanished_clients", "Requests whose client left before the answer.", registry=self._registry
        )
        self._batch_items = Histogram(
            "heedful_batch_items", "Texts in a batch.", ["model"], buckets=(1, 2, 4, 8, 16, 32), registry=self._registry
        )
        self._batch_seconds = Histogram(
            "heedful_batch_seconds", "Time of a batch.", ["model"], buckets=_SECONDS, registry=self._registry
        )
        self._tokens = Counter("heedful_source_tokens", "Tokens read.", ["model"], registry=self._registry)
        self._abandoned = Counter(
            "heedful_abandoned_items", "Texts nobody waited for any more.", ["model"], registry=self._registry
        )
        self._waiting = Gauge(
            "heedful_queued_items",
            "Texts in the queue.",
            ["model"],
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._waiting_tokens = Gauge(
            "heedful_queued_tokens",
            "Tokens in the queue.",
            ["model"],
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def on_request(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def on_vanished(self) -> None:
        """Count a client that did not wait."""
        self._vanished.inc()

    def of_model(self, model_id: str) -> "ModelMeasures":
        """Return the observer of one model."""
        return ModelMeasures(
            self._batch_items.labels(model_id),
            self._batch_seconds.labels(model_id),
            self._tokens.labels(model_id),
            self._abandoned.labels(model_id),
        )

    def page(self, engines: Engines) -> bytes:
        """Write all of them, with the queues as they are now."""
        for engine in engines:
            self._waiting.labels(engine.id).set(engine.queue.num_waiting)
            self._waiting_tokens.labels(engine.id).set(engine.queue.num_waiting_tokens)
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


class ModelMeasures:
    """What is counted for one model; see `batching.Observer`."""

    def __init__(self, items: Histogram, seconds: Histogram, tokens: Counter, abandoned: Counter) -> None:
        self._items, self._seconds, self._tokens, self._abandoned = items, seconds, tokens, abandoned

    def on_batch(self, num_items: int, num_tokens: int, seconds: float) -> None:
        """Count a batch."""
        self._items.observe(num_items)
        self._seconds.observe(seconds)
        self._tokens.inc(num_tokens)

    def on_abandoned(self, num_items: int) -> None:
        """Count items nobody waited for."""
        self._abandoned.inc(num_items)
