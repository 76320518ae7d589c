# The front door. Every target makes its environment first where there is none.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
WORKERS ?= 2

.PHONY: run test test-long mutants bench lint types contracts format clean

# The main job: decide every test of the suite and compare with what the files expect.
run: $(READY)
	@$(BIN)/memcheck run --expect -j $(WORKERS) litmus

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python -m compileall -q memcheck
	$(BIN)/python -m compileall -q memcheck  # a first run need not compile, also where Python writes no caches
	@touch $@

# Within four minutes on two cores.
test: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

# Everything else: long fuzzing and generation, with the seeds that it prints.
test-long: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) -m slow -s

# Drops each axiom, operand and filter of the model in turn: some test must notice.
mutants: $(READY)
	$(BIN)/python -m tests.mutants

bench: $(READY)
	$(BIN)/python -m tests.bench

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist build
