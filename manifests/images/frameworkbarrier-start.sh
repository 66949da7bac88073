#!/bin/sh
# Has the path of the start script in the original barrier's image. Writes beside this file, and to /mnt/frameworkbarrier.
set -eu
cd "$(dirname "$0")"
exec frameworkbarrier "$@"
