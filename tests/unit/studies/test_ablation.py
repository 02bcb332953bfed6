"""What is concluded from the scores of rows, and that every row is a config that can be read."""

from pathlib import Path

import pytest

from heedful.config.load import load_config, parse_config
from heedful.errors import UserError
from heedful.studies.ablation import (
    BASE,
    Result,
    Row,
    ablation_report,
    choose_rows,
    gradients_through_depth,
    rows_of,
)
from tests.support.small_run import CONFIG

SHIPPED = Path(__file__).parents[3] / "configs" / "multi30k_ablation.toml"


def test_every_row_of_the_shipped_config_is_another_config_that_can_be_built() -> None:
    base = load_config(SHIPPED)
    rows = rows_of(base)
    configs = [load_config(SHIPPED, row.settings) for row in rows]
    told = [config.model_dump_json() for config in configs]
    assert len(set(told)) == len(rows) == 19
    assert configs[0] == base
    assert {row.label for row in rows} >= {"heads: 16", "feed-forward: 8×", "positions: sine only", "pre-norm"}
    assert all(len(gradients_through_depth(config)) == 8 for config in configs[:3])


def test_no_warm_up_keeps_the_rest_of_the_schedule() -> None:
    (row,) = [row for row in rows_of(parse_config(CONFIG)) if row.label == "no warm-up"]
    changed = parse_config(CONFIG, row.settings).training.schedule
    assert changed == parse_config(CONFIG).training.schedule.model_copy(update={"warmup_steps": 1})


def test_gradients_through_depth_are_those_of_the_literature() -> None:
    """Xiong et al. (2020): at the start they shrink towards the output with pre-norm and grow with post-norm."""
    deep = ["model.num_decoder_layers=12"]
    pre, post = (
        gradients_through_depth(parse_config(CONFIG, [*deep, f"model.norm={norm}"])) for norm in ("pre", "post")
    )
    assert pre[-1] < 0.8 * pre[1]
    assert post[-1] > 2 * post[1]
    alone = gradients_through_depth(parse_config(CONFIG, [*deep, 'model.ablations=["no_residual"]']))
    assert alone[5] < 1e-3 * alone[-1], "without residuals nothing comes down through twelve layers"


def test_rows_are_chosen_by_their_labels() -> None:
    rows = rows_of(parse_config(CONFIG))
    assert [row.label for row in choose_rows(rows, "positions: none, no residual")] == [
        BASE, "no residual", "positions: none",
    ]  # fmt: skip
    with pytest.raises(UserError, match='but one is "no heads"'):
        choose_rows(rows, "no heads")
    with pytest.raises(UserError, match="must be of a Transformer"):
        rows_of(parse_config(CONFIG.split("[model]")[0] + '[model]\nkind = "recurrent"\n'))


def result(label: str, *scores: float, claim: str = "", failure: str | None = None) -> Result:
    found = dict(enumerate(scores, start=1))
    return Result(Row(label, (), claim), found, () if failure is None else (failure,))


def test_a_claim_holds_when_the_difference_is_beyond_chance() -> None:
    config = parse_config(CONFIG)
    results = [
        result(BASE, 30.0, 31.0, 32.0),
        result("worse", 20.0, 21.1, 21.9, claim="It matters."),
        result("alike", 30.2, 30.7, 32.1, claim="It matters, too."),
        result("better", 33.0, 34.1, 34.9, claim="It harms."),
        result("broken", claim="It is needed.", failure="It diverged."),
    ]
    report = ablation_report(config, results, {BASE: [1.0, 2.0]}, "test")
    claims = next(block for block in report.blocks if getattr(block, "title", "") == "What is claimed")
    assert [row[2] for row in claims.rows] == ["holds", "not seen", "does not hold", "holds: the training failed"]
    assert "Worse beyond chance: worse (-10.0). Better: better (+3.0)." in report.blocks[0]
    assert "broken failed: It diverged." in report.blocks
    assert report.data["rows"][1]["difference"]["value"] == pytest.approx(-10.0)


def test_of_one_seed_nothing_is_concluded() -> None:
    results = [result(BASE, 30.0), result("worse", 20.0, claim="It matters.")]
    report = ablation_report(parse_config(CONFIG), results, {BASE: [1.0]}, "test")
    claims = next(block for block in report.blocks if getattr(block, "title", "") == "What is claimed")
    assert [row[2] for row in claims.rows] == ["not known: one seed"]
