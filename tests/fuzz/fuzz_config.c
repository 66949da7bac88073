/* frameworkcontroller.yaml, and with it the YAML reader. */
#include "common/base/yaml.h"
#include "common/config/config.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = size == 0 ? "" : (const char *)data;
	struct yaml_node *tree;
	struct config config;
	struct error err;

	if (yaml_load("f", text, size, &tree, &err) == 0) {
		json_decref(yaml_to_json(tree));
		yaml_tree_free(tree);
	} else {
		FUZZ_EXPECT(strncmp(err.message, "f:", 2) == 0);
	}
	if (config_load_text("f", text, size, CONFIG_UNKNOWN_IGNORE, &config, &err) == 0) {
		FUZZ_EXPECT(config.worker_number >= 1 && config.shards >= 1 && config.shards <= 4096);
		FUZZ_EXPECT(config.kube_client_qps > 0);
		FUZZ_EXPECT(config.framework_min_retry_delay_sec_for_transient_conflict_failed <=
			    config.framework_max_retry_delay_sec_for_transient_conflict_failed);
		config_free(&config);
	}
	return 0;
}
