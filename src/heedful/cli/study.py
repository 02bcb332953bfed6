"""`heedful study`: claims about models, measured on the reader's own machine and data."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note, write_bytes, write_line
from heedful.errors import UserError

if TYPE_CHECKING:
    from heedful.files import JsonValue
    from heedful.reports.report import Report

study = typer.Typer(
    no_args_is_help=True,
    help="Measure what is claimed about models: a table, pictures, and a page.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where the study is kept; by default studies/NAME.", show_default=False),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the study that is there.")]
Json = Annotated[bool, typer.Option("--json", help="All figures as one JSON object.")]
Seeds = Annotated[str, typer.Option(metavar="N,N,...", help="Seeds; each is measured by itself.")]


@study.command("complexity")
def complexity(
    lengths: Annotated[
        str, typer.Option(metavar="N,N,...", help="Lengths n of the sequence.")
    ] = "256,512,1024,2048,4096,8192",
    widths: Annotated[str, typer.Option(metavar="N,N,...", help="Widths d of the layer.")] = "64,128,256,512",
    devices: Annotated[
        list[str] | None,
        typer.Option("--device", metavar="D", help="cpu, cuda or cuda:N, several times for several; by default all."),
    ] = None,
    threads: Annotated[int, typer.Option(metavar="N", min=1, help="Threads of the CPU.")] = 1,
    minutes: options.Minutes = None,
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Measure time and memory of a layer over length and width.

    Self-attention, restricted attention, recurrent and convolutional layers,
    forward and backward: fitted exponents beside the paper's, sequential
    steps and longest paths counted, and from which length on attention is
    dearer. With one thread a busy CPU does not disturb the figures.
    """
    sizes_n, sizes_d = _numbers("--lengths", lengths, least=4), _numbers("--widths", widths, least=2)
    _check_powers(sizes_n, sizes_d)
    from heedful.studies.complexity import Sizes, study_complexity
    from heedful.studies.complexity_report import complexity_report
    from heedful.studies.study_folder import StudyFolder

    sizes = Sizes(sizes_n, sizes_d, _devices(devices), threads)
    folder = StudyFolder.begin(out or Path("studies/complexity"), asdict(sizes), resume=resume)
    _show(complexity_report(study_complexity(sizes, folder, note, minutes)), folder.folder, as_json=as_json)


@study.command("gradients")
def gradients(
    length: Annotated[int, typer.Option(metavar="N", min=8, max=4096, help="Positions of the sequence.")] = 128,
    width: Annotated[int, typer.Option(metavar="N", min=4, max=4096, help="Features of the layers.")] = 64,
    seeds: Seeds = "1,2,3,4,5",
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Measure how gradients vanish or explode over time.

    How much the last output of a layer changes with every earlier input, in
    recurrent layers with and without gates, and in self-attention.
    """
    from heedful.studies.gradients import HEADS, GradientSizes, gradients_report, study_gradients
    from heedful.studies.study_folder import StudyFolder

    if width % HEADS:
        raise UserError(f"`--width` must be a multiple of {HEADS}, the heads of the attention, but is {width}.")
    sizes = GradientSizes(length, width, _numbers("--seeds", seeds, least=0))
    folder = StudyFolder.begin(out or Path("studies/gradients"), asdict(sizes), resume=resume)
    _show(gradients_report(sizes, study_gradients(sizes, folder, note)), folder.folder, as_json=as_json)


@study.command("ablation")
def ablation(
    config: options.Config,
    overrides: options.Overrides = None,
    rows: Annotated[
        str | None, typer.Option(metavar="ROW,ROW,...", help="Only these, by their labels.", show_default=False)
    ] = None,
    seeds: Seeds = "1,2,3",
    processes: Annotated[int, typer.Option(metavar="N", min=1, help="Trainings side by side.")] = 1,
    minutes: options.Minutes = None,
    device: options.Device = None,
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Train CONFIG with one part changed at a time: what each is worth.

    No residual, BatchNorm, no warm-up, no label smoothing, no √d, other
    heads, widths, positions and orders of normalisation: BLEU with intervals
    over seeds, which claims hold, and gradients through depth. Interrupted
    trainings go on with --resume.
    """
    from heedful.comparisons.trials import run_trials, trials_of
    from heedful.config.load import load_config
    from heedful.studies.ablation import (
        ablation_report,
        choose_rows,
        gradients_through_depth,
        results_of,
        rows_of,
    )
    from heedful.studies.study_folder import StudyFolder

    settings = overrides or []
    base = load_config(config, settings)
    chosen = choose_rows(rows_of(base), rows)
    configs = {row.label: load_config(config, [*settings, *row.settings]) for row in chosen}
    numbers = _numbers("--seeds", seeds, least=0)
    asked: dict[str, JsonValue] = {
        "config": base.model_dump(mode="json"),
        "rows": list(configs),
        "seeds": list(numbers),
    }
    folder = StudyFolder.begin(out or Path("studies/ablation"), asked, resume=resume)
    trials = sorted(trials_of(configs, numbers), key=lambda trial: trial.seed)  # stopped halfway, no row has fewer
    outcomes = run_trials(trials, folder.folder, processes=processes, device=device, minutes=minutes, say=note)
    depths = {label: gradients_through_depth(one) for label, one in configs.items()}
    names = [outcome.scores[0].name for outcome in outcomes if outcome.failure is None]
    report = ablation_report(base, results_of(chosen, outcomes), depths, names[0] if names else "the test set")
    _show(report, folder.folder, as_json=as_json)


@study.command("length")
def length(
    places: Annotated[list[Path], typer.Argument(metavar="CONFIG|RUN...", help="Configs to train, finished runs.")],
    edges: Annotated[
        str, typer.Option(metavar="N,N,...", help="Source tokens at which a new bucket begins.")
    ] = "8,12,16,20,30",
    seeds: Seeds = "1",
    processes: Annotated[int, typer.Option(metavar="N", min=1, help="Trainings side by side.")] = 1,
    device: options.Device = None,
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Score runs by the length of sentences, also of lengths never seen.

    Configs are trained first, with every seed; finished runs are scored as
    they are, all on the same test set. A config whose training leaves out
    long pairs (data.filters.max_tokens) shows what becomes of longer ones.
    """
    from heedful.comparisons.candidates import read_field
    from heedful.comparisons.trials import Trial, run_trials, trials_of
    from heedful.studies.length import length_report
    from heedful.studies.study_folder import StudyFolder

    bounds = _numbers("--edges", edges, least=1)
    numbers = _numbers("--seeds", seeds, least=0)
    field = read_field(places)
    for broken in field.broken:
        raise UserError(broken.failure)
    trials = []
    for it in field.candidates:
        finished = it.finished is not None
        trials += [Trial(it.label, it.config, it.finished)] if finished else trials_of({it.label: it.config}, numbers)
    asked: dict[str, JsonValue] = {"candidates": [str(place) for place in places], "seeds": list(numbers)}
    folder = StudyFolder.begin(out or Path("studies/length"), asked, resume=resume)
    trials.sort(key=lambda trial: trial.seed)
    outcomes = run_trials(trials, folder.folder, processes=processes, device=device, say=note)
    configs = {it.label: it.config for it in field.candidates}
    _show(length_report(outcomes, configs, bounds), folder.folder, as_json=as_json)


def _numbers(option: str, text: str, *, least: int) -> list[int]:
    """Read a list of whole numbers, each once, in ascending order."""
    try:
        numbers = sorted({int(part) for part in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < least:
        raise UserError(f'`{option}` must be whole numbers from {least} on, separated by commas, but is "{text}".')
    return numbers


def _check_powers(lengths: list[int], widths: list[int]) -> None:
    for option, numbers in (("--lengths", lengths), ("--widths", widths)):
        if len(numbers) < 2:
            raise UserError(f"`{option}` must be at least two numbers: growth is seen between them.")
    from heedful.studies.layers import HEAD_DIM

    odd = [width for width in widths if width > HEAD_DIM and width % HEAD_DIM]
    if odd:
        raise UserError(
            f"`--widths` above {HEAD_DIM} must be multiples of it, the width of a head, but one is {odd[0]}."
        )


def _devices(names: list[str] | None) -> list[str]:
    from heedful.tasks.device import choose_device

    if names:
        return [str(choose_device(name)) for name in names]
    return sorted({"cpu", str(choose_device(None))})


def _show(report: "Report", folder: Path, *, as_json: bool) -> None:
    from heedful.reports.rendering import PAGE, to_json, to_lines, write_report
    from heedful.tasks.environment import describe_machine

    report = replace(report, data={"measured_on": describe_machine(), **report.data})
    write_report(folder, report)
    if as_json:
        write_bytes(to_json(report).encode())
    else:
        for line in to_lines(report):
            write_line(line)
    note(f"Tables, figures and pictures are in {folder}; open {folder / PAGE}.")
