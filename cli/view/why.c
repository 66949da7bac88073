/* The rules in their order; see why.h. */
#include "cli/view/why.h"

#include <stdlib.h>

#include "cli/view/read.h"
#include "cli/view/why_note.h"
#include "common/base/mem.h"

/* The first one that answers. A new reason for a Framework to wait is a rule of its own here; one for Tasks is a row
 * of wait_kind.c. */
static const struct {
	bool (*answers)(const struct inquiry *inquiry, struct why *why);
	bool by_controller; /* what comes next is the controller's to do */
} rules[] = {
	{why_managed_by, false}, {why_malformed, false},  {why_deleting, false},   {why_no_controller, false},
	{why_ended, false},      {why_suspended, true},   {why_not_started, true}, {why_queue, true},
	{why_config_map, true},  {why_retry_delay, true}, {why_ending, true},      {why_no_tasks, true},
	{why_too_many, true},    {why_tasks_wait, true},  {why_running, true},     {why_between, true},
};

/* A command that is copied has to reach the same cluster. */
static void add_flags(struct why *why, const char *flags)
{
	for (size_t i = 0; flags != NULL && i < why->advice_count; i++) {
		char **command = &why->advice[i].command;
		char *whole;

		if (*command == NULL || strncmp(*command, "kubectl ", strlen("kubectl ")) != 0)
			continue;
		whole = mem_printf("%s%s", *command, flags);
		free(*command);
		*command = whole;
	}
}

static void say_nobody_leads(const struct inquiry *inquiry, struct why *why)
{
	const json_t *meta = json_object_get(inquiry->lease, "metadata");

	why_say(why,
		"No fc-watcher leads by Lease %s/%s: until one does, the controller does nothing for Framework %s.",
		view_text(meta, "namespace"), view_text(meta, "name"), inquiry->framework->name);
	why_fact_lease(why, inquiry);
	why_advise(why, "Ask an administrator of FrameworkController why no fc-watcher leads:");
	why_command(why, "fc-watcher status");
}

void why_explain(const struct inquiry *inquiry, struct why *out)
{
	*out = (struct why){.kind = ""};
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (!rules[i].answers(inquiry, out))
			continue;
		if (rules[i].by_controller && why_nobody_leads(inquiry))
			say_nobody_leads(inquiry, out);
		break;
	}
	add_flags(out, inquiry->flags);
	if (out->brief == NULL)
		why_brief(out, "%s", "");
}

void why_free(struct why *why)
{
	for (size_t i = 0; i < why->fact_count; i++) {
		free(why->facts[i].source);
		free(why->facts[i].text);
	}
	for (size_t i = 0; i < why->advice_count; i++) {
		free(why->advice[i].text);
		free(why->advice[i].command);
	}
	free(why->facts);
	free(why->advice);
	free(why->brief);
	free(why->answer);
	*why = (struct why){0};
}

/* A string of any bytes. */
static json_t *text_json(const char *text)
{
	cleanup_buf struct buf valid = {0};
	json_t *value;

	buf_json_string(&valid, text);
	value = json_loadb(valid.data, valid.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	return value == NULL ? json_string("") : value;
}

json_t *why_json(const struct framework_view *framework, const struct why *why)
{
	json_t *evidence = json_array(), *advice = json_array(), *object = json_object();

	for (size_t i = 0; i < why->fact_count; i++) {
		json_t *fact = json_object();

		json_object_set_new(fact, "source", text_json(why->facts[i].source));
		json_object_set_new(fact, "text", text_json(why->facts[i].text));
		json_array_append_new(evidence, fact);
	}
	for (size_t i = 0; i < why->advice_count; i++) {
		json_t *item = json_object();

		json_object_set_new(item, "text", text_json(why->advice[i].text));
		if (why->advice[i].command != NULL)
			json_object_set_new(item, "command", text_json(why->advice[i].command));
		json_array_append_new(advice, item);
	}
	json_object_set_new(object, "name", text_json(framework->name));
	json_object_set_new(object, "namespace", text_json(framework->ns));
	json_object_set_new(object, "kind", json_string(why->kind));
	json_object_set_new(object, "answer", text_json(why->answer == NULL ? "" : why->answer));
	json_object_set_new(object, "evidence", evidence);
	json_object_set_new(object, "advice", advice);
	return object;
}
