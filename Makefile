# make demo: compare methods on built-in data.   make test: lint, types, doctests, tests.
# Both create .venv on first use, and again only if its requirements have changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLDEST := .venv-oldest

QUICK ?=

.PHONY: demo test docs test-portable test-oldest lint format wheel bench-speed study clean

demo: $(READY)
	$(BIN)/python -m sk_anyloss compare

test: lint
	$(BIN)/python -m pytest -n 2

# The documentation, in docs/_build/html; QUICK=1 does not run the long examples.
docs: $(READY)
	QUICK=$(QUICK) $(BIN)/python -m sphinx -W --keep-going -q docs docs/_build/html $(ARGS)

# The numeric tests under other CPU instruction sets, which round differently.
test-portable: $(READY)
	$(BIN)/python -m tests.portable -n 2 $(ARGS)

# The estimators with the lowest versions that setup.cfg allows, in a separate venv of
# several GB, since old builds of torch include CUDA. The ignored FutureWarning is old
# torch's about how old skorch unpickles nets.
test-oldest: $(OLDEST)/.ready
	$(OLDEST)/bin/python -m pytest -n 1 -W 'ignore:You are using:FutureWarning' \
		tests/metrics tests/losses tests/training tests/estimators tests/search \
		tests/test_compat.py tests/test_plain.py \
		$(addprefix tests/robustness/test_,folds.py half_precision.py memory.py \
			parameters.py threads.py) \
		sk_anyloss --ignore=sk_anyloss/compare --ignore=sk_anyloss/boosting.py $(ARGS)

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

$(OLDEST)/.ready: setup.cfg pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	PIP_CONSTRAINT=constraints-oldest.txt $(OLDEST)/bin/python -m pip install --quiet \
		--disable-pip-version-check --editable . \
		baycomp hypothesis matplotlib pandas pyarrow pytest pytest-xdist skops skrub tqdm
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) build dist docs/_build docs/auto_examples \
		docs/api/generated docs/api/examples *.egg-info .pytest_cache .mypy_cache .ruff_cache
