# Two commands do everything on a fresh machine: make demo, make test.
GO       ?= go
BIN      := bin/evalrun
OUT      := demo-out
# Debug tables are made for no one: programs are released without them, and a trace of a panic does not need them.
LEAN     := -gcflags=all=-dwarf=false
LINTED   := CGO_ENABLED=0 GOFLAGS='$(strip $(shell $(GO) env GOFLAGS) -trimpath $(LEAN) -ldflags=-w)'
# Tools are not optimized: they take a third less time to compile, once, and no more to run.
TOOL     := CGO_ENABLED=0 GOFLAGS="$(strip $(shell $(GO) env GOFLAGS) -trimpath '-gcflags=all=-N -l -dwarf=false' -gcflags=std=-dwarf=false -ldflags=-w)" \
  $(GO) tool -modfile=tools/go.mod
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
LDFLAGS  := -s -w -X main.version=$(VERSION)
# Examples whose gates allow failures and say which: where one of several prompts is looked for, and where 95 % are enough.
ALLOWING := examples/suites/race.yaml examples/suites/classify.yaml
GOOD     := $(filter-out examples/suites/fails-on-purpose.yaml $(ALLOWING),$(wildcard examples/suites/*.yaml))
FUZZTIME ?= 60s
BENCH    ?= .
# The race detector watches our packages, and what they share with others through interfaces, buffers and reflection. It leaves out
# the formulas of statistics, and packages of others that only compute, on memory of one goroutine: parsers, formatters, arithmetic. Instrumenting them makes tests
# several times slower and shows nothing. Those of SHARING also hand data over by a sync.Map, a pool or a mutex. They are compiled
# without inlining, so that they call the instrumented functions of sync and the detector still sees the order; inlined, an atomic
# would be a bare instruction, and every later read a false race. checkptr looks for misuse of unsafe, which no package of ours imports.
UNWATCHED := modernc.org/sqlite/lib regexp regexp/syntax compress/flate unicode unicode/utf8 golang.org/x/text/unicode/norm \
  gopkg.in/yaml.v3 github.com/santhosh-tekuri/jsonschema/v6 github.com/aymanbagabas/go-udiff github.com/aymanbagabas/go-udiff/lcs \
  github.com/rivo/uniseg github.com/clipperhouse/uax29/v2/graphemes github.com/clipperhouse/displaywidth \
  image/jpeg image/png golang.org/x/image/draw golang.org/x/image/vp8 golang.org/x/image/vp8l \
  encoding/csv encoding/base64 encoding/hex strconv internal/strconv fmt internal/fmtsort sort math math/bits hash/crc32 \
  text/template/parse github.com/tidwall/gjson github.com/tidwall/match \
  github.com/expr-lang/expr/parser github.com/expr-lang/expr/parser/lexer \
  github.com/google/go-cmp/cmp github.com/google/go-cmp/cmp/internal/diff github.com/google/go-cmp/cmp/internal/value
SHARING  := encoding/json encoding/xml math/big github.com/itchyny/gojq github.com/evalrun/evalrun/internal/stats
RACE     := -race -ldflags=-w -gcflags='all=-d=checkptr=0 -dwarf=false' \
  $(foreach p,$(UNWATCHED),-gcflags='$(p)=-race=false -d=checkptr=0 -dwarf=false') \
  $(foreach p,$(SHARING),-gcflags='$(p)=-race=false -d=checkptr=0 -dwarf=false -l')
# Packages whose tests compute, or read large files, in one goroutine: the detector would see nothing, in six times the CPU. Where they
# do share out work, it watches, in those of BOTH: the outlook of compare; programs, schemas and selections of scorers; expressions that
# several goroutines use; a journal that several write, or follow; and, in scripts of cmd/evalrun, the programs that write prompts.
# APART are tests of cmd/evalrun that compute.
ALONE    := compare internal/dataset internal/expr internal/jsondiff internal/promptfoo internal/textmetric internal/wirejson journal \
  scorers suite
BOTH     := compare internal/expr journal scorers
APART    := ^Test(SchemaAndLoaderAgree|HelpFindsWhatPeopleSearchFor)$$
SHARED   := Outlook|Exec|Program|Schema|Concurrent|Follow|WhileItIsRead
# Many tests wait for processes and clocks, so there are twice as many at once as cores.
WATCHED  := GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(GO) test $(RACE) -vet=off -timeout 30m -parallel $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: build fleet fleet-test demo check test test-fleet test-pages lint bench bench-process bench-peers sdk consumers editor torture soak calibrate golden fuzz dist npm dist-check house site pictures clean compiler xmllint browser curl bubblewrap

build:
	CGO_ENABLED=0 $(GO) build -trimpath $(LEAN) -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/evalrun

# The second program, for runs on several machines (docs/how-to/fleet.md).
fleet:
	cd fleet && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o ../bin/evalrun-fleet ./cmd/evalrun-fleet

# 6,000 trials on four workers of four calls, with a kill every 0.7 s of a worker or the coordinator; make test has 300.
fleet-test:
	cd fleet && EVALRUN_FLEET_TRIALS=6000 $(GO) test -count=1 -v -timeout 30m -run 'TestKills|TestFourWorkers' ./cmd/evalrun-fleet

# The example suites against the embedded emulator: first the one that fails on purpose, then all the others. What the build says is shown
# when it fails.
demo: export GOGC := 400
demo:
	@mkdir -p $(OUT)
	@echo "building $(BIN) (with empty caches this takes some minutes)"
	@$(MAKE) -s build >$(OUT)/build.log 2>&1 || { cat $(OUT)/build.log; exit 1; }
	@echo "an example that fails on purpose: its exit code must be 1"
	@echo
	@$(BIN) run examples/suites/fails-on-purpose.yaml --emulator --out $(OUT)/failing-$$(date +%s)-$$$$ -o json=$(OUT)/failing.json -o junit=$(OUT)/failing.xml -o html=$(OUT)/failing.html 2>$(OUT)/failing.log; \
	code=$$?; test $$code -eq 1 || { cat $(OUT)/failing.log; echo "exit $$code, and not 1"; exit 1; }
	@echo
	@echo "two examples whose gates allow failures: a race of prompts, and classes of which some may be wrong"
	@echo
	@$(BIN) run $(ALLOWING) --emulator -q --out $(OUT)/allowing-$$(date +%s)-$$$$ -o table=$(OUT)/allowing.txt || { code=$$?; cat $(OUT)/allowing.txt; exit $$code; }
	@echo
	@echo "all other examples: each trial must pass"
	@echo
	@$(BIN) run $(GOOD) --emulator -q --out $(OUT)/run-$$(date +%s)-$$$$ -o table=$(OUT)/table.txt -o json=$(OUT)/report.json -o junit=$(OUT)/junit.xml -o html=$(OUT)/report.html || \
	{ code=$$?; cat $(OUT)/table.txt; exit $$code; }
	@echo
	@echo "The demo is done. The page is $(OUT)/report.html; $(OUT)/table.txt has a line per suite."

# All tests; the race detector, where it watches, needs a C compiler. They make much garbage too: it is collected less often.
test: export GOGC := 400
test: compiler xmllint browser curl bubblewrap
	$(WATCHED) -skip '$(APART)' $(filter-out $(addprefix github.com/evalrun/evalrun/,$(ALONE)),$(shell $(GO) list ./...))
	$(WATCHED) -run '$(SHARED)' $(addprefix ./,$(BOTH))
	$(LINTED) $(GO) test -vet=off -timeout 30m $(addprefix ./,$(ALONE))
	$(LINTED) $(GO) test -vet=off -timeout 30m -run '$(APART)' ./cmd/evalrun
	$(MAKE) -j2 test-fleet test-pages

# Kills that wait, and a browser that is waited for: side by side.
test-fleet:
	cd fleet && $(WATCHED) ./...

test-pages:
	cd e2e && $(WATCHED) ./...

# For daily work: format, vet, and the tests of packages; those of whole processes are make test's. Some packages wait for clocks and files:
# twice as many as there are cores are tested at once. Tests make much garbage, and there is memory: it is collected less often.
check:
	@out=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not formatted by gofumpt:"; echo "$$out"; exit 1; }
	$(GO) vet ./...
	GOGC=$${GOGC:-400} $(GO) test -vet=off -p $$((2 * $$(getconf _NPROCESSORS_ONLN))) $$($(GO) list ./... | grep -v -e /cmd/ -e /test/)

compiler:
	@command -v $${CC:-cc} >/dev/null 2>&1 || { \
	  echo "make test: the race detector needs a C compiler, and there is none: install gcc or clang, or set CC" >&2; exit 1; }

# JUnit files are checked against schemas with xmllint.
xmllint:
	@command -v xmllint >/dev/null 2>&1 || { \
	  echo "installing xmllint"; apt-get update -qq && apt-get install -y -qq libxml2-utils >/dev/null; } || { \
	  echo "make test: xmllint is missing and could not be installed: install libxml2-utils" >&2; exit 1; }

# Agents under test are confined by bubblewrap.
bubblewrap:
	@[ "$$(uname)" != Linux ] || command -v bwrap >/dev/null 2>&1 || { \
	  echo "installing bubblewrap"; apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null; } || { \
	  echo "make test: bubblewrap is missing and could not be installed: install bubblewrap" >&2; exit 1; }
	@[ "$$(uname)" != Linux ] || bwrap --unshare-all --ro-bind / / true 2>/dev/null || \
	  echo "make test: this system denies user namespaces: of sandboxes only the refusal is tested" >&2

# The steps of the action for CI download with curl.
curl:
	@command -v curl >/dev/null 2>&1 || { \
	  echo "installing curl"; apt-get update -qq && apt-get install -y -qq curl >/dev/null; } || { \
	  echo "make test: curl is missing and could not be installed: install curl" >&2; exit 1; }

# Pages are opened in a browser.
browser:
	@command -v chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null 2>&1 || { \
	  echo "installing chromium-headless-shell"; apt-get update -qq && apt-get install -y -qq chromium-headless-shell >/dev/null; } || { \
	  echo "make test: a browser is missing and could not be installed: install chromium-headless-shell" >&2; exit 1; }

# golangci-lint runs vet and staticcheck too, over the same types at once, of tests too. It reads packages as they were compiled for the
# demo, and for tests outside of the race detector. With a workspace it reads them for fleet too, which would compile them once more.
lint: export GOGC := 400
lint:
	@out=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not formatted by gofumpt:"; echo "$$out"; exit 1; }
	GOWORK=$(CURDIR)/tools/all.work $(LINTED) $$($(TOOL) -n golangci-lint) run ./... ./fleet/... ./e2e/...
	$(LINTED) $(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 examples/ci/github/*.yml

# Benchmarks, and the start of the whole process next to that of a hello world with the same command library.
bench: build
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...
	@sh test/startup.sh $(BIN)

# The program as its users start it, next to a loop that a person would write by hand and the limit, each a process of its own. It fails
# when a figure is worse than the committed one by more than a tenth. WRITE=1 commits today's instead, with the table and the plot of
# docs/explanation/performance.md; ONLY names rows, or growth, and ROUNDS is 5.
bench-process: build
	$(GO) build -o bin/process ./test/process
	CGO_ENABLED=0 $(GO) test -c -trimpath -o bin/evalrun.test ./cmd/evalrun
	bin/process $(if $(ONLY),-only '$(ONLY)') $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(WRITE),-write)

# The same suite through evalrun, a bare loop and promptfoo in turn, as a table of Markdown; needs node 20 and npm, and for the first time
# 1.4 GB in bin/.peers. WRITE=1 writes it into docs/explanation/peers.md; ONLY names rows, and ROUNDS is 5.
bench-peers: build
	$(GO) build -o bin/process ./test/process
	bin/process peers $(if $(ONLY),-only '$(ONLY)') $(if $(ROUNDS),-rounds $(ROUNDS)) $(if $(WRITE),-write)

# Public client libraries of npm and of Go against the emulator; needs node and npm, and for the first time some minutes and 2 GB of
# memory, to compile the vendors' Go libraries.
sdk: build
	sh test/sdk/run.sh $(BIN)

# JUnit files before those who read them; needs node, npm and python3-junitparser.
consumers: build
	sh test/junit-consumers/run.sh $(BIN)

# Completion and hover in YAML files before the language server of most editors; needs node and npm.
editor: build
	sh test/editor/run.sh $(BIN)

# Runs that are killed two hundred times, with answers, judges, embeddings, live chats, budgets and limits, and merges that are; make
# test does it six times. Then the fleet, whose calls are counted by the key that they bear.
torture:
	EVALRUN_TORTURE_KILLS=200 $(GO) test -count=1 -run 'TestKilled' -v -timeout 60m ./cmd/evalrun
	$(MAKE) fleet-test

# Long load: 5,000 attempts against a service broken in every way, 200,000 trials watched for leaks, the recorded replies five hundred
# times each, indented and with fields that nobody knows, hostile replies of all protocols twenty times each, too little memory in
# forty steps, four processes for three minutes on a shared ledger and a strict service, canary secrets through every command and
# failure, every hostile agent without a sandbox too, and pages of 20,000 trials; make test has the short forms.
soak:
	EVALRUN_SOAK=5000 $(GO) test -count=1 -run 'TestNothingLeaks' -v -timeout 30m ./internal/session
	EVALRUN_SOAK=1 EVALRUN_SOAK_TRIALS=200000 EVALRUN_CANARY_ALL=1 $(GO) test -count=1 -run 'TestSoak|TestTooLittleMemory|TestCanar|TestHostileAgents' -v -timeout 60m ./cmd/evalrun
	EVALRUN_LEDGER_MINUTES=3 $(GO) test -count=1 -run TestLedgerKeepsRates -timeout 10m ./cmd/evalrun
	cd e2e && EVALRUN_PAGE_TRIALS=20000 $(GO) test -count=1 -run 'FiltersFind|AQueryOfAnswers|ALargeSite' -parallel 1 -v -timeout 30m ./...

# The error rates of verdicts, measured: 4,000 paths a scenario through package compare, and 640 runs of the program against services
# whose pass probability is set; make test has the short forms. It makes much garbage, and memory is cheaper than time.
calibrate: export GOGC := 400
calibrate:
	EVALRUN_CALIBRATE=1 $(GO) test -count=1 -run 'TestExactSizes|TestGrid|TestTwelve|TestMoves|TestPower|TestSuiteRates|TestSequentialRates|TestMeans|TestShapes|TestEqualArms|TestClusters|TestClassRates|TestControl|TestCalibratedRanking|TestARace|TestPreferencesHold|TestNights' -v -timeout 120m ./compare
	EVALRUN_CALIBRATE=1 $(GO) test -count=1 -run 'TestCalibrated' -v -timeout 60m ./cmd/evalrun

# Renew what golden tests compare with; look at the difference before you commit it.
golden:
	$(GO) test ./scorers -run TestLimits -update
	$(GO) test ./suite ./reports ./internal/page ./cmd/evalrun -update

fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s $$pkg; \
	  done; \
	done

# Archives for every platform, reproducible, with checksums; VERSION names the release.
dist:
	$(GO) run ./test/dist -version '$(VERSION)' $(PLATFORMS)

# The archives and packages of npm, in dist/npm; then those of this machine are installed and started. Needs node and npm.
npm:
	$(GO) run ./test/dist -npm -version '$(VERSION)' $(PLATFORMS)
	sh test/dist/npm.sh dist/npm

# The archives of the last commit, twice, in two folders, one of them with an empty cache: the same bytes; and go install as from a proxy.
dist-check:
	sh test/dist/check.sh $(PLATFORMS)

# The budgets of the code and what it is today: packages, lines, words, flags. It holds nobody up; who goes over a budget says why.
house: build
	@$(GO) run ./test/house $(BIN)

# docs/ as a website in site/: search, light and dark, no server and no network needed.
site:
	$(GO) run ./test/site -out site
	@echo "open site/index.html"

# The pictures in the README, from a run of the demo; needs script (util-linux), and chromium for the report's.
pictures: build
	sh test/pictures/make.sh $(BIN)

clean:
	rm -rf bin $(OUT) dist site
