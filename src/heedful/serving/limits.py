"""Every bound a server can be given, in one place, with the reason for its size. Knows numbers only.

How much of anything a request may name is part of what requests look like: answers.py and trace_requests.py say it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, how much may wait, and how long anything may take."""

    max_body_bytes: int = 1 << 20
    """Four bytes for each of `max_characters`, escaped as JSON escapes them, and room to spare."""

    max_file_bytes: int = 8 << 20
    """Of a file that is to be translated: pictures in it are most of it, and its text has the bound of any other."""

    max_files_received: int = 4
    """Requests with files at a time: each is held in memory, its file unpacked."""

    max_kept_bytes: int = 64 << 20
    kept_seconds: float = 600.0
    """How long translated files wait to be fetched, and how much of them."""

    max_characters: int = 20_000
    """Of one request: some ten pages, which are seconds of work."""

    max_characters_in_passing: int = 200
    """A text up to so long is planned by the event loop itself, in less time than handing it over takes."""

    max_prepared_characters: int = 10 * max_characters
    """Of one client's texts that wait to be planned: some seconds of work of one core."""

    max_trace_characters: int = 1_000
    max_text_trace_characters: int = 8_000
    """What a language model reads before the part that is looked at."""

    max_suggestions_bytes: int = 64 << 20
    """Of the file of suggestions: some half a million sentences."""

    max_runs: int = 200
    max_journal_rows: int = 5_000
    """Of one answer, a megabyte or so; whoever wants more asks again."""

    max_listeners: int = 32
    """Clients that watch runs train: each looks at a file twice a second."""

    max_loaded_checkpoints: int = 4
    max_checkpoint_parameters: int = 100_000_000
    """Of the checkpoints that are kept loaded, together: 400 MB; the last one asked for is kept whatever its size."""

    max_queued_items: int = 2_048
    max_queued_tokens: int = 16_384
    """Of one model: about what two slow cores translate within a third of the deadline. One client may have all of it;
    when it is full, others still have their share."""

    max_batch_items: int = 32
    max_batch_tokens: int = 512
    """A batch is what one waits for behind others, and its encoding cannot be interrupted: 32 sentences of everyday
    length, or two of the longest the models read. More at once would hardly be faster."""

    slice_seconds: float = 0.1
    """How long a batch runs before it is interrupted for somebody else: some steps of a search, or a sentence."""

    max_interrupted: int = 12
    """Batches that have begun: each keeps the memory of its search."""

    batching_delay_seconds: float = 0.003
    """How long a batch waits for others to share it, after somebody has asked whether there is room: enough for clients
    that come together."""

    idle_delay_seconds: float = 0.0005
    """How long it waits where nobody has: next to nothing for a client that is alone."""

    deadline_seconds: float = 30.0
    """After it nobody waits for the answer any more."""

    drain_seconds: float = 30.0
    """How long a server that was told to end finishes what it has admitted."""

    receive_seconds: float = 8.0
    """A request must have arrived whole by then, or its connection is closed."""

    keep_alive_seconds: int = 5
    linger_seconds: float = 0.5
    linger_bytes: int = 8 << 20
    """How long, and how much, a refused sender may go on sending, so that it reads the refusal before the end."""

    max_connections: int = 800
    max_refused_connections: int = 64
    """Those that are told that there are too many; any beyond are cut off. Together, and with those that are accepted
    at once, below the 1,024 open files that a process has by default."""

    reserved_connections: int = 100
    """The last ones, for clients that have fewer: nobody takes all of them."""
