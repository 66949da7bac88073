/* Kubernetes' protobuf form: bodies of the few kinds that new kubectls send so (`kubectl create namespace`, …), and
 * lists and watches of Pods. */
#ifndef TESTAPI_PROTOBUF_H
#define TESTAPI_PROTOBUF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

/* The object as JSON, with apiVersion and kind; NULL when it is malformed or of a kind not known here. */
json_t *protobuf_decode(const char *data, size_t len);

/* Appends an answer's body: a PodList, Pod or Status as JSON has it, with the members that a controller looks at.
 * False, and nothing appended, for other kinds. */
bool protobuf_encode(struct buf *out, const json_t *object);
/* Appends the frame of a watch event {"type", "object"} of these. */
void protobuf_encode_event(struct buf *out, const json_t *event);

#endif
