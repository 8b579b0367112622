# SPDX-License-Identifier: Apache-2.0
"""docs/metrics.md as data."""
import re

ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| ([^|]*) \|")


def metrics_of(page, only=None):
    """{name: (type, labels)} of the page's tables; of those whose markers are in `only`, when that is given."""
    found, section = {}, None
    for line in page.splitlines():
        marker = re.match(r"<!-- (\w+): (printed|end)", line)
        if marker:
            section = marker[1] if marker[2] == "printed" else None
        row = ROW.match(line)
        if row and section and (only is None or section in only):
            assert row[1] not in found, f"{row[1]} stands twice"
            found[row[1]] = (row[2], set(re.findall(r"\w+", row[3])))
    return found
