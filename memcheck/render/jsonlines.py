"""One JSON object a line, schema 1."""

from __future__ import annotations

import json
from typing import Any

from memcheck.report import Report
from memcheck.result import Remark

SCHEMA = 1


def json_line(report: Report) -> str:
    return json.dumps(json_object(report), ensure_ascii=False) + "\n"


def json_object(report: Report) -> dict[str, Any]:
    """`remarks` has the words behind `flags` and `outside`; `expected` is null where the file expects nothing."""
    return {
        "schema": SCHEMA,
        "file": report.file,
        "test": report.test,
        "model": report.model,
        "condition": report.condition,
        "holds": report.holds,
        "states": [report.named(state) for state in report.states],
        "flags": _names(report.flags),
        "outside": _names(report.outside),
        "complete": report.complete,
        "undecided": report.undecided,
        "error": report.error,
        "satisfying": len(report.satisfying),
        "remarks": [_remark(remark) for remark in (*report.flags, *report.outside)],
        "notes": list(report.notes),
        "expected": None if report.unexpected is None else not report.unexpected,
        "seconds": round(report.seconds, 6),
        "machine": _machine(report),
    }


def _machine(report: Report) -> dict[str, Any] | None:
    machine = report.machine
    if machine is None:
        return None
    return {"reached": [report.named(state) for state in machine.reached], "complete": machine.complete}


def _names(remarks: tuple[Remark, ...]) -> list[str]:
    return list(dict.fromkeys(remark.name for remark in remarks))


def _remark(remark: Remark) -> dict[str, Any]:
    return {"name": remark.name, "text": remark.text, "places": list(remark.places)}
