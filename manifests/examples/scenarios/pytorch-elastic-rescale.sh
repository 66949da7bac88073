#!/bin/sh
# Changes the number of workers of pytorch-elastic.yaml, and the number that must succeed, in one update. The API server
# refuses the update if the second TaskRole is not "worker".
set -eu
[ $# -eq 1 ] || { echo "usage: $0 NUMBER-OF-WORKERS" >&2; exit 2; }
exec ${KUBECTL:-kubectl} patch framework pet --type=json -p '[
  {"op": "test", "path": "/spec/taskRoles/1/name", "value": "worker"},
  {"op": "replace", "path": "/spec/taskRoles/1/taskNumber", "value": '"$1"'},
  {"op": "replace", "path": "/spec/taskRoles/1/frameworkAttemptCompletionPolicy/minSucceededTaskCount", "value": '"$1"'}]'
