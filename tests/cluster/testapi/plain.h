/* The checks of kinds that are otherwise just stored: ConfigMaps, Secrets, Events. */
#ifndef TESTAPI_PLAIN_H
#define TESTAPI_PLAIN_H

#include "tests/cluster/testapi/resource.h"

extern const struct api_strategy api_configmap_strategy;
extern const struct api_strategy api_secret_strategy;
extern const struct api_strategy api_event_strategy;

#endif
