# Everything one does with a checkout. `make` alone lists the targets.
#
# One virtual environment serves all of them. It is made on first use and again when a requirement changes, so every
# target works on a fresh clone. Another interpreter: make setup PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# Two test processes with one thread each keep two cores busy; a third gains little, and tests of promised times suffer.
TEST_WORKERS ?= 2
COVERING := tests/unit/training tests/unit/data tests/unit/decoding tests/unit/serving \
  tests/properties/test_data_batching.py tests/properties/test_data_stream.py tests/properties/test_decoding_search.py \
  tests/properties/test_decoding_transformer.py tests/properties/test_training_faults.py
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test browser lint types coverage format bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## make .venv and install Heedful with all it needs (quick when nothing changed)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Heedful needs Python 3.11 or newer, but %s is %d.%d.\nName another: make setup PYTHON=python3.12" % ("$(PYTHON)", v[0], v[1]))'
	@echo "Setting up $(VENV) (the first time this fetches PyTorch and takes minutes) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -qq --constraint constraints.txt --editable '.[dev,serve]'
	@$(BIN)/python -c 'from heedful.engines.int8 import library; library.is_available() or print("No C++ compiler works here: models will run in fp32, several times slower.")'
	@touch $@
	@echo "Ready: $(BIN)/heedful --help"

demo: setup ## show the models that ship with the package: translations in all six directions, a label, a text
	@$(BIN)/heedful demo

# One process checks the types: it goes beside the tests, in what they leave, or a core would wait for it a minute.
test: lint browser ## lint, types and all tests
	@nice -n 5 $(BIN)/mypy > $(VENV)/types.log 2>&1 & types=$$!; \
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(TEST_WORKERS) --dist loadfile --durations 15; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/types.log; exit $$((tests | types))

browser: ## install Debian's Chromium for the browser tests, as root and where there is none
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "Installing Chromium ..." && \
	  { apt-get install -qq -y --no-install-recommends chromium fonts-noto-cjk >/dev/null 2>&1 || \
	  { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-noto-cjk >/dev/null; }; }; } || \
	  echo "There is no Chromium here: the browser tests are skipped."

lint: setup ## style and the usual mistakes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## mypy in strict mode over the package and the tests
	$(BIN)/mypy

coverage: setup ## what the tests run of checkpoints, data order, search and admission control
	OMP_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest $(COVERING)
	$(BIN)/python -m coverage report

format: setup ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## decoding speed on this CPU beside other engines with the same weights
	$(BIN)/python benchmarks/decode_cpu.py

clean: ## remove the environment and caches; runs/ and data/ stay
	rm -rf $(VENV) .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
