# Everything happens in .venv, made here from constraints.txt, so that a fresh machine needs only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# One thread per library and one test process per core: nested thread pools slow each other down.
# One process takes a whole file, because the blocks of a documentation page build on each other.
# The third switch lets scikit-learn run its array API checks instead of skipping them; the last keeps compiled code, also
# where the shell forbids it, because some fifty tests start Python.
TEST_ENVIRONMENT := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 SCIPY_ARRAY_API=1 PYTHONDONTWRITEBYTECODE=

.PHONY: demo test check attacks mutants test-oldest test-all lint docs release-check benchmarks paper suite networks clean

demo: .venv/installed-demo
	$(BIN)/python -m aucross demo

test: lint .venv/installed-test
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -n auto --dist loadfile

# For every save, a minute: few cases and examples, without the files that conftest.py calls slow. mypy looks at changed
# files only, from the second time on.
check: lint
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -n auto --dist loadfile -q --quick --hypothesis-profile=quick tests

# Every attack at full size, and the table of what was tried and what went wrong; property tests with many examples.
attacks: .venv/installed-test
	$(TEST_ENVIRONMENT) $(BIN)/python -m pytest -n auto --dist loadfile -q -m "attack or hypothesis" \
	  --attack-table --every-pair --hypothesis-profile=many tests

# Small mistakes in every part of the package, each of which some test must notice; about ten minutes.
mutants: .venv/installed-test
	$(TEST_ENVIRONMENT) $(BIN)/python tests/mutants.py

# The oldest versions that pyproject.toml declares, on the oldest Python: the tests of the package itself.
OLDEST := core datasets files export watch record estimators evaluation report system cli \
  test_architecture.py test_new_rule.py test_notebook.py test_one_pass.py test_public_names.py test_release.py
test-oldest: .venv-oldest/installed
	$(TEST_ENVIRONMENT) .venv-oldest/bin/python -m pytest -n auto --dist loadfile $(OLDEST:%=tests/%)

# The newest libraries on the newer Pythons, which must be on the path as python3.12 and python3.13; without torch, and
# tests that need it are skipped and say so. `make test-3.13` runs one of them.
test-all: test-3.12 test-3.13
test-3.%: .venv-3.%/installed
	$(TEST_ENVIRONMENT) .venv-3.$*/bin/python -m pytest -n auto --dist loadfile

lint: .venv/installed-lint .venv/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Wheel and sdist, checked, and tried in empty environments outside of this folder.
release-check: .venv/installed-release
	.ci/check-release $(BIN)/python

docs: .venv/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

benchmarks: .venv/installed-test
	$(BIN)/python -m benchmarks

# The evidence: tables and figures of the paper with ours, into experiments/results. `make paper ARGS=--quick` takes minutes.
paper: .venv/installed-experiments
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments $(ARGS)

# The suite of further data sets, three hours of two cores; `make suite ARGS=--quick` takes five minutes, `ARGS=--plan` tells.
suite: .venv/installed-experiments
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.suite $(ARGS)
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.columns $(filter --quick --plan --write-only,$(ARGS))

# The networks of the same tables, hours of training; `make paper` then shows them too. `make networks ARGS=--plan` says how long.
networks: .venv/installed-experiments .venv/installed-torch
	$(BIN)/python -m experiments.networks $(ARGS)

.venv/bin/python:
	$(PYTHON) -m venv .venv

# One stamp per extra: a second run of any target installs nothing.
.venv/installed-%: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e ".[$*]"
	touch $@

.venv-oldest/installed: pyproject.toml constraints-oldest.txt
	python3.11 -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oldest.txt -e ".[test-core]"
	touch $@

.PRECIOUS: .venv-3.%/installed
.venv-3.%/installed: pyproject.toml
	python3.$* -m venv .venv-3.$*
	.venv-3.$*/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -e ".[test-without-torch]"
	touch $@

clean:
	rm -rf .venv .venv-* dist demo-output docs/_build docs/auto_examples docs/auto_tutorials docs/reference/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
