/* kubectl framework tree: prints view/tree.h, and redraws it with -w. */
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/follow.h"
#include "cli/load.h"
#include "cli/view/tree.h"
#include "common/base/mem.h"

enum { AGAIN_MS = 2000 };

/* The glyphs before a child: those of its branch, and those before its own children. */
struct glyphs {
	const char *branch, *last, *line, *blank;
};

static const struct glyphs unicode = {"├─ ", "└─ ", "│  ", "   "};
static const struct glyphs ascii = {"|- ", "`- ", "|  ", "   "};

static enum style style_of(enum tone tone)
{
	static const enum style styles[] = {
		[TONE_PLAIN] = STYLE_PLAIN,
		[TONE_GOOD] = STYLE_GOOD,
		[TONE_BAD] = STYLE_BAD,
		[TONE_WAITS] = STYLE_WAITS,
	};

	return styles[tone];
}

static void print_node(struct out *out, const struct tree_node *node, const struct glyphs *glyphs, const char *before,
		       const char *branch, const char *behind)
{
	cleanup_free char *inner = mem_printf("%s%s", before, behind);

	out_printf(out, "%s%s", before, branch);
	out_styled(out, STYLE_HEAD, node->name);
	if (node->state != NULL && *node->state != '\0') {
		out_text(out, "  ");
		out_styled(out, style_of(node->tone), node->state);
	}
	if (node->detail != NULL && *node->detail != '\0') {
		out_text(out, "  ");
		out_styled(out, STYLE_DIM, node->detail);
	}
	out_end_line(out);
	for (size_t i = 0; i < node->child_count; i++) {
		bool last = i + 1 == node->child_count;

		print_node(out, &node->children[i], glyphs, inner, last ? glyphs->last : glyphs->branch,
			   last ? glyphs->blank : glyphs->line);
	}
}

/* Says nothing of a failure whose code is that of the try before. */
static int print_tree(struct cli *cli, int before)
{
	const struct options *options = &cli->options;
	struct out *out = &cli->out;
	struct tree_node root;
	struct loaded loaded;
	struct error err;
	int code = load_framework(cli, options->arguments[0], LOAD_PODS, &loaded, &err);

	if (code != 0) {
		loaded_free(&loaded);
		return code == before ? code : cli_complain(cli, code, &err);
	}
	tree_build(&loaded.inquiry, options->all_tasks, out->ascii_glyphs, &root);
	if (options->output == OUTPUT_JSON || options->output == OUTPUT_YAML) {
		json_t *value = tree_json(&root);

		if (options->output == OUTPUT_JSON)
			out_json(out, value);
		else
			out_yaml(out, value);
		json_decref(value);
	} else {
		print_node(out, &root, out->ascii_glyphs ? &ascii : &unicode, "", "", "");
	}
	tree_free(&root);
	loaded_free(&loaded);
	return CLI_DONE;
}

/* Again for each change of the Framework, and until it can be read. */
static bool on_change(struct cli *cli, void *arg)
{
	int *code = arg;

	if (cli->out.terminal) {
		out_measure(&cli->out);
		out_clear_screen(&cli->out);
	}
	for (*code = print_tree(cli, CLI_DONE); *code == CLI_FAILED; *code = print_tree(cli, CLI_FAILED))
		cli_pause(cli, AGAIN_MS);
	if (!cli->out.terminal)
		out_end_line(&cli->out);
	return *code == CLI_DONE && out_flush(&cli->out) == 0;
}

int command_tree(struct cli *cli)
{
	int code = CLI_DONE, followed;
	struct error err;

	if (!cli->options.watch)
		return print_tree(cli, CLI_DONE);
	followed = cli_connect(cli, &err);
	if (followed == 0)
		followed = follow_framework(cli, cli->options.arguments[0], on_change, &code, &err);
	return followed == 0 ? code : cli_complain(cli, followed, &err);
}
