"""External functions of the product that the product does not call.

A function that a header declares must be named somewhere in common/, controller/, providers/ or sim/ beside its
declaration and its definition; tests count for nothing.  There are no exceptions: a question that only tests ask
is test code, and the judge (trimtab-eval) asks what the product asks.
"""
import collections
import re

PRODUCT = ("common/", "controller/", "providers/", "sim/")
# A word that may be a function: no tag ("struct x") and no member (".x", "->x").
WORD = re.compile(r"(?<![\w.])(?<!->)(?<!struct )(?<!enum )(?<!union )[a-z_]\w*\b")
# A declaration or a definition begins in the first column; a name in capitals may follow it (attributes).
OUTER = re.compile(r"^(?!static|typedef|return|else)[A-Za-z_][\w \t*]*?[ \t*]([a-z_]\w*)\(", re.M)
# A macro in the first column makes a function of that name: MAKE_DECODER(thing_decode, thing).
MADE = re.compile(r"^[A-Z][A-Z0-9_]+\(([a-z_]\w*)", re.M)
# The judge may use test code that states premises or texts, and none that answers.
JUDGE = "tests/eval/"
PREMISES = {"tests/support/azure_config_text.h", "tests/support/bucket_owner.h", "tests/support/gce_decode.h"}
INCLUDED = re.compile(r'^#include "(tests/[^"]+)"', re.M)


def rule_uncalled(tree):
    """A function of a header has a caller in the product."""
    named, outer, declared = collections.Counter(), collections.Counter(), {}
    for f in tree.code(*PRODUCT):
        if f.startswith("common/include/"):
            continue
        text = tree.bare(f)
        named.update(WORD.findall(text))
        names = OUTER.findall(text)
        outer.update(names + MADE.findall(text))
        if f.endswith(".h"):
            for name in names:
                declared.setdefault(name, f)
    return ["%s: nothing in the product calls %s()" % (declared[n], n) for n in sorted(declared) if named[n] <= outer[n]]


def rule_judge(tree):
    """trimtab-eval asks the product: of test code it includes its own, and what states premises."""
    return ["%s: includes %s, so that test code may answer for the product" % (f, name)
            for f in tree.code(JUDGE) for name in INCLUDED.findall(tree.text(f))
            if not name.startswith(JUDGE) and name not in PREMISES]
