"""Model folders on disk: what one ships and what `--model` takes."""
