"""The families that are compared on Multi30k have configs that agree in all but the model and how it is learned."""

from pathlib import Path

import pytest
from benchmarks.families import FAMILIES, equally_many, on_validation, variants
from benchmarks.unseen_lengths import LONGEST, configs_of

from heedful.comparisons.trials import NOT_BEGUN, Outcome, Trial, run_trials
from heedful.config.load import changed_settings


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_as_many_trials_as_the_transformer_on_the_same_data(name: str) -> None:
    ours, theirs = variants(name, 100), variants("transformer", 100)
    assert len(ours) == len(theirs) == 6
    assert len({run.model_dump_json() for run in ours}) == 6
    for run, other in zip(ours, theirs, strict=True):
        changed = changed_settings(other, run)
        assert {setting.split(".")[0] for setting in changed} <= {"name", "model", "training"}
        assert {setting for setting in changed if setting.startswith("training.")} <= {"training.schedule.peak"}


def test_what_is_tuned_is_never_judged_on_a_test_set() -> None:
    run = variants("transformer", 100)[0]
    assert run.data.test
    assert not on_validation(run).data.test


def test_only_as_many_trials_count_as_every_family_has_finished() -> None:
    labels = {"a": ["a 1", "a 2", "a 3"], "b": ["b 1", "b 2", "b 3"]}
    failures = {"a 1": NOT_BEGUN, "b 2": "diverged"}
    outcomes = {label: Outcome(label, 1, Path(), failures.get(label), ()) for its in labels.values() for label in its}
    counted = equally_many(outcomes, labels)
    assert [it.label for it in counted["a"]] == ["a 2", "a 3"]
    assert [it.label for it in counted["b"]] == ["b 1", "b 2"]  # what diverged was tried
    for label in labels["a"]:
        outcomes[label] = Outcome(label, 1, Path(), NOT_BEGUN, ())
    with pytest.raises(SystemExit, match="No variant"):
        equally_many(outcomes, labels)


def test_lengths_never_seen_differ_in_the_model_alone() -> None:
    first, *others = configs_of(100, LONGEST, []).values()
    assert first.data.filters.max_tokens == LONGEST
    for other in others:
        assert {name.split(".")[0] for name in changed_settings(first, other)} <= {"name", "model", "training"}


@pytest.mark.parametrize(("processes", "minutes"), [(1, 0), (1, 1e-9), (2, 0)])
def test_what_has_not_begun_in_time_is_left_for_another_time(tmp_path: Path, processes: int, minutes: float) -> None:
    trials = [Trial(f"variant {number}", run) for number, run in enumerate(variants("transformer", 100))]
    told: list[str] = []
    outcomes = run_trials(trials, tmp_path, processes=processes, minutes=minutes, say=told.append)
    assert [it.failure for it in outcomes] == [NOT_BEGUN] * len(trials)
    assert told == []
    assert not (tmp_path / "runs").exists()
