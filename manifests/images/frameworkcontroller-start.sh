#!/bin/sh
# Where the original controller's image starts: reads ./frameworkcontroller.yaml beside this file.
set -eu
cd "$(dirname "$0")"
exec fc-watcher "$@"
