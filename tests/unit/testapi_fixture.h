/* A test API server in the test's own process, with a CRD of Frameworks: what the test_testapi_* programs share. */
#ifndef TESTAPI_FIXTURE_H
#define TESTAPI_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ev.h>

#include "common/base/json.h"
#include "common/base/mem.h"
#include "tests/cluster/testapi/gc.h"
#include "tests/cluster/testapi/local.h"
#include "tests/cluster/testapi/watch.h"

#define FW "/apis/frameworkcontroller.microsoft.com/v1"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define NS "/api/v1/namespaces/default"

static const char CRD[] =
	"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
	"\"frameworks.frameworkcontroller.microsoft.com\"},\"spec\":{\"group\":\"frameworkcontroller.microsoft.com\","
	"\"scope\":\"Namespaced\",\"names\":{\"plural\":\"frameworks\",\"kind\":\"Framework\",\"shortNames\":[\"fw\"],"
	"\"categories\":[\"all\"]},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{"
	"\"status\":{}},\"additionalPrinterColumns\":[{\"name\":\"State\",\"type\":\"string\",\"jsonPath\":"
	"\".status.state\"},{\"name\":\"Tasks\",\"type\":\"string\",\"jsonPath\":"
	"\".status.conditions[?(@.type==\\\"Running\\\")].message\"},{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":"
	"\".metadata.creationTimestamp\"}],\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
	"\"metadata\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":"
	"\"^[a-z0-9]{1,63}$\"}}},\"spec\":{\"type\":\"object\",\"properties\":{\"description\":{\"type\":\"string\","
	"\"nullable\":true},\"executionType\":{\"type\":\"string\",\"enum\":[\"Create\",\"Start\",\"Stop\"],"
	"\"default\":\"Start\"},\"retryPolicy\":{\"type\":\"object\",\"default\":{},\"properties\":{"
	"\"fancyRetryPolicy\":{\"type\":\"boolean\",\"default\":false},\"maxRetryCount\":{\"type\":\"integer\","
	"\"minimum\":-2,\"maximum\":2147483647,\"default\":0}}},\"taskRoles\":{\"type\":\"array\",\"nullable\":true,"
	"\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\"],\"items\":{\"type\":\"object\","
	"\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":\"^[a-z0-9]{1,63}$\"},"
	"\"taskNumber\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":10000},\"task\":{\"type\":\"object\","
	"\"properties\":{\"pod\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}}}}},"
	"\"status\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";

struct fixture {
	struct ev_loop *loop;
	struct api *api;
	struct api_local local;
	struct api_answer answer;
	json_t *body; /* of the last answer, NULL when it was no JSON */
};

/* Carries a request out; the answer is in fixture->answer and ->body. */
static inline int call(struct fixture *f, const char *method, const char *url, const char *body)
{
	int status = api_local(f->api, &f->local, method, url, body, &f->answer);

	json_decref(f->body);
	f->body = json_parse(api_answer_text(&f->answer), strlen(api_answer_text(&f->answer)), NULL);
	return status;
}

/* The same, with the status that must come. */
#define expect_call(f, wanted, method, url, body)                                             \
	do {                                                                                  \
		int status_ = call(f, method, url, body);                                     \
		if (status_ != (wanted))                                                      \
			fail_msg("%s %s: %d instead of %d: %s", method, url, status_, wanted, \
				 api_answer_text(&(f)->answer));                              \
	} while (0)

static inline const char *message(const struct fixture *f)
{
	const char *text = json_str(f->body, "message");

	return text == NULL ? "" : text;
}

/* A string at a dotted path of the last body; "" where there is none. */
static inline const char *at(const struct fixture *f, const char *path)
{
	const json_t *value = f->body;

	while (value != NULL && *path != '\0') {
		char part[64];
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		value = json_is_array(value) ? json_array_get(value, strtoul(part, NULL, 10))
					     : json_object_get(value, part);
		path += len + (path[len] == '.');
	}
	return json_is_string(value) ? json_string_value(value) : "";
}

/* What the garbage collector and the cleaners would do by themselves. */
static inline void settle(struct fixture *f)
{
	for (int i = 0; i < 10; i++)
		while (api_gc_run(f->api))
			;
}

static inline struct fixture *fixture_new(const struct api_options *options)
{
	struct fixture *f = mem_calloc(1, sizeof(*f));
	struct error err;

	f->loop = ev_loop_new(0);
	f->api = api_new(f->loop, options, &err);
	if (f->api == NULL)
		fail_msg("api_new: %s", err.message);
	return f;
}

static inline int set_up(void **state)
{
	struct fixture *f = fixture_new(&(struct api_options){0});

	*state = f;
	expect_call(f, 201, "POST", CRDS, CRD);
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	api_answer_free(&f->answer);
	json_decref(f->body);
	api_free(f->api);
	ev_loop_destroy(f->loop);
	free(f);
	return 0;
}

#endif
