#!/bin/sh
# Creates a ServiceAccount that a Framework owns and that has the Framework's name, then starts the Framework (pre-start.yaml).
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FRAMEWORK" >&2; exit 2; }
kubectl=${KUBECTL:-kubectl}
uid=$($kubectl get framework "$1" -o jsonpath='{.metadata.uid}')
$kubectl create -f - <<END
apiVersion: v1
kind: ServiceAccount
metadata:
  name: $1
  ownerReferences:
    - apiVersion: frameworkcontroller.microsoft.com/v1
      kind: Framework
      name: $1
      uid: $uid
      controller: true
      blockOwnerDeletion: true
END
exec $kubectl patch framework "$1" --type=merge -p '{"spec": {"executionType": "Start"}}'
