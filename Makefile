VENV := .venv
PYTHON := $(VENV)/bin/python

.PHONY: demo test campaign clean

demo: $(VENV)/installed
	$(PYTHON) -m lspin.demo

test: $(VENV)/installed-test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PYTHON) -m pytest -n 2

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

clean:
	rm -rf $(VENV)
