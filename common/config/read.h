/* Reading one YAML mapping by a table of its keys; within common/config only. */
#ifndef CONFIG_READ_H
#define CONFIG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/yaml.h"
#include "common/config/config.h"

/* The state that all keys of one file share. */
struct reader {
	enum config_unknown unknown;
	int64_t unknown_keys;
	size_t patterns_max; /* bytes that all patterns may take; 0: any number */
	size_t patterns_bytes;
	struct error *err;
};

enum field_type {
	FIELD_BOOL,    /* bool */
	FIELD_INT,     /* int64_t, min..max */
	FIELD_INT32,   /* int32_t, any */
	FIELD_SECONDS, /* int64_t, at least min; longer than CONFIG_SECONDS_MAX counts as that */
	FIELD_DOUBLE,  /* double, above min, at most max */
	FIELD_STRING,  /* char *, replaced */
	FIELD_PATTERN, /* struct pattern *, NULL before */
	FIELD_MAPPING, /* a mapping within, by its own table, into the same struct */
	FIELD_CUSTOM,  /* by the function */
};

/* Reads a value into the struct that the table's offsets refer to. `what` names the value in messages, such as
 * "logObjectSnapshot.pod". */
typedef int field_read(struct reader *reader, const struct yaml_node *value, const char *what, void *into);

struct field {
	const char *key;
	enum field_type type;
	size_t offset; /* FIELD_CUSTOM gets the address of the struct, not of the field */
	int64_t min;
	int64_t max;
	field_read *read;
	const struct field *fields;
};

/* Reads the mapping node by the table (ends with key NULL) into the struct. prefix comes before each key in messages;
 * "" at the top. Absent and null values leave the struct as it is. 0, or -1 and the reader's error. */
int read_mapping(struct reader *reader, const struct yaml_node *node, const char *prefix, const struct field *fields,
		 void *into);

/* The same for a value within a mapping, which must be a mapping, too. */
int read_value(struct reader *reader, const struct yaml_node *value, const char *what, const struct field *fields,
	       void *into);

/* The podFailureSpec key; into is a struct failure_spec, empty before. */
int read_failure_spec(struct reader *reader, const struct yaml_node *node, const char *what, void *into);

#endif
