#!/usr/bin/env python3
"""The rules of docs/architecture.md and CONTRIBUTING.md that a machine can check.

    lint.py TREE [RULE…]     TAP on stdout, one line per rule; exit 1 when one is broken

Each rule is a function from a Tree to a list of offences ("path:line: text").  lint_test.py feeds every rule an
offence.  A file may only be excused where the rule itself says so.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import change  # noqa: E402  pylint: disable=wrong-import-position
import sample  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from named import rule_named  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from prose import rule_comments, rule_pages, rule_scripts, rule_words  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from rooms import rule_crowds, rule_rooms  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from uncalled import rule_judge, rule_uncalled  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from urls import rule_urls  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

MAX_FILE = 700
MAX_FUNCTION = 80
MAX_PARAMETERS = 8
FORMAT_PARTS = 20  # clang-format takes longer than all other rules together
FORMAT_TOUCHED_MAX = 200  # of a change with more files than that a part is compared, too
FORMAT_TOUCHED_PARTS = 4

# Which folder may include which (design: docs/architecture.md, "Arrows").  Longest prefix wins.
ARROWS = {
    "common/include": [],
    "common/base": [],
    "common/data": ["common/base"],
    "common/net": ["common/base", "common/data"],
    "common/lb": ["common/base", "common/data", "common/net", "common/include"],
    "common/cloud": ["common/base", "common/data", "common/net", "common/lb", "common/include"],
    "common/services/decode": ["common/base", "common/data"],
    "common/services/node": ["common/base", "common/data", "common/services/decode"],
    "common/services/render": ["common/base", "common/data", "common/services/decode", "common/services/node"],
    "common/services/trace": ["common/base", "common/data", "common/services/decode", "common/services/node"],
    "common/services/topology": ["common/base", "common/data", "common/services/decode"],
    "common/services/slices": ["common/base", "common/data", "common/services/decode", "common/services/topology"],
    "common/services/compare": ["common/base", "common/data", "common/services/decode", "common/services/node", "common/services/render"],
    "common/services/tell": ["common/base", "common/data", "common/services/decode", "common/services/node", "common/services/render",
                             "common/services/slices", "common/services/topology", "common/services/trace"],
    "controller/kube": ["common/base", "common/data", "common/net", "common/lb", "common/include"],
    "controller": ["common/base", "common/data", "common/net", "common/lb", "common/services", "common/include", "controller/kube", "providers/builtin.h"],
    "providers": ["common/base", "common/data", "common/net", "common/lb", "common/cloud", "common/services", "common/include"],
    "providers/local/model": ["common/base", "common/data", "common/lb", "common/include"],
    "providers/local/targets": ["common/base", "common/data", "common/include", "providers/local/model"],
    "providers/local/leases": ["common/base", "common/data", "common/include", "providers/local/model", "providers/local/targets"],
    "providers/local/ipam": ["common/base", "common/data", "common/include", "providers/local/model"],
    "providers/local/kernel": ["common/base", "common/data", "common/include", "providers/local/model", "providers/local/targets"],
    "providers/local/plan": ["common/base", "common/data", "common/lb", "common/include", "providers/local/model", "providers/local/targets",
                             "providers/local/ipam", "providers/local/kernel"],
    "providers/local/director": ["common/base", "common/data", "common/include", "providers/local/model", "providers/local/targets",
                                 "providers/local/kernel", "providers/local/plan"],
    "sim": ["common/base", "common/data", "common/net"],
}
PURE = re.compile(r"_(desired|plan|diff|rules|names)\.[ch]$")
IO_HEADERS = re.compile(
    r'"(common/net/http\.h|common/net/http_server\.h|common/base/(clock|file|log|lock|cancel)\.h|common/lb/(exec|driver)\.h)"'
    r"|<(fcntl|unistd|pthread|time|sys/\w+|netdb|netinet/\w+|event2?/?\w*|curl/\w+)\.h>")
IO_CALLS = re.compile(
    r"\b(http_do|http_run|http_start|clock_now_ms|clock_wall_us|rng_\w+|getenv|fopen|open|read|write|socket|connect|time|"
    r"gettimeofday|clock_gettime|log_info|log_warning|log_error|printf|fprintf|puts)\s*\(")
BANNED = re.compile(
    r"\b(strcpy|strcat|strncat|sprintf|vsprintf|strtok|atoi|atol|atof|gets|system|popen|rand|srand|random|alloca|localtime|"
    r"gmtime|asctime|ctime|tmpnam|mktemp|usleep|sleep|bcopy|bzero)\s*\(")
CONFLICTS = re.compile(r"^(?:<{7}|>{7})(?= )", re.M)
PLACES = re.compile(r"(/(?:root|home|work)/[a-z]|\.\./shared)")
HEADING = re.compile(r"^(?:```.*?^```$|#+ ([^\n]+)$)", re.M | re.S)
QUESTION = re.compile(r"^(What|Who|Whose|Which|Whoever)\b")
ANCHOR = re.compile(r"\]\(([\w./-]*\.md)?#([^)\s]+)\)")
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


class Tree:
    """The tracked and untracked (not ignored) files of a checkout, or all files of a plain folder."""

    def __init__(self, root):
        self.root = root
        try:
            out = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], check=True,
                                 capture_output=True, text=True).stdout.split("\n")
            files = [f for f in out if f and os.path.isfile(os.path.join(root, f))]
        except (subprocess.CalledProcessError, FileNotFoundError):
            files = []
            for base, _, names in os.walk(root):
                files += [os.path.relpath(os.path.join(base, n), root) for n in names]
        self.files = sorted(set(files))
        self._text = {}
        self._bare = {}

    def text(self, path):
        if path not in self._text:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as f:
                self._text[path] = f.read()
        return self._text[path]

    def bare(self, path):
        """The text of a C file without comments and strings."""
        if path not in self._bare:
            self._bare[path] = strip_comments(self.text(path))
        return self._bare[path]

    def code(self, *prefixes):
        """C files below the prefixes (all when none are given)."""
        return [f for f in self.files if f.endswith((".c", ".h")) and (not prefixes or f.startswith(prefixes))]


NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    """Spaces in place of a comment, and between the quotes of a string; newlines stay."""
    s = match.group(0)
    if s[0] in "\"'":
        return s[0] + " " * (len(s) - 2) + s[0]
    return "\n".join(" " * len(line) for line in s.split("\n"))


def strip_comments(text):
    """Blanks comments, strings and character constants; keeps line numbers."""
    return NOT_CODE.sub(blank, text)


def line_of(text, pos):
    return text.count("\n", 0, pos) + 1


def folder_rule(path):
    best = None
    for prefix in ARROWS:
        if path.startswith(prefix + "/") and (best is None or len(prefix) > len(best)):
            best = prefix
    return best


def rule_arrows(tree):
    """Includes go only where the design draws an arrow; no provider includes another."""
    bad = []
    for f in tree.code():
        here = folder_rule(f)
        if here is None:
            continue
        allowed = ARROWS[here]
        for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">]+)[">]', tree.text(f), re.M):
            kind, target = m.groups()
            if target.startswith("trimtab/"):
                target = "common/include/" + target
            elif kind == "<":
                continue
            where = "%s:%d" % (f, line_of(tree.text(f), m.start()))
            if "/" not in target:
                bad.append("%s: include %s by its path from the root of the tree" % (where, target))
                continue
            own = here + "/"
            if here == "providers":
                own = "/".join(f.split("/")[:2]) + "/"
            if here == "controller" and target.startswith("controller/"):
                continue
            if target.startswith(own) or any(target == a or target.startswith(a + "/") for a in allowed):
                continue
            if here == "common/include" and target.startswith("common/include/"):
                continue
            bad.append("%s: %s may not include %s" % (where, here, target))
    return bad


def rule_purity(tree):
    """*_desired, *_plan, *_diff, *_rules and *_names do no I/O, see no clock and no randomness."""
    bad = []
    for f in tree.code("common/", "controller/", "providers/"):
        if not PURE.search(f):
            continue
        text = tree.text(f)
        for m in IO_HEADERS.finditer(text):
            bad.append("%s:%d: pure by its name, but includes %s" % (f, line_of(text, m.start()), m.group(0)))
        bare = tree.bare(f)
        for m in IO_CALLS.finditer(bare):
            if bare[max(0, m.start() - 1)] in "._>" or bare[max(0, m.start() - 2):m.start()] == "->":
                continue
            bad.append("%s:%d: pure by its name, but calls %s" % (f, line_of(bare, m.start()), m.group(1)))
    return bad


def functions(bare):
    """(name, parameter text, first line, number of lines) of each function definition in clang-formatted code without comments."""
    lines = bare.split("\n")
    start = None
    for i, line in enumerate(lines):
        if line == "{" and start is None:
            start = i
        elif line.startswith("}") and start is not None:
            j = start - 1
            head = []
            while j >= 0 and lines[j].strip() and not lines[j].startswith(("}", "#")) and not lines[j].rstrip().endswith(";"):
                head.insert(0, lines[j])
                j -= 1
            sig = " ".join(head)
            m = re.search(r"(\w+)\s*\((.*)\)[^()]*(?:_\w+_(?:\([^)]*\))?\s*)*$", sig)
            if m:
                yield m.group(1), m.group(2), j + 2, i - start + 1 + len(head)
            start = None


def rule_size(tree):
    """Files at most 700 lines, functions at most 80 lines and 8 parameters."""
    bad = []
    for f in tree.code():
        text = tree.text(f)
        n = text.count("\n")
        if n > MAX_FILE:
            bad.append("%s: %d lines; %d is the most" % (f, n, MAX_FILE))
        for name, params, line, size in functions(tree.bare(f)):
            if size > MAX_FUNCTION:
                bad.append("%s:%d: %s has %d lines; %d is the most" % (f, line, name, size, MAX_FUNCTION))
            depth, commas = 0, 0
            for c in params:
                depth += c == "("
                depth -= c == ")"
                commas += c == "," and depth == 0
            if commas + 1 > MAX_PARAMETERS:
                bad.append("%s:%d: %s has %d parameters; use a struct" % (f, line, name, commas + 1))
    return bad


def touched_by_change(root):
    """Returns the files of the change under test (scripts/lib/change.py); None: it is not known."""
    here = os.getcwd()
    os.chdir(root)
    try:
        revision, _ = change.base()
        return None if revision is None else change.changed(revision)
    finally:
        os.chdir(here)


def format_part(files, touched, chosen):
    """Returns those of `files` that are compared: what the change touches, and the part of the turn of what was formatted before it.
    All of them if the change is not known, or touches the rules of formatting.  A change of very many files is a merge or a move, and
    of these one of FORMAT_TOUCHED_PARTS is compared."""
    if touched is None or ".clang-format" in touched:
        return files
    touched = set(files) & set(touched)
    if len(touched) > FORMAT_TOUCHED_MAX and chosen.parts > 1:
        part = sample.Sample(FORMAT_TOUCHED_PARTS, chosen.turn)
        touched = {f for f in touched if part.takes(f)}
    return [f for f in files if f in touched or chosen.takes(f)]


def rule_format(tree):
    """clang-format-16 has nothing to say; scripts/check asks it about the files of the change, and a twentieth of the others."""
    files = tree.code()
    if os.environ.get("TRIMTAB_SAMPLE_TURN"):
        files = format_part(files, touched_by_change(tree.root), sample.from_env(ci=FORMAT_PARTS, quick=FORMAT_PARTS))
    if not files:
        return []
    bad = []
    for i in range(0, len(files), 50):
        try:
            run = subprocess.run(["clang-format-16", "--style=file", "--dry-run"] + files[i:i + 50], cwd=tree.root,
                                 capture_output=True, text=True)
        except FileNotFoundError:
            return ["clang-format-16 is not installed (scripts/check installs it)"]
        seen = set()
        for line in run.stderr.split("\n"):
            m = re.match(r"([^:]+):(\d+):\d+: (?:warning|error): code should be clang-formatted", line)
            if m and m.group(1) not in seen:
                seen.add(m.group(1))
                bad.append("%s:%s: not formatted; run clang-format-16 -i" % m.groups())
    return bad


def rule_banned(tree):
    """Functions that overflow, hide state, or wait for a fixed time are not called."""
    bad = []
    for f in tree.code():
        bare = tree.bare(f)
        for m in BANNED.finditer(bare):
            if bare[max(0, m.start() - 2):m.start()].endswith((".", "->")):
                continue
            bad.append("%s:%d: %s() is banned" % (f, line_of(bare, m.start()), m.group(1)))
    return bad


def rule_prefix(tree):
    """A code is not taken from err_prefix(): it does not know it where a caller passed no struct err."""
    bad = []
    for f in tree.code():
        if not f.startswith(("common/base/err", "tests/unit/base/")):
            bare = tree.bare(f)
            for m in re.finditer(r"(?:return|=|\?|:)\s*err_prefix\s*\(", bare):
                bad.append("%s:%d: return the code itself" % (f, line_of(bare, m.start())))
    return bad


def rule_meson(tree):
    """Every .c file is named in the meson.build of its folder or of one above it."""
    bad = []
    for f in tree.code():
        if not f.endswith(".c") or f.startswith(("examples/", "tests/abi/", "tests/lint/")):
            continue
        folder = os.path.dirname(f)
        found = False
        while True:
            build = os.path.join(folder, "meson.build") if folder else "meson.build"
            if build in tree.files:
                rel = os.path.relpath(f, folder or ".")
                text = tree.text(build)
                names = {rel, rel[:-2], os.path.basename(f)[:-2], os.path.basename(f)[:-2].removeprefix("test_"),
                         os.path.basename(f)[:-2].removeprefix("test_").replace("_", "-")}
                if any(re.search(r"(?<![\w/])%s(?![\w])" % re.escape(n), text) for n in names):
                    found = True
                    break
            if not folder:
                break
            folder = os.path.dirname(folder)
        if not found:
            bad.append("%s: named in no meson.build" % f)
    return bad


def rule_opening(tree):
    """The SPDX line first, then a comment that says what the file owns; no // comments."""
    bad = []
    for f in tree.code():
        text = tree.text(f)
        lines = text.split("\n")
        if lines[0] != "/* SPDX-License-Identifier: Apache-2.0 */":
            bad.append("%s:1: the SPDX line is missing" % f)
            continue
        m = re.match(r"[^\n]*\n(?:[ \t]*\n)*/\*(.*?)\*/", text, re.S)
        if not m:
            bad.append("%s:2: no opening comment" % f)
        for k in re.finditer(r"//", re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', lambda x: re.sub(r"[^\n]", " ", x.group(0)),
                                           text, flags=re.S)):
            bad.append("%s:%d: // comment" % (f, line_of(text, k.start())))
    return bad


def rule_state(tree):
    """No mutable state at file scope (log limits excepted)."""
    bad = []
    for f in tree.code("common/", "controller/", "providers/", "sim/"):
        if f in ("controller/process/app.c", "common/base/log.c", "controller/base/guard.c",  # a signal handler gets no argument
                 "common/base/task.c"):  # a thread knows which of its tasks runs
            continue
        bare = tree.bare(f)
        for m in re.finditer(r"^(?:static )?(?!typedef|extern|return|struct \w+ \{|enum|union|_Static_assert|static_assert)"
                             r"[A-Za-z_][\w \t\*]*?[\s\*]\w+(?:\[[^\]]*\])*\s*(?:=[^;]*)?;", bare, re.M):
            head = m.group(0).split("=")[0].rstrip(";")
            if "(" in head or re.search(r"\*\s*const\s+\w+", head):
                continue
            if re.search(r"\bconst\b", head) and not re.search(r"\bconst\b[^*]*\*\s*\w+(\[[^\]]*\])*\s*$", head):
                continue
            if re.match(r"static const [\w ]*\*\s*\w+\[", head) or "struct log_limit" in head:
                continue
            if re.match(r"(?:static )?(?:struct|enum|union) \w+;$", m.group(0)):
                continue
            bad.append("%s:%d: mutable state at file scope: %s" % (f, line_of(bare, m.start()), head.strip()[:60]))
    return bad


def rule_marks(tree):
    """No promises of work, no paths of one machine, nothing that a merge left."""
    bad = []
    for f in tree.files:
        if f.startswith(("tests/data/", "tests/golden/", "tests/fuzz/corpus/", "tests/lint/", "LICENSE")):
            continue
        if not f.endswith((".c", ".h", ".py", ".sh", ".md", ".build", ".txt", ".yaml", ".yml", ".in")) and not f.startswith(
                ("scripts/", ".ci/")):
            continue
        text = tree.text(f)
        for m in MARKS.finditer(text):
            bad.append("%s:%d: %s" % (f, line_of(text, m.start()), m.group(0)))
        for m in PLACES.finditer(text):
            bad.append("%s:%d: a path of one machine: %s" % (f, line_of(text, m.start()), m.group(0)))
        for m in CONFLICTS.finditer(text):
            bad.append("%s:%d: a merge left %s" % (f, line_of(text, m.start()), m.group(0)))
    return bad


def headings(text):
    """[(place, words)] of a Markdown text; code blocks have none."""
    return [(m.start(), m.group(1)) for m in HEADING.finditer(text) if m.group(1)]


def slug(words):
    """The anchor of a heading, as GitHub and GitLab make it."""
    return re.sub(r"[^\w -]", "", words.strip().lower()).replace(" ", "-")


def rule_headings(tree):
    """Headings of our documents are noun phrases, and links to them lead somewhere.  docs/spec keeps the words of its sources."""
    bad = []
    pages = {f: tree.text(f) for f in tree.files if f.endswith(".md") and not f.startswith(("docs/spec/", "docs/adr/", "tests/data/"))}
    anchors = {f: {slug(words) for _, words in headings(text)} for f, text in pages.items()}
    for f, text in pages.items():
        for place, words in headings(text):
            if QUESTION.match(words):
                bad.append("%s:%d: the heading is a question: %s" % (f, line_of(text, place), words))
        for m in ANCHOR.finditer(text):
            target = os.path.normpath(os.path.join(os.path.dirname(f), m.group(1))) if m.group(1) else f
            if target in anchors and m.group(2) not in anchors[target]:
                bad.append("%s:%d: no heading for #%s" % (f, line_of(text, m.start()), m.group(2)))
    return bad


def rule_abi(tree):
    """The installed headers compile as strict C99 and as C++."""
    headers = [f for f in tree.files if f.startswith("common/include/trimtab/") and f.endswith(".h")]
    bad = []
    for h in headers:
        source = '#include <trimtab/%s>\nint unused_value;\n' % os.path.basename(h)
        for compiler, args in (("gcc", ["-x", "c", "-std=c99", "-pedantic"]), ("g++", ["-x", "c++", "-std=c++11", "-pedantic"])):
            run = subprocess.run([compiler] + args + ["-Wall", "-Wextra", "-Werror", "-I", os.path.join(tree.root, "common/include"),
                                                      "-fsyntax-only", "-"], input=source, capture_output=True, text=True)
            if run.returncode != 0:
                bad.append("%s: does not compile as %s: %s" % (h, args[2], run.stderr.strip().split("\n")[0]))
    return bad


RULES = {name[5:]: fn for name, fn in sorted(globals().items()) if name.startswith("rule_")}


def main(argv):
    tree = Tree(argv[1])
    names = argv[2:] or list(RULES)
    report = tap.Report(len(names))
    for name in names:
        report.check("%s: %s" % (name, RULES[name].__doc__.strip().split("\n")[0]), RULES[name](tree))
    return report.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
