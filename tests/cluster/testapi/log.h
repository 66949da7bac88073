/* The log of a Pod's container: the answer of its node's kubelet, passed on. */
#ifndef TESTAPI_LOG_H
#define TESTAPI_LOG_H

#include <sys/types.h>

#include "tests/cluster/testapi/request.h"

/* One log on its way. */
struct api_log;

/* Answers GET pods/NAME/log: with answer->log, with nothing, or with a failure. */
void api_log_open(struct api *api, const struct api_request *request, struct api_answer *answer,
		  struct api_failure *failure);
/* Asks the kubelet. wake is called whenever api_log_read may have more. */
void api_log_start(struct api_log *log, void (*wake)(void *arg), void *arg);
/* As api_watch_read. */
ssize_t api_log_read(struct api_log *log, char *data, size_t max);
/* NULL is fine. */
void api_log_free(struct api_log *log);

/* Before the server's end: ends all connections to kubelets. */
void api_log_clients_free(struct api *api);

#endif
