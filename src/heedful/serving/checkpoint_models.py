"""Checkpoints of runs as translators: loaded when somebody looks into one, and a few of them kept.

One queue and one thread for all of them, beside those of the models that are served: a slider that is moved makes few
of the served models' clients wait. Knows runs and translators; it knows no HTTP.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from heedful.errors import HeedfulError
from heedful.insight.checkpoint_traces import load_checkpoint_translator
from heedful.serving.bodies import BadRequestError
from heedful.serving.limits import Limits
from heedful.serving.request_queue import Observer
from heedful.serving.runs import Run
from heedful.serving.workplace import Check, Workplace
from heedful.tasks.translation.translator import Translator

_log = logging.getLogger("heedful.serving")


class CheckpointModels(Workplace):
    """The checkpoints of all runs at work."""

    task = "checkpoints"

    def __init__(self, limits: Limits, observer: Observer, device: torch.device) -> None:
        self._device = device
        self._kept: OrderedDict[tuple[str, int, int], Translator] = OrderedDict()
        super().__init__("checkpoints", limits, observer)

    async def look_into(self, run: Run, step: int, work: Callable[[Translator, Check], Any], num_tokens: int) -> Any:
        """Do something with the translator of a checkpoint, on the thread that owns it; raises `RefusedError`."""
        return await self.alone(lambda check: work(self._translator(run, step), check), num_tokens)

    def _translator(self, run: Run, step: int) -> Translator:
        """Return the translator of a checkpoint, which must still be there, also when it is known already."""
        manifest = run.folder / "checkpoints" / f"step-{step:08d}" / "manifest.json"
        try:
            key = str(manifest), step, manifest.stat().st_mtime_ns
        except OSError:
            raise BadRequestError(f"The run {run.id} has no checkpoint of step {step}.", 404) from None
        if key not in self._kept:
            try:
                self._kept[key] = load_checkpoint_translator(run.folder, step, device=self._device)
            except (HeedfulError, OSError) as error:
                _log.warning("a checkpoint cannot be read: %s", error)
                sentence = f"The checkpoint of step {step} of the run {run.id} is damaged. Choose another."
                raise BadRequestError(sentence) from None
        self._kept.move_to_end(key)
        self._drop()
        return self._kept[key]

    def _drop(self) -> None:
        """Forget the checkpoints that were asked for longest ago, as far as there are too many."""
        sizes = [_num_parameters(translator) for translator in self._kept.values()]
        while len(sizes) > 1 and (
            len(sizes) > self._limits.max_loaded_checkpoints or sum(sizes) > self._limits.max_checkpoint_parameters
        ):
            self._kept.popitem(last=False)
            sizes.pop(0)


def _num_parameters(translator: Translator) -> int:
    return sum(parameter.numel() for parameter in translator.readable_model.parameters())
