"""`heedful tune`: choose beam size and length penalty on the validation set."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from heedful.cli import options, scoring_options
from heedful.cli.console import note, write_line
from heedful.errors import UserError, count_of

if TYPE_CHECKING:
    from pathlib import Path

    from heedful.config.training import DecodingConfig
    from heedful.tasks.translation.tune import Cell

Number = TypeVar("Number", int, float)


def tune(
    model: scoring_options.Model = None,
    more: scoring_options.More = None,
    data: scoring_options.Data = None,
    config: scoring_options.Config = None,
    source_language: scoring_options.From = None,
    target_language: scoring_options.To = None,
    beams: Annotated[str, typer.Option(metavar="N,N,...", help="Beam sizes to try.")] = "1,2,4,5",
    length_penalties: Annotated[
        str, typer.Option(metavar="A,A,...", help="Exponents of the length penalty to try.")
    ] = "0,0.6,1,1.4",
    tokenize: scoring_options.Tokenize = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Store the choice in the model folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The grid and the choice as one JSON object.")] = False,
    device: options.Device = None,
    quantize: options.Quantize = "auto",
) -> None:
    """Choose beam size and length penalty by BLEU on the validation set.

    The pairs are those the run validates on, or the files of --data. Each cell
    of the grid is a search of its own; of several directions it has the mean.
    The translations of the best cell also say below which confidence a
    translation should be flagged, when one seems to lack something, and how
    often its words are right: --write stores that, too.
    """
    models = scoring_options.joined(model, more)
    if write and len(models) != 1:
        raise UserError("`--write` must be used with one MODEL, the folder the choice is stored in.")
    from heedful.config.training import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY

    beam_sizes = _numbers("--beams", beams, int, least=1, most=MAX_BEAM_SIZE)
    penalties = _numbers("--length-penalties", length_penalties, float, least=0, most=MAX_LENGTH_PENALTY)
    from heedful.storage.descriptions import TranslatorDescription
    from heedful.storage.locate import find_model_folder
    from heedful.storage.model_folder import check_task
    from heedful.tasks.translation.load import load_translator
    from heedful.tasks.translation.reliability_card import reliability_table
    from heedful.tasks.translation.test_sets import find_validation_sets, run_of
    from heedful.tasks.translation.tune import (
        best_cell,
        calibrate,
        find_writable,
        read_directions,
        score_grid,
        write_settings,
    )

    if write:
        find_writable(models[0])  # before the search, which takes long
    for path in models:
        check_task(find_model_folder(path), TranslatorDescription)
    run = run_of(models[0] if models else None, config)
    validation_sets = find_validation_sets(
        run, files=data, tokenize=tokenize, source_language=source_language, target_language=target_language
    )
    directions = read_directions(validation_sets)
    translator = load_translator(models or None, device=device, quantize=quantize, say=note)
    for direction in directions:
        note(f"{direction.title}: {count_of(len(direction.sources), 'pair')}.")
    cells = []
    grid = score_grid(translator, directions, beams=beam_sizes, length_penalties=penalties, lowercase=lowercase)
    for cell in grid:
        cells.append(cell)
        note(f"beam {cell.beam_size}, length penalty {cell.length_penalty:g}: BLEU {cell.bleu:.2f}")
    chosen = best_cell(cells, translator.decoding)
    calibration = calibrate(translator, directions, chosen)
    written = write_settings(models[0], chosen, calibration) if write else None
    for line in _as_json(cells, chosen, written) if as_json else _as_text(cells, chosen, translator.decoding, written):
        write_line(line)
    if not as_json:
        for line in reliability_table(calibration):
            write_line(line)


def _numbers(option: str, text: str, kind: Callable[[str], Number], *, least: float, most: float) -> list[Number]:
    """Read a list of numbers; each is tried once, in ascending order."""
    try:
        values = sorted({kind(part) for part in text.split(",")})
    except ValueError:
        values = []
    if not values or not least <= values[0] <= values[-1] <= most:
        raise UserError(f'`{option}` must be numbers from {least} to {most:g}, separated by commas, but is "{text}".')
    return values


def _as_text(cells: Sequence["Cell"], chosen: "Cell", present: "DecodingConfig", written: "Path | None") -> list[str]:
    from heedful.tasks.translation.tune import DOUBTED_SHARE

    penalties = sorted({cell.length_penalty for cell in cells})
    lines = ["BLEU     length penalty", "beam" + "".join(f"  {penalty:>6g}" for penalty in penalties)]
    for beam_size in sorted({cell.beam_size for cell in cells}):
        row = [cell for cell in cells if cell.beam_size == beam_size]
        lines.append(f"{beam_size:>4}" + "".join(f"  {cell.bleu:6.2f}" for cell in row))
    lines.append(f"Best: beam {chosen.beam_size} and length penalty {chosen.length_penalty:g}, BLEU {chosen.bleu:.2f}.")
    if len(chosen.bleu_of) > 1:
        lines += [f"  {title}: {value:.2f}" for title, value in chosen.bleu_of.items()]
    lines.append(
        f"{DOUBTED_SHARE:.0%} of its lines have a mean log-probability below {chosen.low_confidence:.3f}: "
        "the threshold of low confidence."
    )
    if written is not None:
        lines.append(f"They are the settings of {written} from now on.")
    elif (chosen.beam_size, chosen.length_penalty) == (present.beam_size, present.length_penalty):
        lines.append("The model has these settings already.")
    else:
        lines.append(
            f"The model has beam {present.beam_size} and length penalty {present.length_penalty:g}; "
            "--write stores the choice in its folder."
        )
    return lines


def _as_json(cells: Sequence["Cell"], chosen: "Cell", written: "Path | None") -> list[str]:
    fields = {
        "cells": [_fields(cell) for cell in cells],
        "chosen": _fields(chosen),
        "written": None if written is None else str(written),
    }
    return [json.dumps(fields, ensure_ascii=False)]


def _fields(cell: "Cell") -> dict[str, object]:
    return {
        "beam_size": cell.beam_size,
        "length_penalty": cell.length_penalty,
        "bleu": cell.bleu,
        "directions": cell.bleu_of,
        "low_confidence": cell.low_confidence,
    }
