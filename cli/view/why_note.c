/* See why_note.h. */
#define _GNU_SOURCE
#include "cli/view/why_note.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/view/age.h"
#include "cli/view/read.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

static char *print(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		mem_exhausted();
	return text;
}

void why_say(struct why *why, const char *format, ...)
{
	char *text, *before = why->answer;
	va_list args;

	va_start(args, format);
	text = print(format, args);
	va_end(args);
	why->answer = before == NULL ? mem_strdup(text) : mem_printf("%s %s", before, text);
	free(before);
	free(text);
}

void why_brief(struct why *why, const char *format, ...)
{
	va_list args;

	free(why->brief);
	va_start(args, format);
	why->brief = print(format, args);
	va_end(args);
}

void why_fact(struct why *why, const char *source, const char *format, ...)
{
	va_list args;

	why->facts = mem_realloc(why->facts, why->fact_count + 1, sizeof(*why->facts));
	va_start(args, format);
	why->facts[why->fact_count++] = (struct why_fact){.source = mem_strdup(source), .text = print(format, args)};
	va_end(args);
}

void why_advise(struct why *why, const char *format, ...)
{
	va_list args;

	why->advice = mem_realloc(why->advice, why->advice_count + 1, sizeof(*why->advice));
	va_start(args, format);
	why->advice[why->advice_count++] = (struct why_advice){.text = print(format, args)};
	va_end(args);
}

void why_command(struct why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	why->advice[why->advice_count - 1].command = print(format, args);
	va_end(args);
}

/* The same advice may be there already. */
static void advise_owner(struct why *why, const char *framework, const json_t *owner)
{
	const char *kind = view_text(owner, "kind");
	cleanup_free char *text = mem_printf("Framework %s is controlled by %s %s: change that %s, or create it again.",
					     framework, kind, view_text(owner, "name"), kind);

	for (size_t i = 0; i < why->advice_count; i++)
		if (strcmp(why->advice[i].text, text) == 0)
			return;
	why_advise(why, "%s", text);
}

void why_change(struct why *why, const struct inquiry *inquiry, const char *advice, const char *verb, const char *rest)
{
	const json_t *owner = view_controller(inquiry->framework->object);
	char ns[80];

	if (owner != NULL) {
		advise_owner(why, inquiry->framework->name, owner);
		return;
	}
	why_advise(why, "%s", advice);
	why_command(why, "kubectl %s %s%s%s", verb, inquiry->framework->name, rest, why_namespace(inquiry, ns));
}

void why_edit(struct why *why, const struct inquiry *inquiry)
{
	why_change(why, inquiry, "To change the spec:", "edit framework", "");
}

const char *why_age(const struct inquiry *inquiry, int64_t since, char out[WHY_AGE_SIZE])
{
	if (since == 0)
		snprintf(out, WHY_AGE_SIZE, "an unknown time");
	else
		age_text(inquiry->now - since, out);
	return out;
}

const char *why_due(const struct inquiry *inquiry, int64_t at, char out[WHY_DUE_SIZE])
{
	char time[TIME_RFC3339_SIZE], age[WHY_AGE_SIZE];

	if (at > inquiry->now)
		snprintf(out, WHY_DUE_SIZE, "%s (in %s)", time_format_rfc3339(at, time),
			 age_text(at - inquiry->now, age));
	else
		snprintf(out, WHY_DUE_SIZE, "%s (due)", time_format_rfc3339(at, time));
	return out;
}

const char *why_namespace(const struct inquiry *inquiry, char out[80])
{
	snprintf(out, 80, " -n %s", inquiry->framework->ns);
	return out;
}

void why_fact_event(struct why *why, const struct inquiry *inquiry, const struct event_view *event)
{
	char age[WHY_AGE_SIZE];
	cleanup_free char *source = NULL;

	if (event == NULL)
		return;
	source = mem_printf("Event %s, %s ago", event->reason, why_age(inquiry, event->last_time, age));
	if (event->count > 1)
		why_fact(why, source, "%s (%lld times)", event->message, (long long)event->count);
	else
		why_fact(why, source, "%s", event->message);
}
