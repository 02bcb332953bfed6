"""Documents: files of many kinds, in and out, with all that is not text left as it was."""
