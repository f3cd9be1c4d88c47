# Everything a newcomer types. `make demo` and `make test` need only Python 3.11+, make and git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo serve pictures test browser slow fuzz check format bench bench-install clean

demo: $(INSTALLED)  ## translate with a model that comes along, show the attention
	$(BIN)/regard demo

serve: $(INSTALLED)  ## the models that come along, on http://127.0.0.1:8000
	$(BIN)/regard serve

MODEL ?= demo/run
pictures: $(INSTALLED)  ## those of README and docs, of MODEL=DIR and, where there is one, the race ROAD=DIR
	test -d $(MODEL) || test $(MODEL) != demo/run || $(BIN)/regard demo --train
	$(BIN)/python -m tests.page.pictures --model $(MODEL) $(if $(ROAD),--road $(ROAD))

test: $(INSTALLED)  ## the whole suite but the slow tests
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered --cov-fail-under=90

browser:  ## chromium for the tests of the page, where the system's packages can be installed
	@if command -v chromium chromium-browser google-chrome >/dev/null; then \
		echo "browser: there is one already"; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	else \
		echo "browser: install chromium with your system's packages; until then the tests of the page are skipped"; \
	fi

slow: $(INSTALLED)  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

fuzz: $(INSTALLED)  ## random files in the place of a model's, for ten minutes
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	$(BIN)/python tests/fuzz/fuzz_model_folder.py -max_total_time=600

check: $(INSTALLED)  ## format, lint, types, layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)  ## rewrite the sources in the house's format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench-install: $(INSTALLED)  ## the peers that the benchmarks measure beside Regard
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'

bench: bench-install  ## side-by-side measurements against peers; nothing else should run
	$(BIN)/python bench/train_speed.py
	$(BIN)/python bench/cost_curves.py
	$(BIN)/python bench/decode_speed.py

clean:  ## remove the environment and what the demo made
	rm -rf $(VENV) demo

# Exact versions come from constraints.txt; the package itself asks for ranges.
$(INSTALLED): pyproject.toml constraints.txt setup.py $(wildcard src/regard/native/*.[ch])
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Regard needs Python 3.11 or newer: make PYTHON=python3.12 …" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
