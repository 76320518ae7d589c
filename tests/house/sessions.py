"""Terminal sessions in Markdown: fenced blocks marked `console`, with `$ ` before each command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a session and the output shown below it; `line` is its line in the file."""

    path: Path
    line: int
    text: str
    output: str


def sessions(path: Path) -> list[list[Command]]:
    """The console blocks of a file, each a list of commands."""
    text = path.read_text()
    found = []
    for block in FENCE.finditer(text):
        if block[1] == "console":
            found.append(_commands(path, text.count("\n", 0, block.start(2)) + 1, block[2]))
    return found


def _commands(path: Path, first: int, body: str) -> list[Command]:
    commands: list[Command] = []
    for number, line in enumerate(body.splitlines(), first):
        if line.startswith("$ "):
            commands.append(Command(path, number, line[2:], ""))
        elif commands:
            last = commands[-1]
            commands[-1] = Command(last.path, last.line, last.text, f"{last.output}{line}\n")
    return commands


def run(command: Command, folder: Path) -> str:
    """What the command prints, both streams; `memcheck` is the one of this interpreter."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment.get('PATH', '')}"
    done = subprocess.run(
        ["bash", "-c", command.text],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


def masked(text: str) -> str:
    """Times, versions and hashes made equal; blanks at line ends and around the text dropped."""
    text = re.sub(r"\b\d+(\.\d+)? m?s\b", "TIME", text)
    text = re.sub(r'"seconds": [\d.e-]+', '"seconds": TIME', text)
    text = re.sub(r"^Time (\S+) [\d.]+$", r"Time \1 TIME", text, flags=re.MULTILINE)
    text = re.sub(r"Hash=\w+", "Hash=HASH", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
