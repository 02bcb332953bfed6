"""Language modelling: what comes next."""
