VENV := .venv
PYTHON := $(VENV)/bin/python

JUDGES := .venv-judges
LOWEST := .venv-lowest
DOCS := .venv-docs
DIST := .venv-dist
SITE := docs/_build/html
# The build of torch without CUDA. Where it is not to be had, TabNet is not tried.
TORCH := torch==2.13.0+cpu

.PHONY: demo test test-judges test-lowest docs docs-full dist campaign clean

demo: $(VENV)/installed
	$(PYTHON) -m lspin.demo

test: $(VENV)/installed-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PYTHON) -m pytest -n 2 -rs

# What `make test` has to skip: comparisons with scikit-survival, lifelines and statsmodels, tables of other packages,
# TabNet. They have an environment of their own, since some of them hold back pandas and scikit-learn.
test-judges: $(JUDGES)/installed
	$(JUDGES)/bin/python -m pytest -rs tests/survival/test_reference.py tests/survival/test_proportionality.py
	$(JUDGES)/bin/python -m pytest -rs tests/test_benchmarks.py -k "tabnet or cox_lasso or survival_forest or ordinary_table"

# All tests with the oldest dependencies that pyproject.toml allows. They warn of what has changed since.
test-lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python -m pytest -rs -W default $(ARGS)

# The site, in an environment of its own. Open docs/_build/html/index.html; it needs no network. Scripts of the gallery
# that are marked as long are run by docs-full only.
docs: $(DOCS)/installed
	$(DOCS)/bin/python -m sphinx -W --keep-going -q -b html docs $(SITE)
	$(DOCS)/bin/python docs/check_links.py $(SITE)

docs-full:
	LSPIN_DOCS_FULL=1 $(MAKE) docs

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

$(JUDGES)/installed: pyproject.toml
	python3 -m venv $(JUDGES)
	$(JUDGES)/bin/python -m pip install --quiet --editable .[judges]
	$(JUDGES)/bin/python -m pip install --quiet "$(TORCH)" "pytorch-tabnet>=4.1" || \
	  echo "$(TORCH) is not to be had here: TabNet is not tested" >&2
	touch $@

$(LOWEST)/installed: pyproject.toml packaging/lowest.py
	python3.11 -m venv $(LOWEST)
	python3 packaging/lowest.py cells data files plots > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --editable .[test] --constraint $(LOWEST)/lowest.txt polars==1.20.0
	touch $@

$(DIST)/installed: pyproject.toml
	python3 -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet build check-jsonschema check-wheel-contents twine yamllint
	touch $@

$(DOCS)/installed: pyproject.toml
	python3 -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --editable .[docs]
	touch $@

clean:
	rm -rf $(VENV) $(JUDGES) $(LOWEST) $(DOCS) $(DIST) dist docs/_build docs/gallery docs/results docs/api
