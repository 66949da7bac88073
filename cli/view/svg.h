/* A timeline as a picture. */
#ifndef CLI_VIEW_SVG_H
#define CLI_VIEW_SVG_H

#include "cli/view/timeline.h"

/* Appends an SVG document (SVG 1.1) that needs nothing else: no script, no font, no request. Text of the cluster is
 * escaped; characters that XML 1.0 does not allow become U+FFFD. */
void svg_write(struct buf *out, const struct timeline *timeline);
/* The same <svg> without colours and background, for a page whose style has them: classes pending, running, earlier,
 * good, bad, ended. */
void svg_write_plain(struct buf *out, const struct timeline *timeline);

#endif
