/* Which servers are reached by the environment's proxy: NO_PROXY, as Go reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those above */
#include <cmocka.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/kube/config/proxy_environment.h"

struct example {
	const char *no_proxy; /* NULL: not set */
	const char *server;
	bool proxied;
};

static void expect_each(const struct example *examples, size_t count)
{
	setenv("HTTP_PROXY", "proxy", 1);
	setenv("HTTPS_PROXY", "proxy", 1);
	unsetenv("no_proxy");
	for (size_t i = 0; i < count; i++) {
		const struct example *example = &examples[i];
		cleanup_free char *proxy = NULL;
		struct error err;

		if (example->no_proxy == NULL)
			unsetenv("NO_PROXY");
		else
			setenv("NO_PROXY", example->no_proxy, 1);
		if (proxy_environment(example->server, &proxy, &err) < 0)
			fail_msg("%s: %s", example->server, err.message);
		if ((proxy != NULL) != example->proxied)
			fail_msg("NO_PROXY \"%s\", %s: %s", example->no_proxy == NULL ? "" : example->no_proxy,
				 example->server, proxy != NULL ? "by a proxy" : "by none");
	}
	unsetenv("HTTP_PROXY");
	unsetenv("HTTPS_PROXY");
	unsetenv("NO_PROXY");
}

static void test_this_machine(void **state)
{
	static const struct example examples[] = {
		{NULL, "https://localhost", false},          {NULL, "http://localhost:1", false},
		{NULL, "https://127.0.0.1:6443", false},     {NULL, "https://127.9.0.1", false},
		{NULL, "https://[::1]:6443/x", false},       {NULL, "https://[::1%25lo]:6443", false},
		{NULL, "https://[::ffff:127.0.0.1]", false}, {NULL, "https://[::2]", true},
		{NULL, "https://128.0.0.1", true},           {NULL, "https://localhost.example", true},
		{NULL, "https://a.localhost", true},
	};

	(void)state;
	expect_each(examples, ARRAY_LEN(examples));
}

static void test_lists(void **state)
{
	static const struct example examples[] = {
		{"", "https://h", true},
		{",, ,", "https://h", true},
		{"*", "https://h", false},
		{"*", "https://[2001:db8::1]:6443", false},
		{"a, * ,b", "https://h", false},
		{"a,*.", "https://h", true},
		{"**", "https://h", true},
		{"*:443", "https://h", true},
		{"a,\th ,b", "https://h", false},
		{"a,b,h", "https://h", false},
		/* commas alone part them */
		{"a h", "https://h", true},
		{"a;h", "https://h", true},
	};

	(void)state;
	expect_each(examples, ARRAY_LEN(examples));
}

static void test_names(void **state)
{
	static const struct example examples[] = {
		{"example.com", "https://example.com", false},
		{"example.com", "https://example.com/prefix", false},
		{"example.com", "https://a.b.example.com:6443", false},
		{"example.com", "https://badexample.com", true},
		{"example.com", "https://example.com.net", true},
		{"b.example.com", "https://example.com", true},
		{"EXAMPLE.com", "https://example.COM", false},
		{".example.com", "https://example.com", true},
		{".example.com", "https://a.example.com", false},
		{"*.example.com", "https://example.com", true},
		{"*.example.com", "https://a.example.com", false},
		{"*.example.com", "https://a.b.example.com", false},
		{"*.example.com", "https://aexample.com", true},
		{"*example.com", "https://a.example.com", true},
		{".", "https://h", true},
	};

	(void)state;
	expect_each(examples, ARRAY_LEN(examples));
}

static void test_ports(void **state)
{
	static const struct example examples[] = {
		{"h:6443", "https://h:6443", false},  {"h:6443", "https://a.h:6443/prefix", false},
		{"h:6443", "https://h:6444", true},   {"h:6443", "https://h", true},
		{"h:443", "https://h", false},        {"h:443", "https://h:/", false},
		{"h:443", "http://h", true},          {"h:80", "http://h", false},
		{"h:80", "https://h", true},          {"h:", "https://h:6443", false},
		{"h:6443,h:443", "https://h", false}, {".h:443", "https://h", true},
		{".h:443", "https://a.h", false},     {"*.h:443", "https://a.h", false},
		{"*.h:444", "https://a.h", true},     {":443", "https://h", true},
		{"h:4:443", "https://h", true},
	};

	(void)state;
	expect_each(examples, ARRAY_LEN(examples));
}

static void test_addresses(void **state)
{
	static const struct example examples[] = {
		{"10.0.0.1", "https://10.0.0.1", false},
		{"10.0.0.1", "https://10.0.0.1:6443", false},
		{"10.0.0.1", "https://10.0.0.11", true},
		{"10.0.0.1:6443", "https://10.0.0.1:6443", false},
		{"10.0.0.1:6443", "https://10.0.0.1", true},
		/* names are not for addresses */
		{"0.1,.0.1,*.0.1,10", "https://10.0.0.1", true},
		{"2001:db8::1", "https://[2001:db8::1]:6443", false},
		{"2001:DB8:0::1", "https://[2001:db8::1]", false},
		{"2001:db8::1", "https://[2001:db8::2]", true},
		{"[2001:db8::1]:6443", "https://[2001:db8::1]:6443", false},
		{"[2001:db8::1]:443", "https://[2001:db8::1]", false},
		{"[2001:db8::1]:6443", "https://[2001:db8::1]", true},
		/* Go takes brackets only with a port */
		{"[2001:db8::1]", "https://[2001:db8::1]", true},
		{"[2001:db8::1", "https://[2001:db8::1]", true},
		{"[]:443", "https://[2001:db8::1]", true},
		{"[:443", "https://[2001:db8::1]", true},
		{"fe80::1", "https://[fe80::1%25eth0]:6443", false},
		{".example.com", "https://[fe80::1%25.example.com]", true},
		{"::ffff:10.0.0.1", "https://10.0.0.1", false},
		{"10.0.0.1", "https://[::ffff:10.0.0.1]", false},
	};

	(void)state;
	expect_each(examples, ARRAY_LEN(examples));
}

static void test_blocks(void **state)
{
	static const struct example examples[] = {
		{"10.0.0.0/8", "https://10.255.0.1:6443", false},
		{"10.0.0.0/8", "https://11.0.0.1", true},
		{"10.96.3.4/12", "https://10.111.0.1", false},
		{"10.96.3.4/12", "https://10.112.0.1", true},
		{"10.0.0.1/32", "https://10.0.0.1", false},
		{"10.0.0.1/32", "https://10.0.0.0", true},
		{"0.0.0.0/0", "https://10.0.0.1", false},
		{"0.0.0.0/0", "https://[2001:db8::1]", true},
		{"::/0", "https://[2001:db8::1]", false},
		{"::/0", "https://10.0.0.1", true},
		{"2001:db8::/33", "https://[2001:db8:7fff::1]:6443", false},
		{"2001:db8::/33", "https://[2001:db8:8000::1]", true},
		{"2001:db8::1/128", "https://[2001:db8::1]", false},
		{"10.0.0.0/8", "https://a.10.example", true},
		/* not blocks */
		{"10.0.0.0/33", "https://10.0.0.1", true},
		{"10.0.0.0/", "https://10.0.0.0", true},
		{"10.0.0.0/+8", "https://10.0.0.1", true},
		{"10.0.0.0/8:443", "https://10.0.0.1", true},
		{"10.0/8", "https://10.0.0.1", true},
		{"[2001:db8::]/32", "https://[2001:db8::1]", true},
		{"::/129", "https://[2001:db8::1]", true},
		{"::/18446744073709551617", "https://[2001:db8::1]", true},
	};

	(void)state;
	expect_each(examples, ARRAY_LEN(examples));
}

/* What no server would be reached by is not looked at. */
static void test_unused_fault(void **state)
{
	char *proxy = NULL;
	struct error err;

	(void)state;
	setenv("HTTPS_PROXY", "ftp://proxy", 1);
	setenv("no_proxy", "h", 1);
	assert_int_equal(proxy_environment("https://h", &proxy, &err), 0);
	assert_null(proxy);
	assert_int_equal(proxy_environment("https://i", &proxy, &err), -1);
	assert_null(proxy);
	unsetenv("HTTPS_PROXY");
	unsetenv("no_proxy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_machine), cmocka_unit_test(test_lists),     cmocka_unit_test(test_names),
		cmocka_unit_test(test_ports),        cmocka_unit_test(test_addresses), cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_unused_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
