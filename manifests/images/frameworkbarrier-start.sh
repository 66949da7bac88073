#!/bin/sh
# Where the original barrier's image starts: writes beside this file, and to /mnt/frameworkbarrier.
set -eu
cd "$(dirname "$0")"
exec frameworkbarrier "$@"
