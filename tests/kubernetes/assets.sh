#!/usr/bin/env bash
# Prints a directory with kube-apiserver, kube-controller-manager, etcd and
# kubectl; `assets.sh kubectl`: one with kubectl, a download of seconds instead
# of a build of minutes; `assets.sh kubectl-current`: one with a kubectl of
# today; `assets.sh prometheus`: one with prometheus and promtool;
# `assets.sh jq`: one with a jq that starts quickly. They are made
# once per machine from Debian packages, which are unpacked, never installed,
# and kept in a cache outside the tree: no root is needed and nothing of the
# system changes. Progress goes to stderr.
set -euo pipefail
shopt -s inherit_errexit

# Debian 12's source package of Kubernetes, and the Go that builds it. The
# packages come from this suite whatever Debian this machine runs.
suite=bookworm
version=1.20.2
go=golang-1.19
tools=(kube-apiserver kube-controller-manager etcd kubectl)
# Debian 13's kubectl is 1.32. (The suite sid has newer ones, a different one
# each month.)
current_suite=trixie

root=${XDG_CACHE_HOME:-$HOME/.cache}/frameworkcontroller
cache=$root/kubernetes-$version
kubectl_cache=$root/kubectl-$version
current_cache=$root/kubectl-$current_suite
prometheus_cache=$root/prometheus
jq_cache=$root/jq-$current_suite
work= # the directory of a build under way
etc=/etc

say() { echo "assets.sh: $*" >&2; }
die() { say "$*"; exit 1; }

has_tools() { # dir
    local tool
    for tool in "${tools[@]}"; do [[ -x $1/$tool ]] || return 1; done
}

# Package sources for apt: this machine's entries for Debian's archive, with
# the given suite in place of their own, and deb-src beside deb. Other vendors'
# entries are left out, and those for updates and security, which other suites
# have elsewhere.
write_sources() { # dir suite
    local codename file
    codename=$(. "$etc/os-release" && echo "${VERSION_CODENAME:?$etc/os-release names no release}")
    local suites=" $codename stable oldstable testing unstable sid "

    for file in "$etc"/apt/sources.list "$etc"/apt/sources.list.d/*.list; do
        [[ -r $file ]] || continue
        awk -v suites="$suites" -v wanted="$2" '
            $1 == "deb" {
                sub(/#.*/, "")
                options = ""
                i = 2
                if ($2 ~ /^\[/) { while (i < NF && $i !~ /\]$/) options = options " " $(i++); options = options " " $(i++) }
                uri = $i; suite = $(i + 1); sub(/\/$/, "", suite)
                if (!index(suites, " " suite " ")) next
                for (i += 2; i <= NF; i++) if ($i == "main") {
                    print "deb" options, uri, wanted, "main"
                    print "deb-src" options, uri, wanted, "main"
                    next
                }
            }' "$file"
    done >"$1/machine.list"

    for file in "$etc"/apt/sources.list.d/*.sources; do
        [[ -r $file ]] || continue
        awk -v suites="$suites" -v wanted="$2" '
            function flush(  i, n, word, known) {
                n = split(value["suites"], word)
                for (i = 1; i <= n; i++) {
                    sub(/\/$/, "", word[i])
                    if (index(suites, " " word[i] " ")) known = 1
                }
                if (known && (" " value["types"] " ") ~ / deb / &&
                    (" " value["components"] " ") ~ / main / &&
                    tolower(value["enabled"]) !~ /no|false|off|without|disable/)
                    print "Types: deb deb-src\nSuites: " wanted "\nComponents: main\n" text
                text = field = ""
                delete value
            }
            function kept() { return field !~ /^(types|suites|components)$/ }
            /^#/ { next }
            /^[ \t]*$/ { flush(); next }
            /^[^ \t]/ {
                field = tolower($0); sub(/[ \t]*:.*/, "", field)
                if (kept()) text = text $0 "\n"
                sub(/^[^:]*:[ \t]*/, "")
                value[field] = $0
                next
            }
            {
                if (kept()) text = text $0 "\n"
                sub(/^[ \t]+/, " "); value[field] = value[field] $0
            }
            END { flush() }' "$file"
    done >"$1/machine.sources"

    [[ -s $1/machine.list || -s $1/machine.sources ]] ||
        die "found no entry for Debian's archive in $etc/apt/sources.list or $etc/apt/sources.list.d"
}

# apt with lists, caches and sources of its own; the system's stay as they are.
# (A package that is installed here in another vendor's version is no reason
# not to download Debian's, and neither are the system's preferences.)
apt() {
    local options=(
        -o Dir::Etc::SourceList=/dev/null
        -o "Dir::Etc::SourceParts=$work/apt/sources"
        -o Dir::Etc::Preferences=/dev/null
        -o Dir::Etc::PreferencesParts=/dev/null
        -o Dir::State::Status=/dev/null
        -o "Dir::State::Lists=$work/apt/lists"
        -o "Dir::Cache=$work/apt/cache"
        -o APT::Sandbox::User=root # _apt cannot write where root downloads to
        -o Acquire::Retries=3
    )
    apt-get -qq "${options[@]}" "$@" >&2
}

update_apt() { # suite
    mkdir -p "$work"/apt/{sources,lists/partial,cache/archives/partial} "$work"/{packages,tree}
    write_sources "$work/apt/sources" "$1"
    cd "$work/packages"
    say "downloading the packages"
    apt update || say "apt-get update had errors; going on with what it got"
}

fetch_packages() { # suite package...
    local package
    update_apt "$1"
    apt download "${@:2}" || die "could not download ${*:2} of Debian's $1"
    for package in *.deb; do dpkg -x "$package" "$work/tree"; done
}

fetch() {
    update_apt "$suite"
    apt source --download-only kubernetes ||
        die "could not download the source package of Kubernetes from Debian's $suite; set KUBEBUILDER_ASSETS to do without it"
    apt download etcd-server kubernetes-client \
        "$go-go" "$go-src" golang-github-modern-go-reflect2-dev ||
        die "could not download Debian's etcd, kubectl or $go"
    # The upstream tarball is enough: Debian's patches are to kubectl only.
    compgen -G "kubernetes_*$version.orig.tar.*" >/dev/null ||
        die "wanted the source of Kubernetes $version, but got: $(echo *.orig.tar.*)"

    local package
    for package in *.deb; do dpkg -x "$package" "$work/tree"; done
    mkdir -p "$work/go/src/k8s.io/kubernetes"
    tar -C "$work/go/src/k8s.io/kubernetes" --strip-components=1 -xf ./kubernetes_*.orig.tar.*
}

# What `make WHAT=...` in Kubernetes does, without its need for rsync and jq.
# It is built in GOPATH mode since Go 1.19 refuses its go.mod of 2021.
build() {
    local package=k8s.io/kubernetes source=$work/go/src/k8s.io/kubernetes
    local vendor=$package/vendor/k8s.io directories flags="-s -w" variable
    unset "${!GO@}"
    export GOROOT=$work/tree/usr/lib/${go/lang/} GOPATH=$work/go GOCACHE=$work/gocache
    export GO111MODULE=off GOENV=off GOPROXY=off GOFLAGS=-trimpath GOTMPDIR=$work CGO_ENABLED=0
    local gobin=$GOROOT/bin/go
    cd "$source"

    # The vendored reflect2 reads runtime maps in a way Go 1.18 broke: the
    # server would crash on its first CustomResourceDefinition.
    rm -r vendor/github.com/modern-go/reflect2
    cp -r "$work/tree/usr/share/gocode/src/github.com/modern-go/reflect2" vendor/github.com/modern-go/

    say "generating the OpenAPI definitions"
    directories=$(grep -rl --include='*.go' --exclude='*_test.go' --exclude-dir=testdata \
        --exclude-dir=code-generator --exclude-dir=sample-apiserver \
        '+k8s:openapi-gen=' pkg cmd plugin staging/src/k8s.io |
        xargs -n1 dirname | sort -u |
        sed "s,^staging/src/k8s.io/,$vendor/,; t; s,^,$package/," | paste -sd,)
    "$gobin" build -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
    "$work/openapi-gen" --input-dirs "$directories" --output-package "$package/pkg/generated/openapi" \
        --output-file-base zz_generated.openapi --report-filename "$work/violations" \
        --go-header-file hack/boilerplate/boilerplate.generatego.txt

    for variable in gitVersion="v$version" gitMajor=1 gitMinor=20 gitTreeState=archive \
        buildDate="$(date -u +%Y-%m-%dT%H:%M:%SZ)"; do
        flags+=" -X $vendor/component-base/version.$variable -X $vendor/client-go/pkg/version.$variable"
    done
    say "building kube-apiserver and kube-controller-manager $version (about 4 minutes on 2 cores)"
    "$gobin" build -ldflags "$flags" -o "$work/bin/" ./cmd/kube-apiserver ./cmd/kube-controller-manager
}

make_work() { # cache
    local tool prefix=$root/.build-${1##*/}
    for tool in apt-get dpkg awk; do
        command -v "$tool" >/dev/null || die "$tool is needed to make the test control plane, and missing"
    done
    # Killed builds may have left theirs; the lock says that nobody uses it.
    rm -rf "$prefix".*
    work=$(mktemp -d "$prefix.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM HUP
}

# Tools that need no build.
make_tools() { # cache suite package tool...
    local cache=$1 tool
    make_work "$cache"
    (fetch_packages "$2" "$3")
    mkdir "$work/bin"
    for tool in "${@:4}"; do cp "$work/tree/usr/bin/$tool" "$work/bin/"; done
    rm -rf "$cache"
    mkdir "$cache"
    mv "$work/bin" "$cache/"
    rm -rf "$work"
    say "done: $cache"
}

# A jq with the libraries that it was built for, and their loader, as they are
# newer than this machine's.
make_jq() {
    local lib=$jq_cache/lib
    make_work "$jq_cache"
    (fetch_packages "$current_suite" jq libjq1 libonig5 libc6)
    mkdir -p "$work/jq/bin" "$work/jq/lib"
    cp -L "$work"/tree/usr/lib/*/{ld-linux-*,libc.so.6,libm.so.6,libjq.so.1,libonig.so.5} "$work/tree/usr/bin/jq" "$work/jq/lib"
    cat >"$work/jq/bin/jq" <<EOF
#!/bin/sh
exec "$lib/$(cd "$work/jq/lib" && echo ld-linux-*)" --library-path "$lib" "$lib/jq" "\$@"
EOF
    chmod +x "$work/jq/bin/jq"
    rm -rf "$jq_cache"
    mv "$work/jq" "$jq_cache"
    rm -rf "$work"
    say "done: $jq_cache"
}

make_cache() {
    local started=$SECONDS
    make_work "$cache"
    (fetch)
    (build)
    cp "$work/tree/usr/bin/etcd" "$work/tree/usr/bin/kubectl" "$work/bin/"
    mkdir "$work/done"
    mv "$work/bin" "$work/done/bin"
    has_tools "$work/done/bin" || die "the build is incomplete"
    rm -rf "$cache"
    mv "$work/done" "$cache"
    rm -rf "$work"
    say "done in $((SECONDS - started)) s: $cache"
}

# Each cache has its own, so that a download does not wait for a build.
take_lock() { # cache
    mkdir -p "$root"
    exec {lock}>"$root/.lock-${1##*/}"
    flock -n "$lock" || { say "another process is making $1; waiting for it"; flock "$lock"; }
}

ensure_cache() {
    has_tools "$cache/bin" && return
    take_lock "$cache"
    has_tools "$cache/bin" || make_cache
    exec {lock}>&-
}

# Prints where tools are that need no build.
find_tools() { # cache suite package tool...
    if [[ ! -x $1/bin/$4 ]]; then
        take_lock "$1"
        [[ -x $1/bin/$4 ]] || make_tools "$@"
        exec {lock}>&-
    fi
    echo "$1/bin"
}

# Prints where kubectl is; any that is there will do.
find_kubectl() {
    local given=${KUBEBUILDER_ASSETS:-} dir
    for dir in "${given:-$cache/bin}" "$cache/bin"; do
        if [[ -x $dir/kubectl ]]; then echo "$dir"; return; fi
    done
    find_tools "$kubectl_cache" "$suite" kubernetes-client kubectl
}

# Prints where a jq is that starts in 5 ms of processor time. Versions before
# 1.7, such as Debian 12's, need 30 ms.
find_jq() {
    local installed
    if installed=$(command -v jq) && [[ ! $("$installed" --version) =~ ^jq-1\.[0-6]([^0-9]|$) ]]; then
        dirname "$installed"
        return
    fi
    if [[ ! -x $jq_cache/bin/jq ]]; then
        take_lock "$jq_cache"
        [[ -x $jq_cache/bin/jq ]] || make_jq
        exec {lock}>&-
    fi
    echo "$jq_cache/bin"
}

# Prints where a current kubectl is. It was built for a newer libc than this
# machine's may be.
find_current_kubectl() {
    local bin
    bin=$(find_tools "$current_cache" "$current_suite" kubectl kubectl)
    "$bin/kubectl" version --client >/dev/null ||
        die "the kubectl of Debian's $current_suite does not run on this machine; put one that does, 1.32 or later, into $bin"
    echo "$bin"
}

# KUBEBUILDER_ASSETS, completed where it lacks something: if so, a directory of
# links named after what they point to, so that it never changes once made.
use_assets() { # dir
    local given tool path all="" links
    given=$(realpath -e "$1") || die "KUBEBUILDER_ASSETS names no directory"
    [[ -x $given/kube-apiserver && -x $given/etcd ]] ||
        die "KUBEBUILDER_ASSETS=$given holds no kube-apiserver and etcd"
    if has_tools "$given"; then echo "$given"; return; fi

    for tool in "${tools[@]}"; do
        path=$given/$tool
        if [[ ! -x $path ]]; then
            path=
            if [[ $tool == kubectl ]]; then path=$(command -v kubectl || true); fi
            if [[ -z $path ]]; then
                has_tools "$cache/bin" ||
                    say "KUBEBUILDER_ASSETS=$given has no $tool (kube-controller-manager is needed for garbage "\
"collection): making that of Kubernetes $version"
                ensure_cache
                path=$cache/bin/$tool
            fi
        fi
        all+=$path$'\n'
    done
    links=$root/links-$(cksum <<<"$all" | tr ' ' -)
    if ! has_tools "$links"; then
        mkdir -p "$root"
        work=$(mktemp -d "$root/.links.XXXXXX")
        while read -r path; do ln -s "$path" "$work/${path##*/}"; done <<<"${all%$'\n'}"
        mv -T "$work" "$links" 2>/dev/null || rm -rf "$work" # someone else was first
    fi
    echo "$links"
}

if [[ ${1:-} == kubectl ]]; then
    find_kubectl
elif [[ ${1:-} == kubectl-current ]]; then
    find_current_kubectl
elif [[ ${1:-} == jq ]]; then
    find_jq
elif [[ ${1:-} == prometheus ]]; then
    find_tools "$prometheus_cache" "$suite" prometheus prometheus promtool
elif [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
    use_assets "$KUBEBUILDER_ASSETS"
else
    ensure_cache
    echo "$cache/bin"
fi
