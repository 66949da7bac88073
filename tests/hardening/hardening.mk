# Looks at what is built, and at code with slower tools than lint (tests/README.md). sbom prints SPDX JSON.
.PHONY: test-hardening sbom valgrind analyze

test-hardening: $(PROGRAMS)
	tests/hardening/run.sh $(PROGRAMS)

sbom: $(PROGRAMS)
	@tests/hardening/sbom.sh $(PROGRAMS)

# Of every unit test under memcheck; UNITS="json yaml" picks some.
valgrind: $(if $(UNITS),$(patsubst %,$(BUILD)/unit/test_%,$(UNITS)),$(UNIT_TESTS))
	tests/hardening/valgrind.sh $^

# gcc -fanalyzer and clang's analyser over the programs' own sources.
analyze: $(BUILD)/obj/pod.pb-c.o
	BUILD=$(BUILD) tests/hardening/analyze.sh $(COMMON_SRC) $(WATCHER_SRC) $(RECONCILER_SRC) $(BARRIER_SRC) $(INIT_SRC) \
		watcher/main.c reconciler/main.c barrier/main.c barrier/init/main.c

# The slow ones go with all that takes minutes: a minute of fuzzing for each target, every allocation.
.PHONY: long memory-all
long: memory-all valgrind analyze fuzz
memory-all:
	$(MAKE) test-memory STEP=1
