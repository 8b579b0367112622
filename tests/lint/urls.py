"""The rule that URLs and paths of resources are put together by common/net/url_build.h alone.

A name that is printed between two slashes, or behind "?x=", may bring slashes and question marks of its own.  The rule reads
the format of every call that prints into memory, and refuses one that looks like a URL, a path or a query.
"""
import re

PRINTERS = re.compile(r"\b(arena_printf|xasprintf|asprintf|snprintf|str_appendf)\s*\(")
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
CONVERSION = r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]"
# "…/word/%s", "word/%s", "%s/word/…", "%s/word" at the end; "://" beside a conversion; "?word=", "&word=".
SHAPES = (
    (re.compile(r"(?:^|/)[A-Za-z$][\w.$-]*/" + CONVERSION), "a path"),
    (re.compile(CONVERSION + r"/[A-Za-z$][\w$-]*(?:/|$)"), "a path"),
    (re.compile(r"^/" + CONVERSION), "a path"),
    (re.compile(r"://" + CONVERSION + "|" + CONVERSION + r"://"), "a URL"),
    (re.compile(r"[?&][\w.$-]+="), "a query"),
)
PAIR = re.compile(CONVERSION + "/" + CONVERSION)
BY_HAND = re.compile(r"\b(url_append_path_escaped|url_append_query_escaped|url_append_param)\s*\(")
ASSIGNED = re.compile(r"\burl\s*=\s*(?:arena_printf|xasprintf)\s*\(")
QUERY_TEXT = re.compile(r"^[?&][\w.$-]+=")
# Texts that look like a path and are none.
NO_PATHS = {
    "controller/host/host_kube.c": ["%s/%s"],  # a resource as roles name it: "services/status"
    "controller/kube/client/config.c": ["%s/%s"],  # a file of a folder
    "controller/metrics/metrics_process.c": ["linux/%.60s"],  # a version
    "controller/host/service_patch.c": ["%s/%s"],  # a Service's key, as the next one
    "providers/azure/model/azure_names.c": ["%s/%s"],
    "providers/azure/azure_provider.c": ["trimtab/%s"],  # a user agent, as the next but one
    "providers/gce/api/gce_auth_adc.c": ["%s/%s"],  # a file of the home folder
    "providers/gce/ops/gce_ops.c": ["/addresses/%s'"],  # looked for in a message of the cloud
    "providers/gce/gce_provider.c": ["trimtab/%s"],
    "providers/local/kernel/lock.c": ["/proc/%d/stat"],  # a file of the kernel
    "providers/gce/cache/gce_snapshot.c": ["/httpHealthChecks/%s\\\""],  # looked for in a document
}


def strip_comments_only(text):
    """Blanks comments; keeps strings and line numbers."""
    return re.sub(r'/\*.*?\*/|("(?:\\.|[^"\\\n])*")', lambda m: m.group(1) or re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)


def call_at(text, start):
    """The text of a call from its opening parenthesis to the closing one."""
    depth = 0
    i = start
    while i < len(text):
        m = LITERAL.match(text, i)
        if m:
            i = m.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        i += 1
        if depth == 0:
            break
    return text[start:i]


def format_of(call):
    """The first run of string literals of a call; a macro between them counts as one character that is no blank."""
    m = LITERAL.search(call)
    if not m:
        return ""
    out = ""
    for part in re.finditer(r'"((?:\\.|[^"\\\n])*)"|([A-Z_][A-Z0-9_]*)|(\s+)|(.)', call[m.start():], re.S):
        if part.group(1) is not None:
            out += part.group(1)
        elif part.group(2):
            out += "\x01"
        elif part.group(4):
            break
    return out


def shape_of(fmt, builds_urls):
    if re.search(r"\s|\\n", fmt.replace("% ", "")):
        return None
    for pattern, what in SHAPES:
        if pattern.search(fmt):
            return what
    return "a path" if builds_urls and PAIR.search(fmt) else None


def offences(path, text):
    bare = strip_comments_only(text)
    bad = []

    def add(pos, what):
        bad.append("%s:%d: %s; use common/net/url_build.h" % (path, bare.count("\n", 0, pos) + 1, what))

    builds_urls = '"common/net/url_build.h"' in bare or '"common/net/http.h"' in bare
    for m in PRINTERS.finditer(bare):
        fmt = format_of(call_at(bare, m.end() - 1))
        what = shape_of(fmt, builds_urls)
        if what is not None and fmt not in NO_PATHS.get(path, ()):
            add(m.start(), '%s prints %s: "%s"' % (m.group(1), what, fmt))
    for m in ASSIGNED.finditer(bare):
        add(m.start(), "a URL is printed")
    for m in BY_HAND.finditer(bare):
        add(m.start(), "%s() outside common/net" % m.group(1))
    for m in LITERAL.finditer(bare):
        if QUERY_TEXT.search(m.group(1)):
            add(m.start(), 'a query is written by hand: "%s"' % m.group(1))
    return bad


def rule_urls(tree):
    """URLs, paths of resources and queries are built by common/net/url_build.h, not printed."""
    bad = []
    for f in tree.code("common/", "controller/", "providers/"):
        if not f.startswith("common/net/"):
            bad += offences(f, tree.text(f))
    return bad
