.DEFAULT_GOAL := help
.PHONY: help install fmt lint type test pages slow bench measured images reference docs playground package corpus ci

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: ## install the package with its test dependencies
	pip install -e '.[test]'

fmt: ## format the code
	ruff format sdy tests
	ruff check --fix sdy tests

lint: ## check the code with ruff
	ruff check sdy tests
	ruff format --check sdy tests

type: ## check types, import contracts and file sizes
	pyright
	lint-imports
	python -m sdy.tools.check_sizes

test: ## run the default test suite
	pytest

pages: ## run the examples and the notebooks in docs and update their outputs
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests python -m support.pages --update
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests python -m support.notebooks --update

slow: ## run the slow tests
	pytest -m slow

bench: ## run the benchmarks in tests/benchmarks
	pytest -m benchmark -n0 -s tests/benchmarks

MEASURED = ../shared/measured
measured: ## compare predicted with published times in the folder MEASURED, and write docs/measured.md
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests python -m support.measured $(MEASURED) --write docs/measured.md

corpus: ## regenerate tests/corpus/README.md: known bugs, and what XLA and Shardy make of them
	cd tests && python -m support.corpus_page

images: ## draw docs/images/architecture.svg anew, and list the packages
	cd tests && python -m support.architecture_page

reference: ## write the generated pages into build/reference, and docs/reference/schema.json
	python -m sdy.tools.make_reference

docs: ## build the documentation site in site/ (needs the extra docs), with the playground if npm is installed
	mkdocs build --strict
	python -m sdy.tools.playground.build site/playground --if-possible

playground: ## build the playground in build/site, a folder of static files (needs npm and node)
	python -m sdy.tools.playground.build build/site

package: ## build the wheel and the sdist, and try them in a new environment (needs the extra release)
	pytest -m slow -n0 tests/packaging

ci: ## run all checks of continuous integration
	.ci/run
