# SPDX-License-Identifier: Apache-2.0
"""TAP, for every test that is a Python program: what meson reads and adds up (https://testanything.org).

Two ways to report, by how a program is built:

    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[3:])))     functions called test_*, each one test

    report = tap.Report()                                        results as they come
    report.check("what is looked at", lines_that_say_what_is_wrong)
    sys.exit(report.end())

A failed test never hides the others, and says why in comment lines; on stderr, too, for that is what meson shows of a
test that failed.
"""
import sys
import traceback

import schemas

schemas.watch_commands()

MOST_LINES = 80  # half of them from the end: there stands what happened last


class Absent(Exception):
    """Something that one test needs is not there: that test is skipped, and says what."""


def need(thing, why):
    """`thing`, a program's path for one; where there is none the test is skipped, for the reason `why`."""
    if not thing:
        raise Absent(why)
    return thing


class Report:
    """Prints a line per result.  The plan stands first when `total` is known, else end() prints it."""

    def __init__(self, total=None):
        self.total, self.number, self.failed = total, 0, 0
        if total is not None:
            self._print(f"1..{total}")

    @staticmethod
    def _print(line):
        print(line, flush=True)

    def check(self, name, wrong=(), more=""):
        """`wrong` is a text or lines, empty when all is well; `more` stands behind a "#", as in "# SKIP why"."""
        self.number += 1
        self.failed += bool(wrong)
        self._print(f"{'not ok' if wrong else 'ok'} {self.number} - {name}{' # ' if more else ''}{more}")
        lines = wrong.splitlines() if isinstance(wrong, str) else list(wrong or ())
        if len(lines) > MOST_LINES:
            lines[MOST_LINES // 2:-MOST_LINES // 2] = [f"… {len(lines) - MOST_LINES} lines more …"]
        for line in lines:
            self._print(f"# {line}")
            print(f"{name}: {line}", file=sys.stderr, flush=True)

    def end(self):
        """The exit status of the program."""
        if self.total is None:
            self._print(f"1..{self.number}")
        return 1 if self.failed else 0


def skip(why):
    """The whole program is skipped; its exit status."""
    print(f"1..0 # SKIP {why}", flush=True)
    return 0


def tests_of(namespace, chosen=()):
    """(name, function) of each test_* in globals(), in the order of the file; only the `chosen` ones if there are any."""
    return [(n, f) for n, f in namespace.items() if n.startswith("test_") and (not chosen or n in chosen)]


def run(tests, *args):
    """Calls each test with `args`; one that raises has failed.  An exception's `log` (lines) is shown as well."""
    report = Report(len(tests))
    for name, test in tests:
        try:
            test(*args)
            report.check(name)
        except Absent as why:
            report.check(name, more=f"SKIP {why}")
        except Exception as error:  # pylint: disable=broad-except
            report.check(name, [*traceback.format_exc().splitlines(), *getattr(error, "log", [])])
    return report.end()
