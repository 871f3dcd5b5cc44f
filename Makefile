# Every target makes what it needs: the first one run on a fresh clone creates .venv and installs into it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
NEW_ENOUGH := import sys, venv, ensurepip; sys.exit(sys.version_info[:2] < (3, 12))

.PHONY: demo test test-slow test-all test-lowest lint bench bench-peers sbc validate notebooks docs package datasets clean

demo: $(VENV)/installed
	@$(BIN)/bayesperf demo

# Every room, every public name, exactness and bad input.
test: $(VENV)/installed-test
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

# The other tests, or a part of them: make test-slow SHARE=1/2
test-slow: $(VENV)/installed-test
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m slow $(if $(SHARE),--share $(SHARE))

test-all: test test-slow

# The tests with the lowest versions that pyproject.toml allows, in an environment of their own. What these were built on
# is newer than they are, and warns them.
test-lowest: $(VENV)/installed
	@$(BIN)/python -m venv --clear $(VENV)/lowest
	@$(BIN)/python .ci/lowest_versions.py > $(VENV)/lowest/versions.txt
	@$(VENV)/lowest/bin/python -m pip --disable-pip-version-check install --quiet -c $(VENV)/lowest/versions.txt -e '.[test]'
	@$(VENV)/lowest/bin/python -m pytest -q -n 2 --dist worksteal -m "not slow" -W ignore::DeprecationWarning

lint: $(VENV)/installed-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/installed-test
	@$(BIN)/python benchmarks/budgets.py

# The same work here and by other packages, in an environment of their own: what they pin is not imposed on ours. Writes
# benchmarks/RESULTS.md, in eight minutes.
PEERS := baycomp confidenceinterval credible MLstatkit mpmath prob_conf_mat scikit-learn statsmodels
bench-peers: $(VENV)/installed
	@$(BIN)/python -m venv --clear $(VENV)/peers
	@$(VENV)/peers/bin/python -m pip --disable-pip-version-check install --quiet -e . $(PEERS)
	@$(VENV)/peers/bin/python benchmarks/peers.py

# Simulation-based calibration of every model: about twenty minutes.
sbc: $(VENV)/installed-test
	@$(BIN)/python benchmarks/simulation_based_calibration.py

# The tables of docs/coverage.md, by simulations where the truth is known: hours for all of them, and those of one file by
# make validate STUDY=slices. JOBS=2 runs two simulations at a time. What is done is kept in .venv/validation.
JOBS ?= 1
validate: $(VENV)/installed-test
	@$(BIN)/python -m validation $(or $(STUDY),all) $(JOBS)

# Executes every notebook into a scratch folder, two at a time: a cell that raises fails the target.
notebooks: $(VENV)/installed-test
	@printf '%s\0' notebooks/*.ipynb notebooks/replications/*.ipynb | xargs -0 -n 1 -P 2 $(BIN)/jupyter nbconvert --to notebook --execute --output-dir $(VENV)/notebooks

# The site, in .venv/site: its pages and the notebooks as just executed. Whatever Sphinx warns of fails the target.
docs: notebooks $(VENV)/installed-docs
	@rm -rf $(VENV)/site-source && cp -r docs $(VENV)/site-source && cp -r $(VENV)/notebooks $(VENV)/site-source/notebooks
	@mkdir $(VENV)/site-source/repository
	@cp CHANGELOG.md benchmarks/RESULTS.md validation/tables/*.csv $(VENV)/site-source/repository
	@$(BIN)/python -m sphinx -j 2 -W --keep-going -q -d $(VENV)/site-doctrees $(VENV)/site-source $(VENV)/site
	@echo "The site is $(VENV)/site/index.html"

# What is published: built, checked, and tried in an environment without the repository.
package: $(VENV)/installed-docs
	@rm -rf $(VENV)/dist && $(BIN)/python -m build --outdir $(VENV)/dist . >/dev/null
	@$(BIN)/twine check --strict $(VENV)/dist/*
	@$(BIN)/python -m venv --clear $(VENV)/published
	@$(VENV)/published/bin/python -m pip --disable-pip-version-check install --quiet $(VENV)/dist/*.whl
	@cd $(VENV)/published && bin/bayesperf demo >/dev/null && echo "$(VENV)/dist: the wheel runs without the repository."

datasets: $(VENV)/installed-test
	@$(BIN)/python -m tests.datasets.make

clean:
	rm -rf $(VENV) build dist *.egg-info

# The interpreter is tried, not looked up: a pyenv shim exists for versions that are not selected. An environment left
# behind by an older Python is made anew.
$(VENV)/installed: pyproject.toml
	@if ! $(BIN)/python -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then found=; \
	  for candidate in "$(PYTHON)" python3.13 python3.12 python3.14 "$$HOME"/.pyenv/versions/3.1[234]*/bin/python3; do \
	    if "$$candidate" -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then found="$$candidate"; break; fi; done; \
	  if [ -z "$$found" ]; then \
	    echo "bayesperf needs Python 3.12 or newer (with venv); $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1). Install one, then: make $(MAKECMDGOALS) PYTHON=/path/to/python3.13" >&2; \
	    exit 1; fi; \
	  echo "Creating $(VENV) and installing bayesperf (about a minute, once)."; \
	  "$$found" -m venv --clear $(VENV) || exit 1; fi
	@$(PIP) -e .
	@touch $@

$(VENV)/installed-%: $(VENV)/installed
	@$(PIP) -e '.[$*]'
	@touch $@
