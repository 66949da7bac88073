#!/bin/sh
# Stops a Framework, saves the final object in FRAMEWORK.json, and deletes it with all its objects.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FRAMEWORK" >&2; exit 2; }
kubectl=${KUBECTL:-kubectl}
$kubectl patch framework "$1" --type=merge -p '{"spec": {"executionType": "Stop"}}'
$kubectl wait --for=condition=Completed --timeout="${TIMEOUT:-1h}" "framework/$1"
$kubectl get framework "$1" -o json >"$1.json"
exec $kubectl delete framework "$1"
