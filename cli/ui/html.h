/* Text of the cluster as HTML: shown as it is, whatever it contains. */
#ifndef CLI_UI_HTML_H
#define CLI_UI_HTML_H

#include <stddef.h>

#include "common/base/buf.h"

/* Appends text as the content of an element or of an attribute in double quotes. Characters that could change how
 * others are shown become U+FFFD, as on a terminal (cli/text.h). Line ends become blanks. */
void html_put(struct buf *out, const char *text);
/* The same, with its line ends; for <pre>. */
void html_put_lines(struct buf *out, const char *text);
/* The same as html_put(), cut behind so many bytes with an ellipsis. */
void html_put_short(struct buf *out, const char *text, size_t most);
/* Appends "framework?namespace=NS&name=NAME", escaped for an attribute. */
void html_put_link(struct buf *out, const char *ns, const char *name);
/* "2026-01-02 15:04:05Z" in a <time> element; "-" for 0. */
void html_put_time(struct buf *out, int64_t unix_sec);

#endif
