# `make help` lists the targets; `make check` is the definition of done.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# The developer tools are pinned in a module of their own, so that kt's go.mod
# holds only what kt is made of.
TOOL = $(GO) tool -modfile=tools/go.mod

# The newest GoReleaser that Go 1.26 builds. It is too large for tools/go.mod.
GORELEASER ?= goreleaser
GORELEASER_VERSION = v2.16.0

# Without git, as in a source archive, the binary tells what Go knows by itself.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse --verify --quiet HEAD 2>/dev/null)
DATE ?= $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
VARS = github.com/kt-bench/kt/cmd
LDFLAGS = -s -w -X $(VARS).version=$(VERSION) -X $(VARS).commit=$(COMMIT) -X $(VARS).date=$(DATE)

FUZZTIME ?= 30s

# A pattern of the tests in some files.
names = ^($(shell grep -hoE '^func (Test|Fuzz)[A-Za-z0-9_]+' $(1) | cut -c6- | paste -sd '|'))$$

# All that is not built for the race detector has the flags of `make build`: with others
# each package, and the standard library, would be compiled a second time.
export CGO_ENABLED = 0
export GOFLAGS := $(GOFLAGS) -trimpath

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build bin/kt, static
	$(GO) build -ldflags='$(LDFLAGS)' -o bin/kt .

# The tests against a Kafka mostly wait, and the others compute in the meantime.
.PHONY: test
test: ## run everything: check, and the tests against a real Kafka
	@echo 'make test: it takes about 10 minutes on two idle cores; busy ones take longer. It starts Kafka, RabbitMQ and Pulsar by itself, on'
	@echo 'free ports, and needs a network the first time. Tests on several hosts and of kt tune --apply are skipped without root.'
	@echo 'scripts/check-tools now names or installs what is missing. make check needs no server, and is for every commit.'
	scripts/check-tools --install go cc java mvn tmux ip openssl kdc prometheus chromium rabbitmq
	mkdir -p build
	nice $(MAKE) -j 3 -O check >build/check.txt 2>&1 & check=$$!; failed=0; SECONDS=0; \
	$(MAKE) integration || failed=1; \
	wait $$check || failed=1; cat build/check.txt; echo "make test: took $$((SECONDS / 60)) minutes"; exit $$failed

.PHONY: check
check: lint scripts generated try unit ## all that needs no Kafka: lint, scripts, generated files, tests

# The linter vets. The race detector takes three to six times the CPU, and finds
# something only where goroutines are started: packages without any are tested without it,
# and so are two whose tests only start a writer or a server beside them.
# Tests in files with `//go:build !race` are long and of one goroutine, or make what
# others make with it; they run for themselves where the rest of their package runs with it.
# Scripts wait for what a load does in its seconds, so more of them run at once than there
# are cores, and the tests that only compute run in the time that they leave.
CONCURRENT = $(filter-out ./internal/input ./internal/load,$(shell grep -rlE --include='*.go' '^[[:space:]]*go [a-zA-Z]|\.Go.func' cmd internal | xargs -n 1 dirname | sort -u | sed 's|^|./|'))
TESTED = $(shell grep -rl --include='*_test.go' '^func Test' cmd internal profiles | xargs -n 1 dirname | sort -u | sed 's|^|./|')
UNRACED = $(shell grep -rl '^//go:build !race' --include='*_test.go' cmd internal)

.PHONY: unit
unit: ## run the tests, with the race detector where there are goroutines
	scripts/check-tools --install go cc
	nice -n 9 scripts/test -vet=off -timeout 20m $(filter-out $(CONCURRENT),$(TESTED)) & pure=$$!; failed=0; \
	CGO_ENABLED=1 scripts/test -race -p 3 -vet=off -parallel 6 -timeout 20m $(CONCURRENT) || failed=1; \
	scripts/test -vet=off -parallel 6 -timeout 20m -run '$(call names,$(UNRACED))' \
		$(filter $(CONCURRENT),$(sort $(patsubst %/,%,$(dir $(UNRACED:%=./%))))) || failed=1; \
	wait $$pure || failed=1; exit $$failed

# The tests of cmd wait for brokers that start and fail, and the other packages run beside them. What needs
# no Kafka has been run by check. Most JVMs of these tests live for seconds, which the thorough compiler and a
# collector of several threads would spend on themselves.
INTEGRATION = $(shell grep -rl '^//go:build integration' --include='*_test.go' cmd internal)

.PHONY: integration
integration: export KAFKA_JVM_PERFORMANCE_OPTS = -XX:+UseSerialGC -XX:TieredStopAtLevel=1
integration: ## run the tests against a real Kafka, which they start themselves
	scripts/check-tools --install go java mvn tmux ip openssl kdc prometheus chromium rabbitmq
	scripts/kafka fetch
	scripts/test -tags integration -vet=off -timeout 30m -parallel 4 -p 2 -run '$(call names,$(INTEGRATION))' $(sort $(dir $(INTEGRATION:%=./%)))

# golangci-lint runs go vet and gofumpt too. Its first build takes about two
# minutes on two cores.
.PHONY: lint
lint: ## check the format, vet and lint
	scripts/check-tools go
	$(TOOL) golangci-lint run

.PHONY: fmt
fmt: ## format the code
	$(TOOL) golangci-lint fmt

.PHONY: scripts
scripts: ## check the syntax of the shell scripts
	scripts/check-scripts

.PHONY: generated
generated: ## check that generated files are up to date
	scripts/check-generated

# The packages take GoReleaser, which is minutes of building; `make packages` tries them.
.PHONY: try
try: ## try the man pages, the completions and the image of this source
	scripts/check-packages --source

.PHONY: bench
bench: ## run the benchmarks; BASE=old.txt compares with an earlier build/bench.txt
	mkdir -p build
	$(GO) test -run '^$$' -bench . -benchmem -count=10 ./... | tee build/bench.txt
	$(TOOL) benchstat $(BASE) build/bench.txt

.PHONY: fuzz
fuzz: ## fuzz each target for FUZZTIME (30s)
	scripts/check-fuzz $(FUZZTIME)

.PHONY: docs
docs: ## write completions and man pages to build/
	scripts/docs.sh

.PHONY: snapshot
snapshot: ## build every release artefact into dist/, and publish nothing
	@command -v $(GORELEASER) >/dev/null || { echo 'GoReleaser is missing: go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)' >&2; exit 1; }
	$(GORELEASER) release --snapshot --clean
	scripts/image
	cd dist && sha256sum kt_*_image.tar >>checksums.txt

.PHONY: packages
packages: snapshot ## the same, and install and try each of them
	scripts/check-packages

.PHONY: clean
clean: ## remove what was built; the test clusters of scripts/kafka stay
	rm -rf bin build dist
