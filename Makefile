# The only commands one needs. Each does its own set-up, and does nothing twice.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --warn-undefined-variables
.DEFAULT_GOAL := help

PYTHON ?= python3
# `make bench BENCH=quick`, or the names of parts: see `python -m bench --help`.
BENCH ?=
# Seconds per fuzz target.
FUZZ_SECONDS ?= 600
# What `make miri` interprets: `make miri MIRI_CRATES="units wire"`; all pure crates by default.
MIRI_CRATES ?=
# Arguments for pytest: `make pytest ARGS="-k cli"`.
ARGS ?=
# How many processes share the tests that need no quiet machine: more than half of their time is waiting, for programs, packets and guests.
JOBS ?= $(shell echo $$((4 * $$(nproc))))

BIN := .venv/bin
READY := .venv/ready
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
# The wheel and the tests of the crates with Arrow select the same packages with the same features and profile: Arrow and Parquet,
# most of the building time, are compiled once.
ARROW_CRATES := --package trustbed-record --package trustbed-py
# Crates that touch neither clock nor file nor socket: their clippy.toml says so.
PURE_CRATES := $(patsubst crates/%/clippy.toml,--package trustbed-%,$(subst _,-,$(shell grep -l 'pure crate: ' crates/*/clippy.toml)))
# Python tests that start no agent, no server and no browser.
PURE_TESTS := tests/campaign tests/diagnose tests/report tests/scenario tests/test_architecture.py \
	$(addprefix --ignore=,tests/report/browser tests/campaign/runner/test_live.py tests/campaign/runner/test_transport_losses.py \
	$(addprefix tests/campaign/metrics/test_,campaign.py cloudwatch.py prometheus.py))
# One file is one worker's, since the tests of a file share what is expensive; in the order of collection, since the long files are not
# those of many tests.
PARALLEL := --dist loadfile --no-loadscope-reorder --numprocesses
# Reading the others would take longer than some of them. A quiet test in a file that does not say so is an error of the shared tests.
QUIET = $(shell grep -rl quiet tests --include='test_*.py' | sort)
# The module is built beside the Python sources; the package is installed once, in place. maturin's own installation would want the newest
# pip and take the dependency groups with it.
INSTALL := MATURIN_PEP517_ARGS=--locked python -m pip install --quiet --no-build-isolation --no-deps --editable .
export VIRTUAL_ENV := $(CURDIR)/.venv
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Some images set it, and then every process of the tests compiles every module again: a fifth of their processor time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check house lint lint-rust lint-python test-rust test-crates test-arrow pytest bench fuzz audit miri asan docs dist validate truth truth-score external lock clean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# Set-up: one stamp per finished step, inside .venv, so that removing .venv starts again.

$(READY)/toolchain: tools/setup.sh
	tools/setup.sh toolchain $(PYTHON)
	mkdir -p $(READY)
	touch $@

$(READY)/run: requirements.txt $(READY)/toolchain
	tools/setup.sh python $(PYTHON) requirements.txt
	touch $@

$(READY)/develop: requirements.txt requirements-dev.txt $(READY)/run
	tools/setup.sh python $(PYTHON) requirements-dev.txt
	touch $@

$(READY)/agent: $(RUST) tools/build/backend.py $(READY)/run
	python tools/build/backend.py
	touch $@

$(READY)/command: $(RUST) $(READY)/run $(READY)/agent
	maturin develop --release --locked --skip-install
	test $(BIN)/trustbed -nt pyproject.toml || $(INSTALL)
	touch $@

.PHONY: tools guests
tools:
	@tools/setup.sh tools

guests: $(READY)/run
	@tools/setup.sh guests

setup: $(READY)/develop $(READY)/command tools ## Everything that working on trustbed needs

demo: $(READY)/command guests ## Judge five real recordings, carry out live experiments, and write report.html and compare.html
	$(BIN)/python -m tools.demo

# Its seconds and the number of cores stay for `make house`, once all of it has passed.
test: setup ## Everything that must hold: lint, Rust tests, Python tests
	@date +%s > $(READY)/test-begun
	$(MAKE) --no-print-directory --jobs 3 pytest-shared lint-and-rust
	$(MAKE) --no-print-directory pytest-quiet
	@test -n "$(ARGS)" || echo "$$(( $$(date +%s) - $$(cat $(READY)/test-begun) )) $$(nproc)" > $(READY)/test

check: $(READY)/develop $(READY)/command ## What an editor's loop needs: quick lint and the tests of what is pure, under 90 s
	cargo fmt --all --check
	ruff format --check --quiet .
	ruff check --quiet
	mypy
	lint-imports
	cargo test $(PURE_CRATES) --lib --locked --quiet
	python -m pytest --quiet $(PARALLEL) $(JOBS) --maxprocesses 8 -m "not quiet" $(PURE_TESTS)

house: $(READY)/develop ## Sizes that the project keeps: bytes, widths, untyped records, lines of the first pages
	python tools/house.py

# In the processor time that tests in Python leave, which wait for half of theirs; each part's output stays together.
.PHONY: lint-and-rust pytest-shared pytest-quiet
lint-and-rust:
	nice -n 10 $(MAKE) --no-print-directory --output-sync=target lint test-rust

lint: lint-rust lint-python ## Formatting, clippy, ruff, mypy, import-linter, stubtest

lint-rust: $(READY)/command
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

lint-python: $(READY)/develop $(READY)/command
	ruff format --check --quiet .
	ruff check --quiet
	mypy
	python -m mypy.stubtest --mypy-config-file tools/stubtest.ini trustbed._core
	lint-imports

# The crates without Arrow run with overflow checks and debug assertions (dev profile); those with it reuse the wheel's build, for which
# pyo3 must be configured as maturin configured it. The two do not wait for each other: each profile has a directory of its own.
test-rust: test-crates test-arrow

test-crates: $(READY)/command
	MAKEFLAGS= cargo test --workspace --exclude trustbed-record --exclude trustbed-py --locked --quiet

test-arrow: $(READY)/command
	MAKEFLAGS= PYO3_CONFIG_FILE="$$(echo $(CURDIR)/target/maturin/pyo3-config-*.txt)" \
	cargo test --release $(ARROW_CRATES) --features pyo3/extension-module --locked --quiet

# First what may share the machine, then, two at a time, what measures time and waits for most of it, then what needs all of the machine.
# ARGS may leave one of them without a test (exit code 5).
pytest: pytest-shared
	$(MAKE) --no-print-directory pytest-quiet

pytest-shared: $(READY)/develop $(READY)/command
	python -m pytest $(PARALLEL) $(JOBS) --maxprocesses 8 -m "not quiet" $(ARGS) || { code=$$?; test "$$code" = 5 && test -n "$(ARGS)"; }

pytest-quiet: $(READY)/develop $(READY)/command
	python -m pytest $(PARALLEL) 2 -m "quiet and not alone" $(if $(ARGS),$(ARGS),$(QUIET)) || { code=$$?; test "$$code" = 5 && test -n "$(ARGS)"; }
	python -m pytest -m alone $(if $(ARGS),$(ARGS),$(QUIET)) || { code=$$?; test "$$code" = 5 && test -n "$(ARGS)"; }

bench: $(READY)/develop $(READY)/command tools ## Speed and memory against tcpdump, tcptrace and tshark (BENCH=quick for a short one)
	python -m bench $(BENCH)

fuzz: ## Every fuzz target for FUZZ_SECONDS (600)
	tools/setup.sh fuzz
	tools/fuzz.sh $(FUZZ_SECONDS)

# ARGS=--stored takes the database that an earlier call fetched, ARGS=--strict makes a skipped part a failure.
audit: $(READY)/develop ## Known vulnerabilities in what trustbed is built from, licences and sources; says what it has to skip
	python -m tools.audit $(ARGS)

# Miri interprets the pure crates' unit tests: MIRI_CRATES names fewer. AddressSanitizer watches the crates with unsafe code.
miri: ## Undefined behaviour in the unit tests of the pure crates (nightly compiler with miri); minutes
	tools/sanitize.sh miri $(MIRI_CRATES)

asan: ## Errors of memory in the tests of the agent and of captures (nightly compiler); minutes
	tools/sanitize.sh asan

docs: $(READY)/develop $(READY)/command ## Pages and schemas that follow from the code, man pages, the site (build/site/html), the crates' documentation
	python -m tools.generate_docs
	python -m trustbed.report.transfer.contract
	python -m trustbed.report.burst.contract
	python -m tools.man_pages build/man
	python -m tools.site
	cargo doc --workspace --no-deps --locked --quiet

# ARGS=--twice makes it a second time elsewhere and compares, ARGS=--offline-build builds the source distribution without a network.
dist: $(READY)/run ## A release in dist/: wheels, agents, source, SBOM, man pages, image; installed and tried
	tools/setup.sh dist
	python -m tools.dist $(ARGS)

validate: $(READY)/develop $(READY)/command tools ## Every capture against tcptrace and tshark; writes its section of docs/validation.md
	python -m validation $(ARGS)

# ARGS=--retry makes what was spoilt once more; ARGS="--wait 0" does not wait while others take the machine. truth-data holds the transfers of
# one plan: where the plan has changed, ARGS="--directory NAME" makes its transfers beside the old ones.
truth: $(READY)/develop $(READY)/command ## How often the verdict is right: transfers whose cause was made, judged; about 3 h, in parts, goes on where it was
	python -m validation truth --document $(ARGS)

# A look at the half of the families that is reported is logged: develop with ARGS="--wrong wrong.md" on the other half, which this scores.
truth-score: $(READY)/develop $(READY)/command ## The same without new transfers: changed rules on what was measured, families for development
	python -m validation truth --score-only $(ARGS)

# external-data holds what was simulated and what the published detector found; ARGS="--only ns3" prints one part and writes nothing.
external: $(READY)/develop $(READY)/command tools ## Verdicts on networks that others made; writes its section of docs/validation.md
	python -m validation external $(if $(ARGS),$(ARGS),--document)

lock: $(READY)/develop ## New exact versions from pyproject.toml and the Cargo.toml files
	python tools/lock_requirements.py
	cargo update

clean: ## Removes what was built (not the captures of the bench, not the transfers of truth and external)
	rm -rf .venv target build dist report.html compare.html python/trustbed/bin
