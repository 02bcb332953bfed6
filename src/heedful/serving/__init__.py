"""The server behind `heedful serve`: models over HTTP, many requests in one batch, nothing without a bound."""
