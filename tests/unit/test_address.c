/* Ports, and which addresses are this machine's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/address.h"
#include "common/base/mem.h"

static void test_loopback(void **state)
{
	static const char *const own[] = {
		"127.0.0.1",        "127.0.0.1:80", "127.8.9.10:80",           "localhost",
		"localhost:80",     "[::1]:80",     "[::ffff:127.0.0.1]:8471", "localhost/path",
		"127.0.0.1/a:b@[c]"};
	static const char *const others[] = {"",
					     ":80",
					     "0.0.0.0:80",
					     "10.0.0.1:80",
					     "127.evil.example:80",
					     "127.0.0.1.evil.example",
					     "localhost.evil.example",
					     "[::]:80",
					     "[::2]:80",
					     "[::ffff:10.0.0.1]:80",
					     "[127.0.0.1",
					     "*:80"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (!address_is_loopback(own[i]))
			fail_msg("%s counts as another machine's", own[i]);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (address_is_loopback(others[i]))
			fail_msg("%s counts as this machine's", others[i]);
}

static void test_ports(void **state)
{
	(void)state;
	assert_int_equal(port_number("0"), 0);
	assert_int_equal(port_number("65535"), PORT_MAX);
	assert_int_equal(port_number("65536"), -1);
	assert_int_equal(port_number("065536"), -1);
	assert_int_equal(port_number(""), -1);
	assert_int_equal(port_number("80a"), -1);
	assert_int_equal(port_number("-1"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
