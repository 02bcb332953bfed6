"""`heedful serve`: models over HTTP, on this machine unless told otherwise."""

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli import options
from heedful.cli.console import note
from heedful.errors import UserError


def serve(
    model: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="DIR",
            help="A model folder, a run folder, or bundled; several are served by id. By default all that ship.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0 takes any that is free.")] = 8000,
    api_key: Annotated[
        str | None,
        typer.Option("--api-key", metavar="KEY", envvar="HEEDFUL_API_KEY", help="Every request must give it."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A name this server goes by, beside localhost."),
    ] = None,
    deadline: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="What cannot be answered by then is refused.")
    ] = 30.0,
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Where runs are; the page shows them.")] = Path("runs"),
    suggestions: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where translations that clients suggest are kept; else nowhere.")
    ] = None,
    device: options.Device = None,
    quantize: options.Quantize = "auto",
    fast: options.Fast = False,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="Processes that share the port, each with the models.")
    ] = 1,
) -> None:
    """Serve models over HTTP, with a page to use them and to look into them.

    The API is LibreTranslate's, so that its clients work, and more: /docs
    describes it. Requests that come together are translated together. SIGTERM
    and Ctrl-C let it finish what it has begun; a second one ends it at once.
    With --workers, one that dies is replaced, and SIGHUP starts them all anew,
    one after the other, without a pause.
    """
    if workers > 1:
        _settle_for_several(workers)
    try:
        from heedful.serving.guard import Access
        from heedful.serving.limits import Limits
        from heedful.serving.process import Settings
        from heedful.serving.process import serve as run
        from heedful.serving.replicas import serve_replicas
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("heedful"):
            raise
        raise UserError(
            f"The server needs the package {missing.name}. Install it: pip install 'heedful[serve]'."
        ) from None
    if quantize == "int8" and model and not any(_translates(path) for path in model):
        raise UserError("`--quantize int8` must be used with a translator, but none of the models is one.")
    access = Access(hosts=frozenset(name.lower() for name in allow_host or ()), api_key=api_key or None)
    settings = Settings(
        model or (), host, port, access, device, quantize, Limits(deadline_seconds=deadline), runs, suggestions, fast
    )
    if workers > 1:
        serve_replicas(settings, workers, say=note)
    else:
        run(settings, say=note)


def _settle_for_several(workers: int) -> None:
    """Say in the environment, before anybody reads it, how several processes share cores and what they count."""
    import os
    import tempfile

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // workers)))
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="heedful-metrics-")


def _translates(path: Path) -> bool:
    from heedful.storage.locate import find_model_folder
    from heedful.storage.model_folder import task_of

    return task_of(find_model_folder(path)) == "translation"
