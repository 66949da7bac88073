/* Bodies in Kubernetes' protobuf form, for the few kinds that new kubectls send so (`kubectl create namespace`, …). */
#ifndef TESTAPI_PROTOBUF_H
#define TESTAPI_PROTOBUF_H

#include <jansson.h>
#include <stddef.h>

/* The object as JSON, with apiVersion and kind; NULL when it is malformed or of a kind not known here. */
json_t *protobuf_decode(const char *data, size_t len);

#endif
