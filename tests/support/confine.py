# SPDX-License-Identifier: Apache-2.0
"""trimtab under the list of system calls that deploy/seccomp/trimtab.json allows, as a container's runtime would start it.

Imported by controller_world.py, which makes every trimtab that a test starts run so (watch_programs()), with what it starts in
turn; TRIMTAB_TEST_SECCOMP=off in the environment leaves it free.  The profile refuses other calls with an error; here they end
the process (SIGSYS), so that no test passes by the way around one.
"""
import ctypes
import functools
import json
import os
import platform
import re
import signal
import struct
import subprocess
import sys

PROFILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "seccomp", "trimtab.json")
# (AUDIT_ARCH_*, name in a profile) of linux/audit.h and libseccomp
MACHINES = {"x86_64": (0xC000003E, "SCMP_ARCH_X86_64"), "aarch64": (0xC00000B7, "SCMP_ARCH_AARCH64")}
KILL, ERRNO, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000  # SECCOMP_RET_*
LOAD, AND, EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06        # instructions of BPF
NUMBER, ARCH, ARGS = 0, 4, 16                            # offsets in struct seccomp_data
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2            # prctl()
EPERM = 1


class Unfit(Exception):
    """A program or machine that cannot be confined so, or a profile that is not understood here."""


@functools.cache
def numbers():
    """{name: number} of this machine's system calls, from the compiler's headers."""
    said = subprocess.run(["cc", "-E", "-dM", "-x", "c", "-"], input="#include <sys/syscall.h>\n", capture_output=True, text=True, check=True)
    return {name: int(number) for name, number in re.findall(r"(?m)^#define __NR_(\w+) (\d+)$", said.stdout)}


def step(code, value, if_true=0, if_false=0):
    return struct.pack("=HBBI", code, if_true, if_false, value)


def action(name, error):
    """The value that the filter returns for an action of a profile."""
    if name == "SCMP_ACT_ALLOW":
        return ALLOW
    if name == "SCMP_ACT_ERRNO":
        return ERRNO | error
    raise Unfit(f"action {name}")


def compare(arg, steps_left):
    """Steps that go on when the argument is as the rule wants it, and jump over `steps_left` more when it is not."""
    at, value, mask = ARGS + 8 * arg["index"], arg["value"], (1 << 64) - 1
    if arg["op"] == "SCMP_CMP_MASKED_EQ":
        value, mask = arg["valueTwo"], arg["value"]
    elif arg["op"] != "SCMP_CMP_EQ":
        raise Unfit(f"operator {arg['op']}")
    made = []
    for half, left in ((0, 3), (1, 0)):  # little endian: the low half is first
        bits = 32 * half
        made += [step(LOAD, at + 4 * half), step(AND, mask >> bits & 0xFFFFFFFF),
                 step(EQUAL, value >> bits & 0xFFFFFFFF, 0, left + steps_left)]
    return made


def rule_steps(number, rule):
    """Steps for one call: they return when the rule holds for it, and else leave its number loaded."""
    args = rule.get("args", [])
    body = [step(RETURN, action(rule["action"], rule.get("errnoRet", EPERM)))]
    for arg in reversed(args):
        body = compare(arg, len(body)) + body
    if args:
        body.append(step(LOAD, NUMBER))
    return [step(EQUAL, number, 0, len(body)), *body]


def filter_of(profile, refused=KILL):
    """The filter.  `refused` is what becomes of calls that the profile leaves to its default; None: what it says."""
    if platform.machine() not in MACHINES or sys.byteorder != "little":
        raise Unfit(f"machine {platform.machine()}")
    arch, name = MACHINES[platform.machine()]
    if name not in profile["architectures"]:
        raise Unfit(f"no {name} in the profile")
    steps = [step(LOAD, ARCH), step(EQUAL, arch, 1, 0), step(RETURN, KILL), step(LOAD, NUMBER)]
    for rule in profile["syscalls"]:
        for number in (numbers()[word] for word in rule["names"] if word in numbers()):  # some machines lack some calls
            steps += rule_steps(number, rule)
    if refused is None:
        refused = action(profile["defaultAction"], profile.get("defaultErrnoRet", EPERM))
    return b"".join(steps + [step(RETURN, refused)])


class Program(ctypes.Structure):
    """struct sock_fprog"""
    _fields_ = [("n", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def confiner(steps):
    """A function for a process that was just forked: it and what it starts are confined from then on; there is no way back.

    It only makes two calls, since other threads of the parent may have held any lock."""
    libc = ctypes.CDLL(None)
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    made = Program(len(steps) // 8, steps)
    address = ctypes.addressof(made)

    def confine(_keep=made):
        if libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(SET_SECCOMP, FILTER, address, 0, 0) != 0:
            os._exit(126)
    return confine


def profile_at(path=PROFILE):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


@functools.cache
def confiner_of(program):
    """For a trimtab; None, with a line that says why, where it is not confined."""
    try:
        with open(program, "rb") as f:
            if re.search(rb"__(asan|tsan|ubsan)_", f.read()):
                raise Unfit("a sanitizer makes calls of its own")
        return confiner(filter_of(profile_at()))
    except (Unfit, OSError, subprocess.CalledProcessError) as why:
        print(f"# {os.path.basename(program)} is not confined: {why}", flush=True)
        return None


def both(first, then):
    if first is None or then is None:
        return first or then

    def run():
        first()
        then()
    return run


def watch_programs():
    """From now on every trimtab that subprocess starts is confined."""
    class Confined(subprocess.Popen):
        """A Popen that confines trimtab before it runs."""

        def __init__(self, args, *more, preexec_fn=None, **kwargs):
            program = os.fspath(args[0] if isinstance(args, (list, tuple)) else args)
            if os.path.basename(program) == "trimtab":
                preexec_fn = both(preexec_fn, confiner_of(program))
            super().__init__(args, *more, preexec_fn=preexec_fn, **kwargs)

    if os.environ.get("TRIMTAB_TEST_SECCOMP") != "off":
        subprocess.Popen = Confined


def died_of_it(process):
    """Whether a process has made a call that the profile does not list."""
    return process is not None and process.poll() == -signal.SIGSYS
