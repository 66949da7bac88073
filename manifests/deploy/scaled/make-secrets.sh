#!/bin/sh
# Makes what the deployment keeps secret, below secrets/ beside this file, where kustomization.yaml takes it from:
#   bus/   keys of the bus, one for the watchers, one for the reconcilers, one for the barriers (fc-watcher keygen)
#   tls/   a certificate of fc-barrier for ten years, by itself: clients trust it by FRAMEWORK_BARRIER_CA_FILE.
#          Replace tls.crt and tls.key by those of your own authority if you have one.
# What is there already stays. FC_WATCHER: the program, if it is not in the PATH.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets/tls
${FC_WATCHER:-fc-watcher} keygen secrets/bus fc-reconciler fc-barrier
[ -e secrets/tls/tls.crt ] ||
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=fc-barrier \
		-keyout secrets/tls/tls.key -out secrets/tls/tls.crt 2>/dev/null \
		-addext subjectAltName=DNS:fc-barrier,DNS:fc-barrier.frameworkcontroller,DNS:fc-barrier.frameworkcontroller.svc
