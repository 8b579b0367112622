# shellcheck shell=bash
# setup.sh: what scripts/quickstart and scripts/check share: packages, messages, build folders.
#
# Sourced, never run.  Needs $top (the root of the tree).  Installs with apt what is missing on Debian 12, says
# so, and skips that when all is there.

packages_build="gcc meson ninja-build pkg-config libcurl4-openssl-dev libssl-dev libjson-c-dev libevent-dev
uuid-dev libyaml-dev uthash-dev libcmocka-dev libexpat1-dev python3 curl ca-certificates"
packages_lint="clang-format-16 python3-jsonschema python3-yaml"
packages_check="$packages_lint g++ clang-16 libclang-rt-16-dev nghttp2-proxy chromium valgrind"

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
    if [ -f "$folder/build.ninja" ]; then
        meson configure "$folder" "$@" >/dev/null
    else
        meson setup "$folder" "$top" "$@" >"$folder.setup.log" 2>&1 || { tail -n 30 "$folder.setup.log" >&2; die "meson setup failed"; }
        rm -f "$folder.setup.log"
    fi
}
