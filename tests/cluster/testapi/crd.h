/* CustomResourceDefinitions: what they add to the server, and how their objects behave. */
#ifndef TESTAPI_CRD_H
#define TESTAPI_CRD_H

#include "tests/cluster/testapi/resource.h"

extern const struct api_strategy api_crd_strategy;

#endif
