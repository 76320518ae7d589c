"""`python -m tests.house.promote`: writes into the documents what their sessions print now; look at the difference."""

from __future__ import annotations

from tests.house.sessions import masked, run, sessions
from tests.house.test_documents import PAGES, ROOT, SKIPPED


def main() -> None:
    for page in PAGES:
        lines = page.read_text().splitlines()
        for command in reversed([command for session in sessions(page) for command in session]):
            if command.text.startswith(SKIPPED):
                continue
            printed = run(command, ROOT)
            if masked(printed) != masked(command.output):
                lines[command.line : command.line + len(command.output.splitlines())] = printed.splitlines()
        page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
