#!/bin/sh
# Changes the number of workers of pytorch-elastic.yaml, and with it how many must succeed, in one update. Refused when
# the second TaskRole is another one.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 NUMBER-OF-WORKERS" >&2; exit 2; }
exec ${KUBECTL:-kubectl} patch framework pet --type=json -p '[
  {"op": "test", "path": "/spec/taskRoles/1/name", "value": "worker"},
  {"op": "replace", "path": "/spec/taskRoles/1/taskNumber", "value": '"$1"'},
  {"op": "replace", "path": "/spec/taskRoles/1/frameworkAttemptCompletionPolicy/minSucceededTaskCount", "value": '"$1"'}]'
