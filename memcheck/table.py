"""Tables: one file, many tests that differ in a few words.

    # comment
    name   | fence              | verdict
    sc     | fence.sc.gpu       | fails
    acqrel | fence.acq_rel.gpu  | holds
    ===
    PTX SB+$name
    …

Every row is the template with `$column` replaced by that row's cell; `$$` is a dollar sign.
"""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.source import SourceFile, Span

SEPARATOR = "==="


@dataclass(frozen=True, slots=True)
class Row:
    """One expanded test. `source` keeps the template's line numbers; `cells` are the values put in."""

    source: SourceFile
    cells: dict[str, str]
    line: int


def expand(source: SourceFile) -> list[Row]:
    """The rows of a table file, in order; SourceError where the table is not one."""
    from string import Template

    lines = source.text.splitlines()
    end = next((i for i, line in enumerate(lines) if line.strip() == SEPARATOR), None)
    if end is None:
        raise SourceError(f"A table needs a line `{SEPARATOR}` between its rows and its template.", Span(source, 1, 1))
    table = [(i + 1, _cells(line)) for i, line in enumerate(lines[:end]) if _is_row(line)]
    if len(table) < 2:
        raise SourceError(
            "A table needs a row of column names and at least one row below it.", Span(source, end + 1, 1)
        )
    (_, columns), *rows = table
    template = Template("\n" * (end + 1) + "\n".join(lines[end + 1 :]) + "\n")
    _check_placeholders(source, template.template, columns)
    expanded = []
    for number, cells in rows:
        if len(cells) != len(columns):
            message = f"This row has {len(cells)} cells, the table {len(columns)} columns."
            raise SourceError(message, Span(source, number, 1, len(lines[number - 1])))
        values = dict(zip(columns, cells, strict=True))
        expanded.append(Row(SourceFile(source.name, template.substitute(values)), values, number))
    return expanded


def _is_row(line: str) -> bool:
    """Neither blank, nor a comment, nor a rule of dashes."""
    return bool(line.strip(" \t|-:")) and not line.lstrip().startswith("#")


def _cells(line: str) -> list[str]:
    """With or without a bar at both ends."""
    line = line.strip()
    if line.startswith("|"):
        line = line[1:].removesuffix("|")
    return [cell.strip() for cell in line.split("|")]


def _check_placeholders(source: SourceFile, template: str, columns: list[str]) -> None:
    from string import Template

    for match in Template.pattern.finditer(template):
        name = match["named"] or match["braced"]
        if match["escaped"] is not None or name in columns:
            continue
        line = template.count("\n", 0, match.start()) + 1
        column = match.start() - template.rfind("\n", 0, match.start())
        message = f"The table has no column `{name}`." if name else "A `$` here names no column; `$$` is a dollar sign."
        raise SourceError(message, Span(source, line, column, len(match[0])), f"columns: {', '.join(columns)}")
