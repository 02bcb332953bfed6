"""The families that are compared on Multi30k have configs that agree in all but the model and how it is learned."""

import pytest
from benchmarks.families import FAMILIES, on_validation, variants

from heedful.config.load import changed_settings


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_as_many_trials_as_the_transformer_on_the_same_data(name: str) -> None:
    ours, theirs = variants(name), variants("transformer")
    assert len(ours) == len(theirs) == 6
    assert len({run.model_dump_json() for run in ours.values()}) == 6
    for run, other in zip(ours.values(), theirs.values(), strict=True):
        changed = changed_settings(other, run)
        assert {setting.split(".")[0] for setting in changed} <= {"name", "model", "training"}
        assert {setting for setting in changed if setting.startswith("training.")} <= {"training.schedule.peak"}


def test_what_is_tuned_is_never_judged_on_a_test_set() -> None:
    run = next(iter(variants("transformer").values()))
    assert run.data.test
    assert not on_validation(run).data.test
