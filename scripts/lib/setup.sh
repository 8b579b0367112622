# shellcheck shell=bash
# setup.sh: what scripts/quickstart and scripts/check share: packages, messages, build folders.
#
# Sourced, never run.  Needs $top (the root of the tree).  Installs with apt what is missing on Debian 12, says
# so, and skips that when all is there.

packages_build="gcc meson ninja-build pkg-config libcurl4-openssl-dev libssl-dev libjson-c-dev libevent-dev
uuid-dev libyaml-dev uthash-dev libcmocka-dev libexpat1-dev libmnl-dev python3 curl ca-certificates"
packages_lint="clang-format-16 python3-jsonschema python3-yaml"
packages_check="$packages_lint g++ clang-16 libclang-rt-16-dev nghttp2-proxy chromium valgrind
iproute2 iptables ipset nftables conntrack"
# The parts of the guest of tests/guest; without them its tests are skipped.
packages_guest="qemu-system-x86 seabios busybox-static dash iproute2 iptables ipset ipvsadm nftables"

say() { printf '%s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# missing_packages NAME…: those that dpkg does not report as installed.
missing_packages() {
    local name
    for name in "$@"; do
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$name"
    done
}

# install_packages NAME…: installs what is missing; prints what it did on one line.
install_packages() {
    local missing root=""
    missing=$(missing_packages "$@")
    if [ -z "$missing" ]; then
        say "all there"
        return 0
    fi
    [ "$(id -u)" = 0 ] || root=sudo
    command -v apt-get >/dev/null || die "these packages are missing and there is no apt-get: $missing"
    say "installing: $missing"
    # shellcheck disable=SC2086
    { $root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing; } \
        >"$top/.packages.log" 2>&1 || { tail -n 20 "$top/.packages.log" >&2; die "apt-get failed; its output is in .packages.log"; }
    rm -f "$top/.packages.log"
}

# configure FOLDER OPTION…: meson setup, or reconfigure when the folder is there.
configure() {
    local folder=$1
    shift
    local again=""
    if [ -f "$folder/build.ninja" ]; then
        [ $# -gt 0 ] || return 0
        again=--reconfigure # also of a folder that is older than an option
    fi
    meson setup $again "$folder" "$top" "$@" >"$folder.setup.log" 2>&1 || { tail -n 30 "$folder.setup.log" >&2; die "meson setup failed"; }
    rm -f "$folder.setup.log"
}

# fetch_promtool FOLDER: promtool of Debian's package prometheus, in FOLDER/prometheus/usr/bin, where tests look for it below a
# build folder's tools/.  Unpacked and not installed, because the package starts a server.  Once: what is there stays.  Without
# apt-get or a network it says so and returns 1; the tests that need promtool are skipped then.
fetch_promtool() {
    local folder=$1 tool=$1/prometheus/usr/bin/promtool new root=""
    [ "$(id -u)" = 0 ] || root=sudo
    if [ -x "$tool" ] || command -v promtool >/dev/null; then
        say "promtool is there"
        return 0
    fi
    mkdir -p "$folder" && new=$(mktemp -d "$folder/prometheus.XXXXXX") || return 1
    if (cd "$new" || exit 1
        apt-get -o APT::Sandbox::User=root download prometheus ||
            { $root apt-get update -qq && apt-get -o APT::Sandbox::User=root download prometheus; }
        dpkg-deb -x prometheus_*.deb tree) >"$folder/promtool.log" 2>&1 && [ -x "$new/tree/usr/bin/promtool" ]; then
        # The rest is a server and its pages, 100 MB of them.
        rm -rf "$folder/prometheus" && mkdir -p "${tool%/*}" && mv "$new/tree/usr/bin/promtool" "$tool"
        rm -rf "$new" "$folder/promtool.log"
        say "promtool is unpacked in $folder"
        return 0
    fi
    rm -rf "$new"
    say "promtool could not be fetched (see $folder/promtool.log); its tests will be skipped"
    return 1
}

# fetch_guest FOLDER: installs packages_guest, and unpacks Debian's kernel for virtual machines in FOLDER/guest, where tests look
# for it below a build folder's tools/.  The kernel is never installed.  Once: what is there stays.  Where one of them cannot be
# had it says so and returns 1; the tests that run in a guest are skipped then.
fetch_guest() {
    local folder=$1/guest log=$1/guest.log missing new root=""
    [ "$(id -u)" = 0 ] || root=sudo
    missing=$(missing_packages $packages_guest)
    if [ -z "$missing" ] && ls "$folder"/boot/vmlinuz-* >/dev/null 2>&1; then
        say "guest: all there"
        return 0
    fi
    mkdir -p "$1" && new=$(mktemp -d "$1/guest.XXXXXX") || return 1
    # shellcheck disable=SC2086
    if (cd "$new" && $root apt-get update -qq &&
        { [ -z "$missing" ] || DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing; } &&
        apt-get -o APT::Sandbox::User=root download \
            "$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p')" &&
        dpkg-deb -x linux-image-*.deb tree && ls tree/boot/vmlinuz-*) >"$log" 2>&1; then
        rm -rf "$folder" && mv "$new/tree" "$folder"
        rm -rf "$new" "$log"
        say "guest: programs installed, $(basename "$folder"/boot/vmlinuz-*) unpacked in $folder"
        return 0
    fi
    rm -rf "$new"
    say "guest: a package or the kernel could not be fetched (see $log); its tests will be skipped"
    return 1
}

# Programs that tests run beside trimtab, and libraries of theirs that Debian does not install anyway: keepalived writes to IPVS,
# too; BIRD and FRR take routes from a table.
packages_peers="keepalived bird2 frr libsnmp40 libpci3 libwrap0 libssh-gcrypt-4 libyang2"

# fetch_peers FOLDER: unpacks packages_peers in FOLDER/peers, where tests look for them below a build folder's tools/.  Never
# installed, because they start servers.  Once: what is there stays.  Where they cannot be had it says so and returns 1; the tests
# that need them are skipped then.
fetch_peers() {
    local folder=$1/peers log=$1/peers.log new root="" package
    [ "$(id -u)" = 0 ] || root=sudo
    if [ -x "$folder/usr/sbin/keepalived" ] && [ -x "$folder/usr/sbin/bird" ] && [ -x "$folder/usr/lib/frr/bgpd" ]; then
        say "peers are there"
        return 0
    fi
    mkdir -p "$1" && new=$(mktemp -d "$1/peers.XXXXXX") || return 1
    # shellcheck disable=SC2086
    if (cd "$new" || exit 1
        apt-get -o APT::Sandbox::User=root download $packages_peers ||
            { $root apt-get update -qq && apt-get -o APT::Sandbox::User=root download $packages_peers; } || exit 1
        for package in *.deb; do dpkg-deb -x "$package" tree || exit 1; done) >"$log" 2>&1; then
        rm -rf "$folder" && mv "$new/tree" "$folder"
        rm -rf "$new" "$log"
        say "peers (keepalived, BIRD, FRR) are unpacked in $folder"
        return 0
    fi
    rm -rf "$new"
    say "peers (keepalived, BIRD, FRR) could not be fetched (see $log); their tests will be skipped"
    return 1
}
