"""Reports of measurements: what was found, as a table in the terminal, Markdown, JSON, pictures and one page."""
