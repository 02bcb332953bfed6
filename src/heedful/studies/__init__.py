"""Studies: claims about models, measured on the reader's own machine and data."""
