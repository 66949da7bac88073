#!/bin/bash
# What the images of manifests/images hold, run without a container engine: a root file system is put together from the
# files and packages that the Makefile names, and each program is run in it, as the user that the images run as.
#   BUILD=DIR tests/images.sh      prints "N passed, N failed"
# Packages are downloaded once, into the user's cache.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/frameworkcontroller/images
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

download() { # package...
    apt-get -qq -y --no-install-recommends --download-only -o Dir::State::status="$work/status" \
        -o Dir::Cache::archives="$cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
        install "$@" bash coreutils dash >"$work/apt.log" 2>&1
}

# The packages with all that they depend on, and what a Debian image has in any case, unpacked.
unpack() { # root package...
    local root=$1 links
    shift
    mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/{tmp,etc,proc,dev} "$cache/partial" "$work/lists"
    for links in bin sbin lib lib64; do ln -s "usr/$links" "$root/$links"; done
    : >"$work/status" # as if nothing was installed
    # (a machine that lacked nothing may have no lists of packages yet)
    download "$@" || { apt-get -qq update && download "$@"; } || { cat "$work/apt.log" >&2; return 1; }
    apt-get -qq -y --no-install-recommends --print-uris -o Dir::State::status="$work/status" \
        -o Dir::Cache::archives="$work/none" -o Debug::NoLocking=1 install "$@" bash coreutils dash |
        awk '{ print $2 }' | while read -r package; do
        dpkg-deb --fsys-tarfile "$cache/$package" | tar -x --no-same-owner --keep-directory-symlink -C "$root"
    done
    : >"$root/dev/null"
}

# Runs a command in the root file system, as user 65532 of group 0 when this is run by root.
inside() { # root command...
    local root=$1
    shift
    if [[ $(id -u) == 0 ]]; then
        chroot --userspec=65532:0 --groups= "$root" "$@"
    else
        unshare --user --map-root-user chroot "$root" "$@"
    fi
}

# A command must end with this status and say this.
check() { # what status pattern command...
    local what=$1 expected=$2 pattern=$3 status=0
    shift 3
    "$@" >"$work/output" 2>&1 || status=$?
    if [[ $status == "$expected" ]] && grep -qE -e "$pattern" "$work/output"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "not ok: $what: found status $status, expected $expected and \"$pattern\":"
        sed 's/^/    /' "$work/output" | tail -n 10
    fi
}

if [[ $(id -u) != 0 ]] && ! unshare --user --map-root-user true 2>/dev/null; then
    echo "0 passed, 0 failed, 1 skipped: neither root nor user namespaces here"
    exit
fi
for image in controller frameworkbarrier; do
    root=$work/$image
    make -s BUILD="$BUILD" "image-$image" DESTDIR="$root/files"
    mapfile -t packages <"$root/files/usr/share/frameworkcontroller/packages"
    unpack "$root/root" "${packages[@]}"
    cp -a "$root/files/." "$root/root"
    chmod 755 "$work" "$root" "$root/root"
    for program in "$root/root/usr/local/bin"/*; do
        program=${program##*/}
        check "$program --version" 0 "^$program " inside "$root/root" "$program" --version
        check "$program --help" 0 "^[Uu]sage: $program" inside "$root/root" "$program" --help
    done
done
check "the controller's entry point" 0 "^fc-watcher " \
    inside "$work/controller/root" /opt/frameworkcontroller/frameworkcontroller/start.sh --version
# As the original's manifests do it: the configuration is copied beside the entry point. It must be read there.
check "a configuration beside the entry point" 2 'frameworkcontroller\.yaml:1:1[0-9]*: .*kubeClientQps' \
    inside "$work/controller/root" bash -c "cd /opt/frameworkcontroller/frameworkcontroller &&
        echo 'kubeClientQps: many' >/tmp/frameworkcontroller.yaml && cp /tmp/frameworkcontroller.yaml . && ./start.sh"
check "the barrier's entry point, without its environment" 210 FC_FRAMEWORK_NAME \
    inside "$work/frameworkbarrier/root" /opt/frameworkcontroller/frameworkbarrier/start.sh
echo "$passed passed, $failed failed"
((failed == 0))
