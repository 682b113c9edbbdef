# Everything one does with Flashloom. `make` alone says what there is.

CARGO ?= cargo
# Random cases per property in `make soak`; `make test` uses the default of 256.
SOAK_CASES ?= 20000
# Seconds that `make soak` spends on random devices.
SOAK ?= 600
# The first seed of the random devices and of the conformance suite in `make soak`: another in each second.
SOAK_SEED ?= $(shell date +%s)
# Seconds that `make soak` spends on random input, an equal part for each parser.
FUZZ_SECONDS ?= 600
# Connections of NBD clients that `make soak` makes up, in plain and through TLS.
FUZZ_NBD ?= 10000000
# Connections of NVMe/TCP hosts that `make soak` makes up.
FUZZ_NVME ?= 10000000
# Mutants of `make mutants`, the seed that draws them, and the number of the first that is tried.
MUTANTS ?= 300
MUTANTS_SEED ?= 1
MUTANTS_FROM ?= 0
# Crates whose mutants are drawn, e.g. `ftl flash`; all if empty.
MUTANTS_OF ?=
# What builds the guide.
MDBOOK_VERSION ?= 0.5.4

.DEFAULT_GOAL := help

.PHONY: help
help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Compare used drives of the five papers, with three seeds, and check every byte (results in out/demo)
	@mkdir -p out
	@# With the features of the tests (crates/align), so that nothing is compiled twice.
	$(CARGO) build -p flashloom -p flashloom-align
	target/debug/flashloom compare mixed-70-30-4k small-dirik small-hydra small-chang small-sung small-fmmu --precondition fill,random:x0.75 --depth 8 --warm-up 6000 --measure 55000 --seeds 3 --verify --no-store --out out/demo

.PHONY: serve-demo
serve-demo: ## Serve a drive, cut its power under SQLite on ext4, count what comes back, and picture its live page (Linux, root; nbdfuse, sqlite3, e2fsprogs; Chromium for out/serve-demo.png)
	$(CARGO) build -p flashloom -p flashloom-align
	@.ci/serve-demo

.PHONY: nvme-demo
nvme-demo: ## Serve a zoned drive over NVMe/TCP to Linux in QEMU: its zones, fio, zoned btrfs, a power cut, SMART, and its live page (Linux; QEMU, nvme-cli, fio, btrfs-progs; Chromium for out/nvme-demo.png)
	$(CARGO) build -p flashloom -p flashloom-align
	@.ci/guest/kernel
	@.ci/nvme-demo

.PHONY: test
test: ## Run all tests
	@.ci/chromium
	$(CARGO) test --workspace
	@.ci/python test

.PHONY: wheel
wheel: ## Build Python's wheel and source distribution (target/python/dist), check them and test the wheel in a fresh environment
	@.ci/python wheel

.PHONY: check
check: ## Formatting, lints and documentation, all warnings refused; packages
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items
	@.ci/features
	@.ci/package

.PHONY: bench
bench: ## Measure the simulator's speed
	$(CARGO) build --release -p flashloom-bench
	$(CARGO) run --release -p flashloom-bench

.PHONY: profiled
profiled: ## Build target/profiled/flashloom and target/profiled/bench with profile-guided optimisation (rustup's llvm-tools; minutes)
	@.ci/profiled

.PHONY: bench-serve
bench-serve: ## Measure how fast a served drive answers over NBD and NVMe/TCP, and how late, beside nbdkit (Linux; fio, nbdkit)
	$(CARGO) build --release -p flashloom -p flashloom-bench --bin flashloom --bin nbd-reads --bin nvme-reads
	@.ci/serve-rate
	@.ci/guest/nvme/rate

# Pairs of runs of `make bench-compare`, and the sections and rows of the bench to compare (all with rates, if empty).
PAIRS ?= 5
ONLY ?=
ROW ?=

.PHONY: bench-compare
bench-compare: ## Build the bench of the commit BASE, run it and today's at once on one core, and compare their rates (PAIRS, ONLY='requests maps', ROW=buffered; exit code 1 if a row is slower by 5 %)
	@test -n '$(BASE)' || { echo 'make bench-compare BASE=commit'; exit 2; }
	$(CARGO) build --release -p flashloom-bench
	$(CARGO) run --release -p flashloom-bench --bin bench-compare -- --cargo '$(CARGO)' --base $(BASE) --pairs $(PAIRS) --row '$(ROW)' $(ONLY)

# Evaluated once: all parts have the same seed.
soak_seed := $(SOAK_SEED)

.PHONY: soak
soak: ## Break random devices for SOAK seconds, feed random bytes to every parser for FUZZ_SECONDS, to the NBD server FUZZ_NBD times and to an NVMe/TCP controller FUZZ_NVME times, then every property with many cases, the tests that take minutes and the torture of all families (.ci/torture/run), with new seeds each time (the line of a failure repeats it; SOAK_SEED=seed repeats all)
ifdef REPLAY
	$(CARGO) run --profile soak -p flashloom-fuzz --bin soak -- replay $(REPLAY)
else ifdef CHECK
	$(CARGO) run --profile soak -p flashloom-fuzz --bin soak -- check '$(CHECK)' '$(SETTING)' $(SEED) $(EFFORT)
else ifdef FUZZ
	$(CARGO) run --profile soak -p flashloom-fuzz --bin fuzz -- $(FUZZ)
else
	@echo 'SOAK_SEED=$(soak_seed)'
	$(CARGO) run --profile soak -p flashloom-fuzz --bin soak -- $(SOAK) $(soak_seed)
	$(CARGO) run --profile soak -p flashloom-fuzz --bin fuzz -- $(FUZZ_SECONDS)
	$(CARGO) run --profile soak -p flashloom-fuzz --bin fuzz -- count $(FUZZ_NBD) nbd
	$(CARGO) run --profile soak -p flashloom-fuzz --bin fuzz -- count $(FUZZ_NVME) nvme
	SOAK_SEED=$(soak_seed) PROPTEST_RNG_SEED=$(soak_seed) PROPTEST_CASES=$(SOAK_CASES) $(CARGO) test --workspace -- --include-ignored
	FLASHLOOM=target/debug/flashloom POINTS=60 .ci/torture/run
endif

.PHONY: mutants
mutants: ## Draw MUTANTS small changes of the crates, and say which of them no test finds (hours)
	@$(CARGO) mutants --version >/dev/null 2>&1 || { echo 'This needs cargo-mutants: cargo install --locked cargo-mutants'; exit 1; }
	$(CARGO) run -p flashloom-fuzz --bin mutants -- $(MUTANTS) $(MUTANTS_SEED) $(MUTANTS_FROM) $(MUTANTS_OF)

.PHONY: docs
docs: ## Run the guide's commands, draw its pictures and build it (target/book/index.html; installs mdBook into target/tools)
	@test -x target/tools/bin/mdbook || $(CARGO) install --locked --root target/tools --version $(MDBOOK_VERSION) --no-default-features --features search mdbook
	@rm -rf target/tmp/guide
	FLASHLOOM_DRAW=1 $(CARGO) test -p flashloom --test it guide
	docs/pictures
	target/tools/bin/mdbook build docs

.PHONY: python-docs
python-docs: ## Write the reference of Python's package (target/python/docs/flashloom.html)
	@test -d target/python/env || .ci/python test
	PYTHONPATH=$$(echo target/python/env/lib/python3.*/site-packages) \
		target/python/tools/bin/pdoc flashloom '!flashloom.__main__' -o target/python/docs

.PHONY: ci
ci: ## What continuous integration runs
	.ci/run
