#!/usr/bin/env python3
"""Feeds every rule of lint.py an offence, and a clean neighbour that it must leave alone (TAP)."""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lint  # noqa: E402
import sample  # noqa: E402  lint.py put their folder on the path
import tap  # noqa: E402

HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n/* A file of a test. */\n"
FUNC = "int f(void)\n{\n%s    return 0;\n}\n"


def include(path):
    return HEAD + '#include "%s"\n' % path


# rule, name, {path: text}, text that an offence must contain (None: no offence)
CASES = [
    ("arrows", "a provider that includes another", {"providers/gce/a.c": include("providers/azure/b.h")}, "may not include"),
    ("arrows", "common that includes the controller", {"common/lb/a.c": include("controller/queue/queue.h")}, "may not include"),
    ("arrows", "base that includes net", {"common/base/a.c": include("common/net/http.h")}, "may not include"),
    ("arrows", "the simulator with provider rules", {"sim/a.c": include("common/lb/plan.h")}, "may not include"),
    ("arrows", "the controller with a provider", {"controller/a.c": include("providers/gce/model/gce_names.h")}, "may not include"),
    ("arrows", "an include without its path", {"sim/a.c": include("b.h")}, "by its path"),
    ("arrows", "the drawn arrows", {"providers/gce/a.c": include("common/lb/plan.h"), "sim/b.c": include("common/net/http.h"),
                                    "controller/c.c": include("providers/builtin.h")}, None),
    ("rooms", "a room that includes one above it", {"providers/gce/model/a.h": include("providers/gce/api/b.h")}, "includes upward"),
    ("rooms", "a room that includes its folder", {"providers/gce/ops/a.c": include("providers/gce/b.h")}, "includes upward"),
    ("rooms", "a room inside a room", {"controller/kube/store/a.c": include("controller/sync/b.h")}, "includes upward"),
    ("rooms", "a room that nobody drew", {"controller/attic/a.c": HEAD}, "a room that controller does not have"),
    ("rooms", "rooms below, and a folder's own files", {"providers/gce/ops/a.c": include("providers/gce/api/b.h"),
                                                         "providers/gce/c.c": include("providers/gce/backend/d.h")}, None),
    ("crowds", "too many files", {"sim/x/f%d.c" % i: HEAD for i in range(41)}, "41 .c files"),
    ("crowds", "many tests", {"tests/x/f%d.c" % i: HEAD for i in range(41)}, None),
    ("uncalled", "a function for tests alone", {"sim/a.h": HEAD + "int idle(void);\n", "sim/a.c": HEAD + "int idle(void)\n{\n    return 0;\n}\n",
                                               "tests/t.c": HEAD + "int t(void)\n{\n    return idle();\n}\n"}, "nothing in the product calls idle()"),
    ("uncalled", "a function with the name of a struct", {
        "sim/a.h": HEAD + "struct pass;\nstruct pass pass(void);\n", "sim/a.c": HEAD + "struct pass pass(void)\n{\n    return (struct pass){0};\n}\n"},
     "nothing in the product calls pass()"),
    ("uncalled", "a function with the name of a member", {
        "sim/a.h": HEAD + "int rest(void);\n", "sim/a.c": HEAD + "int rest(void)\n{\n    return x->rest + y.rest;\n}\n"},
     "nothing in the product calls rest()"),
    ("uncalled", "a function that a macro makes", {
        "sim/a.h": HEAD + "int rest(void);\n", "sim/a.c": HEAD + "MAKE_IT(rest, x)\n"}, "nothing in the product calls rest()"),
    ("named", "a test that has gone", {"docs/a.md": "It holds (`x__gone__told`).\n", "tests/t.c": HEAD + "int x__here__told;\n"}, "no test x__gone__told"),
    ("named", "a file of tests that has gone", {"docs/a.md": "`tests/t.c` shows it.\n"}, "no test tests/t.c"),
    ("named", "tests that are there", {"docs/a.md": "`x__here__told`, `x__*` of `tests/t.c`\n", "tests/t.c": HEAD + "int x__here__told;\n"}, None),
    ("judge", "an oracle behind trimtab-eval", {"tests/eval/a.c": include("tests/upstream/health.h")}, "may answer for the product"),
    ("judge", "its own header", {"tests/eval/a.c": include("tests/eval/eval.h")}, None),
    ("uncalled", "a function with a caller", {"sim/a.h": HEAD + "int busy(void);\n", "sim/a.c": HEAD + "int busy(void)\n{\n    return 0;\n}\n",
                                             "sim/b.c": HEAD + "static int b(void)\n{\n    return busy();\n}\n"}, None),
    ("comments", "a reader who is told", {"sim/a.c": HEAD + "/* The owner is\n * told. */\nint x_value(void);\n"}, "say who returns"),
    ("comments", "an event that reports", {"sim/a.c": HEAD + "/* An event reports it. */\nint x_value(void);\n"}, None),
    ("comments", "a person for a program", {"sim/a.c": HEAD + "/* Kept until somebody asks. */\nint x_value(void);\n"}, "that acts"),
    ("comments", "a person in a quoted text", {"sim/a.c": HEAD + "/* The text \"serves nobody\". */\nint x_value(void);\n"}, None),
    ("scripts", "a docstring that opens with What", {"tests/x.py": "def f():\n    \"\"\"What it is.\"\"\"\n"}, "name the subject"),
    ("scripts", "a module's docstring that opens with Who", {"tests/x.py": "\"\"\"Who it is.\"\"\"\n"}, "name the subject"),
    ("scripts", "a comment of a build file", {"tests/meson.build": "# What it is.\nx = 1\n"}, "name the subject"),
    ("scripts", "subjects", {"tests/x.py": "\"\"\"Whatsoever.\"\"\"\n\n\ndef f():\n    \"\"\"The answer.\"\"\"\n    # A line that says\n    # What goes on.\n"},
     None),
    ("purity", "a planner that sends", {"providers/gce/x_plan.c": HEAD + FUNC % "    http_do(1);\n"}, "calls http_do"),
    ("purity", "rules that look at the clock", {"common/lb/x_rules.c": include("common/base/clock.h")}, "includes"),
    ("purity", "names that read the environment", {"providers/gce/x_names.c": HEAD + FUNC % "    getenv(\"A\");\n"}, "calls getenv"),
    ("purity", "an api file that sends", {"providers/gce/x_api.c": HEAD + FUNC % "    http_do(1);\n"}, None),
    ("size", "a file of 701 lines", {"sim/a.c": HEAD + "\n" * 699}, "700 is the most"),
    ("size", "a function of 81 lines", {"sim/a.c": HEAD + FUNC % ("    ;\n" * 77)}, "80 is the most"),
    ("size", "nine parameters", {"sim/a.c": HEAD + "int f(int a, int b, int c, int d, int e, int g, int h, int i, int j)\n{\n}\n"}, "parameters"),
    ("size", "a function of 80 lines", {"sim/a.c": HEAD + FUNC % ("    ;\n" * 76)}, None),
    ("format", "two blanks too many", {"sim/a.c": HEAD + "int   x_value(void);\n"}, "not formatted"),
    ("format", "formatted code", {"sim/a.c": HEAD + "int x_value(void);\n"}, None),
    ("meson", "a file that no meson.build names", {"sim/a.c": HEAD, "sim/meson.build": "files('b.c')\n"}, "no meson.build"),
    ("meson", "a file that one names", {"sim/a.c": HEAD, "sim/meson.build": "files('a.c')\n"}, None),
    ("opening", "no SPDX line", {"sim/a.c": "/* A file. */\n"}, "SPDX"),
    ("opening", "no opening comment", {"sim/a.c": "/* SPDX-License-Identifier: Apache-2.0 */\nint x;\n"}, "opening"),
    ("opening", "a // comment", {"sim/a.c": HEAD + "int x; // what\n"}, "// comment"),
    ("opening", "// inside a string", {"sim/a.c": HEAD + 'const char *x = "http://y";\n'}, None),
    ("state", "a static counter", {"sim/a.c": HEAD + "static int calls;\n"}, "mutable state"),
    ("state", "a static pointer to const", {"sim/a.c": HEAD + "static const char *last;\n"}, "mutable state"),
    ("state", "a constant table", {"sim/a.c": HEAD + "static const int table[] = {1, 2};\n"}, None),
    ("prefix", "the code of a layer", {"sim/a.c": HEAD + FUNC % '    return err_prefix(err, "x");\n'}, "the code itself"),
    ("prefix", "one of two codes", {"sim/a.c": HEAD + FUNC % '    return rc == 0 ? 0 : err_prefix(err, "x");\n'}, "the code itself"),
    ("prefix", "only the text", {"sim/a.c": HEAD + FUNC % '    (void)err_prefix(err, "x");\n'}, None),
    ("urls", "a printed path", {"providers/azure/a.c": HEAD + FUNC % '    id = arena_printf(a, "/subscriptions/%s/x", s);\n'}, "a path"),
    ("urls", "a printed path on two lines", {"providers/gce/a.c": HEAD + FUNC % (
        '    id = arena_printf(a,\n        "projects/%s"\n        "/regions/%s", p, r);\n')}, "a path"),
    ("urls", "a path from two names", {"providers/gce/a.c": include("common/net/url_build.h") + FUNC % (
        '    p = arena_printf(a, "%s/%s", place, name);\n')}, "a path"),
    ("urls", "a printed URL", {"controller/a.c": HEAD + FUNC % '    x = arena_printf(a, "https://%s", host);\n'}, "a URL"),
    ("urls", "a macro in a path", {"controller/a.c": HEAD + FUNC % '    str_appendf(&b, "%s" ROOT "/roles/%s", s, r);\n'}, "a path"),
    ("urls", "a printed query", {"providers/aws/a.c": HEAD + FUNC % '    str_appendf(&b, "?$expand=%s", x);\n'}, "a query"),
    ("urls", "a query by hand", {"providers/aws/a.c": HEAD + FUNC % '    str_append(&b, "&service=");\n'}, "by hand"),
    ("urls", "a URL glued together", {"providers/aws/a.c": HEAD + FUNC % '    r.url = arena_printf(a, "%s%s", base, path);\n'}, "printed"),
    ("urls", "escaping by hand", {"controller/a.c": HEAD + FUNC % "    url_append_path_escaped(&b, name);\n"}, "outside common/net"),
    ("urls", "keys, messages, comments and files", {"controller/a.c": HEAD + "/* \"/api/%s\" */\n" + FUNC % (
        '    k = arena_printf(a, "%s/%s", ns, name);\n    e = err_set(err, 1, "GET /x/%s", n);\n'
        '    m = arena_printf(a, "see %s://%s/path/%s for more", p, q, r);\n    f = arena_printf(a, "%s/.aws/config", home);\n')}, None),
    ("urls", "the builder itself", {"common/net/url_build.c": HEAD + FUNC % '    str_appendf(b, "/x/%s", s);\n'}, None),
    ("headings", "a question", {"docs/a.md": "# What is it\n"}, "is a question"),
    ("headings", "a link that leads nowhere", {"docs/a.md": "# It\n[x](#that)\n"}, "no heading for #that"),
    ("headings", "a link to another page that leads nowhere", {"docs/p/a.md": "[x](../b.md#that)\n", "docs/b.md": "# It\n"}, "no heading"),
    ("headings", "headings, links, and a comment of a shell",
     {"docs/a.md": "# It\n## It's this, then\n[x](#its-this-then)\n```\n# What a shell says\n```\n"}, None),
    ("comments", "a comment of 101 columns", {"sim/a.c": HEAD + "/* " + "x" * 98 + " */\n"}, "a comment of 104 columns"),
    ("comments", "a wide comment behind code", {"sim/a.c": HEAD + "int f(void); /* %s */\n" % ("x" * 90)}, "columns"),
    ("comments", "a question as an opening", {"sim/a.c": HEAD + "/* What a call costs. */\n"}, "name the subject"),
    ("comments", "a person as an opening", {"sim/a.c": HEAD + "int f(void); /* Whoever calls it */\n"}, "name the subject"),
    ("comments", "a subject, a wide string",
     {"sim/a.c": HEAD + '/* The cost of a call.  What it holds is borrowed. */\nconst char *const t =\n    "%s";\n' % ("x" * 120)}, None),
    ("pages", "a line of 161 columns", {"docs/a.md": "# It\n" + "x " * 80 + "x\n"}, "a line of 161 columns"),
    ("pages", "a paragraph of six lines", {"docs/a.md": "# It\n" + "some words\n" * 6}, "a paragraph of 6 lines"),
    ("pages", "an item of six lines", {"docs/a.md": "# It\n- one\n- some words\n" + "  and more\n" * 5}, "docs/a.md:3: a paragraph of 6"),
    ("pages", "tables, code and a list",
     {"docs/a.md": "# It\n| " + "x " * 90 + "|\n```\n" + "x " * 90 + "\n\n\n```\n" + "- item\n" * 9}, None),
    ("words", "a person without a name", {"docs/a.md": "# It\nWhoever calls it waits.\n"}, "Whoever: name the actor"),
    ("words", "words of a program", {"docs/a.md": "# It\n`nobody` is a user.\n```\nnobody waits\n```\n"}, None),
    ("marks", "a promise", {"sim/a.c": HEAD + "/* TO" "DO: later */\n"}, "TO" "DO"),
    ("marks", "a conflict of a merge", {"docs/a.md": "<" * 7 + " HEAD\none\n" + "=" * 7 + "\n" + ">" * 7 + " x\n"}, "a merge left <<<<<<<"),
    ("marks", "a path of one machine", {"docs/a.md": "see /ro" "ot/x\n"}, "a path of one machine"),
    ("abi", "a header with a GNU extension", {"common/include/trimtab/types.h": "typedef int t[0];\n"}, "does not compile"),
    ("abi", "a plain header", {"common/include/trimtab/types.h": "int tt_x(void);\n"}, None),
] + [("banned", "a call of %s" % name, {"sim/a.c": HEAD + FUNC % ("    %s(x);\n" % name)}, "is banned") for name in (
    "strcpy", "strcat", "sprintf", "vsprintf", "strtok", "atoi", "atol", "gets", "system", "popen", "rand", "alloca",
    "localtime", "gmtime", "usleep", "sleep")] + [
    ("banned", "a name in a comment", {"sim/a.c": HEAD + "/* strcpy(a) would overflow */\n"}, None)]


def run_case(rule, files, want):
    root = tempfile.mkdtemp(prefix="lint-")
    try:
        top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".clang-format")
        shutil.copy(top, os.path.join(root, ".clang-format"))
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        found = lint.RULES[rule](lint.Tree(root))
    finally:
        shutil.rmtree(root)
    if want is None:
        return found == [], found
    return any(want in o for o in found), found


def format_parts():
    """Offences of format_part(): any 20 turns ask about every file, each turn about what the change touches, or a fourth of it where that is very much."""
    files, bad = [f"sim/{i}.c" for i in range(200)], []
    asked = [lint.format_part(files, ["sim/7.c", "README.md"], sample.Sample(lint.FORMAT_PARTS, turn)) for turn in range(804, 824)]
    if set().union(*asked) != set(files):
        bad.append("a file was never asked about")
    if not all("sim/7.c" in part for part in asked):
        bad.append("a file of the change was left out")
    if max(len(part) for part in asked) > len(files) / 5:
        bad.append(f"parts of {[len(part) for part in asked]} files")
    many = [f"sim/{i}.c" for i in range(lint.FORMAT_TOUCHED_MAX + 100)]
    asked = [lint.format_part(many, many, sample.Sample(lint.FORMAT_PARTS, turn)) for turn in range(804, 824)]
    if any(set().union(*asked[i:i + lint.FORMAT_TOUCHED_PARTS]) != set(many) for i in range(0, 20, lint.FORMAT_TOUCHED_PARTS)):
        bad.append("a file of a large change was not asked about soon")
    if max(len(part) for part in asked) > len(many) / 2:
        bad.append(f"parts of a large change have {[len(part) for part in asked]} files")
    if lint.format_part(many, many, sample.Sample(1, 804)) != many:
        bad.append("not all files of a large change with TRIMTAB_SAMPLE=all")
    bad += [f"{touched}: not all files" for touched in (None, [".clang-format"])
            if lint.format_part(files, touched, sample.Sample(lint.FORMAT_PARTS, 1)) != files]
    return bad


def main():
    untested = set(lint.RULES) - {c[0] for c in CASES}
    report = tap.Report(len(CASES) + 2)
    for rule, name, files, want in CASES:
        ok, found = run_case(rule, files, want)
        report.check("%s: %s" % (rule, name), "" if ok else "found %r, wanted %r" % (found, want))
    report.check("format: 20 turns in a row ask about every file", format_parts())
    report.check("every rule is fed an offence", sorted(untested))
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
