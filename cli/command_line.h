/* Commands for a shell, which people copy. */
#ifndef CLI_COMMAND_LINE_H
#define CLI_COMMAND_LINE_H

#include "cli/options.h"
#include "common/base/buf.h"

/* Appends a word as a shell reads it back (POSIX.1-2017, XCU 2.2.2), after a blank unless it is the first one. */
void command_word(struct buf *out, const char *word);
/* Appends the flags by which this command reached the cluster: --kubeconfig, --context, --as, --as-group. */
void command_flags(struct buf *out, const struct options *options);
/* A command to be copied, which reaches the same cluster: "kubectl framework why hello -n ns --context prod". ns NULL:
 * it needs none. The words behind kubectl end with NULL. The caller frees. */
char *command_hint(const struct options *options, const char *ns, ...) __attribute__((sentinel));

#endif
