"""`heedful train`: from a run's TOML file to a run folder with a model in it."""

from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note


def train(
    config: options.Config,
    overrides: options.Overrides = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where the run of this name stopped, bit for bit.")
    ] = False,
    device: options.Device = None,
) -> None:
    """Train a model as CONFIG describes, into a run folder that is never overwritten.

    Interrupted by Ctrl-C or SIGTERM it saves and leaves; --resume goes on.

    Settings are overridden like this:
    heedful train CONFIG training.max_steps=500 name=short
    """
    from heedful.config.classification import ClassificationRun
    from heedful.config.language_modeling import LanguageModelRun
    from heedful.config.load import load_any
    from heedful.config.translation import RunConfig

    run = load_any(config, overrides or [])
    from heedful.training.display import make_display

    with make_display(run.training.max_steps) as display:
        match run:
            case RunConfig():
                from heedful.tasks.translation.train import train_translation

                result = train_translation(run, display=display, resume=resume, device=device)
                use = f"Translate with it: heedful translate --model {result.run_folder}"
            case ClassificationRun():
                from heedful.tasks.classification.train import train_classification

                result = train_classification(run, display=display, resume=resume, device=device)
                use = f"Classify with it: heedful classify --model {result.run_folder}"
            case LanguageModelRun():
                from heedful.tasks.language_modeling.train import train_language_model

                result = train_language_model(run, display=display, resume=resume, device=device)
                use = f"Write with it: heedful generate PROMPT --model {result.run_folder}"
    note(f"The model is in {result.model_folder}.")
    note(use)
    if getattr(run.data, "test", None):
        note(f"Score it: heedful evaluate {result.run_folder}")
