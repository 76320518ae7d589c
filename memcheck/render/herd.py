"""herd's log format, as its comparison tools read it.

They know registers as `0:r0`, never `P0:r0`, and names of letters, digits, `_` and `.` only; a CTA's instance
`x @ cta 1` is therefore called `x.cta1` here.
"""

from __future__ import annotations

import re

from memcheck.report import Report

KINDS = {"exists": "Allowed", "~exists": "Forbidden", "forall": "Required", None: "Required"}


def herd_log(report: Report) -> str:
    """The log of one test; empty for an error, which herd tells on standard error."""
    if report.error is not None:
        return ""
    name = re.sub(r"[^\w./+\[\]-]", "_", report.test or report.file, flags=re.ASCII)
    positive = len(report.satisfying) if report.quantifier else len(report.states)
    negative = len(report.states) - positive
    lines = [f"Test {name} {KINDS[report.quantifier]}", f"States {len(report.states)}"]
    keys = [_location(key) for key in report.keys]
    for state in report.states:
        lines.append(" ".join(f"{key}={value};" for key, value in zip(keys, state, strict=True)))
    lines += [_validation(report), "Witnesses", f"Positive: {positive} Negative: {negative}"]
    lines += [f"Flag {flag}" for flag in dict.fromkeys(remark.name for remark in (*report.flags, *report.outside))]
    lines += [f"Condition {_condition(report.condition or 'forall (true)')}"]
    often = "Never" if not positive else "Sometimes" if negative else "Always"
    lines += [f"Observation {name} {often} {positive} {negative}", f"Time {name} {report.seconds:.2f}"]
    lines += [f"Hash={_digest(report.text)}", "", ""]
    return "\n".join(lines)


def _validation(report: Report) -> str:
    if report.outside or report.undecided is not None:
        return "Undef"
    return "No" if report.holds is False else "Ok"


def _location(key: str) -> str:
    register = re.fullmatch(r"P(\d+):(.+)", key)
    if register:
        return f"{register[1]}:{register[2]}"
    instance = re.fullmatch(r"([^\[\s]+)(\[\d+\])? @ cta (\d+)", key)
    name, index = (f"{instance[1]}.cta{instance[3]}", instance[2] or "") if instance else (key, "")
    return f"{name}{index}" if index or name.endswith("]") else f"[{name}]"


def _condition(text: str) -> str:
    text = re.sub(r"\bP(\d+):%?(?=\w)", r"\1:", text)
    text = re.sub(r"([\w.$]+)(\s*\[\d+\])? @ cta (\d+)", r"\1.cta\3\2", text)
    return text.replace("==", "=")


def _digest(text: str) -> str:
    from hashlib import md5

    return md5(text.encode(), usedforsecurity=False).hexdigest()
