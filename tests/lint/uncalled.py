"""External functions of the product that the product does not call.

A function that a header declares must be named somewhere in common/, controller/, providers/ or sim/ beside its
declaration and its definition; tests count for nothing.  UNCALLED names those that are left: some are questions that
trimtab-eval or a page of the documentation asks, the others go.  The list may only shrink.
"""
import collections
import re

UNCALLED = set("""
app_is_idle app_next_due_ms gce_l4_subnet_neg_name keep_used local_holder_must_list queue_wait_idle
""".split())
PRODUCT = ("common/", "controller/", "providers/", "sim/")
# A word that may be a function: no tag ("struct x") and no member (".x", "->x").
WORD = re.compile(r"(?<![\w.])(?<!->)(?<!struct )(?<!enum )(?<!union )[a-z_]\w*\b")
# A declaration or a definition begins in the first column; a name in capitals may follow it (attributes).
OUTER = re.compile(r"^(?!static|typedef|return|else)[A-Za-z_][\w \t*]*?[ \t*]([a-z_]\w*)\(", re.M)


def rule_uncalled(tree):
    """A function of a header has a caller in the product; known ones without may only become fewer."""
    named, outer, declared = collections.Counter(), collections.Counter(), {}
    for f in tree.code(*PRODUCT):
        if f.startswith("common/include/"):
            continue
        text = tree.bare(f)
        named.update(WORD.findall(text))
        names = OUTER.findall(text)
        outer.update(names)
        if f.endswith(".h"):
            for name in names:
                declared.setdefault(name, f)
    idle = {name for name in declared if named[name] <= outer[name]}
    bad = ["%s: nothing in the product calls %s()" % (declared[n], n) for n in sorted(idle - UNCALLED)]
    if "providers/builtin.h" in tree.files:
        bad += ["tests/lint/uncalled.py: %s is called or gone: take it out of UNCALLED" % n for n in sorted(UNCALLED - idle)]
    return bad
