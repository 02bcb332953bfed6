"""Text and tokens, in both directions: exact lines, normalisation, subwords, sentences. No torch here."""
