#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The seccomp profile: what it allows, and that trimtab works under it (so do all tests with controller_world.py).

    seccomp_test.py TRIMTAB_SIM TRIMTAB     (TAP on stdout)
"""
import ctypes
import errno
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import confine  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

SIM, TRIMTAB = (os.path.abspath(path) for path in sys.argv[1:3])
# By which a process leaves its container, looks into others, loads code into the kernel, or reaches its odd corners.
NEVER = set("""acct add_key bpf chroot clone3 delete_module fanotify_init finit_module fsopen init_module io_setup io_uring_setup
    ioperm iopl kcmp kexec_file_load kexec_load keyctl landlock_create_ruleset lookup_dcookie mbind memfd_create migrate_pages mount
    move_pages name_to_handle_at open_by_handle_at open_tree perf_event_open personality pidfd_getfd pivot_root process_madvise
    process_vm_readv process_vm_writev ptrace quotactl reboot request_key seccomp setns settimeofday shmget swapon syslog umount2
    unshare userfaultfd vhangup""".split())
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW*


def allowed(profile):
    return [name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]]


def outcome(call, refused=None):
    """The result of a call under the profile: its errno, 0, or minus the signal that it got."""
    run = confine.confiner(confine.filter_of(confine.profile_at(), refused))
    child = os.fork()
    if child == 0:
        run()
        try:
            call()
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def raw(name, *args):
    """A call by its number, as a function that raises what went wrong."""
    libc, number = ctypes.CDLL(None, use_errno=True), confine.numbers()[name]

    def call():
        if libc.syscall(number, *args) < 0:
            raise OSError(ctypes.get_errno(), name)
    return call


def confinable():
    try:
        confine.filter_of(confine.profile_at())
    except (confine.Unfit, OSError, subprocess.CalledProcessError) as why:
        raise tap.Absent(str(why)) from None


def test_profile__is_a_list_of_what_is_allowed():
    profile = confine.profile_at()
    assert (profile["defaultAction"], profile["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", errno.EPERM)
    assert set(profile) == {"defaultAction", "defaultErrnoRet", "architectures", "syscalls"}
    assert {name for _, name in confine.MACHINES.values()} == set(profile["architectures"])
    plain = next(rule["names"] for rule in profile["syscalls"] if len(rule["names"]) > 1)
    assert plain == sorted(set(plain)), "not sorted"
    assert not NEVER & set(allowed(profile)), NEVER & set(allowed(profile))
    limited = {name for rule in profile["syscalls"] if "args" in rule for name in rule["names"]}
    assert limited == {"clone", "socket"} and not limited & set(plain)


def test_profile__names_are_system_calls():
    confinable()
    if os.uname().machine != "x86_64":
        raise tap.Absent("other machines lack the older calls")
    unknown = set(allowed(confine.profile_at())) - set(confine.numbers())
    assert not unknown, unknown


def packet_socket():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


def packet_socket_free():
    """The kernel's answer without a profile: a process with CAP_NET_RAW gets a socket."""
    try:
        packet_socket()
    except OSError as why:
        return why.errno
    return 0


def test_calls__what_becomes_of_them():
    confinable()
    rows = (
        ("a socket", socket.socket, 0),
        ("one of IPv6", lambda: socket.socket(socket.AF_INET6).close(), 0),
        ("a packet socket, which announces addresses", packet_socket, packet_socket_free()),
        ("a socket of the kernel's ciphers", lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET), errno.EPERM),
        ("a socket of a family whose number has more bits", raw("socket", ctypes.c_long(1 << 32 | 2), 1, 0), errno.EPERM),
        ("a process", lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0), 0),
        ("a namespace of users", raw("clone", ctypes.c_long(0x10000000 | signal.SIGCHLD), 0, 0, 0, 0), errno.EPERM),
        ("any new namespace", raw("clone", ctypes.c_long(NEW_NAMESPACES), 0, 0, 0, 0), errno.EPERM),
        ("clone3, for which glibc has another way", raw("clone3", 0, 0), errno.ENOSYS),
        ("unshare", raw("unshare", 0x10000000), errno.EPERM),
        ("mount", raw("mount", b"none", b"/mnt", b"tmpfs", 0, 0), errno.EPERM),
        ("bpf", raw("bpf", 0, 0, 0), errno.EPERM),
        ("ptrace", raw("ptrace", 0, 0, 0, 0), errno.EPERM),
    )
    for what, call, want in rows:
        got = outcome(call)
        assert got == want, (what, got, want)


def test_calls__in_tests_others_end_the_process():
    confinable()
    assert outcome(raw("unshare", 0), confine.KILL) == -signal.SIGSYS


def test_trimtab__without_a_call_that_it_needs_does_not_work():
    """Or this test would show nothing."""
    confinable()
    profile = confine.profile_at()
    profile["syscalls"][0]["names"].remove("openat")
    run = confine.confiner(confine.filter_of(profile))
    done = subprocess.run(["/usr/bin/env", TRIMTAB, "version"], preexec_fn=run, capture_output=True, check=False)
    assert done.returncode == -signal.SIGSYS, done


def test_trimtab__serves_a_service_under_the_profile_as_it_is():
    """Calls that it does not list fail here, as in a container."""
    confinable()
    run = confine.confiner(confine.filter_of(confine.profile_at(), None))

    class Contained(World):
        """Its trimtab is confined by this filter alone: it is started through another program."""

        def start(self, *flags):
            self.runs += 1
            self.trimtab = subprocess.Popen(
                ["/usr/bin/env", TRIMTAB, *self.flags(), f"--kubeconfig={self.kubeconfig}", "-v=2", *flags],
                stderr=self.file(f"run-{self.runs}"), env=self.environment(), preexec_fn=run)
            return self
    with Contained((SIM, TRIMTAB), "--nodes=2") as w:
        w.start()
        w.create("web")
        w.until_address("web")
        w.delete("web")
        w.until_gone("web")
        with open(f"/proc/{w.trimtab.pid}/status", encoding="ascii") as f:
            assert "\nSeccomp:\t2\n" in f.read()
        code, _ = w.stop()
        assert code == 0, code


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))
