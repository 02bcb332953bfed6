"""What a person sees of a download: plain lines in a log, a bar on a terminal."""

import io

from heedful.corpora.progress import (
    BarDownloadDisplay,
    PlainDownloadDisplay,
    make_download_display,
    size_in_words,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_sizes_are_said_in_words() -> None:
    assert [size_in_words(size) for size in (1, 22_503, 2_110_398, 84_125_825)] == [
        "1 kB",
        "23 kB",
        "2,111 kB",
        "84 MB",
    ]


def test_a_log_gets_a_line_for_a_file_and_one_a_fifth_of_a_large_one() -> None:
    stream = io.StringIO()
    with make_download_display(stream) as display:
        assert isinstance(display, PlainDownloadDisplay)
        display.begin("small.gz", 0, 1000)
        display.advance(500)
        display.begin("large.zip", 20_000_000, 50_000_000)
        for done in range(20_000_000, 50_000_001, 1_000_000):
            display.advance(done)
        display.say("large.zip: the connection was cut.")
        display.begin("endless.zip", 0, None)
        display.advance(10**9)
    assert stream.getvalue().splitlines() == [
        "small.gz  1 kB",
        "large.zip  50 MB, going on at 40 %",
        "large.zip  60 %",
        "large.zip  80 %",
        "large.zip: the connection was cut.",
        "endless.zip  size unknown",
    ]


def test_a_terminal_gets_a_bar_and_sentences_as_they_are() -> None:
    stream = Terminal()
    with make_download_display(stream) as display:
        assert isinstance(display, BarDownloadDisplay)
        display.begin("large.zip", 20_000_000, 50_000_000)
        display.advance(50_000_000)
        display.say("large.zip: [bold] the server cannot resume.")
    assert "large.zip: [bold] the server cannot resume." in stream.getvalue()
    assert "50.0/50.0 MB" in stream.getvalue()
