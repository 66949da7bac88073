/* See command_line.h. */
#include "cli/command_line.h"

#include <stdarg.h>
#include <string.h>

void command_word(struct buf *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@,+";

	if (out->len > 0)
		buf_putc(out, ' ');
	if (*word != '\0' && strspn(word, plain) == strlen(word)) {
		buf_puts(out, word);
		return;
	}
	buf_putc(out, '\'');
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *word);
	}
	buf_putc(out, '\'');
}

static void put_flag(struct buf *out, const char *flag, const char *value)
{
	if (value == NULL)
		return;
	command_word(out, flag);
	command_word(out, value);
}

void command_flags(struct buf *out, const struct options *options)
{
	put_flag(out, "--kubeconfig", options->kubeconfig);
	put_flag(out, "--context", options->context);
	put_flag(out, "--as", options->as);
	for (size_t i = 0; i < options->as_group_count; i++)
		put_flag(out, "--as-group", options->as_groups[i]);
}

char *command_hint(const struct options *options, const char *ns, ...)
{
	struct buf text = {0};
	const char *word;
	va_list args;

	command_word(&text, "kubectl");
	va_start(args, ns);
	while ((word = va_arg(args, const char *)) != NULL)
		command_word(&text, word);
	va_end(args);
	put_flag(&text, "-n", ns);
	command_flags(&text, options);
	return buf_steal(&text);
}
