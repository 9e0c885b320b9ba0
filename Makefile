# Witan. `make help` lists the targets.
#
# Every stage that CI runs goes through .ci/stage, which prints how long it took
# beside its budget in seconds. The budgets stand here, and are explained in
# CONTRIBUTING.md.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The wanted toolchain is fetched by the go command itself; where it cannot be
# had, the installed Go is used (the code builds on both).
WANT_GO := go1.27.3
ifeq ($(origin GOTOOLCHAIN),undefined)
GOTOOLCHAIN := $(shell GOTOOLCHAIN=$(WANT_GO) go version >/dev/null 2>&1 && echo $(WANT_GO) || echo local)
endif
export GOTOOLCHAIN

TOOLS := .cache/tools
STAGE := .ci/stage

# What the race detector watches: everything of ours with goroutines. SQLite's own
# translated C is not instrumented; that would be 20 times slower. No more than
# that is left out: generic code that packages share would lose its
# instrumentation too, and report races that are none.
RACE_FLAGS := -race -gcflags='modernc.org/sqlite/lib=-race=false'
RACE_DIRS  := kit|event|bus|store|policy|identity|llm|skill|agent|dispatch|channel|memory|work|mcp|api|app

ARGS     ?=
TORTURE  ?= full
PKG      ?= ./...

.PHONY: help run build test check bench torture eval conformance lint generate \
	deps compile unit race browser fresh vuln clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build, start Witan and print its link (ARGS="--listen 127.0.0.1:7421")
	exec bin/witan serve $(ARGS)

build: ## build bin/witan: one static binary, nothing else needed
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/witan ./cmd/witan

test: deps compile unit ## all unit, store (both engines) and protocol tests

check: lint race torture-short browser fresh ## what CI asks beyond the tests: lint, race, short torture, browser, freshness

# --- the stages of test ---------------------------------------------------

deps: ## install what the tests need (Debian packages when root, npm ci)
	@$(STAGE) deps 300 .ci/deps

compile:
	@$(STAGE) compile 720 bash -c 'go build ./... && go vet ./...'

unit:
	@$(STAGE) unit 720 go test -shuffle=on -skip '^TestTorture' -timeout 11m $(PKG)

# --- the stages of check --------------------------------------------------

lint: $(TOOLS)/golangci-lint ## golangci-lint, pinned in tools/go.mod
	@$(STAGE) lint 300 $(TOOLS)/golangci-lint run ./...

$(TOOLS)/golangci-lint: tools/go.mod tools/go.sum
	@$(STAGE) tools 900 env GOBIN=$(CURDIR)/$(TOOLS) go -C tools install tool
	@touch $@

race:
	@$(STAGE) race 480 bash -c 'CGO_ENABLED=1 go test $(RACE_FLAGS) -short -timeout 8m \
		$$(go list ./... | grep -E "/internal/($(RACE_DIRS))(/|$$)")'

.PHONY: torture-short
torture-short:
	@$(STAGE) torture 300 env WITAN_TORTURE=short .ci/torture -timeout 5m

browser: deps ## drive the console in a real browser
	@$(STAGE) browser 240 .ci/browser

fresh:
	@$(STAGE) fresh 120 .ci/fresh

# --- beyond CI ------------------------------------------------------------

torture: ## kill -9 and broken disks, at length (TORTURE=short for the bounded one)
	@WITAN_TORTURE=$(TORTURE) .ci/torture -timeout 90m

bench: ## the figures beside their limits, with this machine's fsync time
	@WITAN_BENCH=1 .ci/named TestBench -timeout 60m -p 1

eval: ## how well it answers, judged over the stored cases
	@WITAN_EVAL=1 .ci/named TestEval -timeout 60m

conformance: ## one suite over every implementation: stores, providers, channels, protocols
	@.ci/named 'Test[A-Za-z]*Conformance' -timeout 20m

generate: ## make every generated file anew
	go generate ./...

vuln: $(TOOLS)/golangci-lint ## known vulnerabilities in what is compiled in (needs the public database)
	$(TOOLS)/govulncheck ./...

clean: ## remove what was built, not the caches of the go command
	rm -rf bin .cache
