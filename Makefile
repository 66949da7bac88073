# FrameworkController in C. `make deps demo` shows it, `make deps test` tests it.
# Every dependency is a Debian package and is named only here: packages for building and running, and packages of the tests.
PACKAGES_BUILD := gcc make pkg-config libcurl4-openssl-dev libjansson-dev libev-dev libzmq3-dev libyaml-dev \
	libmicrohttpd-dev libgnutls28-dev libpcre2-dev zlib1g-dev uthash-dev uuid-dev
PACKAGES_TEST := libcmocka-dev patch clang clang-format clang-tidy cppcheck libclang-rt-dev jq openssl curl ca-certificates \
	procps valgrind busybox iproute2 socat spin debootstrap chromium-headless-shell
# As pkg-config calls them. Debian has no such file for libev and uthash, which are found by their headers.
LIBRARY_NAMES := libcurl jansson libzmq yaml-0.1 libmicrohttpd gnutls libpcre2-8 zlib uuid

# deps installs missing packages, and prints nothing if none is missing. Another make makes the goals beside it: this one has
# looked for compilers and libraries already. Goals that only build and run do not need the packages of the tests.
.PHONY: deps deps-test
.DEFAULT_GOAL := all
BUILDING := all programs demo sim install image-controller image-frameworkbarrier clean
OTHERS := $(filter-out deps deps-test,$(MAKECMDGOALS))
deps:
	@missing=$$(for package in $(PACKAGES_BUILD) $(if $(filter-out deps $(BUILDING),$(MAKECMDGOALS)),$(PACKAGES_TEST)); do \
		dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q ' installed' || echo $$package; done); \
	[ -z "$$missing" ] || { echo "Installing what is missing, which may take minutes:" $$missing; sudo=$$([ $$(id -u) -eq 0 ] || echo sudo); \
		$$sudo apt-get -qq update && \
		$$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $$missing >/dev/null; }
deps-test: deps

ifneq ($(and $(OTHERS),$(filter deps deps-test,$(MAKECMDGOALS))),)
.PHONY: $(OTHERS)
$(OTHERS): deps
	@$(if $(filter $@,$(firstword $(OTHERS))),$(MAKE) --no-print-directory $(OTHERS))
else

BUILD ?= build
PREFIX ?= /usr/local
CC = gcc
# V=1 shows whole command lines.
Q := $(if $(V),,@)

# ---- flags -------------------------------------------------------------------------------------------------------
# (Two of clang: constants in ms, of which libev wants seconds, and long strings in tables, which take two lines.)
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Werror -Wno-enum-float-conversion -Wno-string-concatenation
# The flags that this compiler has for this machine.
known = $(shell $(CC) -Werror $(1) -x c -c /dev/null -o /dev/null 2>/dev/null && echo '$(1)')
HARDENING := -D_FORTIFY_SOURCE=3 -fPIE $(foreach flag,-fstack-protector-strong -fstack-clash-protection \
	-fcf-protection=full -ftrivial-auto-var-init=zero,$(call known,$(flag)))
LINK_HARDENING := -pie -Wl,-z,relro,-z,now,-z,noexecstack
# A build in another directory gives the same program.
CFLAGS_ALL := -std=gnu11 -g -I. -MMD -MP -ffile-prefix-map=$(CURDIR)=. $(WARNINGS)
# Code that is only tested is compiled at -Og: in half the time of -O1, and it runs as fast. (At -Og, gcc reports some
# initialized variables as uninitialized. All products are compiled at -O2, which reports them correctly.)
FAST := -Og -g1 $(call known,-Wno-maybe-uninitialized)
ifdef SANITIZE
# (reports of sanitizers need only the lines of the sources)
CFLAGS_ALL += $(FAST) -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fPIE
# (libasan has functions of its own in the place of libresolv's, which call these)
LDFLAGS_ALL := -fsanitize=$(SANITIZE) -pie -Wl,--no-as-needed -lresolv
else ifdef DEBUG
CFLAGS_ALL += -O0 -DDEBUG=1 -fPIE
LDFLAGS_ALL := -pie
else
CFLAGS_ALL += -O2 $(HARDENING)
LDFLAGS_ALL := $(LINK_HARDENING)
# The unit tests, not the tested code.
UNIT_FLAGS := $(FAST)
endif
# Empty if a library is missing: then no object is made ($(FOUND), below).
LIBRARY_NAMES += $(shell pkg-config --exists libev 2>/dev/null && echo libev)
CFLAGS_ALL += $(shell pkg-config --cflags $(LIBRARY_NAMES) 2>/dev/null) $(CFLAGS)
LIBS := -Wl,--as-needed $(shell pkg-config --libs $(LIBRARY_NAMES) 2>/dev/null) -lev -lresolv -lpthread -lm

# ---- programs and libraries --------------------------------------------------------------------------------------
# A program is its folder's main.c and the folder's library (everything else in it), on top of libcommon.
COMMON_SRC := $(wildcard common/*/*.c common/kube/*/*.c)
WATCHER_SRC := $(filter-out watcher/main.c,$(wildcard watcher/*.c watcher/*/*.c))
RECONCILER_SRC := $(filter-out reconciler/main.c,$(wildcard reconciler/*.c reconciler/sync/*.c))
JOBS_SRC := $(filter-out jobs/main.c,$(wildcard jobs/*.c jobs/kinds/*.c))
BARRIER_SRC := $(filter-out barrier/main.c,$(wildcard barrier/*.c))
CLI_SRC := $(filter-out cli/main.c,$(wildcard cli/*.c cli/view/*.c cli/ui/*.c))
INIT_SRC := $(filter-out barrier/init/main.c,$(wildcard barrier/init/*.c))
TESTAPI_SRC := $(filter-out tests/cluster/testapi/main.c,$(wildcard tests/cluster/testapi/*.c))
TESTKUBELET_SRC := $(filter-out tests/cluster/testkubelet/main.c,$(wildcard tests/cluster/testkubelet/*.c))
SIM_SRC := $(wildcard tests/sim/*.c)
SIM_WRAPS := json_parse json_text json_reader_skip deflate deflateSetDictionary inflate inflateSetDictionary mem_alloc mem_calloc mem_realloc mem_strdup clock_boot_ms random_init
BENCH_SRC := $(wildcard tests/bench/tool/*.c)
DEMO_SRC := $(filter-out tests/cluster/demo/main.c,$(wildcard tests/cluster/demo/*.c))
UNIT_SRC := $(wildcard tests/unit/test_*.c)

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
comma := ,

PROGRAMS := $(BUILD)/fc-watcher $(BUILD)/fc-reconciler $(BUILD)/fc-barrier $(BUILD)/frameworkbarrier $(BUILD)/fc-jobs $(BUILD)/kubectl-framework
TEST_PROGRAMS := $(BUILD)/fc-testapi $(BUILD)/fc-testkubelet $(BUILD)/fc-testproxy $(BUILD)/fc-demo
E2E_PROGRAMS := $(PROGRAMS) $(TEST_PROGRAMS) $(BUILD)/fc-bench $(BUILD)/fc-bench-malloc.so
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_SRC))
# Those that may test less, or expect something else, when they are sanitized. (held_bytes() skips, too.)
UNIT_PLAIN := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(shell grep -lE '__SANITIZE_ADDRESS__|\<skip\>|held_bytes' $(UNIT_SRC)))
LIBRARIES := $(addprefix $(BUILD)/lib,$(addsuffix .a,common watcher reconciler barrier jobs init cli testapi testkubelet demo))

.PHONY: all compile demo check test test-unit test-unit-plain test-sim test-model model test-protocol model-reviewed test-long crash-points soak half-open long coverage test-e2e test-kubernetes test-control-plane test-real bench sim mutants lint format install image-controller image-frameworkbarrier clean programs
.DELETE_ON_ERROR:
# make also keeps the objects of the unit tests
.SECONDARY:

all: $(E2E_PROGRAMS)
programs: $(PROGRAMS)

# A change of flags rebuilds everything: the objects depend on this file, rewritten only when the flags differ.
SETTINGS := $(BUILD)/.settings
ALL_FLAGS = $(CC) $(CFLAGS_ALL) $(UNIT_FLAGS) $(LDFLAGS_ALL)
$(shell mkdir -p $(BUILD); echo '$(ALL_FLAGS)' | cmp -s - $(SETTINGS) || echo '$(ALL_FLAGS)' > $(SETTINGS))

# Reports all missing libraries at once, and checks again until none is missing.
FOUND := $(BUILD)/.libraries
$(FOUND): $(SETTINGS)
	@missing=$$(for name in $(LIBRARY_NAMES); do pkg-config --exists $$name || echo $$name; done; \
		for library in libev:ev.h uthash:uthash.h; do \
			echo "#include <$${library#*:}>" | $(CC) $(CFLAGS_ALL) -MF /dev/null -E -x c - >/dev/null 2>&1 || echo $${library%:*}; done); \
	[ -z "$$missing" ] || { echo "Missing, or without header files:" $$missing. "On Debian, make deps installs all of it."; exit 1; } >&2
	@touch $@

$(BUILD)/obj/%.o: %.c $(SETTINGS) | $(FOUND)
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CFLAGS_ALL) -c -o $@ $<

# Embed files.
$(BUILD)/obj/watcher/crd.o: manifests/crd.yaml
$(BUILD)/obj/cli/ui/assets.o: cli/ui/ui.html cli/ui/ui.css cli/ui/ui.js

$(BUILD)/libcommon.a: $(call objects,$(COMMON_SRC))
$(BUILD)/libwatcher.a: $(call objects,$(WATCHER_SRC))
$(BUILD)/libreconciler.a: $(call objects,$(RECONCILER_SRC))
$(BUILD)/libjobs.a: $(call objects,$(JOBS_SRC))
$(BUILD)/libbarrier.a: $(call objects,$(BARRIER_SRC))
$(BUILD)/libinit.a: $(call objects,$(INIT_SRC))
$(BUILD)/libcli.a: $(call objects,$(CLI_SRC))
$(BUILD)/libtestapi.a: $(call objects,$(TESTAPI_SRC))
$(BUILD)/libtestkubelet.a: $(call objects,$(TESTKUBELET_SRC))
$(BUILD)/libdemo.a: $(call objects,$(DEMO_SRC))
$(LIBRARIES):
	@rm -f $@
	@ar rcsD $@ $^

link = @echo "  LINK  $@"; $(if $(V),set -x;) $(CC) $(LDFLAGS_ALL) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)

$(BUILD)/fc-watcher: $(BUILD)/obj/watcher/main.o $(BUILD)/libwatcher.a $(BUILD)/libcommon.a
$(BUILD)/fc-reconciler: $(BUILD)/obj/reconciler/main.o $(BUILD)/libreconciler.a $(BUILD)/libcommon.a
$(BUILD)/fc-barrier: $(BUILD)/obj/barrier/main.o $(BUILD)/libbarrier.a $(BUILD)/libcommon.a
$(BUILD)/fc-jobs: $(BUILD)/obj/jobs/main.o $(BUILD)/libjobs.a $(BUILD)/libcommon.a
$(BUILD)/frameworkbarrier: $(BUILD)/obj/barrier/init/main.o $(BUILD)/libinit.a $(BUILD)/libcommon.a
$(BUILD)/kubectl-framework: $(BUILD)/obj/cli/main.o $(BUILD)/libcli.a $(BUILD)/libcommon.a
$(BUILD)/fc-testapi: $(BUILD)/obj/tests/cluster/testapi/main.o $(BUILD)/libtestapi.a $(BUILD)/libcommon.a
$(BUILD)/fc-testkubelet: $(BUILD)/obj/tests/cluster/testkubelet/main.o $(BUILD)/libtestkubelet.a $(BUILD)/libcommon.a
$(BUILD)/fc-testproxy: $(BUILD)/obj/tests/cluster/testproxy/main.o $(BUILD)/libcommon.a
$(BUILD)/fc-demo: $(BUILD)/obj/tests/cluster/demo/main.o $(BUILD)/libdemo.a $(BUILD)/libjobs.a $(BUILD)/libcommon.a
$(PROGRAMS) $(TEST_PROGRAMS):
	$(link)

# The simulator's own log comes before the library's; its memo and its failing allocator come in between.
$(BUILD)/fc-sim: LDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%,$(SIM_WRAPS))
$(BUILD)/fc-sim: $(call objects,$(SIM_SRC)) $(BUILD)/libwatcher.a $(BUILD)/libreconciler.a $(BUILD)/libbarrier.a $(BUILD)/libcommon.a
	$(link)

$(BUILD)/fc-bench: $(call objects,$(BENCH_SRC)) $(BUILD)/libcommon.a
	$(link)
# Preloaded by the bench, to count allocations.
$(BUILD)/fc-bench-malloc.so: tests/bench/malloc/count.c $(SETTINGS)
	@echo "  LINK  $@"; $(CC) $(CFLAGS_ALL) $(CFLAGS) -fPIC -shared $(filter-out -pie,$(LDFLAGS_ALL)) -o $@ $<

# Unit tests: tests/unit/test_<x>.c is one program, linked with every library.
$(BUILD)/obj/tests/unit/%.o: CFLAGS_ALL += $(UNIT_FLAGS)
$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(LIBRARIES)
	@mkdir -p $(@D)
	$(link) -lcmocka

include tests/fuzz/fuzz.mk tests/hardening/hardening.mk

# Compiles all code, to check a compiler.
compile: all $(BUILD)/fc-sim $(UNIT_TESTS) $(FUZZ_REPLAYS) $(MEMORY_PROGRAMS)

# ---- targets for users --------------------------------------------------------------------------------------------
# Hides the compiler lines; adds -j unless the caller gave one. KEEP=1 leaves the cluster up.
demo:
	@$(MAKE) --no-print-directory -q all >/dev/null 2>&1 || echo "Building; the first time it takes half a minute."
	@$(MAKE) --no-print-directory -s $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$$(nproc)) all >/dev/null
	@$(BUILD)/fc-demo tests/jobs/crds.yaml tests/cluster/gang/crds.yaml manifests/examples/*.yaml manifests/examples/jobs/*.yaml

# Before each commit: lint of what changed, unit tests, 5 000 seeds, a scenario of each kind; one minute or two.
check:
	tests/run.sh check

test:
	tests/run.sh

test-unit: $(UNIT_TESTS)
	tests/unit/run.sh $(UNIT_TESTS)

test-unit-plain: $(UNIT_PLAIN)
	tests/unit/run.sh $(UNIT_PLAIN)

# Whole processes, on the embedded cluster and on a real control plane; SCENARIOS="succeed kubectl*" picks some. (set -f:
# otherwise the shell expands a pattern that matches a folder, such as cli*.)
test-e2e: $(E2E_PROGRAMS)
	@set -f; BUILD=$(BUILD) tests/e2e/run.sh embedded $(SCENARIOS)

test-kubernetes: test-control-plane test-real

test-control-plane:
	tests/kubernetes/cluster_test.sh

test-real: $(E2E_PROGRAMS)
	@set -f; BUILD=$(BUILD) tests/e2e/run.sh kubernetes $(SCENARIOS)

# The simulator: SEEDS seeds from SEED on, for SECONDS at most. fc-sim --seed N replays a failing one.
sim: $(BUILD)/fc-sim
	$< --seeds $(or $(SEEDS),2000) --first $(or $(SEED),1) --seconds $(or $(SECONDS),0) --jobs $$(nproc)

# 50 000 seeds, or as many as SECONDS allow, 10 minutes unless given.
test-sim: $(BUILD)/fc-sim
	$< --failover
	$< --seed 7123 --hash
	$< --seeds 50000 --seconds $(or $(SECONDS),600) --jobs $$(nproc)

# The figures of ARCHITECTURE.md §11; ROWS="batch 'barrier*'" picks some, BENCH_FLAGS as tests/bench/run.sh --help says.
bench: $(E2E_PROGRAMS)
	BUILD=$(BUILD) tests/bench/run.sh $(BENCH_FLAGS) $(ROWS)

# Takes minutes: 10 000 Tasks in one Framework on a real control plane.
test-long: $(E2E_PROGRAMS)
	PARALLEL=1 SCENARIO_LIMIT=1800 LARGE_TASKS=10000 BUILD=$(BUILD) tests/e2e/run.sh kubernetes large large_failures

# kill -9 right after each request of a story, one run each; CRASH_POINTS=N: after the first N, M-N: from the M-th on.
crash-points: $(E2E_PROGRAMS)
	SCENARIO_LIMIT=3600 CRASH_POINTS=$(or $(CRASH_POINTS),all) BUILD=$(BUILD) tests/e2e/run.sh embedded 'crash_points*'

# SOAK Frameworks that come and go on a real control plane, while a process is killed every two seconds.
soak: $(E2E_PROGRAMS)
	SCENARIO_LIMIT=$$(($(or $(SOAK),300) * 3 + 600)) SOAK=$(or $(SOAK),300) BUILD=$(BUILD) tests/e2e/run.sh kubernetes soak

# A stream that goes silent: the client notices this after two and a half minutes.
half-open: $(E2E_PROGRAMS)
	SCENARIO_LIMIT=900 LONG=1 BUILD=$(BUILD) tests/e2e/run.sh embedded fault_half_open_watch

# All tests that take minutes or hours. A failed part does not stop the next ones. PARTS="soak fuzz" picks some.
long:
	tests/run.sh $(or $(PARTS),long)

# The model test: STORIES random stories of the pure core.
test-model: $(BUILD)/unit/test_sync_random
	SYNC_STORIES=$(or $(STORIES),100000) SYNC_JOBS=$$(nproc) $<

# The models of the lease protocol (tests/model): all configurations take minutes, the small ones seconds.
model:
	tests/model/run.sh full

test-protocol:
	tests/model/run.sh small

# Run this after you compared the models with the functions that they name.
model-reviewed:
	tests/model/reviewed.sh --write

# The lines of the pure core that the unit tests reach. gcov comes with gcc.
COVERED := $(wildcard $(foreach area,sync_* spec status object classify pattern podtemplate config barrier shorten,tests/unit/test_$(area).c))
coverage:
	$(Q)$(MAKE) --no-print-directory DEBUG=1 BUILD=$(BUILD)/coverage CFLAGS=--coverage LDFLAGS=--coverage \
		$(patsubst tests/unit/%.c,$(BUILD)/coverage/unit/%,$(COVERED))
	tests/coverage.sh $(BUILD)/coverage $(patsubst tests/unit/%.c,$(BUILD)/coverage/unit/%,$(COVERED))

# Deliberate bugs, each of which the simulator must find.
mutants:
	BUILD=$(BUILD) tests/sim/mutants.sh

lint:
	tests/lint.sh

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

install: programs
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/frameworkcontroller
	install -m 755 $(PROGRAMS) cli/kubectl_complete-framework $(DESTDIR)$(PREFIX)/bin
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 cli/kubectl-framework.1
	cp -r --no-preserve=ownership manifests/. $(DESTDIR)$(PREFIX)/share/frameworkcontroller

# The contents of the images (manifests/images), below DESTDIR: programs, the entry point and the working directory of the
# original's images, and the list of packages. Group 0, under which images run, can write to the working directory.
ORIGINAL := /opt/frameworkcontroller
image-controller: $(BUILD)/fc-watcher $(BUILD)/fc-reconciler $(BUILD)/fc-barrier $(BUILD)/fc-jobs
	@install -d -m 775 $(DESTDIR)$(ORIGINAL)/frameworkcontroller
	@install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $^
	@install -m 755 manifests/images/frameworkcontroller-start.sh $(DESTDIR)$(ORIGINAL)/frameworkcontroller/start.sh
	@install -m 664 manifests/config/frameworkcontroller.yaml $(DESTDIR)$(ORIGINAL)/frameworkcontroller
	@install -d $(DESTDIR)/usr/share/frameworkcontroller
	@manifests/images/packages.sh $^ > $(DESTDIR)/usr/share/frameworkcontroller/packages
	@echo ca-certificates >> $(DESTDIR)/usr/share/frameworkcontroller/packages

image-frameworkbarrier: $(BUILD)/frameworkbarrier
	@install -d -m 775 $(DESTDIR)$(ORIGINAL)/frameworkbarrier
	@install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $^
	@install -m 755 manifests/images/frameworkbarrier-start.sh $(DESTDIR)$(ORIGINAL)/frameworkbarrier/start.sh
	@install -d $(DESTDIR)/usr/share/frameworkcontroller
	@manifests/images/packages.sh $^ > $(DESTDIR)/usr/share/frameworkcontroller/packages
	@echo ca-certificates >> $(DESTDIR)/usr/share/frameworkcontroller/packages

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
endif
