.DEFAULT_GOAL := help
.PHONY: help install fmt lint type test pages slow bench reference ci

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## the package, with what its tests need
	pip install -e '.[test]'

fmt: ## format the code
	ruff format sdy tests
	ruff check --fix sdy tests

lint: ## ruff: rules and format
	ruff check sdy tests
	ruff format --check sdy tests

type: ## pyright strict, import contracts, file sizes
	pyright
	lint-imports
	python -m sdy.tools.check_sizes

test: ## the default suite
	pytest

pages: ## run the examples in docs, and write below them what they print
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests python -m support.pages --update

slow: ## the long runs
	pytest -m slow

bench: ## timings, in tests/benchmarks
	pytest -m benchmark -n0 -s tests/benchmarks

reference: ## docs/reference, anew from the code
	python -m sdy.tools.make_reference

ci: ## all that continuous integration runs
	.ci/run
