"""A progress bar on a terminal; text told meanwhile appears above it."""

from __future__ import annotations

import sys
from typing import IO, Protocol

from memcheck.render.ink import encodable


class Progress(Protocol):
    def tell(self, text: str, stream: IO[str]) -> None:
        """Writes text to the stream, clear of the bar."""

    def advance(self) -> None:
        """One more test is decided."""

    def close(self) -> None:
        """Takes the bar away."""


class Silent:
    """No bar: text is written at once."""

    def tell(self, text: str, stream: IO[str]) -> None:
        if text:
            stream.write(encodable(text, stream))
            stream.flush()

    def advance(self) -> None:
        return

    def close(self) -> None:
        return


class Bar:
    """A bar on standard error."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = Console(stderr=True)
        columns = (TextColumn("deciding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # Standard output stays what it is: on the same terminal the console below writes it, elsewhere nobody does.
        self._bar = Progress(*columns, console=self._console, transient=True, redirect_stdout=False)
        self._task = self._bar.add_task("", total=total)
        self._bar.start()

    def tell(self, text: str, stream: IO[str]) -> None:
        if not text:
            return
        if stream.isatty():
            from rich.text import Text

            self._console.print(Text.from_ansi(text.removesuffix("\n")), soft_wrap=True)
        else:
            stream.write(encodable(text, stream))
            stream.flush()

    def advance(self) -> None:
        self._bar.advance(self._task)

    def close(self) -> None:
        self._bar.stop()


def progress(total: int, wanted: bool) -> Progress:
    """A bar where several tests are decided and standard error is a terminal."""
    return Bar(total) if wanted and total > 1 and sys.stderr.isatty() else Silent()
