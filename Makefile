# Two commands: `make demo` runs the main job, `make test` passes the tests. Each makes the environment it needs.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
MADE := .venv/.made

.PHONY: browser demo test lint gpu-check cluster-check bench gpu-bench docs environment clean

demo: environment
	@echo "Judging five kernels on this machine: one to three minutes."
	$(BIN)/popcorn demo

test: environment browser
	$(BIN)/python -m pytest -m "not gpu and not cluster"

lint: environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check popcorn tests benchmarks
	$(BIN)/mypy

gpu-check: environment
	$(BIN)/python -m pytest -m gpu -ra

cluster-check: environment
	$(BIN)/pip install -qq --disable-pip-version-check -c constraints.txt -e '.[ray]'
	$(BIN)/python -m pytest -m cluster -ra

bench: environment
	$(BIN)/python benchmarks/run_all.py

gpu-bench: environment
	$(BIN)/python benchmarks/run_all.py --gpu

docs: environment
	$(BIN)/python -m popcorn.cli.docs

# the site's tests drive a real browser
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "Installing chromium for the site's tests."; apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
		else echo "The site's tests need a browser. Debian: sudo apt-get install chromium"; exit 1; fi; }

environment: $(MADE)

$(MADE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || { \
		echo "Popcorn needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -1). Install one (Debian: apt-get install python3 python3-venv), or name one that is here: make environment PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || { echo "Python's venv is missing. Debian: apt-get install python3-venv"; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || { echo "A C++ compiler is missing. Debian: apt-get install g++"; exit 1; }
	@echo "Making the environment in .venv: about a minute, more where torch must be fetched."
	$(PYTHON) -m venv .venv
	@set -o pipefail; $(BIN)/pip install --disable-pip-version-check --root-user-action ignore --progress-bar off -c constraints.txt \
		-e '.[agents,gpu,lint,models,search,service,site,slurm,test]' | sed -un '/ MB)/s/^ *Downloading .*\/\|^ *Downloading /  /p; s/^Installing collected packages.*/  unpacking/p'
	@touch $(MADE)

clean:
	rm -rf .venv build *.egg-info
