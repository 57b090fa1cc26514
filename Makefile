# make demo: the main job on built-in data.   make test: lint, types, doctests, tests.
# Both set up .venv first, once; it is made anew only if what it needs has changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-portable lint format wheel bench-speed study clean

demo: $(READY)
	$(BIN)/python -m sk_anyloss compare

test: lint
	$(BIN)/python -m pytest -n 2

# The numeric tests as CPUs with other instruction sets would run them.
test-portable: $(READY)
	$(BIN)/python -m tests.portable -n 2 $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-speed: $(READY)
	$(BIN)/python -m benchmarks.speed

study: $(READY)
	$(BIN)/python -m benchmarks.study $(if $(DATA),--data $(DATA)) \
		$(if $(QUICK),--quick) $(ARGS)

wheel: $(READY)
	$(BIN)/python -m build --wheel

$(READY): setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet \
		--disable-pip-version-check --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
