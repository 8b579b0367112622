"""Plain technical English, as far as a machine can hold it: widths, openings of comments, words without a referent.

UNREAD lists the files whose comments wait for a first reading.  The list may only shrink.
"""
import ast
import os
import re

WIDTH = 100  # columns of a comment
PAGE_WIDTH = 160  # columns of a page; tables, code and links that stand alone are free
PARAGRAPH = 5  # lines
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
OPENING = re.compile(r"/\*+\s*(?:[\w.]+\.[ch]: )?(What|Whatever|Who|Whose|Whoever)\b")
TOLD = re.compile(r"\b(?:is|are|was|were|be|been|being)\s+(?:only |not |also |still |then |once |again |already )*told\b")
SCRIPT_OPENING = re.compile(r"(What|Whatever|Who|Whose|Whoever)\b")
VAGUE = re.compile(r"\b(whoever|somebody|nobody|anybody|everybody|none of ours|so many)\b", re.I)
PERSONS = re.compile(r"\b(whoever|whom|somebody|someone|nobody|anybody|anyone|everybody|everyone)\b", re.I)
QUOTED = re.compile(r'"[^"\n]*"|`[^`\n]*`')
WHOLE = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)")  # code and links are not broken
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
GENERATED = re.compile(r"<!-- (\w+): (?:printed|begin).*?<!-- \1: end -->", re.S)
# Pages that quote others, decisions as they were taken, and data with its sources.
QUOTING = ("docs/spec/", "docs/adr/0", "tests/data/", "tests/golden/", "tests/fuzz/corpus/")

# Files whose comments are not read yet.
UNREAD = ()


def spaces(match):
    """The match as blanks; newlines stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


def line_of(text, pos):
    return text.count("\n", 0, pos) + 1


def comments(text):
    """(place, comment) of each comment of a C file."""
    return [(m.start(), m.group(0)) for m in NOT_CODE.finditer(text) if m.group(0).startswith("/*")]


def rule_comments(tree):
    """Comments fit 100 columns, open with their subject (not with What, Who, Whose, Whoever), and name the actor ("is told" and "somebody" name none)."""
    bad = []
    for f in tree.code():
        if f.startswith(UNREAD):
            continue
        text = tree.text(f)
        for place, comment in comments(text):
            if OPENING.match(comment):
                bad.append("%s:%d: name the subject: %s" % (f, line_of(text, place), comment.split("\n")[0][:70]))
            if TOLD.search(re.sub(r"\s*\n\s*\*?\s*", " ", comment)):
                bad.append("%s:%d: say who returns, logs or reports it, not that it is told" % (f, line_of(text, place)))
            person = PERSONS.search(QUOTED.sub("", comment))
            if person:
                bad.append("%s:%d: %s: name the client, Service, node or program that acts" % (f, line_of(text, place), person.group(0)))
            start = text.rfind("\n", 0, place) + 1
            end = place + len(comment)
            for n, line in enumerate(text[start:end].split("\n")):
                if len(line) > WIDTH:
                    bad.append("%s:%d: a comment of %d columns" % (f, line_of(text, start) + n, len(line)))
    return bad


def docstrings(text):
    """(line, docstring) of a Python module, its classes and functions."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [(node.body[0].lineno, ast.get_docstring(node)) for node in ast.walk(ast.parse(text)) if isinstance(node, kinds) and node.body]
    return [(line, doc) for line, doc in found if doc]


def rule_scripts(tree):
    """Docstrings and comments of scripts and build files open with their subject, too."""
    bad = []
    for f in tree.files:
        if f.endswith(".py"):
            try:
                bad += ["%s:%d: name the subject: %s" % (f, line, doc.split("\n")[0][:70]) for line, doc in docstrings(tree.text(f))
                        if SCRIPT_OPENING.match(doc)]
            except SyntaxError as e:
                bad.append("%s: %s" % (f, e))
        if f.endswith((".py", ".sh", "meson.build", "meson_options.txt")):
            after = ""
            for n, line in enumerate(tree.text(f).split("\n"), 1):
                bare = line.strip()
                if bare.startswith("#") and not after.startswith("#") and SCRIPT_OPENING.match(bare.lstrip("# ")):
                    bad.append("%s:%d: name the subject: %s" % (f, n, bare[:70]))
                after = bare
    return bad


def blocks(text):
    """(first line, lines) of each paragraph and list item of a page; tables, code and headings have none."""
    out, block, first, code = [], [], 0, False
    for n, line in enumerate(text.split("\n") + [""], 1):
        bare = line.lstrip("> ")
        fence = bare.startswith("```")
        if fence or code or not bare.strip() or bare.startswith(("|", "#", "<!--")):
            if block:
                out.append((first, block))
            block = []
            code ^= fence
            continue
        if block and ITEM.match(line):
            out.append((first, block))
            block = []
        if not block:
            first = n
        block.append(line)
    return out


def rule_pages(tree):
    """Pages have lines of 160 columns and paragraphs of five lines at most."""
    bad = []
    for f in tree.files:
        if not f.endswith(".md") or f.startswith(QUOTING + UNREAD):
            continue
        for first, lines in blocks(tree.text(f)):
            for n, line in enumerate(lines):
                if len(line) > PAGE_WIDTH and " " in WHOLE.sub("x", line.strip()):
                    bad.append("%s:%d: a line of %d columns" % (f, first + n, len(line)))
            if len(lines) > PARAGRAPH:
                bad.append("%s:%d: a paragraph of %d lines" % (f, first, len(lines)))
    return bad


def rule_words(tree):
    """Pages name who acts: no whoever, somebody, nobody."""
    bad = []
    for f in tree.files:
        if not f.endswith(".md") or f.startswith(QUOTING + UNREAD) or os.path.basename(f) == "CHANGELOG.md":
            continue
        text = GENERATED.sub(spaces, tree.text(f))
        text = re.sub(r"```.*?```|`[^`\n]*`", spaces, text, flags=re.S)
        for m in VAGUE.finditer(text):
            bad.append("%s:%d: %s: name the actor or the number" % (f, line_of(text, m.start()), m.group(0)))
    return bad
