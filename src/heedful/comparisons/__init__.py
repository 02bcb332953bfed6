"""Several trainings under one folder, scored on the same cases, side by side: what `heedful compare` is made of."""
