/* kubectl framework why: prints the answer of view/why.h. */
#include "cli/view/why.h"
#include "cli/commands.h"
#include "cli/load.h"

#include <string.h>

static void print_fact(struct out *out, const struct why_fact *fact)
{
	out_text(out, "  ");
	out_styled(out, STYLE_HEAD, fact->source);
	if (strchr(fact->text, '\n') == NULL) {
		out_line(out, ": %s", fact->text);
		return;
	}
	out_line(out, ":");
	for (const char *line = fact->text; *line != '\0';) {
		size_t len = strcspn(line, "\n");

		out_line(out, "    %.*s", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* A command stands on a line of its own, whatever the width is, so that it can be copied. */
static void print_advice(struct out *out, const struct why_advice *advice)
{
	out_paragraph(out, 2, advice->text);
	if (advice->command == NULL)
		return;
	out_text(out, "    ");
	out_styled(out, STYLE_HEAD, advice->command);
	out_end_line(out);
}

static void print_why(struct out *out, const struct why *why)
{
	out_paragraph(out, 0, why->answer);
	if (why->fact_count > 0) {
		out_end_line(out);
		out_line(out, "Evidence:");
	}
	for (size_t i = 0; i < why->fact_count; i++)
		print_fact(out, &why->facts[i]);
	if (why->advice_count > 0) {
		out_end_line(out);
		out_line(out, "What to do:");
	}
	for (size_t i = 0; i < why->advice_count; i++)
		print_advice(out, &why->advice[i]);
}

int command_why(struct cli *cli)
{
	struct loaded loaded;
	struct error err;
	struct why why;
	int code = load_framework(cli, cli->options.arguments[0], LOAD_PODS | LOAD_EVENTS | LOAD_DOUBTS, &loaded, &err);

	if (code != 0) {
		loaded_free(&loaded);
		return cli_complain(cli, code, &err);
	}
	why_explain(&loaded.inquiry, &why);
	if (cli->options.output == OUTPUT_JSON || cli->options.output == OUTPUT_YAML) {
		json_t *value = why_json(&loaded.framework, &why);

		if (cli->options.output == OUTPUT_JSON)
			out_json(&cli->out, value);
		else
			out_yaml(&cli->out, value);
		json_decref(value);
	} else {
		print_why(&cli->out, &why);
	}
	why_free(&why);
	loaded_free(&loaded);
	return CLI_DONE;
}
