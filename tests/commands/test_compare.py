"""`memcheck compare`."""

from __future__ import annotations

import json

import pytest

from memcheck.commands.main import main

pytestmark = pytest.mark.usefixtures("fakes")
MODELS = ["--models", "ptx,other.cat"]


@pytest.fixture(autouse=True)
def other(write):
    write()
    with open("other.cat", "w") as file:
        file.write('"another model"\nacyclic po as order\n')


@pytest.mark.parametrize(
    ("names", "status"), [(["holds"], 0), (["differs"], 1), (["slow"], 3), (["bad"], 2), (["holds", "differs"], 1)]
)
def test_exit_status(write, names, status):
    assert main(["compare", *MODELS, *write(*names)]) == status


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_states_of_one_model_alone(write, capsys, jobs):
    main(["compare", *MODELS, "-j", jobs, *write("holds", "differs")])
    out, _, closing = capsys.readouterr().out.partition("ptx and other.cat on 2 tests: ")
    assert closing == "1 differ, 1 agree\n"
    assert "= holds" not in out, "of many tests those that differ"
    assert "≠ differs" in out
    first, second = out.split("only ptx")[1].split("only other.cat")
    assert first.split() == ["P0:r0", "x", "─" * 9, "●", "1", "2"]
    assert second.split() == ["P0:r0", "x", "─" * 9, "●", "1", "3"]


def test_one_test_is_told_also_where_the_models_agree(write, capsys):
    main(["compare", *MODELS, *write("holds")])
    assert capsys.readouterr().out == "= holds   ptx holds, 2 states; other.cat holds, 2 states\n"


def test_json(write, capsys):
    main(["compare", *MODELS, "--json", *write("differs")])
    fields = json.loads(capsys.readouterr().out)
    assert fields["same"] is False
    assert fields["models"] == ["ptx", "other.cat"]
    assert fields["only"] == [[{"P0:r0": 1, "x": 2}], [{"P0:r0": 1, "x": 3}]]


@pytest.mark.parametrize("models", ["ptx", "ptx,ptx", "ptx,a,b"])
def test_two_models_are_compared(write, capsys, models):
    assert main(["compare", "--models", models, *write("holds")]) == 2
    assert "two different models" in capsys.readouterr().err
