/* Label and field selectors; see selector.h. The grammar is that of apimachinery's labels.Parse and
 * fields.ParseSelector. */
#include "tests/cluster/testapi/selector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

static void free_terms(struct selector_term *terms, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(terms[i].key);
		for (size_t k = 0; k < terms[i].value_count; k++)
			free(terms[i].values[k]);
		free((void *)terms[i].values);
	}
	free(terms);
}

void api_selector_free(struct api_selector *selector)
{
	free_terms(selector->labels, selector->label_count);
	free_terms(selector->fields, selector->field_count);
	*selector = (struct api_selector){0};
}

static struct selector_term *add_term(struct selector_term **terms, size_t *count)
{
	*terms = mem_realloc(*terms, *count + 1, sizeof(**terms));
	(*terms)[*count] = (struct selector_term){0};
	return &(*terms)[(*count)++];
}

static void add_value(struct selector_term *term, const char *text, size_t len)
{
	term->values = mem_realloc((void *)term->values, term->value_count + 1, sizeof(*term->values));
	term->values[term->value_count++] = mem_strndup(text, len);
}

static const char *skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

static size_t word_length(const char *at)
{
	return strcspn(at, " \t\n,()=!<>");
}

/* `(a,b)` behind `in` or `notin`; NULL when malformed. */
static const char *parse_set(struct selector_term *term, const char *at)
{
	at = skip_space(at);
	if (*at++ != '(')
		return NULL;
	for (;;) {
		size_t len;

		at = skip_space(at);
		len = word_length(at);
		add_value(term, at, len);
		at = skip_space(at + len);
		if (*at == ')')
			return at + 1;
		if (*at++ != ',')
			return NULL;
	}
}

/* What follows the key; NULL when malformed. */
static const char *parse_operator(struct selector_term *term, const char *at)
{
	size_t len;

	at = skip_space(at);
	if (*at == '\0' || *at == ',') {
		term->operator= SELECT_EXISTS;
		return at;
	}
	if (strncmp(at, "in", 2) == 0 && word_length(at) == 2) {
		term->operator= SELECT_IN;
		return parse_set(term, at + 2);
	}
	if (strncmp(at, "notin", 5) == 0 && word_length(at) == 5) {
		term->operator= SELECT_NOT_IN;
		return parse_set(term, at + 5);
	}
	if (at[0] == '!' && at[1] == '=') {
		term->operator= SELECT_NOT_IN;
		at += 2;
	} else if (at[0] == '=') {
		term->operator= SELECT_IN;
		at += at[1] == '=' ? 2 : 1;
	} else {
		return NULL;
	}
	at = skip_space(at);
	len = word_length(at);
	add_value(term, at, len);
	return at + len;
}

static const char *parse_label_term(struct selector_term *term, const char *at)
{
	bool absent = false;
	size_t len;

	at = skip_space(at);
	if (*at == '!') {
		absent = true;
		at = skip_space(at + 1);
	}
	len = word_length(at);
	if (len == 0)
		return NULL;
	term->key = mem_strndup(at, len);
	at += len;
	if (absent) {
		term->operator= SELECT_ABSENT;
		return at;
	}
	return parse_operator(term, at);
}

static int parse_labels(struct api_selector *selector, const char *text, struct api_failure *failure)
{
	const char *at = skip_space(text);

	while (*at != '\0') {
		at = parse_label_term(add_term(&selector->labels, &selector->label_count), at);
		if (at != NULL)
			at = skip_space(at);
		if (at == NULL || (*at != '\0' && *at != ','))
			return api_fail_bad_request(failure,
						    "unable to parse requirement: found '%s', expected: a label "
						    "selector",
						    text);
		at += *at == ',';
	}
	return 0;
}

static int field_index(const struct api_resource *resource, const char *name, int *index)
{
	if (strcmp(name, "metadata.name") == 0) {
		*index = FIELD_NAME;
		return 0;
	}
	if (strcmp(name, "metadata.namespace") == 0) {
		*index = FIELD_NAMESPACE;
		return 0;
	}
	for (int i = 0; i < RESOURCE_FIELDS_MAX && resource->fields[i] != NULL; i++)
		if (strcmp(name, resource->fields[i]) == 0) {
			*index = i;
			return 0;
		}
	return -1;
}

static int parse_field_term(struct api_selector *selector, const struct api_resource *resource, const char *at,
			    size_t len, struct api_failure *failure)
{
	cleanup_free char *text = mem_strndup(at, len);
	char *operator= strpbrk(text, "!=");
	struct selector_term *term;
	const char *value;

	if (operator== NULL ||(operator[0] == '!' && operator[1] != '='))
		return api_fail_bad_request(failure, "invalid selector: '%s'; can't understand '%s'", text, text);
	term = add_term(&selector->fields, &selector->field_count);
	term->operator= operator[0] == '!' ? SELECT_NOT_IN : SELECT_IN;
	value = operator+(operator[0] == '!' || operator[1] == '=' ? 2 : 1);
	term->key = mem_strndup(text, (size_t)(operator- text));
	add_value(term, value, strlen(value));
	if (field_index(resource, term->key, &term->field) < 0) {
		if (resource->custom || resource->fields[0] != NULL)
			return api_fail_bad_request(failure, "field label not supported: %s", term->key);
		return api_fail_bad_request(failure,
					    "\"%s\" is not a known field selector: only \"metadata.name\", "
					    "\"metadata.namespace\"",
					    term->key);
	}
	return 0;
}

static int parse_fields(struct api_selector *selector, const struct api_resource *resource, const char *text,
			struct api_failure *failure)
{
	while (*text != '\0') {
		size_t len = strcspn(text, ",");

		if (len > 0 && parse_field_term(selector, resource, text, len, failure) < 0)
			return -1;
		text += len + (text[len] == ',');
	}
	return 0;
}

int api_selector_parse(struct api_selector *selector, const struct api_resource *resource, const char *labels,
		       const char *fields, struct api_failure *failure)
{
	*selector = (struct api_selector){0};
	if ((labels != NULL && parse_labels(selector, labels, failure) < 0) ||
	    (fields != NULL && parse_fields(selector, resource, fields, failure) < 0)) {
		api_selector_free(selector);
		return -1;
	}
	return 0;
}

static bool has_value(const struct selector_term *term, const char *value)
{
	for (size_t i = 0; i < term->value_count; i++)
		if (strcmp(term->values[i], value) == 0)
			return true;
	return false;
}

static bool term_matches(const struct selector_term *term, const char *value)
{
	switch (term->operator) {
	case SELECT_EXISTS: return value != NULL;
	case SELECT_ABSENT: return value == NULL;
	case SELECT_IN: return value != NULL && has_value(term, value);
	case SELECT_NOT_IN: return value == NULL || !has_value(term, value);
	}
	return false;
}

bool api_selector_matches(const struct api_selector *selector, const struct api_object *object)
{
	for (size_t i = 0; i < selector->label_count; i++) {
		const struct selector_term *term = &selector->labels[i];

		if (!term_matches(term, json_string_value(json_object_get(object->labels, term->key))))
			return false;
	}
	for (size_t i = 0; i < selector->field_count; i++) {
		const struct selector_term *term = &selector->fields[i];
		const char *value = term->field == FIELD_NAME        ? object->name
				    : term->field == FIELD_NAMESPACE ? object->namespace_name
								     : object->fields[term->field];

		if (!term_matches(term, value))
			return false;
	}
	return true;
}

bool api_selector_empty(const struct api_selector *selector)
{
	return selector->label_count == 0 && selector->field_count == 0;
}
