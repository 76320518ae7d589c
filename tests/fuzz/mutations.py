"""Changed files: bytes, tokens and stretches of the suite's files, altered, moved and mixed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_TOKEN = re.compile(rb"\s+|[\w$%]+|::|[^\w\s]")
_NUMBERS = (
    b"0",
    b"1",
    b"2",
    b"3",
    b"4",
    b"7",
    b"31",
    b"32",
    b"64",
    b"255",
    b"-1",
    b"0x80000000",
    b"4294967296",
    b"1e9",
)
_NUMBERS += (b"18446744073709551616", b"9" * 40, b"0xffffffffffffffffffffffffffffffffff", b"65536")
_ODD = (
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"\r",
    b"\x0b",
    b"\x1b[31m",
    b"\\",
    b'"',
    b"(*",
    b"*)",
    b"{",
    b"}",
)


class Mutator:
    """Changes files at random, the same for the same `seed`. `files`: what is changed and mixed in."""

    def __init__(self, files: Sequence[bytes], seed: int) -> None:
        self._files = files
        self._random = random.Random(seed)
        words: set[bytes] = set()
        after: dict[tuple[bytes, bytes], set[bytes]] = {}
        for data in files:
            tokens = [token for token in _TOKEN.findall(data) if not token.isspace()]
            words.update(tokens)
            for first, second, third in zip(tokens, tokens[1:], tokens[2:]):
                after.setdefault((first, second), set()).add(third)
        self._words = sorted(words)
        self._after = {tokens: sorted(followers) for tokens, followers in after.items()}

    def next(self) -> bytes:
        """A file with one to three changes."""
        data = self._random.choice(self._files)
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3))):
            data = self._random.choice(
                (self._alike,) * 8
                + (self._line,) * 4
                + (self._number, self._number, self._replace, self._drop, self._swap, self._double)
                + (self._bytes, self._splice)
            )(data)
        return data

    def _tokens(self, data: bytes) -> list[bytes]:
        return _TOKEN.findall(data) or [b""]

    def _position(self, tokens: Sequence[bytes]) -> int:
        """Of a token that is no white space, mostly."""
        solid = [i for i, token in enumerate(tokens) if not token.isspace()]
        return self._random.choice(solid or range(len(tokens)))

    def _replace(self, data: bytes) -> bytes:
        tokens = self._tokens(data)
        tokens[self._position(tokens)] = self._random.choice(self._words)
        return b"".join(tokens)

    def _alike(self, data: bytes) -> bytes:
        """Another token that comes after the same two elsewhere: often still a test."""
        tokens = self._tokens(data)
        solid = [i for i, token in enumerate(tokens) if not token.isspace()]
        if len(solid) > 2:
            first, second, here = self._random.choice(list(zip(solid, solid[1:], solid[2:])))
            tokens[here] = self._random.choice(self._after.get((tokens[first], tokens[second]), self._words))
        return b"".join(tokens)

    def _number(self, data: bytes) -> bytes:
        tokens = self._tokens(data)
        places = [i for i, token in enumerate(tokens) if token.isdigit()]
        if places:
            tokens[self._random.choice(places)] = self._random.choice(_NUMBERS)
        return b"".join(tokens)

    def _drop(self, data: bytes) -> bytes:
        tokens = self._tokens(data)
        del tokens[self._position(tokens)]
        return b"".join(tokens)

    def _double(self, data: bytes) -> bytes:
        tokens = self._tokens(data)
        i = self._position(tokens)
        return b"".join([*tokens[: i + 1], *tokens[i:]])

    def _swap(self, data: bytes) -> bytes:
        tokens = self._tokens(data)
        i, j = self._position(tokens), self._position(tokens)
        tokens[i], tokens[j] = tokens[j], tokens[i]
        return b"".join(tokens)

    def _line(self, data: bytes) -> bytes:
        """A line twice, at another place, or gone."""
        lines = data.split(b"\n")
        i, j = self._random.randrange(len(lines)), self._random.randrange(len(lines))
        if self._random.random() < 0.3:
            del lines[i]
        else:
            lines.insert(j, lines[i])
        return b"\n".join(lines)

    def _bytes(self, data: bytes) -> bytes:
        """A few bytes instead of a few others."""
        at = self._random.randrange(len(data) + 1)
        new = self._random.choice((*_ODD, bytes([self._random.randrange(256)]), b""))
        return data[:at] + new + data[at + self._random.randrange(4) :]

    def _splice(self, data: bytes) -> bytes:
        """A few lines of another file."""
        lines, others = data.split(b"\n"), self._random.choice(self._files).split(b"\n")
        at, i = self._random.randrange(len(lines) + 1), self._random.randrange(len(others))
        return b"\n".join([*lines[:at], *others[i : i + self._random.randrange(1, 4)], *lines[at:]])
