# Looks at what is built, and at code with slower tools than lint (tests/README.md). sbom prints SPDX JSON.
.PHONY: test-hardening sbom valgrind test-fuzz-valgrind test-e2e-sanitized test-e2e-valgrind analyze

test-hardening: $(PROGRAMS)
	BUILD=$(BUILD) CC='$(CC)' CFLAGS='$(CFLAGS)' tests/hardening/run.sh $(PROGRAMS)

sbom: $(PROGRAMS)
	@tests/hardening/sbom.sh $(PROGRAMS)

# Every unit test under memcheck; UNITS="json yaml" picks some. Not the one that counts allocations by a malloc of its own,
# which memcheck has too, and not those of the scripted kubelet's containers, whose exit codes it changes.
UNITS ?= $(filter-out barrier_cost testkubelet_runtime testkubelet_cluster,$(UNIT_TESTS:$(BUILD)/unit/test_%=%))
valgrind: $(UNITS:%=$(BUILD)/unit/test_%)
	tests/hardening/valgrind.sh $^

# The corpora under memcheck, which sees into libraries, too.
test-fuzz-valgrind: $(FUZZ_REPLAYS)
	TEST_SLOW=40 UNDER="valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
		--errors-for-leak-kinds=definite --suppressions=tests/hardening/valgrind.supp" tests/fuzz/corpus.sh $(BUILD)/replay

# Whole processes on the embedded cluster: with ASan and UBSan (leaks too), and under memcheck.
test-e2e-sanitized:
	$(MAKE) SANITIZE=address,undefined BUILD=$(BUILD)/sanitized all
	SLOWER=5 BUILD=$(BUILD)/sanitized tests/e2e/run.sh embedded $(SCENARIOS)

test-e2e-valgrind: $(E2E_PROGRAMS)
	BUILD=$(BUILD) tests/hardening/memcheck.sh $(SCENARIOS)

# gcc -fanalyzer and clang's analyser over the programs' own sources.
analyze:
	@BUILD=$(BUILD) tests/hardening/analyze.sh $(COMMON_SRC) $(WATCHER_SRC) $(RECONCILER_SRC) $(BARRIER_SRC) $(INIT_SRC) $(CLI_SRC) \
		watcher/main.c reconciler/main.c barrier/main.c barrier/init/main.c cli/main.c
