# The commands of the house. Each one makes what it needs: environments, the extension, the wheel.
# Needed beforehand: Rust, Python 3.10 or newer and, for all that runs Spark, Java 17 or newer.
# A second run redoes only what changed: stamp files inside the environments know.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell tools/find_python.sh)
VENV := .venv
OLDEST := .venv-spark41
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check

# Cargo asks this Python what to build for; naming one path keeps it from building twice.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# Spark binds to an address that the machine's name may not resolve to.
export SPARK_LOCAL_IP ?= 127.0.0.1
# CI must not change the lock file.
LOCKED := $(if $(CI),--locked)
# One profile for all that is built, as `.ci/run` has it; without, a user's wheel comes out. Not chosen by CI, which is set where
# wheels are released, too.
BUILD_PROFILE ?=
TESTS_AS := $(if $(BUILD_PROFILE),--profile $(BUILD_PROFILE))
WHEEL_AS := --profile $(or $(BUILD_PROFILE),release)
BUILT := $${CARGO_TARGET_DIR:-target}/$(or $(BUILD_PROFILE),debug)
# The extension module itself holds no tests, and would have to be linked against a whole Python to run as one.
CARGO_TEST := cargo test $(LOCKED) $(TESTS_AS) --workspace --exclude hudini-python

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust -type f -not -path '*/target/*' -not -path '*/tests/*' -not -path 'rust/fuzz/*')
PYTHON_SOURCES := pyproject.toml $(shell find python -type f \( -name '*.py' -o -name '*.pyi' -o -name py.typed \))
PYTHON_TREES := python tests tools benches $(wildcard examples)

READY := $(VENV)/.hudini
READY_OLDEST := $(OLDEST)/.hudini
WHEEL := dist/.wheel

.PHONY: help demo test test-rust test-fuzz test-python test-spark test-spark-oldest interop interop-nightly crowds clouds fuzz bench lint lint-sources lint-stubs docs wheel build format clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---- environments and the build -------------------------------------------------------------------------------------

$(VENV)/.tools: requirements/dev.txt requirements/test.txt requirements/spark.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) -r $<
	touch $@

$(OLDEST)/.tools: requirements/spark-oldest.txt
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install $(PIP_FLAGS) -r $<
	touch $@

# One build serves everything: the environments install the wheel that a user would.
$(WHEEL): $(RUST_SOURCES) $(PYTHON_SOURCES) $(VENV)/.tools
	rm -f dist/hudini-*.whl
	$(BIN)/maturin build $(LOCKED) $(WHEEL_AS) --quiet --out dist
	touch $@

$(READY) $(READY_OLDEST): %/.hudini: $(WHEEL) %/.tools
	$*/bin/python -m pip install $(PIP_FLAGS) --force-reinstall --no-deps dist/hudini-*.whl
	touch $@

build: $(READY) ## make .venv with the tools and hudini in it

wheel: $(WHEEL) ## build the wheel into dist/
	@ls -lh dist/hudini-*.whl | awk '{ print $$NF, $$5 }'

# Tests keep to folders of their own, so they run side by side: Spark and Apache Hudi once for each job.
JOBS ?= 2
PYTEST := -m pytest --numprocesses $(JOBS) --dist worksteal

# ---- proof ----------------------------------------------------------------------------------------------------------

test: test-rust test-fuzz test-python test-spark test-spark-oldest ## all tests that need no Apache Hudi: Rust, hostile bytes, Python, golden tables, Spark

test-rust: $(VENV)/.tools ## the tests of the Rust crates
	$(CARGO_TEST) --quiet

# Ordinary build, fixed seed: the same inputs first on every machine.
GENERATE_SECONDS ?= 10
test-fuzz: $(VENV)/.tools ## mutated inputs for every decoder, GENERATE_SECONDS a target
	$(CARGO_TEST) --quiet --no-run  # built together with the tests: alone, it would have all dependencies built anew
	"$(BUILT)/hudini-fuzz" generate --seconds $(GENERATE_SECONDS) --jobs 2

test-python: $(READY) ## the Python tests that need no Spark
	$(BIN)/python $(PYTEST) --ignore=tests/spark --ignore=tests/interop --ignore=tests/clouds

test-spark: $(READY) ## the Spark tests, newest PySpark
	@$(call with_java,$(BIN)/python $(PYTEST) tests/spark)

# What depends on PySpark's interfaces; what executors do with a task is the same for all releases, and tested with the newest.
OLDEST_TESTS ?= $(addprefix tests/spark/test_,source.py frames.py batches.py connect.py upsert.py verbs.py write_format.py plain_files.py attempts.py)
test-spark-oldest: $(READY_OLDEST) ## those of the Spark tests that ask most of PySpark, oldest release supported
	@$(call with_java,$(OLDEST)/bin/python $(PYTEST) $(OLDEST_TESTS))

interop: $(READY) ## Apache Hudi and hudini on the same tables, both ways (fetches Apache Hudi once)
	@$(call with_java,$(BIN)/python $(PYTEST) tests/interop)

# Hours rather than minutes. A seed brings the same tables back.
NIGHTLY_TABLES ?= 200
NIGHTLY_SEED ?= $(shell date +%Y%m%d)
CROWDS_SEED ?= $(NIGHTLY_SEED)
interop-nightly: $(READY) ## all cases of interop, and as many random tables as NIGHTLY_TABLES says, others every day
	@export HUDINI_INTEROP=all HUDINI_RANDOM_TABLES=$(NIGHTLY_TABLES) HUDINI_RANDOM_SEED=$(NIGHTLY_SEED); \
	echo "seed $$HUDINI_RANDOM_SEED"; $(call with_java,$(BIN)/python $(PYTEST) tests/interop)

crowds: $(READY) ## two, four and eight writers with fifty commits each on a table of every kind; others by CROWDS_SEED (40 minutes)
	@HUDINI_CROWDS=all HUDINI_CROWDS_SEED=$(CROWDS_SEED) $(BIN)/python -m pytest tests/concurrency/test_many_writers.py

CLOUDS := .cache/clouds
clouds: $(READY) ## reads of tables in emulators of Azure and Google's cloud (needs npm and Go, fetches the emulators)
	npm install --prefix $(CLOUDS) --no-audit --no-fund --silent azurite@3.35.0
	GOBIN=$(CURDIR)/$(CLOUDS)/bin go install github.com/fsouza/fake-gcs-server@v1.56.1
	$(BIN)/python -m pytest tests/clouds

# libFuzzer over every target (or FUZZ_TARGETS) for FUZZ_SECONDS each; rust/fuzz/README.md says what to do with findings.
# Naming the machine keeps the flags from build scripts, which are not linked with libFuzzer.
FUZZ_SECONDS ?= 300
FUZZ_TARGETS ?= $(notdir $(wildcard rust/fuzz/corpus/*))
HOST = $(shell rustc --version --verbose | sed -n 's/^host: //p')
COVERAGE_FLAGS := -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 inline-8bit-counters pc-table trace-compares)
COVERAGE := target/coverage/$(HOST)/fuzz/coverage
fuzz: ## coverage-guided fuzzing of every decoder, FUZZ_SECONDS a target (needs a C++ compiler)
	RUSTFLAGS='$(COVERAGE_FLAGS)' cargo build $(LOCKED) -p hudini-fuzz --profile fuzz --features libfuzzer --bin coverage \
		--target $(HOST) --target-dir target/coverage
	rust/fuzz/fuzz.sh $(COVERAGE) $(FUZZ_SECONDS) $(FUZZ_TARGETS)

bench: $(READY) ## how fast: criterion benches, if any, then whole jobs beside plain Parquet
	$(if $(wildcard rust/*/benches/*.rs),cargo bench $(LOCKED) --workspace --exclude hudini-python)
	$(BIN)/python benches/smoke.py

# Without Java the command is left out, aloud; CI must never leave out anything.
with_java = if tools/need_java.sh; then echo '$(1)'; $(1); \
	elif [ -n "$${CI:-}" ]; then exit 1; else echo 'Left out: $(1)'; fi

# ---- care -----------------------------------------------------------------------------------------------------------

lint: lint-sources lint-stubs ## formatting, clippy, ruff, types, stubs, licences, floors

lint-sources: $(VENV)/.tools
	cargo fmt --all --check
	$(BIN)/ruff check --quiet $(PYTHON_TREES)
	$(BIN)/ruff format --quiet --check $(PYTHON_TREES)
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_licences.py
	$(BIN)/mypy --no-error-summary
	cargo clippy $(LOCKED) $(TESTS_AS) --workspace --all-targets --quiet -- -D warnings

lint-stubs: $(READY)
	MYPYPATH=python $(BIN)/python -m mypy.stubtest hudini._core --concise --allowlist tools/stubtest-allowlist.txt --mypy-config-file pyproject.toml

format: $(VENV)/.tools ## let rustfmt and ruff lay out the code
	cargo fmt --all
	$(BIN)/ruff check --quiet --fix-only $(PYTHON_TREES)
	$(BIN)/ruff format --quiet $(PYTHON_TREES)

docs: $(READY) ## run every example of README.md and docs/, check links, build the Rust pages
	$(BIN)/python -m pytest tests/docs
	RUSTDOCFLAGS='-D warnings' cargo doc $(LOCKED) --workspace --exclude hudini-python --no-deps --quiet

demo: $(READY) ## the story of a table, from its first load to its clean, on Spark if there is Java
	@$(BIN)/python examples/demo.py

clean: ## remove all that these commands made
	rm -rf $(VENV) $(OLDEST) dist .cache
	cargo clean
