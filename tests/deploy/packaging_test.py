#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The image recipe, the systemd unit, the manual page and the Debian package, as far as they can be tried here.

    packaging_test.py TRIMTAB TREE BUILD     (TAP on stdout)

TRIMTAB_DEBS=FOLDER names packages that scripts/build-deb made: they are unpacked and their program is run.
"""
import ctypes
import glob
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
import tree  # noqa: E402  pylint: disable=wrong-import-position

TRIMTAB, TREE, BUILD = sys.argv[1:4]
COLLECT = os.path.join(TREE, "deploy", "image", "collect")
SBOM = os.path.join(TREE, "deploy", "image", "sbom")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
BILL = "/usr/share/doc/trimtab/sbom.cdx.json"
DEBS = os.environ.get("TRIMTAB_DEBS")
OFFLINE_EXPOSURE_LOCAL = 25
OFFLINE_EXPOSURE = 20  # of systemd-analyze security: tenths; a unit without any of its settings has 96


def read(*path):
    return tree.read(TREE, *path)


def instrumented():
    """A sanitizer's run-time library wants more of its surroundings than an image has."""
    return re.search(r"lib(asan|tsan|ubsan)", tree.run("ldd", TRIMTAB).stdout)


# --- the image -----------------------------------------------------------------------------------------------------

def test_image__holds_the_libraries_that_the_loader_wants_and_nothing_to_run():
    want = set()
    for line in tree.run("ldd", TRIMTAB).stdout.splitlines():
        path = re.search(r"(/\S+) \(0x", line)
        if path:
            want.add(path.group(1))
    assert set(tree.run(COLLECT, "--list", TRIMTAB).stdout.split()) == want and len(want) > 5
    with tempfile.TemporaryDirectory() as root:
        tree.run(COLLECT, TRIMTAB, root)
        found = {"/" + os.path.relpath(os.path.join(base, name), root)
                 for base, _, names in os.walk(root) for name in names}
        rest = {"/usr/bin/trimtab", CERTIFICATES, "/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/os-release", BILL}
        rest |= {f"/var/lib/dpkg/status.d/{name}" for name in tree.run(SBOM, "--packages", TRIMTAB).stdout.split()}
        assert found == want | rest, found ^ (want | rest)
        assert tree.read(root, BILL[1:]) == tree.run(SBOM, TRIMTAB).stdout
        record = tree.read(root, "var/lib/dpkg/status.d/libc6")
        assert re.search(r"(?m)^Package: libc6$", record) and re.search(r"(?m)^Version: \d", record), record


def test_image__its_program_starts_as_a_user_without_rights():
    if os.geteuid() != 0:
        raise tap.Absent("only root may change the root")
    if instrumented():
        raise tap.Absent("this build has a sanitizer's library")
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        tree.run(COLLECT, TRIMTAB, root)
        said = tree.run("chroot", "--userspec=65532:65532", root, "/usr/bin/trimtab", "version").stdout
        assert said.startswith("trimtab "), said
        said = tree.run("chroot", "--userspec=65532:65532", root, "/usr/bin/trimtab", "--help").stdout
        assert "Commands:" in said, said


NET_ADMIN, NET_RAW = 12, 13
MARK = struct.pack("<5I", 0x02000000, 1 << NET_ADMIN | 1 << NET_RAW, 0, 0, 0)  # as setcap cap_net_admin,cap_net_raw=p writes it


def in_container(capabilities):
    """A runtime's work before it starts a program for user 65532: these capabilities stay permitted, and none can be added."""
    libc = ctypes.CDLL(None, use_errno=True)
    bits = sum(1 << c for c in capabilities)

    def become():
        for c in range(64):
            if c not in capabilities:
                libc.prctl(24, c, 0, 0, 0)  # PR_CAPBSET_DROP
        libc.prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS
        os.setgroups([])
        os.setresgid(65532, 65532, 65532)
        os.setresuid(65532, 65532, 65532)
        libc.capset(struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", bits, bits, 0, 0, 0, 0))
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    return become


def effective(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        text = f.read()
    return int(re.search(r"CapEff:\s*(\w+)", text).group(1), 16) if "Name:\ttrimtab" in text else None


def test_image__its_program_gets_from_its_file_what_the_container_allows():
    if os.geteuid() != 0:
        raise tap.Absent("only root becomes another user")
    if instrumented():
        raise tap.Absent("this build has a sanitizer's library")
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        program = shutil.copy(TRIMTAB, os.path.join(root, "trimtab"))
        try:
            os.setxattr(program, "security.capability", MARK)
        except OSError as why:
            raise tap.Absent(f"files have no capabilities here: {why}") from None
        for allowed in ((NET_ADMIN, NET_RAW), ()):
            want = sum(1 << c for c in allowed)
            read_end, write_end = os.pipe()  # it waits for its manifest
            with subprocess.Popen([program, "plan", "-f", "-", "--cloud-provider=gce"], stdin=read_end, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, preexec_fn=in_container(allowed)) as process:
                os.close(read_end)
                found = None
                try:
                    until = time.monotonic() + 180
                    while process.poll() is None and found != want and time.monotonic() < until:
                        found = effective(process)
                finally:
                    os.close(write_end)
            assert found == want, (allowed, found)


def test_image__a_missing_library_stops_it():
    with tempfile.TemporaryDirectory() as folder:
        fake = os.path.join(folder, "ldd")
        with open(fake, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho '\tlibgone.so.1 => not found'\n")
        os.chmod(fake, 0o755)
        done = subprocess.run([COLLECT, "--list", TRIMTAB], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})
        assert "libgone.so.1 is missing" in done.stderr, done


def build_packages():
    text = re.search(r'packages_build="([^"]*)"', read("scripts", "lib", "setup.sh")).group(1)
    return set(text.split()) - {"libcmocka-dev", "python3", "curl"}  # for tests


def test_image__recipe_installs_what_a_build_needs():
    text, stage = read("deploy", "image", "Dockerfile"), read("deploy", "image", "build")
    installed = set(re.search(r"--no-install-recommends \\\n(.*?)>/dev/null", stage, re.S).group(1).replace("\\", " ").split())
    want = build_packages() | {"libcap2-bin"}  # setcap
    assert installed == want, installed ^ want
    lines = [line for line in stage.splitlines() if line and not line.startswith("#")]
    assert lines[-2:] == ['setcap cap_net_admin,cap_net_raw=p "$root/usr/bin/trimtab"',
                          'chroot --userspec=65532:65532 "$root" /usr/bin/trimtab version'], "no mark, or not tried"
    stages = re.findall(r"(?m)^FROM (\S+)", text)
    assert re.search(r"(?m)^ARG BASE=debian:12$", text) and stages == ["${BASE}", "scratch"], stages
    assert re.findall(r"(?m)^RUN (.*)$", text) == ["/src/deploy/image/build /src /image"]
    # The library is replaced before the program is linked, and collected after that.
    order = [stage.index(word) for word in ("deploy/image/libcurl", "ninja -C", "deploy/image/collect")]
    assert order == sorted(order)
    assert re.search(r"(?m)^USER 65532:65532$", text) and "--buildtype=release" in stage


# --- systemd -------------------------------------------------------------------------------------------------------

def unit(folder):
    path = os.path.join(folder, "trimtab.service")
    with open(path, "w", encoding="utf-8") as f:
        f.write(read("packaging", "trimtab.service.in").replace("@bindir@", os.path.dirname(os.path.abspath(TRIMTAB))))
    return path


def test_unit__systemd_takes_it_and_finds_little_exposed():
    analyze = tap.need(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = unit(folder)
        done = tree.run(analyze, "verify", "--man=no", path)
        assert done.stderr.strip() == "", done.stderr
        said = tree.run(analyze, "security", "--offline=yes", f"--threshold={OFFLINE_EXPOSURE}", path).stdout
        print("#", said.strip().splitlines()[-1])


def test_unit__of_the_provider_local_gets_two_capabilities_and_no_more():
    analyze = tap.need(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = unit(folder)
        shutil.copytree(os.path.join(TREE, "packaging", "local", "trimtab.service.d"), path + ".d")
        done = tree.run(analyze, "verify", "--man=no", path)
        assert done.stderr.strip() == "", done.stderr
        said = tree.run(analyze, "security", "--offline=yes", f"--threshold={OFFLINE_EXPOSURE_LOCAL}", path).stdout
        print("#", said.strip().splitlines()[-1])
        granted = re.findall(r"✗ CapabilityBoundingSet=~(\S+)", said)
        assert granted == ["CAP_NET_ADMIN", "CAP_NET_(BIND_SERVICE|BROADCAST|RAW)"], granted


def test_local__its_example_is_a_configuration_and_its_modules_are_the_kernels():
    tree.run(TRIMTAB, "check-config", "--strict", "--cloud-provider=local",
             "--cloud-config=" + os.path.join(TREE, "packaging", "local", "cloud-config.yaml"))
    modules = [line for line in read("packaging", "local", "modules-load.d", "trimtab.conf").splitlines() if line[:1] not in "#;"]
    assert set(modules) == {"nf_tables", "ip_vs", *(f"ip_vs_{s}" for s in ("rr", "wrr", "lc", "wlc", "sh", "mh"))}, modules
    named = re.findall(r"(?m)^usr/share/trimtab/(\S+)", read("debian", "trimtab-local.install"))
    files = [os.path.relpath(p, os.path.join(TREE, "packaging")) for p in glob.glob(os.path.join(TREE, "packaging", "local", "**"), recursive=True)
             if os.path.isfile(p)]
    assert sorted(named) == sorted(files), (named, files)


def test_unit__its_flags_are_the_programs():
    text = read("packaging", "trimtab.service.in") + read("packaging", "trimtab.default")
    used = set(re.findall(r"--([a-z][a-z-]+)=", text))
    known = set(re.findall(r"--([a-z][a-z0-9-]*)", tree.run(TRIMTAB, "--help").stdout))
    assert used and used <= known, used - known
    assert "LimitCORE=0" in text and "Type=notify" in text and re.search(r"(?m)^WatchdogSec=\d+$", text)
    assert "NoNewPrivileges=yes" in text and "ProtectSystem=strict" in text and "MemoryDenyWriteExecute=yes" in text


# --- manual page and completion ------------------------------------------------------------------------------------

def test_manual__names_every_command():
    listed = re.search(r"\.SH COMMANDS\n(.*?)\.SH", read("packaging", "trimtab.8"), re.S).group(1)
    named = re.findall(r"\.TP\n\.B ([a-z-]+)\n", listed)
    commands = re.search(r"\nCommands:\n(.*?)\n\n", tree.run(TRIMTAB, "--help").stdout, re.S).group(1)
    assert named == re.findall(r"(?m)^  ([a-z-]+)", commands), (named, commands)


def test_manual__can_be_shown():
    man = tap.need(shutil.which("man"), "man is not installed")
    done = tree.run(man, "--warnings", "-l", os.path.join(TREE, "packaging", "trimtab.8"), env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.stderr == "" and "trimtab - load-balancer half" in done.stdout, done


def test_completion__is_installed_as_the_program_prints_it():
    with open(os.path.join(BUILD, "packaging", "trimtab"), encoding="utf-8") as f:
        assert f.read() == tree.run(TRIMTAB, "completion", "bash").stdout


def test_schemas__all_are_installed_and_packaged():
    with open(os.path.join(BUILD, "meson-info", "intro-installed.json"), encoding="utf-8") as f:
        installed = {os.path.realpath(source): target for source, target in json.load(f).items()}
    folder = os.path.join(TREE, "docs", "schemas")
    for name in os.listdir(folder):
        assert installed.get(os.path.realpath(os.path.join(folder, name)), "").endswith(f"/share/trimtab/schemas/{name}"), name
    assert "usr/share/trimtab/schemas" in read("debian", "trimtab.install").split()


# --- hardening -----------------------------------------------------------------------------------------------------

def compiler_lines(build):
    """The command line of each file in C, as lists of words."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        return [shlex.split(entry["command"]) for entry in json.load(f) if entry["file"].endswith(".c")]


def level(line):
    """The value of _FORTIFY_SOURCE, "" without one; any word of the compiler about it is a failure."""
    flags = line[:line.index("-MD")]  # from there on: what it reads and writes
    done = tree.run(*flags, "-Werror", "-E", "-dM", "-x", "c", "/dev/null", cwd=BUILD)
    assert done.stderr == "", done.stderr
    found = re.search(r"(?m)^#define _FORTIFY_SOURCE (.*)$", done.stdout)
    return found.group(1) if found else ""


def definitions(lines):
    """The different sets of definitions of _FORTIFY_SOURCE that files are compiled with."""
    return {tuple(word for word in line if word.startswith("-D_FORTIFY_SOURCE")) for line in lines}


def assert_loaded_safely(file):
    """A program or a library."""
    head = tree.run("readelf", "-hlWd", file).stdout
    assert re.search(r"Type: +DYN", head), f"{file}: not position-independent"
    assert "GNU_RELRO" in head and re.search(r"FLAGS_1.*NOW", head), f"{file}: the linker's tables stay writable"
    assert not re.search(r"GNU_STACK.*RWE", head), f"{file}: the stack can be executed"


def assert_hardened(program, fortified):
    assert_loaded_safely(program)
    wanted = set(re.findall(r"UND (\w+)@", tree.run("readelf", "--dyn-syms", "-W", program).stdout))
    assert "__stack_chk_fail" in wanted, "no stack protector"
    checked = {name for name in wanted if re.fullmatch(r"__\w+_chk", name)}
    assert not fortified or {"__memcpy_chk", "__vsnprintf_chk"} & checked, checked


HARDENING = ("-fstack-clash-protection", "-fcf-protection=full", "-mbranch-protection=standard", "-fzero-call-used-regs=used-gpr")


def assert_all_that_the_compiler_has(line):
    """Of the flags, and what they become in the machine code of x86 (a program of other libraries alone may lack the CET mark,
    which the linker sets only when every object has it)."""
    for flag in HARDENING:
        known = subprocess.run([*line[:1], flag, "-Werror", "-fsyntax-only", "-x", "c", "/dev/null"], capture_output=True,
                               check=False).returncode == 0
        assert (flag in line) == known, (flag, known)
    code = tree.run("objdump", "-d", "--no-show-raw-insn", TRIMTAB).stdout
    if "x86-64" in code.splitlines()[1]:
        assert len(re.findall(r"\tendbr64", code)) > 1000, "indirect jumps may end anywhere"
        assert re.search(r"or[ql] +\$0x0,", code), "no probes of the stack"


def test_build__is_hardened():
    if instrumented():
        raise tap.Absent("this build has a sanitizer's library")
    lines = compiler_lines(BUILD)
    found = definitions(lines)
    assert len(found) == 1, found  # the same for all files
    said = level(lines[0])
    optimized = any(word in lines[0] for word in ("-O1", "-O2", "-O3", "-Os", "-Og"))
    assert said == ("3" if optimized else ""), (said, lines[0])
    assert_hardened(TRIMTAB, said == "3")
    assert_all_that_the_compiler_has([word for word in lines[0] if word != "ccache"])
    for file in glob.glob(os.path.join(BUILD, "trimtab-sim")) + glob.glob(os.path.join(BUILD, "**", "*.so"), recursive=True):
        assert_loaded_safely(file)


def test_debian__is_fortified_at_level_three_by_one_definition():
    flags = tap.need(shutil.which("dpkg-buildflags"), "dpkg-buildflags is not installed")
    meson = tap.need(shutil.which("meson"), "meson is not installed")
    rules = dict(re.findall(r"(?m)^export (\w+) = (.*)$", read("debian", "rules")))
    clean = {name: value for name, value in os.environ.items() if not re.fullmatch(r"CC|\w*FLAGS|DEB_\w+", name)}
    said = tree.run(flags, env={**clean, **rules}).stdout
    with tempfile.TemporaryDirectory() as build:
        tree.run(meson, "setup", build, TREE, "--buildtype=plain", "-Dtests=false", "-Dsim=false",
                 env={**clean, **dict(line.split("=", 1) for line in said.splitlines())})
        lines = compiler_lines(build)
        assert definitions(lines) == {("-D_FORTIFY_SOURCE=3",)}, definitions(lines)
        assert level(lines[0]) == "3" and "-fstack-protector-strong" in lines[0], lines[0]


# --- Debian --------------------------------------------------------------------------------------------------------

def test_debian__version_and_build_dependencies_are_the_projects():
    version = re.search(r"version: '([^']+)'", read("meson.build")).group(1)
    assert read("debian", "changelog").startswith(f"trimtab ({version}-"), version
    depends = re.search(r"Build-Depends: (.*?)\n\n", read("debian", "control"), re.S).group(1)
    named = {item.split()[0] for item in depends.split(",")}
    missing = build_packages() - named - {"gcc", "ca-certificates"}  # build-essential; a dependency of the package
    assert not missing and "debhelper-compat" in named, missing


def test_debian__packages_unpack_and_their_program_runs():
    folder = tap.need(DEBS, "TRIMTAB_DEBS names no folder with packages")
    with tempfile.TemporaryDirectory() as root:
        for path in glob.glob(os.path.join(folder, "trimtab*.deb")):
            tree.run("dpkg-deb", "-x", path, root)
        assert tree.run(os.path.join(root, "usr/bin/trimtab"), "version").stdout.startswith("trimtab ")
        assert_hardened(os.path.join(root, "usr/bin/trimtab"), fortified=True)
        for name in ("usr/bin/trimtab-sim", "usr/share/man/man8/trimtab.8.gz", "lib/systemd/system/trimtab.service",
                     "usr/share/bash-completion/completions/trimtab", "usr/share/trimtab/schemas/plan.json", "etc/default/trimtab", "usr/include/trimtab/provider.h",
                     "usr/lib/sysusers.d/trimtab.conf", "usr/share/doc/trimtab-provider-dev/plugin-guide.md"):
            assert glob.glob(os.path.join(root, name)) or glob.glob(os.path.join(root, "usr", name)), name


def test_debian__its_example_is_built_from_the_packages_alone():
    folder = tap.need(DEBS, "TRIMTAB_DEBS names no folder with packages")
    with tempfile.TemporaryDirectory() as root:
        for path in glob.glob(os.path.join(folder, "trimtab*.deb")):
            tree.run("dpkg-deb", "-x", path, root)
        example = os.path.join(root, "usr/share/doc/trimtab-provider-dev/examples/provider-pool")
        tree.run("cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fPIC", "-shared", "-pthread", "-I",
                 os.path.join(root, "usr/include"), "-o", os.path.join(root, "pool.so"), os.path.join(example, "provider_pool.c"))
        tree.run(os.path.join(root, "usr/bin/trimtab"), "check-config", "--cloud-provider=pool", f"--provider-plugin-dir={root}",
                 f"--cloud-config={example}/pool.conf")


def test_debian__guide_and_example_are_in_the_package_for_vendors():
    for kind in ("docs", "examples"):
        named, = read("debian", f"trimtab-provider-dev.{kind}").split()
        assert os.path.exists(os.path.join(TREE, named)), named


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
