/* The files that the program serves as they are, embedded when it is built. */
#ifndef CLI_UI_ASSETS_H
#define CLI_UI_ASSETS_H

/* NUL-terminated. */
extern const char ui_html[] __attribute__((visibility("hidden")));
extern const char ui_css[] __attribute__((visibility("hidden")));
extern const char ui_js[] __attribute__((visibility("hidden")));

#endif
