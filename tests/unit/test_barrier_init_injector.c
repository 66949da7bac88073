/* The files that the init container leaves: what is in them, sourced by real shells, and that they are whole. */
#define _GNU_SOURCE
#include "barrier/init/output.h"
#include "common/framework/gang.h"
#include "tests/unit/init_world.h"

static int write_injector(const char *roles, struct buf *out, struct error *err)
{
	cleanup_free char *text = framework_text(roles, false);
	struct object_parts parts;
	struct gang gang;
	int result;

	assert_int_equal(object_parts_read(text, strlen(text), &parts, err), 0);
	assert_int_equal(gang_read(&parts, &gang, err), 0);
	assert_true(gang_passed(&gang));
	result = injector_write(out, &gang, err);
	gang_free(&gang);
	object_meta_free(&parts.meta);
	return result;
}

static void writes_the_injector(void **state)
{
	cleanup_buf struct buf out = {0};
	struct error err;

	(void)state;
	assert_int_equal(write_injector("ps:10.0.0.1 w2:fd00::1,10.0.0.3 idle:none", &out, &err), 0);
	assert_string_equal(out.data, "#!/bin/bash\n"
				      "\n"
				      "export FB_PS_IPS=\"10.0.0.1\"\n"
				      "echo \"FB_PS_IPS=${FB_PS_IPS}\"\n"
				      "export FB_PS_ADDRESSES=\"10.0.0.1:${FB_PS_PORT}\"\n"
				      "echo \"FB_PS_ADDRESSES=${FB_PS_ADDRESSES}\"\n"
				      "\n"
				      "export FB_W2_IPS=\"fd00::1,10.0.0.3\"\n"
				      "echo \"FB_W2_IPS=${FB_W2_IPS}\"\n"
				      "export FB_W2_ADDRESSES=\"[fd00::1]:${FB_W2_PORT},10.0.0.3:${FB_W2_PORT}\"\n"
				      "echo \"FB_W2_ADDRESSES=${FB_W2_ADDRESSES}\"\n"
				      "\n"
				      "export FB_IDLE_IPS=\"\"\n"
				      "echo \"FB_IDLE_IPS=${FB_IDLE_IPS}\"\n"
				      "export FB_IDLE_ADDRESSES=\"\"\n"
				      "echo \"FB_IDLE_ADDRESSES=${FB_IDLE_ADDRESSES}\"\n");
}

static void refuses_what_could_break_a_shell(void **state)
{
	static const char *const bad[] = {"$(id)",        "`id`",      "10.0.0.1;id", "\"", "10.0.0.1\n",
					  "fe80::1%eth0", "localhost", "10.0.0",      "\\"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_free char *roles = mem_printf("ps:10.0.0.1,%s", bad[i]);
		cleanup_buf struct buf out = {0};
		struct error err;

		assert_int_equal(write_injector(roles, &out, &err), -1);
		assert_non_null(strstr(err.message, "Task ps-1"));
	}
}

/* Sources it in a shell with an odd port, and compares what it echoes and what it exports to programs. */
static void expect_sourced(const char *shell, const char *directory)
{
	cleanup_free char *command = mem_printf(
		"cd %s && FB_PS_PORT=70 && FB_W_PORT='8 *' && . ./injector.sh >echoed && "
		"env | grep '^FB_.*\\(IPS\\|ADDRESSES\\)=' | sort >exported && sort echoed | cmp - exported && "
		"cat exported; rm -f echoed exported",
		directory);
	cleanup_free char *line = mem_printf("%s -euc \"$COMMAND\"", shell);
	char out[512] = "";
	size_t len;
	FILE *pipe;

	setenv("COMMAND", command, 1);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	len = fread(out, 1, sizeof(out) - 1, pipe);
	out[len] = '\0';
	if (pclose(pipe) != 0)
		fail_msg("%s cannot source it", shell);
	assert_string_equal(out, "FB_PS_ADDRESSES=10.0.0.1:70,[fd00::1]:70\n"
				 "FB_PS_IPS=10.0.0.1,fd00::1\n"
				 "FB_W_ADDRESSES=10.0.0.2:8 *\n"
				 "FB_W_IPS=10.0.0.2\n");
}

static void shells_can_source_it(void **state)
{
	static const char *const shells[] = {"sh", "dash", "bash", "bash --posix", "busybox ash"};
	char *directory = make_directory();
	cleanup_buf struct buf injector = {0};
	struct error err;

	(void)state;
	assert_int_equal(write_injector("ps:10.0.0.1,fd00::1 w:10.0.0.2", &injector, &err), 0);
	assert_int_equal(output_write(directory, "{}", &injector, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		expect_sourced(shells[i], directory);
	remove_directory(directory);
}

/* Linux starts no program with a variable of more than 128 KiB: commands after the injector run all the same. */
static void large_gangs_are_not_exported(void **state)
{
	enum { TASKS = 6500, LEN = 16 }; /* an IP of 15 characters, and its comma; a port adds 5: more than 128 KiB */
	char *directory = make_directory();
	cleanup_buf struct buf roles = {0};
	cleanup_buf struct buf injector = {0};
	cleanup_free char *command = mem_printf(
		"cd %s && FB_W_PORT=8080 && export FB_W_ADDRESSES= && . ./injector.sh >echoed 2>told && env >exported "
		"&& "
		"grep -c '^FB_W_IPS=' exported; grep -c '^FB_W_ADDRESSES=' exported; cat told; wc -c <echoed; rm -f "
		"echoed exported told",
		directory);
	cleanup_free char *expected = mem_printf(
		"1\n0\nFB_W_ADDRESSES is too long for an environment variable: it is not exported\n%d\n",
		(int)strlen("FB_W_IPS=FB_W_ADDRESSES=") + TASKS * LEN + TASKS * (LEN + 5));
	char out[512] = "";
	struct error err;
	size_t len;
	FILE *pipe;

	(void)state;
	for (int i = 0; i < TASKS; i++)
		buf_puts(&roles, i == 0 ? "w:100.100.100.100" : ",100.100.100.100");
	assert_int_equal(write_injector(roles.data, &injector, &err), 0);
	assert_int_equal(output_write(directory, "{}", &injector, &err), 0);
	setenv("COMMAND", command, 1);
	pipe = popen("sh -uc \"$COMMAND\"", "r");
	assert_non_null(pipe);
	len = fread(out, 1, sizeof(out) - 1, pipe);
	out[len] = '\0';
	assert_int_equal(pclose(pipe), 0);
	assert_string_equal(out, expected);
	remove_directory(directory);
}

/* 5000 Tasks fit, with any port. */
static void ports_are_counted_as_what_they_become(void **state)
{
	cleanup_buf struct buf roles = {0};
	cleanup_buf struct buf injector = {0};
	struct error err;

	(void)state;
	for (int i = 0; i < 5000; i++)
		buf_puts(&roles, i == 0 ? "worker:10.100.100.100" : ",10.100.100.100");
	assert_int_equal(write_injector(roles.data, &injector, &err), 0);
	assert_non_null(strstr(injector.data, "\nexport FB_WORKER_ADDRESSES="));
	assert_null(strstr(injector.data, "too long"));
}

static void writing_fails_whole(void **state)
{
	char *directory = make_directory();
	cleanup_free char *missing = mem_printf("%s/missing", directory);
	cleanup_free char *blocked = mem_printf("%s/framework.json", directory);
	cleanup_buf struct buf injector = {0};
	struct error err;

	(void)state;
	buf_puts(&injector, "#!/bin/bash\n");
	assert_int_equal(output_write(missing, "{}", &injector, &err), -1);
	assert_non_null(strstr(err.message, missing));
	/* a directory stands in its way: the rename fails and nothing temporary stays */
	assert_int_equal(mkdir(blocked, 0700), 0);
	assert_int_equal(output_write(directory, "{}", &injector, &err), -1);
	assert_int_equal(rmdir(blocked), 0);
	remove_directory(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_injector),
		cmocka_unit_test(refuses_what_could_break_a_shell),
		cmocka_unit_test(shells_can_source_it),
		cmocka_unit_test(large_gangs_are_not_exported),
		cmocka_unit_test(ports_are_counted_as_what_they_become),
		cmocka_unit_test(writing_fails_whole),
	};

	return cmocka_run_group_tests_name("barrier_init_injector", tests, NULL, NULL);
}
