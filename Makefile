# toolmesh: what can be done with this checkout. `make help` lists it.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup demo go machines test generated-tools attacks declared reference fuzz hostile-neighbours cases protocol-model chaos chaos-agents paused-tasks fairness durability worker-restarts lint schemas cover loop-cost sdk-cost sam-tools clean

UV := $(shell command -v uv 2>/dev/null || echo $(CURDIR)/.bootstrap/bin/uv)
PYTHON := .venv/bin/python
STAMP := .venv/.synced
WORKERS ?= 2
# make has an AS of its own, the assembler.
AS_USER := $(if $(filter-out default,$(origin AS)),$(AS))

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(CURDIR)/.bootstrap/bin/uv:
	@python3 -m pip install --quiet --target .bootstrap uv 2>/dev/null \
	  || (python3 -m venv .bootstrap && .bootstrap/bin/python -m pip install --quiet uv) \
	  || { echo "setup: neither uv, pip nor venv is here; try: apt-get install python3-venv" >&2; exit 2; }

$(STAMP): pyproject.toml uv.lock $(wildcard libs/*/pyproject.toml services/*/pyproject.toml) | $(UV)
	@$(UV) sync --quiet --frozen --all-packages 2>/dev/null || $(UV) sync --quiet --frozen --all-packages --system-certs
	@touch $(STAMP)

setup: $(STAMP) ## Install everything into .venv (uv comes through pip if it is absent).
	@echo "setup: ok"

demo: $(STAMP) ## Start a mesh, call the example tools through it, and stop it.
	@.venv/bin/toolmesh demo

go:
	@command -v go >/dev/null || { apt-get update -q && apt-get install -q -y golang-go; } >/dev/null 2>&1 \
	  || { echo "tests build a tool in Go, which is missing; try: apt-get install golang-go" >&2; exit 2; }

machines:
	@command -v ip >/dev/null || { apt-get update -q && apt-get install -q -y iproute2; } >/dev/null 2>&1 \
	  || { echo "tests cut networks with ip, which is missing; try: apt-get install iproute2" >&2; exit 2; }

test: $(STAMP) go machines ## Run all tests against a real nats-server and real sandboxes.
	@$(PYTHON) -m pytest -q -n $(WORKERS) tests
	@echo "test: ok"

generated-tools: $(STAMP) ## Run 1,000 made-up tools through a real worker.
	@TOOLMESH_GENERATED_TOOLS=1000 $(PYTHON) -m pytest -q tests/integration/runtime/test_generated_tools.py
	@echo "generated-tools: ok"

attacks: $(STAMP) ## Run every row of a file of attacks (FILE=...) through a real worker (AS=root or 65532).
	@$(PYTHON) -m tests.attacks.runner $(if $(FILE),--file $(abspath $(FILE))) $(if $(AS_USER),--as $(AS_USER))

declared: $(STAMP) ## Run every row of a file of declared tools (FILE=...) through a real worker.
	@$(PYTHON) -m tests.cases_declared.run $(if $(FILE),$(abspath $(FILE)))

reference: $(STAMP) go ## Prove each row of a contract (ROOM=tool-process) by the tests bound to it.
	@$(PYTHON) tests/reference/run.py $(ROOM)

fuzz: $(STAMP) ## Run CASES=n hostile tools and odd inputs against one worker (SEED=n runs the same again).
	@$(PYTHON) -m tests.load.fuzz --cases $(or $(CASES),1000) $(if $(SEED),--seed $(SEED))

hostile-neighbours: $(STAMP) ## Compare calls beside hostile ones with calls beside well-behaved ones.
	@$(PYTHON) -m tests.load.hostile_neighbours

cases: $(STAMP) ## Run the cases of CASES=FOLDER, a folder of examples kept outside this repository.
	@test -d "$(CASES)" || { echo "cases: no folder '$(CASES)'; call make cases CASES=FOLDER" >&2; exit 2; }
	@TOOLMESH_CASES="$(abspath $(CASES))" $(PYTHON) -m pytest -q tests/cases
	@echo "cases: ok"

protocol-model: $(STAMP) ## Explore the protocol of one call: kills, losses and delays at every step (EXAMPLES=1000).
	@PYTHONPATH=. $(PYTHON) tests/protocol/run.py $(EXAMPLES)

chaos: $(STAMP) machines ## Break a mesh of real processes at every step of a call (SECONDS=120, NODES=1 or 3, SEED=n).
	@$(PYTHON) -m tests.load.chaos --seconds $(or $(SECONDS),120) --nodes $(or $(NODES),1) $(if $(SEED),--seed $(SEED))

chaos-agents: $(STAMP) ## Stop and kill executors and workers under the tasks of agents (SECONDS=300, TASKS=200, SEED=n).
	@$(PYTHON) -m tests.load.agent_chaos --seconds $(or $(SECONDS),300) --tasks $(or $(TASKS),200) $(if $(SEED),--seed $(SEED))

paused-tasks: $(STAMP) ## Measure what tasks cost that wait for a person, over a restart of their executor (TASKS=10000).
	@$(PYTHON) -m tests.load.paused_tasks $(TASKS)

fairness: $(STAMP) ## Measure whose turn it is: a full tenant beside others, lanes by weight (QUEUED=100000).
	@PYTHONPATH=. $(PYTHON) tests/load/fairness.py $(QUEUED)

durability: $(STAMP) ## Measure what the ways to keep a call cost: one server, every write synced, three servers (CALLS=500).
	@$(PYTHON) -m tests.load.durability $(CALLS)

worker-restarts: $(STAMP) ## Start and end a worker again and again, half by kill -9, and count what is left (RESTARTS=100).
	@$(PYTHON) -m tests.load.worker_restarts $(RESTARTS)

lint: $(STAMP) ## Check style, types, import directions and module sizes.
	@.venv/bin/ruff check --quiet .
	@.venv/bin/ruff format --quiet --check .
	@.venv/bin/mypy --no-error-summary libs services tests
	@.venv/bin/lint-imports --no-cache >/dev/null || .venv/bin/lint-imports --no-cache
	@$(PYTHON) tests/structure/module_sizes.py
	@echo "lint: ok"

schemas: $(STAMP) ## Write schemas/ anew from the contracts.
	@$(PYTHON) -m toolmesh_contracts.schema_export schemas

cover: $(STAMP) go machines ## Run all tests and print each room's coverage.
	@$(PYTHON) -m coverage erase
	@$(PYTHON) -m pytest -q -n $(WORKERS) --cov --cov-report= tests
	@$(PYTHON) tests/structure/coverage_by_room.py

loop-cost: $(STAMP) ## Print what a turn of an agent costs outside its model and its tools, as CPU time.
	@$(PYTHON) -m tests.load.loop_cost

sdk-cost: $(STAMP) ## Print what importing the SDK and the launcher cost, as CPU time.
	@$(PYTHON) tests/load/cold_call.py
	@$(PYTHON) tests/load/sdk_import_cost.py

sam-tools: $(STAMP) ## Run every form of a tool under each release of the published SDK, and count what fits.
	@PYTHONPATH=. $(PYTHON) tests/load/sam_tools.py

clean: ## Remove what the other targets made.
	@rm -rf .venv .bootstrap .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "clean: ok"
