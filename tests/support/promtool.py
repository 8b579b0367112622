# SPDX-License-Identifier: Apache-2.0
"""Where promtool is: TRIMTAB_PROMTOOL, a build folder's tools/ (scripts/lib/setup.sh unpacks it there), or the PATH."""
import os
import shutil

ABSENT = "promtool is absent: neither TRIMTAB_PROMTOOL, nor in the build's tools/, nor on the PATH"


def find(build):
    """Its path; None."""
    named = os.environ.get("TRIMTAB_PROMTOOL")
    unpacked = os.path.join(build, "tools", "prometheus", "usr", "bin", "promtool")
    if named:
        return named
    return unpacked if os.access(unpacked, os.X_OK) else shutil.which("promtool")
