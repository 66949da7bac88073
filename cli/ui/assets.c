/* See assets.h. The Makefile knows that this file depends on them. */
#include "cli/ui/assets.h"

#define EMBED(name, file) ".globl " name "\n.hidden " name "\n" name ":\n.incbin \"" file "\"\n.byte 0\n"

__asm__(".pushsection .rodata\n" EMBED("ui_html", "cli/ui/ui.html") EMBED("ui_css", "cli/ui/ui.css")
		EMBED("ui_js", "cli/ui/ui.js") ".popsection\n");
