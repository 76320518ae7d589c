"""ptxas, the second opinion: which of many lines it accepts, in few runs."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

TARGET = "sm_100a"
"""The oldest target that has all the forms of PTX 9.4 but wgmma."""

HEAD = """.version {version}
.target {target}
.address_size 64
.global .align 32 .b32 x[64];
.const .align 32 .b32 c[64];
.visible .entry kernel() {{
.reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .b128 %rq<10>;
.reg .f32 %f<10>; .reg .f64 %fd<10>;
.shared .align 32 .b32 s[64];
"""
SENTINEL = "fence.sc"
"""An error on purpose, so that the assembler stops once it has checked every line: generated code interests nobody,
and strange mixtures of instructions are not what its back end is made for."""
TAIL = f"{SENTINEL};\nL: ret;\n}}\n"

_ERROR = re.compile(r"line (\d+); (?:error|fatal)\s*: (.*)")
Version = tuple[int, int]


@cache
def ptxas() -> Path | None:
    """The assembler of the nvidia-cuda-nvcc package, if it is installed."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for found in Path(place).glob("cu*/bin/ptxas"):
            return found
    return None


@cache
def newest() -> Version:
    """The newest PTX version that this ptxas knows: CUDA 13.n brought PTX 9.n."""
    path = ptxas()
    assert path is not None
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", text)
    assert release, text
    return int(release[1]) - 4, int(release[2])


def refusals(forms: Iterable[str], directory: Path, target: str = TARGET) -> dict[str, str]:
    """What ptxas says against each form that it refuses; accepted forms are absent."""
    path = ptxas()
    assert path is not None
    version = min(newest(), (9, 4))
    head = HEAD.format(version=f"{version[0]}.{version[1]}", target=target)
    start = head.count("\n") + 1
    refused: dict[str, str] = {}
    left = list(forms)
    source = directory / "forms.ptx"
    while True:
        source.write_text(head + "".join(f"{form};\n" for form in left) + TAIL)
        command = [path, f"-arch={target}", source, "-o", directory / "forms.cubin"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        output = run.stdout + run.stderr
        errors = {int(line) - start: message for line, message in reversed(_ERROR.findall(output))}
        assert errors.pop(len(left), None) is not None or errors, output
        if not errors:
            return refused
        refused |= {left[at]: message for at, message in errors.items()}
        left = [form for at, form in enumerate(left) if at not in errors]
