# SPDX-License-Identifier: Apache-2.0
"""Makes an initramfs: a cpio archive (newc) with programs, the shared libraries that they need, and kernel modules.

Written here and not by cpio(1), because the archive needs device nodes and no root to make them.  The kernel reads several
archives one behind the other, so that the part that never changes is made once.
"""
import glob
import os
import re
import stat
import subprocess

SIGNED = b"~Module signature appended~\n"
NEEDED = re.compile(r"(?:=> )?(/\S+) \(0x")


class Archive:
    """Files by path.  Folders above a file are made with it."""

    def __init__(self):
        self.parts, self.paths = [], set()

    def _entry(self, path, mode, data=b"", device=(0, 0)):
        name = path.encode() + b"\0"
        head = b"070701" + b"".join(b"%08X" % n for n in (
            len(self.paths) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0))
        self.parts += [head, name, bytes(-(len(head) + len(name)) % 4), data, bytes(-len(data) % 4)]
        self.paths.add(path)

    def folder(self, path):
        path = path.strip("/")
        if path and path not in self.paths:
            self.folder(os.path.dirname(path))
            self._entry(path, stat.S_IFDIR | 0o755)

    def data(self, path, data, mode=0o644):
        self.folder(os.path.dirname(path))
        self._entry(path.strip("/"), stat.S_IFREG | mode, data)

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self._entry(path.strip("/"), stat.S_IFLNK | 0o777, target.encode())

    def device(self, path, major, minor):
        self.folder(os.path.dirname(path))
        self._entry(path.strip("/"), stat.S_IFCHR | 0o600, device=(major, minor))

    def copy(self, source, path=None, mode=0o755):
        """A file of this machine under its own path, unless another is named; each once."""
        path = path or source
        if path.strip("/") not in self.paths:
            with open(source, "rb") as f:
                self.data(path, f.read(), mode)

    def program(self, source, path=None):
        """A program with the shared libraries that ldd names."""
        self.copy(source, path)
        self.libraries(source)

    def libraries(self, source):
        said = subprocess.run(["ldd", source], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        for library in NEEDED.findall(said):
            self.copy(library)

    def bytes(self):
        self.paths.discard("TRAILER!!!")
        self._entry("TRAILER!!!", 0)
        return b"".join(self.parts)


def module_needs(path):
    """Names of the modules that a module says it depends on."""
    with open(path, "rb") as f:
        found = re.search(rb"\0depends=([^\0]*)\0", f.read())
    return [n.replace("-", "_") for n in found[1].decode().split(",") if n] if found else []


def unsigned(module):
    """A module's bytes without its signature, whose check takes an emulated processor longer than all else."""
    end = len(module)
    if module.endswith(SIGNED):
        end -= len(SIGNED) + 12  # struct module_signature: its last four bytes say how long the signature before it is
        end -= int.from_bytes(module[end + 8:end + 12], "big")
    return module[:end]


def module_files(root, wanted):
    """Paths of the modules `wanted` and of all that they need, in an order in which they can be inserted.

    `root` is a folder as /lib/modules/VERSION is.  A name that only modules.builtin has is left out; one that neither has
    raises KeyError.
    """
    files = {os.path.basename(p)[:-3].replace("-", "_"): p for p in glob.glob(root + "/kernel/**/*.ko", recursive=True)}
    with open(root + "/modules.builtin", encoding="ascii") as f:
        builtin = {os.path.basename(line.strip())[:-3].replace("-", "_") for line in f}
    order = []

    def take(name):
        if name in builtin:
            return
        for other in module_needs(files[name]):
            take(other)
        if files[name] not in order:
            order.append(files[name])

    for name in wanted:
        take(name)
    return order
