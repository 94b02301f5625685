VENV := .venv
PYTHON := $(VENV)/bin/python

DOCS := .venv-docs
SITE := docs/_build/html

.PHONY: demo test docs campaign clean

demo: $(VENV)/installed
	$(PYTHON) -m lspin.demo

test: $(VENV)/installed-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PYTHON) -m pytest -n 2

# The site, in an environment of its own. Open docs/_build/html/index.html; it needs no network.
docs: $(DOCS)/installed
	$(DOCS)/bin/python -m sphinx -W --keep-going -q -b html docs $(SITE)
	$(DOCS)/bin/python docs/check_links.py $(SITE)

campaign: $(VENV)/installed-test
	cd tests && ../$(PYTHON) -W ignore -m campaign.run $(ARGS)

bench-%: $(VENV)/installed-test
	$(PYTHON) -m benchmarks.experiments.$* $(ARGS)

$(VENV)/bin/python:
	python3 -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(PYTHON) -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	$(PYTHON) -m pip install --quiet --editable .[test,bench]
	touch $@ $(VENV)/installed

$(DOCS)/installed: pyproject.toml
	python3 -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --editable .[docs]
	touch $@

clean:
	rm -rf $(VENV) $(DOCS) docs/_build docs/gallery docs/results docs/api/generated
