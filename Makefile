# `make run` starts a demonstration, `make test` runs the tests, `make help` lists all targets.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input install --no-warn-script-location
HASHED := --require-hashes --no-build-isolation --use-pep517
# Locks keep extras: if a lock names `coverage` and a package needs `coverage[toml]`, pip 23 takes the newest release of it.
LOCK := PYTHONWARNINGS=ignore $(BIN)/pip-compile --quiet --generate-hashes --no-strip-extras --allow-unsafe --no-header --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs  # the theme's notice of its successor, at each build

# Where `make wheel` and `make deb` put their files.
DIST := dist

# The tests of what is built and installed, which take minutes before the first one begins.
PACKAGES := tests/packaging tests/systemd

# Package caches are inside the clone, unless the environment sets others.
export PIP_CACHE_DIR ?= $(CURDIR)/.cache/pip
export PIP_TOOLS_CACHE_DIR ?= $(CURDIR)/.cache/pip-tools

# pytest's plugins that no quick test needs: their imports take a second of each worker.
UNUSED := anyio pytest_cov schemathesis

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
.PHONY: help run test test-packages coverage test-aws test-loaded test-unit test-3.13 fmt lint types docs docs-serve bench bench-fleet bench-hostile bench-nomad bench-reaction bench-replay bench-state fuzz mutants rehearse wheel deb check-deb image sbom release install uninstall lock upgrade ready servers venv clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9.-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 26

run: $(VENV)/installed ## run a demonstration: Prometheus, workers and the daemon; DEMO_SECONDS=120 limits its time
	@$(BIN)/python -m demo $(if $(DEMO_SECONDS),--seconds $(DEMO_SECONDS))

test: ready ## run all tests but those of packages
	$(BIN)/python -m pytest -n auto --durations=15 --durations-min=10 $(foreach folder,$(PACKAGES),--ignore=$(folder))

test-packages: ready ## build the packages and the image, and run the tests of these and of the service
	$(BIN)/python -m pytest -n auto --durations=15 --durations-min=10 $(PACKAGES)

coverage: ready ## run all tests with branch coverage
	$(BIN)/python -m pytest -n auto --cov

test-loaded: ready ## run all tests on a busy machine, then each that depends on its speed 20 times; ARGS="--slice 1/8" for an eighth of these
	$(BIN)/python -m tests.loaded $(ARGS)

test-aws: $(VENV)/installed-dev ## check the AWS adapters on a real account: AWS_TEST_GROUP=web-asg; WRITE=1 also sets sizes, and sets them back
	@$(BIN)/python -m tests.adapters.aws.account

test-unit: $(VENV)/installed-dev ## run the tests that need no server and no build
	$(BIN)/python -m pytest -n auto -m "not slow" $(UNUSED:%=-p no:%)

test-3.13: ## as root: run `make test-unit` on Debian 13, with its Python 3.13
	@tools/debian13.sh make VENV=/opt/venv HASHED="$(HASHED) --no-deps" test-unit  # mutmut alone needs one more with 3.13

fmt: $(VENV)/installed-dev ## format the code
	$(BIN)/ruff check --quiet --select I --fix .
	$(BIN)/ruff format .

lint: $(VENV)/installed-dev ## check the code with ruff and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/installed-dev ## check the types with mypy
	$(BIN)/mypy

docs: $(VENV)/installed-dev ## build the documentation in build/site; a broken link is an error
	@$(MKDOCS) build --strict  # --quiet would ignore warnings, such as a link without a target
	@echo "Open build/site/index.html, or see it with its search: make docs-serve"

docs-serve: $(VENV)/installed-dev ## serve the documentation on this machine and rebuild it at each change
	@$(MKDOCS) serve --strict

bench: $(VENV)/installed-dev ## measure speed and memory against their aims
	$(BIN)/python -m bench

bench-state: $(VENV)/installed-dev ## measure bytes and processor time of an evaluation in the state
	$(BIN)/python -m bench.state $(ARGS)

bench-fleet: $(VENV)/installed-dev ## measure 10,000 autoscalers and a million series; ARGS=quick for a tenth
	$(BIN)/python -m bench.fleet $(ARGS)

bench-nomad: $(VENV)/installed-dev ## measure 1,000 groups on a real Nomad; ARGS="--groups 100 --cycles 2" for less
	$(BIN)/python -m bench.nomad $(ARGS)

bench-reaction: $(VENV)/installed-dev ## measure the time from a rise of load to a new instance, beside the Nomad Autoscaler, 40 minutes; ARGS=quick for six
	$(BIN)/python -m bench.reaction $(ARGS)

bench-replay: $(VENV)/installed-dev ## measure the replay of a week from Prometheus; ARGS=quick for a day
	$(BIN)/python -m bench.replay $(ARGS)

bench-hostile: ready ## measure an autoscaler beside hostile neighbours, ten minutes; ARGS="--case cookies" for one case
	$(BIN)/python -m rehearse --only hostile $(ARGS)

mutants: $(VENV)/installed-dev ## break the code in many places and list those that no test notices; ARGS="autoscaler.rules.idle*" for some
	$(BIN)/mutmut run $(ARGS)
	$(BIN)/mutmut results

fuzz: $(VENV)/installed-dev ## run the tests of properties with 20,000 examples each; ARGS=tests/hostile for some
	$(BIN)/python -m pytest -n auto -m hypothesis --hypothesis-profile=fuzz --timeout=0 $(ARGS)

rehearse: ready ## rehearse hundreds of faults, two to three hours; ARGS="--only kill --only answers" for some, ARGS=--short for some minutes
	$(BIN)/python -m rehearse $(ARGS)

wheel: $(VENV)/installed-dev ## build dist/*.whl and its sdist
	@rm -f $(DIST)/*.whl $(DIST)/*.tar.gz
	@$(BIN)/python -m build --no-isolation --outdir $(DIST) . >/dev/null
	@ls $(DIST)/*.whl

deb: ## build dist/*.deb for this machine's release of Debian
	@rm -f $(DIST)/*.deb && tools/deb.sh $(DIST)

check-deb: deb ## as root: check the package with lintian, piuparts and a second, identical build
	@tools/check-deb.sh $(DIST)/*.deb

image: deb ## as root: build dist/*-oci.tar, an image of the Debian package for Swarm and Nomad
	@rm -f $(DIST)/*-oci.tar && tools/image.sh $(DIST)/*.deb $(DIST)

sbom: $(VENV)/installed-dev ## write dist/*.cdx.json, the packages installed with the daemon (CycloneDX)
	@mkdir -p $(DIST)
	@PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-format JSON --output-file $(DIST)/prometheus-autoscaler.cdx.json requirements-postgresql.lock
	@ls $(DIST)/*.cdx.json

release: $(VENV)/installed-dev ## make a version's files, commit and tag from a clean tree: make release VERSION=0.2.0
	@$(BIN)/python -m tools.release "$(VERSION)"

install: ## as root: install the daemon, unit, user and configuration; PREFIX=/usr/local, DESTDIR=
	@tools/install.sh install

uninstall: ## as root: remove the files of `make install`; configuration and state stay
	@tools/install.sh uninstall

lock: $(VENV)/installed-dev ## write the lock files, with the locked versions where possible
	$(LOCK) --all-build-deps --only-build-deps --output-file requirements-build.lock pyproject.toml
	$(LOCK) --output-file requirements.lock pyproject.toml
	$(LOCK) --extra postgresql --constraint requirements.lock --output-file requirements-postgresql.lock pyproject.toml
	$(LOCK) --extra dev --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml

upgrade: ## write the lock files with the newest versions
	$(MAKE) lock LOCK='$(LOCK) --upgrade'

ready: | $(BIN)/pip ## install .venv and, as root, the servers of the tests
	@$(MAKE) --no-print-directory --jobs=2 SIDE_BY_SIDE=1 venv $(if $(filter 0,$(shell id -u)),servers)

servers: ## as root: install the servers of the tests and list them
	@tools/servers.sh

venv: $(VENV)/installed-dev ## install .venv for development

clean: ## remove all generated files, including the servers in .cache
	rm -rf $(VENV) .cache .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist mutants *.egg-info
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
