/* See show.h. */
#include "cli/show.h"

#include "cli/view/read.h"
#include "common/framework/names.h"

void show_trim(json_t *object)
{
	json_object_del(json_object_get(object, "metadata"), "managedFields");
}

void show_done(struct cli *cli, json_t *object, const char *done)
{
	const char *name = view_text(json_object_get(object, "metadata"), "name");

	show_trim(object);
	switch (cli->options.output) {
	case OUTPUT_JSON: out_json(&cli->out, object); break;
	case OUTPUT_YAML: out_yaml(&cli->out, object); break;
	case OUTPUT_NAME: out_line(&cli->out, "framework.%s/%s", FRAMEWORK_GROUP, name); break;
	default: out_line(&cli->out, "framework.%s/%s %s", FRAMEWORK_GROUP, name, done); break;
	}
}
