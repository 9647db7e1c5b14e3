# Two commands are enough: `make run` and `make test`. Each sets up what it needs first.
# The machine's python3, or a newer one beside it where that is too old.
PYTHON ?= $(shell for each in python3 python3.15 python3.14 python3.13 python3.12 python3.11; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exec echo $$each; \
	done; echo python3)
ONCE ?=
ARGS ?=
FILE ?=

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-fast check check-api demo-target backup restore benchmark benchmark-peers docs setup

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## set up, start everything, run the sample once, serve until Ctrl-C (ONCE=1: end after the sample)
	@exec $(PYTHON) -m local run $(if $(filter-out 0,$(ONCE)),--once)

test: ## set up and run the tests (ARGS="-k histogram": only these, by pytest)
	@exec $(PYTHON) -m local test $(ARGS)

test-all: ## the same with the long ones: faults, other servers, statements of every page, statistics, axe
	@exec $(PYTHON) -m local test-all $(ARGS)

test-fast: ## the tests that need no server: the domain, the injector's logic, JavaScript (seconds)
	@exec $(PYTHON) -m local test-fast

check: ## style, imports, templates, settings, schema, JavaScript, compose, budget; a warning fails
	@exec $(PYTHON) -m local check

check-api: ## try what the API's schema allows and forbids, by Schemathesis (minutes; ARGS="--seed 1")
	@exec $(PYTHON) -m local check-api $(ARGS)

demo-target: ## only the bundled HTTP and HTTPS target, until Ctrl-C
	@exec $(PYTHON) -m local demo-target

benchmark: setup ## what the injector costs, beside its peers where they are installed (ARGS=accuracy: only that)
	@exec .venv/bin/python -m benchmarks $(ARGS)

benchmark-peers: setup ## get k6 for the benchmark, into var/peers (needs Go, and minutes)
	@exec .venv/bin/python -m benchmarks.peers

backup: ## write the database and the secret key into var/backups, also while it runs
	@exec $(PYTHON) -m local backup

restore: ## replace both by those of a backup (FILE=var/backups/….tar); keeps what was there
	@exec $(PYTHON) -m local restore "$(FILE)"

docs: setup ## write the tables of docs/ that come from the registry of plan fields
	@exec .venv/bin/python -m docs.write

setup: ## only the set-up: virtual environment, pinned packages, jQuery, Chart.js and Inter
	@exec $(PYTHON) -m local setup
