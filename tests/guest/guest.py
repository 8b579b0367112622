#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a script in a virtual machine with Debian's own kernel, for tests that need kernel modules which a host may lack.

    guest.py BUILD INIT             a shell in the guest; it ends with `exit`

As a module: Guest(build, init).run({"run": script, …}) boots once, runs /t/run, and returns a Result.  The kernel is unpacked
below BUILD/tools/guest by scripts/lib/setup.sh, never installed.  qemu emulates the processor (no KVM).  A
busy host makes the guest slow, so that a script must not rely on time-outs.
"""
import glob
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import initramfs  # noqa: E402  pylint: disable=wrong-import-position

QEMU = "qemu-system-x86_64"
PROGRAMS = ("dash", "busybox", "ip", "ipvsadm", "ipset", "xtables-nft-multi", "xtables-legacy-multi", "nft")
APPLETS = ("cat", "dmesg", "grep", "head", "insmod", "ls", "lsmod", "mkdir", "mount", "nc", "ping", "ps", "rmmod", "sed", "sleep", "sort", "sysctl", "tail", "vi", "wc")
XTABLES = ("ip", "ip6")
MODULES = """dummy veth bridge br_netfilter nf_conntrack nf_conntrack_netlink nf_nat nf_tables nft_compat nft_chain_nat nft_ct nft_nat
nft_masq nft_numgen nft_hash nft_reject_inet nft_fib_inet ip_tables ip6_tables iptable_filter iptable_nat ip6table_filter ip6table_nat
ip_set ip_set_bitmap_port ip_set_hash_ip ip_set_hash_ipport ip_set_hash_ipportip ip_set_hash_ipportnet
ipip ip_gre fou sit ip6_tunnel ip6_gre fou6
ip_vs ip_vs_rr ip_vs_wrr ip_vs_lc ip_vs_wlc ip_vs_sh ip_vs_mh ip_vs_dh ip_vs_sed ip_vs_nq
xt_set xt_ipvs xt_mark xt_comment xt_conntrack xt_addrtype xt_physdev xt_MASQUERADE xt_nat xt_tcpudp xt_sctp xt_statistic xt_recent
ipt_REJECT ip6t_REJECT""".split()
# No tests of ciphers, no second look at page tables, no mitigations: each costs an emulated processor a second or more.
WORDS = ("console=ttyS0 panic=-1 loglevel=4 quiet cryptomgr.notests rodata=off mitigations=off nokaslr tsc=reliable lsm= "
         "random.trust_cpu=on ")
COUNTED = ["-icount", "shift=2,sleep=off"]
LIMIT_CPU_S = 240    # of the emulator: an endless script ends here, on a busy machine, too
LIMIT_S = 900        # of the clock on the wall, for a guest that sleeps for ever


class Absent(Exception):
    """Something that the guest is made of is not there; says what."""


class Failed(Exception):
    """The guest did not end in an orderly way; `log` holds its last lines."""

    def __init__(self, why, log):
        super().__init__(why)
        self.log = log


def sections(output):
    """What a script in the guest printed below each line "== A B": {(A, B): its lines}."""
    found, part = {}, None
    for line in output.splitlines():
        head = re.match(r"== (\w+) (\w+)", line)
        if head:
            part = (head[1], head[2])
            found[part] = []
        elif part:
            found[part].append(line.rstrip())
    return found


class Result:
    """`status`: of the script; `output`: what it wrote; `console`: the kernel's words; `seconds`: of the whole run."""

    def __init__(self, status, output, console, seconds, cpu_seconds):
        self.status, self.output, self.console = status, output, console
        self.seconds, self.cpu_seconds = seconds, cpu_seconds


def find_program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin")


class Guest:
    """What one kind of guest is made of.  `init` is the program of guest_init.c, `programs` more programs with their paths."""

    def __init__(self, build, init, programs=()):
        self.folder = os.path.join(build, "tools", "guest")
        self.init, self.more = init, programs
        self.qemu = find_program(QEMU)
        kernels = sorted(glob.glob(self.folder + "/boot/vmlinuz-*"))
        missing = [p for p in PROGRAMS if not find_program(p)] + ([] if self.qemu else [QEMU])
        if missing:
            raise Absent("the guest needs " + ", ".join(sorted(missing)) + "; scripts/check installs them")
        if not kernels:
            raise Absent(f"no kernel in {self.folder}/boot; scripts/check fetches Debian's")
        self.kernel = kernels[-1]
        self.modules = self.folder + "/lib/modules/" + os.path.basename(self.kernel)[len("vmlinuz-"):]

    def _base(self):
        """The part of the initramfs that does not depend on the script; kept below the build folder."""
        key = hashlib.sha256(self.kernel.encode())
        sources = [self.init, os.path.abspath(__file__), initramfs.__file__, *(s for s, _ in self.more)]
        for path in sources + [find_program(p) for p in PROGRAMS]:
            key.update(f"{path} {os.path.getmtime(path)} {os.path.getsize(path)}\n".encode())
        path = f"{self.folder}/base-{key.hexdigest()[:16]}.cpio"
        if not os.path.exists(path):
            for old in glob.glob(self.folder + "/base-*.cpio"):
                os.unlink(old)
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as f:
                f.write(self._make_base())
            os.replace(f.name, path)
        return path

    def _make_base(self):
        a = initramfs.Archive()
        for folder in ("dev", "proc", "sys", "run", "tmp", "etc", "t"):
            a.folder(folder)
        a.device("dev/console", 5, 1)
        a.program(self.init, "/init")
        for source, path in self.more:
            a.program(source, path)
        for name in PROGRAMS:
            a.program(find_program(name), "/usr/sbin/" + name)
        for target, names in (("dash", ["sh"]), ("busybox", APPLETS)):
            for name in names:
                a.link("/bin/" + name, "/usr/sbin/" + target)
        for back in ("nft", "legacy"):
            for what in XTABLES:
                for end in ("tables", "tables-restore", "tables-save"):
                    a.link(f"/usr/sbin/{what}{end.replace('tables', 'tables-' + back, 1)}", f"xtables-{back}-multi")
        for path in glob.glob("/usr/lib/*/xtables/*.so"):
            a.copy(path)
            a.libraries(path)
        for path in ("/etc/protocols", "/etc/services"):
            if os.path.exists(path):
                a.copy(path, mode=0o644)
        a.data("/etc/passwd", b"root:x:0:0::/t:/bin/sh\n")
        files = initramfs.module_files(self.modules, MODULES)
        for path in files:
            with open(path, "rb") as f:
                a.data("/modules/" + os.path.basename(path), initramfs.unsigned(f.read()))
        a.data("/modules/order", "".join(os.path.basename(p) + "\n" for p in files).encode())
        return a.bytes()

    def _command(self, initrd, words, serial):
        return [self.qemu, "-M", "q35", "-accel", "tcg", "-cpu", "qemu64", "-m", "512", "-smp", "1", "-nographic", "-no-reboot",
                "-nodefaults", *serial,
                "-kernel", self.kernel, "-initrd", initrd,
                "-append", WORDS + words]

    def _initrd(self, folder, files):
        path = os.path.join(folder, "initrd")
        extra = initramfs.Archive()
        for name, data in files.items():
            extra.data("/t/" + name, data.encode() if isinstance(data, str) else data, 0o755)
        with open(path, "wb") as out, open(self._base(), "rb") as base:
            shutil.copyfileobj(base, out)
            out.write(extra.bytes())
        return path

    def run(self, files, counted=False, limits=(LIMIT_CPU_S, LIMIT_S)):
        """Boots, runs files["run"] as /t/run (others lie beside it), and returns a Result.  Failed when it does not end.  `counted`: the
        guest's clock counts its instructions, so that times in it do not depend on how busy the host is."""
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="guest-") as folder:
            said, console = folder + "/said", folder + "/console"
            command = self._command(self._initrd(folder, files), "",
                                    ["-serial", "file:" + console, "-serial", "file:" + said, *(COUNTED if counted else [])])
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            try:
                end = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     timeout=limits[1], check=False,
                                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limits[0], limits[0] + 5)))
                why = f"{QEMU} ended with {end.returncode}: {end.stdout.decode(errors='replace').strip()}"
            except subprocess.TimeoutExpired:
                why = f"the guest did not end within {limits[1]} s"
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            texts = {}
            for path in (said, console):
                with open(path, "rb") as f:
                    texts[path] = f.read().decode(errors="replace").replace("\r", "")
        found = re.search(r"\nguest-exit (\d+)\n\Z", texts[said])
        if not found:
            raise Failed("the script did not come to its end: " + why,
                         (texts[console] + texts[said]).splitlines()[-60:])
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Result(int(found[1]), texts[said][:found.start()], texts[console], time.monotonic() - started, cpu)

    def shell(self):
        """A shell on this terminal; returns when the guest ends."""
        with tempfile.TemporaryDirectory(prefix="guest-") as folder:
            command = self._command(self._initrd(folder, {}), "shell", ["-serial", "mon:stdio"])
            return subprocess.run(command, check=False).returncode


def main():
    try:
        return Guest(*sys.argv[1:3]).shell()
    except Absent as why:
        print(f"error: {why}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
