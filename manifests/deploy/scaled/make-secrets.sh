#!/bin/sh
# Creates the secrets of the deployment, below secrets/ beside this file, where kustomization.yaml finds them:
#   bus/   keys of the bus, one for the watchers, one for the reconcilers, one for the barriers (fc-watcher keygen)
#   tls/   a certificate of fc-barrier for ten years, by itself: clients trust it by FRAMEWORK_BARRIER_CA_FILE.
#          Replace tls.crt and tls.key by those of your own authority if you have one.
# Creates only missing files. FC_WATCHER: the program, if it is not in the PATH.
set -eu
umask 077
if ! command -v "${FC_WATCHER:-fc-watcher}" >/dev/null; then
	echo "make-secrets.sh: ${FC_WATCHER:-fc-watcher}: not found: run make, and set FC_WATCHER=\$PWD/build/fc-watcher" >&2
	exit 1
fi
cd "$(dirname "$0")"
mkdir -p secrets/tls
for name in fc-reconciler fc-barrier; do
	[ -e "secrets/bus/$name/client.secret" ] || ${FC_WATCHER:-fc-watcher} keygen secrets/bus "$name"
done
cd secrets/tls
if [ ! -e tls.crt ]; then
	[ -s tls.key ] || openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out tls.key
	openssl req -x509 -new -key tls.key -days 3650 -subj /CN=fc-barrier -out tls.crt \
		-addext subjectAltName=DNS:fc-barrier,DNS:fc-barrier.frameworkcontroller,DNS:fc-barrier.frameworkcontroller.svc
fi
