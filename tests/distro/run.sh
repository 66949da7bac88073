#!/bin/bash
# Makes a bare Debian 12 or 13 in a temporary directory, with debootstrap, and tries there what HEAD holds:
#   tests/distro/run.sh 12|13 [demo] [test] [compilers] [arm64]
#   demo       make deps demo, as root and as a user with sudo, on a new machine each
#   test       make deps test, likewise; WHO=user for one of them
#   compilers  every gcc and clang that this Debian has, from gcc 12 and clang 14 on: all of the tree, without warnings
#   arm64      all of the tree by cross build; the unit tests in emulation
# Without parts: demo and test. MIRROR=URL names the archive where this machine's apt knows none. Needs root. Servers listen
# on this machine's loopback. Prints "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

case ${1:-} in
12) suite=bookworm ;;
13) suite=trixie ;;
*) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
parts=("${@:2}")
[ ${#parts[@]} -gt 0 ] || parts=(demo test)
[ "$(id -u)" -eq 0 ] || { echo "0 passed, 0 failed, 1 skipped: a machine can be made only by root"; exit; }

passed=0 failed=0 child=
work=$(mktemp -d)
source=$PWD
trap 'exit 1' INT TERM HUP
trap finish EXIT

# The mounts are gone with the last process of the namespaces.
finish() {
	[ -z "$child" ] || kill -9 "$child"
	wait
	local tries
	for tries in {1..50}; do
		rm -rf --one-file-system "$work" 2>/dev/null && return
		sleep 0.1
	done
	echo "run.sh: $work cannot be removed, after $tries tries"
}

# A command with mounts and processes of its own, which end with it, and whenever this script ends.
apart() {
	unshare --mount --propagation private --pid --fork --kill-child "$@" </dev/null &
	child=$!
	wait "$child"
	local status=$?
	child=
	return "$status"
}

# inside MACHINE USER COMMAND: a login of the user. (Not chroot: from there users cannot make namespaces.)
inside() {
	apart bash -euc '
		cd "$1"
		mount --bind . .
		cd "$1"
		mount -t proc proc proc
		mount -t sysfs sysfs sys
		mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
		mount -t tmpfs -o mode=1777 tmpfs dev/shm
		pivot_root . mnt
		umount -l /mnt
		exec env -i TERM=dumb su -l "$2" -c "$3"' bash "$work/$1" "$2" "$3"
}

try() { # what command...
	local what=$1 begin=$SECONDS status
	shift
	"$@"
	status=$?
	if [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok $what ($((SECONDS - begin)) s)"
	else
		failed=$((failed + 1))
		echo "not ok $what: status $status"
	fi
	return "$status"
}

mirror() {
	[ -z "${MIRROR:-}" ] || { echo "$MIRROR"; return; }
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' \
		"Codename: $(. /etc/os-release && echo "$VERSION_CODENAME")" | sort -u | head -n 1
}

# What a person has before "make deps": git, make and sudo.
make_bare() {
	local from
	from=$(mirror)
	[ -n "$from" ] || { apt-get -qq update && from=$(mirror); }
	[ -n "$from" ] || { echo "apt names no archive of Debian here: set MIRROR"; return 1; }
	apart debootstrap --variant=minbase --include=git,make,sudo "$suite" "$work/bare" "$from" >"$work/log" 2>&1 ||
		{ tail -n 20 "$work/log"; return 1; }
	echo "127.0.0.1 localhost $(hostname)" >"$work/bare/etc/hosts"
	cp /etc/resolv.conf "$work/bare/etc"
	chroot "$work/bare" useradd --create-home --shell /bin/bash user
	echo 'user ALL=(ALL) NOPASSWD: ALL' >"$work/bare/etc/sudoers.d/user"
}

# machine NAME USER: a new one, with the repository in the user's home.
machine() {
	local home
	cp -a "$work/bare" "$work/$1"
	home=$(sed -n "s/^$2:.*:\(.*\):.*/\1/p" "$work/$1/etc/passwd")
	git clone --quiet --no-hardlinks "$source" "$work/$1$home/fc" && chroot "$work/$1" chown -R "$2:" "$home/fc"
}

# In MB, as the packages say.
size() { # machine
	dpkg-query --admindir="$work/$1/var/lib/dpkg" -W -f='${Installed-Size}\n' | awk '{ n += $1 } END { print int(n / 1024) }'
}

packages() { # "native" | "foreign"
	make -pnq : 2>/dev/null | sed -nE 's/^PACKAGES_BUILD := //p' | tr ' ' '\n' |
		if [ "$1" = native ]; then grep -vE '^(lib.*|zlib1g|uuid)-dev$'; else
			grep -E '^(lib.*|zlib1g|uuid)-dev$'; echo libcmocka-dev
		fi | sed "s/$/${2:-}/" | paste -sd' '
}

apt='export DEBIAN_FRONTEND=noninteractive; apt-get -qq update && apt-get -qq install --no-install-recommends'

part() {
	local who compiler compilers
	case $1 in
	demo | test)
		for who in ${WHO:-root user}; do
			machine "$who" "$who"
			try "$1 as $who" inside "$who" "$who" "cd fc && make deps $1"
			echo "Debian $suite: make deps $1 installed $(($(size "$who") - $(size bare))) MB"
			rm -rf --one-file-system "${work:?}/$who"
		done
		;;
	compilers)
		machine compilers root
		try "packages of the tests" inside compilers root "cd fc && make deps-test"
		compilers=$(chroot "$work/compilers" apt-cache pkgnames | grep -E '^(gcc-1[2-9]|clang-(1[4-9]|[2-9][0-9]))$' | sort -V)
		try "packages of the compilers" inside compilers root "$apt $(echo $compilers) >/dev/null"
		for compiler in $compilers; do
			try "$compiler" inside compilers root \
				"cd fc && make -s -j$(nproc) CC=$compiler BUILD=build/$compiler compile >/dev/null && rm -r build/$compiler"
		done
		rm -rf --one-file-system "$work/compilers"
		;;
	arm64)
		machine arm64 root
		try "packages for arm64" inside arm64 root \
			"dpkg --add-architecture arm64; $apt $(packages native) gcc-aarch64-linux-gnu qemu-user busybox $(packages foreign :arm64) >/dev/null"
		try "all for arm64" inside arm64 root "cd fc && $libraries make -s -j$(nproc) $arm64 compile >/dev/null" &&
			try "unit tests for arm64" inside arm64 root "cd fc && EMULATOR=qemu-aarch64 TEST_SLOW=20 tests/unit/run.sh \
			\$(ls build/arm64/unit/* | grep -vE '/test_($natively)\$')"
		rm -rf --one-file-system "$work/arm64"
		;;
	*) echo "unknown part $1"; exit 2 ;;
	esac
}
# qemu has no ptrace (jobs_cost, sync_cost); shows /proc of its own making (guard, identity, lease), and itself beside the program
# (testkubelet_runtime); and a program that cannot be started counts as started (kube_exec).
natively='guard|identity|jobs_cost|kube_exec|lease|sync_cost|testkubelet_runtime'
arm64='CC=aarch64-linux-gnu-gcc BUILD=build/arm64'
# in the environment, because the make of Debian 12 does not give its variables to $(shell)
libraries='PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig'

try "a bare Debian $1" make_bare
if [ -x "$work/bare/usr/bin/git" ]; then
	for name in "${parts[@]}"; do part "$name"; done
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
