# Needs make, Python 3.11 or newer and nothing else. Everything is installed into .venv inside the checkout.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-bench
DP_PEERS := .venv-bench-dp
LOCK := .venv-lock

PIP := -m pip --disable-pip-version-check -qq
INSTALL := $(PIP) install --require-hashes -r
EDITABLE := $(PIP) install --no-deps --no-build-isolation -e .
COMPILE := $(LOCK)/bin/pip-compile -q --generate-hashes --strip-extras --allow-unsafe --no-annotate --no-header --no-emit-options $(UPGRADE)

# Prints the requirements of the named parts of pyproject.toml.
define NEEDS
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
extras = project["project"]["optional-dependencies"]
parts = project["dependency-groups"] | {
    "build": project["build-system"]["requires"],
    "core": project["project"]["dependencies"],
    "extras": [need for extra in extras if extra != "all" for need in extras[extra]],
}
print(*[need for part in sys.argv[1:] for need in parts[part]], sep="\n")
endef
export NEEDS

.DEFAULT_GOAL := help
.PHONY: help setup demo test system fuzz lint format bench bench-scale study quality pictures docs lock clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.all  ## install everything: all extras, test and docs tools

demo: $(VENV)/.core  ## install the core alone and make a first release in out/demo
	@$(BIN)/sfumato demo -o out/demo
	@echo "The report is $(CURDIR)/out/demo/report.html"

test: lint system  ## lint, then every test
	@$(BIN)/python -m pytest -n 3 --dist loadgroup --max-worker-restart=0 -m ""

system:  ## what tests need beside Python: Chromium, PostgreSQL, Java; installed by apt-get where root runs this
	@needs=""; has() { for one; do if command -v "$$one" > /dev/null; then return 0; fi; done; return 1; }; \
	has chromium chromium-browser google-chrome || needs="$$needs chromium"; \
	has initdb /usr/lib/postgresql/*/bin/initdb || needs="$$needs postgresql"; \
	has java || needs="$$needs default-jre-headless"; \
	if [ -z "$$needs" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then \
	  echo "Tests that need these are skipped:$$needs"; exit 0; fi; \
	echo "Installing$$needs ..."; \
	mkdir -p /etc/postgresql-common/createcluster.d; \
	echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.d/sfumato.conf; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq && apt-get install -qq -y --no-install-recommends $$needs > /dev/null

fuzz: $(VENV)/.all  ## attack many more generated releases than `make test` does
	@SFUMATO_FUZZ=20 $(BIN)/python -m pytest -n 2 -m "not spark and not postgres" tests/leaks tests/conformance
	@SFUMATO_FUZZ=20 $(BIN)/python -m pytest -n 2 -m "not spark" tests/dp tests/core/test_mechanisms.py
	@SFUMATO_FUZZ=20 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not spark and not postgres" tests/tables tests/criteria/cells

lint: $(VENV)/.all  ## ruff, mypy and the arrows between modules
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "ruff: the files above are not formatted: make format"; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.all  ## let ruff mend style and layout
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.all $(PEERS)/.all $(DP_PEERS)/.all  ## measure speed and loss beside the peers
	@SFUMATO_PEERS_PYTHON=$(CURDIR)/$(PEERS)/bin/python SFUMATO_DP_PEERS_PYTHON=$(CURDIR)/$(DP_PEERS)/bin/python \
	  $(BIN)/python -m benchmarks

bench-scale: $(VENV)/.all $(PEERS)/.all  ## rows per second and memory up to 100 million rows: files, databases, Spark
	@SFUMATO_PEERS_PYTHON=$(CURDIR)/$(PEERS)/bin/python $(BIN)/python -m benchmarks.scale

study: $(VENV)/.all  ## repeat the reference study: its figures beside ours, plots and page
	@$(BIN)/python -m benchmarks.study

quality: $(VENV)/.all  ## what each method loses for the same promise, and its time
	@$(BIN)/python -m benchmarks.quality

pictures: $(VENV)/.all  ## run the tutorial and the gallery, and put what they draw into docs/images; the studio into docs/studio
	@PYTHONPATH=. $(BIN)/python -m tools.pictures && PYTHONPATH=. $(BIN)/python -m tools.masking_pictures
	@PYTHONPATH=. $(BIN)/python -m tools.table_pictures
	@PYTHONPATH=. $(BIN)/python -m tools.query_pictures
	@PYTHONPATH=. $(BIN)/python -m tools.studio_pictures

docs: $(VENV)/.all  ## build the documentation into site/
	@$(BIN)/zensical build --clean --strict

lock:  ## write the requirements*.lock files, keeping what still fits; UPGRADE=-U for the newest
	@$(PYTHON) -m venv $(LOCK) && $(LOCK)/bin/python $(PIP) install pip-tools
	@$(PYTHON) -c "$$NEEDS" build core extras test docs > $(LOCK)/all.in
	@$(PYTHON) -c "$$NEEDS" build core > $(LOCK)/core.in
	@$(PYTHON) -c "$$NEEDS" bench > $(LOCK)/bench.in
	@$(COMPILE) -o requirements.lock $(LOCK)/all.in
	@$(COMPILE) -c requirements.lock -o requirements-core.lock $(LOCK)/core.in
	@$(COMPILE) -o requirements-bench.lock $(LOCK)/bench.in
	@$(PYTHON) -c "$$NEEDS" bench-dp > $(LOCK)/bench-dp.in
	@$(COMPILE) -o requirements-bench-dp.lock $(LOCK)/bench-dp.in && sed -i '/^$$/d; /^#/d' requirements-bench-dp.lock

clean:  ## remove what was built; the environments stay
	@rm -rf out/demo out/demo-input site dist .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp says what an environment holds. The core is part of all, so `make demo` and `make test` share .venv in either order.
$(VENV)/.core: requirements-core.lock pyproject.toml | $(VENV)/.made
	@echo "Installing the core of Sfumato into $(VENV) (under a minute) ..."
	@$(BIN)/python $(INSTALL) requirements-core.lock
	@$(BIN)/python $(EDITABLE)
	@touch $@

$(VENV)/.all: requirements.lock pyproject.toml | $(VENV)/.made
	@echo "Installing Sfumato with all extras and tools into $(VENV) (a few minutes the first time) ..."
	@$(BIN)/python $(INSTALL) requirements.lock
	@$(BIN)/python $(EDITABLE)
	@touch $(VENV)/.core $@

$(PEERS)/.all: requirements-bench.lock | $(PEERS)/.made
	@echo "Installing the peers of the benchmark into $(PEERS) ..."
	@$(PEERS)/bin/python $(INSTALL) requirements-bench.lock
	@touch $@

$(DP_PEERS)/.all: requirements-bench-dp.lock | $(DP_PEERS)/.made
	@echo "Installing diffprivlib, a peer of the benchmark, into $(DP_PEERS) ..."
	@$(DP_PEERS)/bin/python $(INSTALL) requirements-bench-dp.lock
	@touch $@

$(VENV)/.made $(PEERS)/.made $(DP_PEERS)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Sfumato needs Python 3.11 or newer. If it has another name here: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(@D) || { \
	  echo "Python could not make a virtual environment. On Debian and Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	@touch $@
