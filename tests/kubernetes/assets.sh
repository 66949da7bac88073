#!/usr/bin/env bash
# Prints a directory with kube-apiserver, kube-controller-manager, etcd and
# kubectl; `assets.sh kubectl`: one with kubectl, a download of seconds instead
# of a build of minutes; `assets.sh prometheus`: one with prometheus and
# promtool. They are made once per machine from Debian packages, which are
# unpacked, never installed, and kept in a cache outside the tree: no root is
# needed and nothing of the system changes. Progress goes to stderr.
set -euo pipefail

# The Kubernetes of Debian 12's source package, and the Go that builds it.
version=1.20.2
go=golang-1.19
tools=(kube-apiserver kube-controller-manager etcd kubectl)

root=${XDG_CACHE_HOME:-$HOME/.cache}/frameworkcontroller
cache=$root/kubernetes-$version
kubectl_cache=$root/kubectl-$version
prometheus_cache=$root/prometheus
work= # the directory of a build under way

say() { echo "assets.sh: $*" >&2; }
die() { say "$*"; exit 1; }

has_tools() { # dir
    local tool
    for tool in "${tools[@]}"; do [[ -x $1/$tool ]] || return 1; done
}

# A list of package sources for apt with a deb-src for every Debian deb entry
# of this machine, leaving other vendors' entries out.
write_sources() { # dir
    local codename file
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:?/etc/os-release names no release}")
    local suites=" $codename $codename-updates $codename-security $codename/updates stable stable-updates stable-security oldstable oldstable-updates oldstable-security "

    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [[ -r $file ]] || continue
        awk -v suites="$suites" '
            $1 == "deb" {
                line = $0
                sub(/#.*/, "")
                i = 2
                if ($2 ~ /^\[/) { while (i < NF && $i !~ /\]$/) i++; i++ }
                suite = $(i + 1); sub(/\/$/, "", suite)
                if (!index(suites, " " suite " ")) next
                for (i += 2; i <= NF; i++) if ($i == "main") {
                    print line
                    sub(/^[ \t]*deb/, "deb-src", line); print line
                    next
                }
            }' "$file"
    done >"$1/machine.list"

    for file in /etc/apt/sources.list.d/*.sources; do
        [[ -r $file ]] || continue
        awk -v suites="$suites" '
            function flush(  i, n, word, known) {
                n = split(value["suites"], word)
                for (i = 1; i <= n; i++) {
                    sub(/\/$/, "", word[i])
                    if (index(suites, " " word[i] " ")) known = 1
                }
                if (known && (" " value["types"] " ") ~ / deb / &&
                    (" " value["components"] " ") ~ / main / &&
                    tolower(value["enabled"]) !~ /no|false|off|without|disable/)
                    print "Types: deb deb-src\n" text
                text = field = ""
                delete value
            }
            /^#/ { next }
            /^[ \t]*$/ { flush(); next }
            /^[^ \t]/ {
                field = tolower($0); sub(/[ \t]*:.*/, "", field)
                sub(/^[^:]*:/, "")
                line = $0
                $0 = field ":" line
                sub(/^[ \t]+/, "", line)
                value[field] = line
                if (field != "types") text = text $0 "\n"
                next
            }
            {
                if (field != "types") text = text $0 "\n"
                sub(/^[ \t]+/, " "); value[field] = value[field] $0
            }
            END { flush() }' "$file"
    done >"$1/machine.sources"

    [[ -s $1/machine.list || -s $1/machine.sources ]] ||
        die "found no Debian deb entry in /etc/apt/sources.list or /etc/apt/sources.list.d"
}

# apt with lists, caches and sources of its own; the system's stay as they are.
apt() {
    local options=(
        -o Dir::Etc::SourceList=/dev/null
        -o "Dir::Etc::SourceParts=$work/apt/sources"
        -o "Dir::State::Lists=$work/apt/lists"
        -o "Dir::Cache=$work/apt/cache"
        -o APT::Sandbox::User=root # _apt cannot write where root downloads to
        -o Acquire::Retries=3
    )
    apt-get -qq "${options[@]}" "$@" >&2
}

update_apt() {
    mkdir -p "$work"/apt/{sources,lists/partial,cache/archives/partial} "$work"/{packages,tree}
    write_sources "$work/apt/sources"
    cd "$work/packages"
    say "downloading the packages"
    apt update || say "apt-get update had errors; going on with what it got"
}

fetch_package() { # package
    update_apt
    apt download "$1" || die "could not download Debian's $1"
    dpkg -x "$1"_*.deb "$work/tree"
}

fetch() {
    update_apt
    apt source --download-only kubernetes ||
        die "no Kubernetes source package here; this needs Debian 12, or KUBEBUILDER_ASSETS"
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

make_work() {
    local tool
    for tool in apt-get dpkg awk; do
        command -v "$tool" >/dev/null || die "$tool is needed to make the test control plane, and missing"
    done
    # Killed builds may have left theirs; the lock says that nobody uses it.
    rm -rf "$root"/.build.*
    work=$(mktemp -d "$root/.build.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM HUP
}

# Tools that need no build.
make_tools() { # cache package tool...
    local cache=$1 tool
    make_work
    (fetch_package "$2")
    mkdir "$work/bin"
    for tool in "${@:3}"; do cp "$work/tree/usr/bin/$tool" "$work/bin/"; done
    rm -rf "$cache"
    mkdir "$cache"
    mv "$work/bin" "$cache/"
    rm -rf "$work"
    say "done: $cache"
}

make_cache() {
    local started=$SECONDS
    make_work
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

take_lock() { # what
    mkdir -p "$root"
    exec {lock}>"$root/.lock"
    flock -n "$lock" || { say "another process is making $1; waiting for it"; flock "$lock"; }
}

ensure_cache() {
    has_tools "$cache/bin" && return
    take_lock "$cache"
    has_tools "$cache/bin" || make_cache
    exec {lock}>&-
}

# Prints where kubectl is; any that is there will do.
find_kubectl() {
    local given=${KUBEBUILDER_ASSETS:-} dir
    for dir in "${given:-$cache/bin}" "$cache/bin" "$kubectl_cache/bin"; do
        if [[ -x $dir/kubectl ]]; then echo "$dir"; return; fi
    done
    take_lock "$kubectl_cache"
    [[ -x $kubectl_cache/bin/kubectl ]] || make_tools "$kubectl_cache" kubernetes-client kubectl
    exec {lock}>&-
    echo "$kubectl_cache/bin"
}

find_prometheus() {
    if [[ ! -x $prometheus_cache/bin/prometheus ]]; then
        take_lock "$prometheus_cache"
        [[ -x $prometheus_cache/bin/prometheus ]] || make_tools "$prometheus_cache" prometheus prometheus promtool
        exec {lock}>&-
    fi
    echo "$prometheus_cache/bin"
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
                has_tools "$cache/bin" || say "KUBEBUILDER_ASSETS=$given has no $tool (kube-controller-manager is needed for garbage collection): making that of Kubernetes $version"
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
elif [[ ${1:-} == prometheus ]]; then
    find_prometheus
elif [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
    use_assets "$KUBEBUILDER_ASSETS"
else
    ensure_cache
    echo "$cache/bin"
fi
