/* Paths and a Framework for requests to the test API server. Shared by test_testapi_rest.c and test_testapi_read.c. */
#ifndef TESTS_TESTAPI_PATHS_H
#define TESTS_TESTAPI_PATHS_H

#include "tests/cluster/testapi/faults.h"
#include "tests/cluster/testapi/ops.h"
#include "tests/unit/testapi_fixture.h"

#define FWS FW "/namespaces/default/frameworks"
#define CMS NS "/configmaps"

static const char FW_ONE[] =
	"{\"apiVersion\":\"frameworkcontroller.microsoft.com/v1\",\"kind\":\"Framework\",\"metadata\":{"
	"\"name\":\"one\"},\"spec\":{\"junk\":1,\"taskRoles\":[{\"name\":\"a\",\"taskNumber\":2,"
	"\"task\":{\"pod\":{\"anything\":{\"x\":1}}}}]},\"status\":{\"state\":\"x\"}}";

#endif
