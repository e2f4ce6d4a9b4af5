# `make run` shows it working, `make test` proves it. `make help` lists the rest.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input install --no-warn-script-location
HASHED := --require-hashes --no-build-isolation --use-pep517
LOCK := PYTHONWARNINGS=ignore $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs  # the theme's notice of its successor, at each build

# Where `make wheel` and `make deb` put their files.
DIST := dist

# Nothing is left outside the clone, a package cache neither, unless one is named.
export PIP_CACHE_DIR ?= $(CURDIR)/.cache/pip
export PIP_TOOLS_CACHE_DIR ?= $(CURDIR)/.cache/pip-tools

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
.PHONY: help run test coverage test-unit fmt lint types docs docs-serve bench bench-fleet bench-hostile bench-hosts bench-nomad bench-replay bench-state fuzz mutants rehearse wheel deb check-deb image sbom release install uninstall lock upgrade ready servers venv clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

run: $(VENV)/installed ## real Prometheus, real workers, the daemon; DEMO_SECONDS=120 ends by itself
	@$(BIN)/python -m demo $(if $(DEMO_SECONDS),--seconds $(DEMO_SECONDS))

test: ready ## everything
	$(BIN)/python -m pytest -n auto --durations=15 --durations-min=10

coverage: ready ## the same with branch coverage, which takes longer
	$(BIN)/python -m pytest -n auto --cov

test-unit: $(VENV)/installed-dev ## what needs no server and no build
	$(BIN)/python -m pytest -n auto -m "not slow"

fmt: $(VENV)/installed-dev ## format the code
	$(BIN)/ruff check --quiet --select I --fix .
	$(BIN)/ruff format .

lint: $(VENV)/installed-dev ## ruff and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/installed-dev ## mypy, strict
	$(BIN)/mypy

docs: $(VENV)/installed-dev ## the documentation as a site, in build/site; a link that leads nowhere is an error
	@$(MKDOCS) build --strict --quiet
	@echo "Open build/site/index.html, or see it with its search: make docs-serve"

docs-serve: $(VENV)/installed-dev ## the same, served on a port of this machine and built again at each change; Ctrl-C ends it
	@$(MKDOCS) serve --strict

bench: $(VENV)/installed-dev ## speed and memory against their aims
	$(BIN)/python -m bench

bench-state: $(VENV)/installed-dev ## bytes and processor time that an evaluation takes in the state
	$(BIN)/python -m bench.state $(ARGS)

bench-fleet: $(VENV)/installed-dev ## 10,000 autoscalers, a million series; ARGS=quick for a tenth of them
	$(BIN)/python -m bench.fleet $(ARGS)

bench-hosts: $(VENV)/installed-dev ## 3 daemons with 9,000 autoscalers on one PostgreSQL; ARGS="--autoscalers 900" for less
	$(BIN)/python -m bench.hosts $(ARGS)

bench-nomad: $(VENV)/installed-dev ## what 1,000 groups on a real Nomad cost; ARGS="--groups 100 --cycles 2" for less
	$(BIN)/python -m bench.nomad $(ARGS)

bench-replay: $(VENV)/installed-dev ## a week of an autoscaler replayed from Prometheus, and tuned by two days; ARGS=quick for a day
	$(BIN)/python -m bench.replay $(ARGS)

bench-hostile: $(VENV)/installed-dev ## a good autoscaler beside hostile neighbours, some ten minutes; ARGS="--case cookies" for one case
	$(BIN)/python -m bench.hostile $(ARGS)

mutants: $(VENV)/installed-dev ## whether the tests notice 99 broken places, in half an hour; ARGS="--seed 2" for others
	$(BIN)/python -m bench.mutants $(ARGS)

fuzz: $(VENV)/installed-dev ## a million inputs into all that reads what others wrote; ARGS="--seed 2" for others
	$(BIN)/python -m bench.fuzz $(ARGS)

rehearse: $(VENV)/installed-dev ## faults by the hundred, under three hours; ARGS="--only kill" for some of them, ARGS=--short for a minute
	$(BIN)/python -m tests.faults $(ARGS)

wheel: $(VENV)/installed-dev ## dist/*.whl and the sdist that it is built from, for a virtual environment of your own
	@rm -f $(DIST)/*.whl $(DIST)/*.tar.gz
	@$(BIN)/python -m build --no-isolation --outdir $(DIST) . >/dev/null
	@ls $(DIST)/*.whl

deb: ## dist/*.deb, for the release of Debian that this machine runs
	@rm -f $(DIST)/*.deb && tools/deb.sh $(DIST)

check-deb: deb ## as root: lintian, piuparts (installs, upgrades and purges it in a chroot), and whether a second build is the same
	@tools/check-deb.sh $(DIST)/*.deb

image: deb ## as root: dist/*-oci.tar, an image for Swarm and Nomad, of the Debian package
	@rm -f $(DIST)/*-oci.tar && tools/image.sh $(DIST)/*.deb $(DIST)

sbom: $(VENV)/installed-dev ## dist/*.cdx.json, the packages that are installed with the daemon (CycloneDX)
	@mkdir -p $(DIST)
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-format JSON --output-file $(DIST)/prometheus-autoscaler.cdx.json requirements-postgresql.lock
	@ls $(DIST)/*.cdx.json

release: $(VENV)/installed-dev ## a version's files, commit and tag, of a clean tree: make release VERSION=0.2.0
	@$(BIN)/python -m tools.release "$(VERSION)"

install: ## as root: the daemon with unit, user and configuration; below PREFIX=/usr/local, DESTDIR= for elsewhere
	@tools/install.sh install

uninstall: ## as root: what `make install` put there; configuration and state stay
	@tools/install.sh uninstall

lock: $(VENV)/installed-dev ## write the lock files anew, keeping the versions that still fit
	$(LOCK) --all-build-deps --only-build-deps --output-file requirements-build.lock pyproject.toml
	$(LOCK) --output-file requirements.lock pyproject.toml
	$(LOCK) --extra postgresql --constraint requirements.lock --output-file requirements-postgresql.lock pyproject.toml
	$(LOCK) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml

upgrade: ## the same with the newest versions
	$(MAKE) lock LOCK='$(LOCK) --upgrade'

ready: | $(BIN)/pip ## .venv, and as root the servers of the tests, side by side
	@$(MAKE) --no-print-directory --jobs=2 SIDE_BY_SIDE=1 venv $(if $(filter 0,$(shell id -u)),servers)

servers: ## as root: install the servers that the tests use; says what is there and what is not
	@tools/servers.sh

venv: $(VENV)/installed-dev ## .venv with everything for development

clean: ## remove what was made here; .cache holds the servers that were fetched or built
	rm -rf $(VENV) .cache .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/pip:
	@tools/venv.sh $(VENV)

$(VENV)/installed: requirements-build.lock requirements.lock pyproject.toml | $(BIN)/pip
	@echo "Installing the daemon and what it needs into $(VENV) (once, about a minute)"
	@$(PIP) --require-hashes --requirement requirements-build.lock
	@$(PIP) $(HASHED) --requirement requirements.lock
	@PYTHONWARNINGS=ignore $(PIP) --no-deps --no-build-isolation --editable .  # setuptools warns of every editable install
	@touch $@

$(VENV)/installed-dev: requirements-dev.lock $(VENV)/installed
	@echo "Installing the development tools into $(VENV) (once, about two minutes)"
	@$(PIP) $(HASHED) --requirement requirements-dev.lock
	@touch $@
