# Hostile input (tests/README.md): the targets over their corpora (test-fuzz), and under libFuzzer for TIME seconds each
# (fuzz), all or those named by TARGETS="watch bus".
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAYS := $(addprefix $(BUILD)/replay/,$(FUZZ_NAMES))
FUZZERS := $(addprefix $(BUILD)/fuzzer/,$(FUZZ_NAMES))

.PHONY: fuzz test-fuzz fuzzers fuzz-replays

$(BUILD)/replay/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/obj/tests/fuzz/replay.o $(LIBRARIES)
	@mkdir -p $(@D)
	$(link)

$(BUILD)/memory/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/obj/tests/fuzz/memory.o $(LIBRARIES)
	@mkdir -p $(@D)
	$(link)

# Only within make fuzz, which builds everything with clang and for coverage.
$(BUILD)/fuzzer/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(LIBRARIES)
	@mkdir -p $(@D)
	$(link) -fsanitize=fuzzer

fuzz-replays: $(FUZZ_REPLAYS)
fuzzers: $(if $(TARGETS),$(addprefix $(BUILD)/fuzzer/,$(TARGETS)),$(FUZZERS))

test-fuzz: $(FUZZ_REPLAYS)
	tests/fuzz/corpus.sh $(BUILD)/replay

fuzz: $(if $(TARGETS),$(addprefix $(BUILD)/replay/,$(TARGETS)),$(FUZZ_REPLAYS))
	$(MAKE) CC=clang SANITIZE=address,undefined,fuzzer-no-link BUILD=$(BUILD)/fuzz TARGETS="$(TARGETS)" fuzzers
	REPLAYS=$(BUILD)/replay BUILD=$(BUILD)/fuzz tests/fuzz/fuzz.sh "$(or $(TIME),60)" $(or $(TARGETS),$(FUZZ_NAMES))

# Memory that runs out at every STEP-th allocation of one story each (memory.c); ours and the libraries'.
MEMORY_STORIES := reconciler/prep reconciler/story bus/talk http/get framework/completed framework/compressed \
	object/pod-failed watch/events config/failure-spec kubeconfig/token message/hello pattern/flags template/placeholders

MEMORY_PROGRAMS := $(addprefix $(BUILD)/memory/,$(sort $(patsubst %/,%,$(dir $(MEMORY_STORIES)))))
.PHONY: test-memory
test-memory: $(MEMORY_PROGRAMS)
	BUILD=$(BUILD) tests/fuzz/memory.sh $(or $(STEP),7) $(MEMORY_STORIES)
