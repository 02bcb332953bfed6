"""How a demonstration looks: in colour and tables on a terminal, as plain lines everywhere else.

Both pages are told the same things in the same order; what is told, cli/demo.py knows.
"""

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from heedful.cli.console import flush, is_terminal, write_line

if TYPE_CHECKING:
    from rich.table import Table

    from heedful.demo.bundled import Word
    from heedful.demo.training import DemoPair

_WIDTH = 100
_SURE, _UNSURE = 0.8, 0.5  # above the first a word is green, below the second red


class Page(Protocol):
    """What can be put on a page."""

    def heading(self, text: str) -> None:
        """Begin a part."""

    def say(self, text: str) -> None:
        """Tell something in sentences."""

    def translations(self, title: str, rows: Sequence[tuple[float, float, str, str]]) -> None:
        """Show confidence, score, source and translation of each row."""

    def texts(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        """Show longer texts, each under what it is."""

    def alternatives(self, rows: Sequence[tuple[float, float, str]]) -> None:
        """Show probability, score and text of each row."""

    def words(self, source: str, words: Sequence["Word"]) -> None:
        """Show a translation with the probability of each word."""

    def doubtful(self, source: str, text: str, warnings: Sequence[str]) -> None:
        """Show a translation that should not be trusted, and why."""

    def pairs(self, pairs: Sequence["DemoPair"]) -> None:
        """Show translations beside their references."""

    def commands(self, rows: Sequence[tuple[str, str]]) -> None:
        """Show commands, each under what it is for, unless it goes on with the one before."""


def make_page() -> Page:
    """Return the page that fits stdout."""
    return TerminalPage() if is_terminal(sys.stdout) else PlainPage()


class PlainPage:
    """Lines for pipes and logs. Numbers come first, so that wide Chinese characters cannot push them out of line."""

    def heading(self, text: str) -> None:
        """Write a heading with a line under it."""
        write_line("")
        write_line(text)
        write_line("-" * len(text))
        flush()

    def say(self, text: str) -> None:
        """Write a paragraph."""
        for line in textwrap.wrap(text, _WIDTH, break_long_words=False):
            write_line(line)
        flush()

    def translations(self, title: str, rows: Sequence[tuple[float, float, str, str]]) -> None:
        """Write two lines a row."""
        write_line("")
        write_line(title)
        for confidence, score, source, text in rows:
            write_line(f"  {confidence:4.0%}  {score:6.2f}  {source}")
            write_line(f"                {text}")

    def texts(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        """Write each text under its name, indented, in lines of the page's width."""
        if title:
            write_line("")
            write_line(title)
        for name, text in rows:
            write_line(f"  {name}")
            for line in textwrap.wrap(text, _WIDTH - 4, break_long_words=False):
                write_line(f"    {line}")

    def alternatives(self, rows: Sequence[tuple[float, float, str]]) -> None:
        """Write one line a row."""
        for probability, score, text in rows:
            write_line(f"  {probability:4.0%}  {score:6.2f}  {text}")

    def words(self, source: str, words: Sequence["Word"]) -> None:
        """Write each word with its percentage."""
        write_line("")
        write_line(f"  {source}")
        write_line("  " + "  ".join(f"{word.text} {word.probability:.0%}" for word in words))

    def doubtful(self, source: str, text: str, warnings: Sequence[str]) -> None:
        """Write source, translation and warnings."""
        write_line("")
        write_line(f"  {source}")
        write_line(f"  {text}")
        for warning in warnings:
            write_line(f"    warning: {warning}")

    def pairs(self, pairs: Sequence["DemoPair"]) -> None:
        """Write three lines a pair."""
        write_line("")
        for pair in pairs:
            write_line(f"source       {pair.source}")
            write_line(f"translation  {pair.translation}")
            write_line(f"reference    {pair.reference}{'' if pair.is_exact else '   (not the same)'}")
            write_line("")

    def commands(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write the purpose as a comment, so that the part can be pasted into a shell."""
        for purpose, command in rows:
            if purpose:
                write_line("")
                write_line(f"  # {purpose}")
            write_line(f"  {command}")


class TerminalPage:
    """Colours and tables, as wide as the terminal and no wider than is pleasant to read."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(highlight=False)
        self._console.width = min(self._console.width, _WIDTH)

    def heading(self, text: str) -> None:
        """Draw a rule with the heading in it."""
        from rich.rule import Rule

        self._console.print()
        self._console.print(Rule(f"[bold]{text}[/]", align="left", style="cyan"))

    def say(self, text: str) -> None:
        """Print a paragraph."""
        from rich.text import Text

        self._console.print(Text(text))

    def translations(self, title: str, rows: Sequence[tuple[float, float, str, str]]) -> None:
        """Draw a table with the surest in green."""
        from rich.text import Text

        self._console.print(Text(f"\n{title}", "bold cyan"))
        table = self._grid(ratios=(1, 1))
        for confidence, score, source, text in rows:
            percentage = Text(f"{confidence:.0%}", _colour(confidence))
            table.add_row(percentage, Text(f"{score:.2f}", "dim"), Text(source, "dim"), Text(text))
        self._console.print(table)

    def texts(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        """Print each text under its name."""
        from rich.padding import Padding
        from rich.text import Text

        if title:
            self._console.print(Text(f"\n{title}", "bold cyan"))
        for name, text in rows:
            self._console.print(Padding(Text(name, "dim"), (0, 2)))
            self._console.print(Padding(Text(text), (0, 4)))

    def alternatives(self, rows: Sequence[tuple[float, float, str]]) -> None:
        """Draw a table with a bar for each probability."""
        from rich.text import Text

        table = self._grid(ratios=(1, 2))
        most = max(probability for probability, _, _ in rows)
        for number, (probability, score, text) in enumerate(rows):
            bar = Text("█" * max(1, round(20 * probability / most)), "cyan" if number == 0 else "blue")
            table.add_row(
                Text(f"{probability:.0%}"), Text(f"{score:.2f}", "dim"), bar, Text(text, "" if number else "bold")
            )
        self._console.print(table)

    def words(self, source: str, words: Sequence["Word"]) -> None:
        """Print a translation in which the colour of a word says how sure the model is of it."""
        from rich.text import Text

        self._console.print(Text(f"\n  {source}", "dim"))
        line = Text(" ")
        for number, word in enumerate(words):
            line.append("  " if word.follows_space and number else " ")
            line.append(word.text, f"bold {_colour(word.probability)}")
            line.append(f" {word.probability:.0%}", "dim")
        self._console.print(line)

    def doubtful(self, source: str, text: str, warnings: Sequence[str]) -> None:
        """Print source, translation and warnings."""
        from rich.padding import Padding
        from rich.text import Text

        self._console.print(Padding(Text(source, "dim"), (1, 2, 0, 2)))
        self._console.print(Padding(Text(text), (0, 2)))
        for warning in warnings:
            self._console.print(Padding(Text.assemble(("⚠ ", "bold yellow"), (warning, "yellow")), (0, 4)))

    def pairs(self, pairs: Sequence["DemoPair"]) -> None:
        """Draw a table that marks what is exactly right."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.ROUNDED, title="Lines the model has never seen", title_justify="left", show_lines=True)
        for heading in ("source", "translation", "reference"):
            table.add_column(heading, overflow="fold", ratio=1)
        for pair in pairs:
            mark = Text("✓ ", "bold green") if pair.is_exact else Text("✗ ", "bold red")
            table.add_row(Text(pair.source, "dim"), mark + Text(pair.translation), Text(pair.reference, "dim"))
        self._console.print(table)

    def commands(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print commands under what they are for; long ones are not broken, so that they can be copied."""
        from rich.text import Text

        for purpose, command in rows:
            if purpose:
                self._console.print(Text(f"\n  # {purpose}", "dim"))
            self._console.print(Text(f"  {command}", "bold"), soft_wrap=True)

    def _grid(self, ratios: tuple[int, int]) -> "Table":
        """Begin a table without lines: two columns of numbers, two of text."""
        from rich.table import Table

        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(justify="right", width=5)
        table.add_column(justify="right", width=6)
        for ratio in ratios:
            table.add_column(overflow="fold", ratio=ratio)
        return table


def _colour(probability: float) -> str:
    return "green" if probability >= _SURE else "red" if probability < _UNSURE else "yellow"
