"""What a user can be told: every exception that leaves the library is a MemcheckError."""

from __future__ import annotations

from memcheck.source import Span


class MemcheckError(Exception):
    """Something the user can act on; the message is a full sentence."""


class SourceError(MemcheckError):
    """A fault at a place in an input text, shown with its line and a caret.

    `message` says what is wrong, `hint` (optional) what to write instead.
    """

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, Span, str | None]]:
        """Errors travel between processes."""
        return type(self), (self.message, self.span, self.hint)

    def __str__(self) -> str:
        text = f"{self.span.where}: {self.message}\n{self.span.excerpt()}"
        return f"{text}\n  {self.hint}" if self.hint else text


class UnsupportedError(SourceError):
    """Legal PTX that this version does not decide yet; the message names the instruction."""


class TooLargeError(MemcheckError):
    """The test is far beyond what can be decided; says which number is too large."""
