VENV := .venv
PYTHON := $(VENV)/bin/python

DOCS := .venv-docs
DIST := .venv-dist
SITE := docs/_build/html

.PHONY: demo test docs dist campaign clean

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

# Wheel and sdist, checked and tried outside the tree with every Python from 3.11 on that is here.
dist: $(DIST)/installed
	rm -rf dist
	$(DIST)/bin/python -m build --quiet --outdir dist
	$(DIST)/bin/python -m twine check --strict dist/*
	$(DIST)/bin/check-wheel-contents dist/*.whl
	$(DIST)/bin/yamllint --strict -d '{extends: default, rules: {line-length: {max: 115}, truthy: {check-keys: false}, document-start: disable}}' .github CITATION.cff
	$(DIST)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	packaging/try_wheel dist/*.whl

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

$(DIST)/installed: pyproject.toml
	python3 -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet build check-jsonschema check-wheel-contents twine yamllint
	touch $@

$(DOCS)/installed: pyproject.toml
	python3 -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --editable .[docs]
	touch $@

clean:
	rm -rf $(VENV) $(DOCS) $(DIST) dist docs/_build docs/gallery docs/results docs/api
