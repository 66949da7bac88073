#!/bin/sh
# Packs kubectl-framework for krew: an archive and the manifest that names it, for this machine's processor.
# The archive needs the libraries of the distribution that it was built on; people who use another one build from source.
set -eu

[ $# -eq 3 ] || {
	echo "usage: krew.sh BUILD OUTPUT-DIR URL
BUILD has kubectl-framework; URL is the place from which people will download the files of OUTPUT-DIR." >&2
	exit 2
}
build=$1 out=$2 url=${3%/}
here=$(cd "$(dirname "$0")" && pwd)
version=$("$build/kubectl-framework" --version | cut -d' ' -f2)
case $(uname -m) in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
name=kubectl-framework-$version-linux-$arch.tar.gz
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$build/kubectl-framework" "$here/kubectl_complete-framework" "$work"
cp "$here/../LICENSE" "$here/kubectl-framework.1" "$work"
# the same archive from the same files
tar -C "$work" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - . | gzip -n >"$out/$name"

cat >"$out/framework.yaml" <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: framework
spec:
  version: v$version.0
  shortDescription: Show, explain and change Frameworks
  description: |
    For users of FrameworkController: lists Frameworks, shows their Tasks as a tree
    and on a timeline, explains why one waits or has failed, collects logs of all Tasks,
    and scales, stops, suspends, resumes and retries Frameworks.
  platforms:
  - selector:
      matchLabels: {os: linux, arch: $arch}
    uri: $url/$name
    sha256: $(sha256sum "$out/$name" | cut -d' ' -f1)
    bin: kubectl-framework
END
echo "$out/$name $out/framework.yaml"
