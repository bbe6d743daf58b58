# The book's commands. GNU Make 3.81 or later, on Debian or macOS.
#   make book        build the site (creates .venv and installs the locked packages)
#   make serve       serve the built site on http://localhost:8000
#   make test        build the site, then run every test and every chapter
#   make test-site   only the tests of the built site in a browser
#   make notebooks   execute the chapters again in place; CHAPTERS="a.ipynb" for some
#   make clean       remove what was built; make distclean removes .venv as well
# PYTHON names the interpreter that .venv is made from: make book PYTHON=python3.12

PYTHON ?= python3
PORT ?= 8000
CHAPTERS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest
BOOK_LOCK := requirements.txt requirements-mathjax.txt

# Tests and chapters run as two processes: one thread each is what two cores can serve.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

# The site must not be built while packages are being installed.
.NOTPARALLEL:
.PHONY: help book serve test test-site notebooks clean distclean

help:
	@sed -n 's/^#  *\(make .*\)/\1/p' Makefile

$(VENV)/created:
	@$(PYTHON) tools/check_python.py
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The package is installed editable and without its dependencies, which the lock holds.
$(VENV)/book-installed: $(VENV)/created $(BOOK_LOCK) pyproject.toml
	$(PIP) install -r requirements.txt
	$(PIP) install --no-deps -r requirements-mathjax.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/tests-installed: $(VENV)/book-installed tests/requirements.txt
	$(PIP) install -r tests/requirements.txt
	@touch $@

book: $(VENV)/book-installed
	$(BIN)/jupyter-book build . -W -n --keep-going
	@echo "The book is built: open _build/html/index.html"

serve: book
	$(BIN)/python -m http.server --directory _build/html $(PORT)

test: book $(VENV)/tests-installed
	$(PYTEST) -n 2 --dist loadfile

test-site: book $(VENV)/tests-installed
	$(PYTEST) tests/site

notebooks: $(VENV)/book-installed
	$(BIN)/python -m tools.notebooks $(CHAPTERS)

clean:
	rm -rf _build build dist .pytest_cache .hypothesis mlbook.egg-info

distclean: clean
	rm -rf $(VENV)
