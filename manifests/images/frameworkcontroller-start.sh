#!/bin/sh
# Has the path of the start script in the original controller's image. Reads ./frameworkcontroller.yaml beside this file.
set -eu
cd "$(dirname "$0")"
exec fc-watcher "$@"
