#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every promise of docs/providers for several kinds of load balancers has a test for each of them.

    promises.py TREE

promises.txt is the table: promise, kind, test.  A sentence of the pages that speaks of all kinds and is not in the table, a promise
without a row for one of the cloud's kinds, a test that is not there or never heard of the kind: each is a failure.  The last
case feeds the check offences.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

KINDS = {
    "gce": ("target-pool", "internal-groups", "internal-negs", "external-groups", "external-negs"),
    "aws": ("classic", "nlb"),
    "azure": ("external", "internal"),
}
ALL = re.compile(r"\b(every|all|both|any|each) kinds?\b(?! of (resource|Kubernetes))", re.I)


def read(tree, *path):
    with open(os.path.join(tree, *path), encoding="utf-8") as f:
        return f.read()


def parse(text):
    """[(word, cloud, quote, {kind: (where, hint)})]"""
    found = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            head, quote = line.split(" | ", 1)
            word, cloud = head.split()
            found.append((word, cloud, quote.strip(), {}))
        else:
            kind, where, hint = (line.split(None, 2) + ["", ""])[:3]
            found[-1][3][kind] = (where, hint.strip())
    return found


def body(text, name):
    """A function of a test file, with the tables of the file that it goes through."""
    start = re.search(rf"(?m)^static void {re.escape(name)}\(.*?^}}", text, re.S)
    if start is None or len(re.findall(rf"\b{re.escape(name)}\b", text)) < 2:
        return None
    tables = [m.group(0) for m in re.finditer(r"(?ms)^(?:static const struct \w+ \{.*?^\} )?(\w+)\[\] = \{.*?^\};", text)
              if re.search(rf"\b{m.group(1)}\b", start.group(0))]
    return start.group(0) + "".join(tables)


def wrong_rows(promises, page, source):
    """The faults of the table; page(cloud) and source(path) give texts, or None."""
    wrong = []
    for word, cloud, quote, rows in promises:
        if quote not in (page(cloud) or ""):
            wrong.append(f"{cloud}: the page does not say: {quote}")
        if word != "promise":
            continue
        wrong += [f"{cloud}: {quote}: nothing about {kind}" for kind in KINDS[cloud] if kind not in rows]
        wrong += [f"{cloud}: {quote}: {kind} is no kind" for kind in rows if kind not in KINDS[cloud]]
        for kind, (where, hint) in rows.items():
            if where == "-":
                if not hint or hint not in page(cloud):
                    wrong.append(f"{cloud}: {quote}: not for {kind}, and the page does not say: {hint}")
                continue
            path, _, name = where.partition(":")
            found = body(source(path) or "", name)
            if found is None:
                wrong.append(f"{cloud}: {quote}: {kind}: there is no test {where}")
            elif hint not in found:
                wrong.append(f"{cloud}: {quote}: {kind}: {where} does not know \"{hint}\"")
    return wrong


def unlisted(promises, cloud, page):
    """Lines of the page that speak of all kinds and are not in the table."""
    quotes = [quote for _, of, quote, _ in promises if of == cloud]
    return [f"{cloud}: line {n} speaks of all kinds and is not in promises.txt: {line.strip()[:160]}"
            for n, line in enumerate(page.splitlines(), 1)
            if ALL.search(line) and not any(quote in line for quote in quotes)]


def offences():
    """The check finds these faults in a wrong table and page."""
    page = "It holds for every kind.\nNot so for NLBs.\nAll kinds get it.\n"
    source = "static void shown(void **state)\n{\n    classic();\n}\nPURE_TEST(shown)\n"
    table = parse("promise aws | It holds for every kind\n  classic  a.c:shown  classic\n")
    cases = {
        "a kind without a row": table,
        "a test that is not there": parse("promise aws | It holds for every kind\n  classic  a.c:gone  x\n  nlb  -  Not so for NLBs\n"),
        "a test that never heard of the kind": parse("promise aws | It holds for every kind\n  classic  a.c:shown  classic\n  nlb  a.c:shown  nlb\n"),
        "an exception that the page does not tell": parse("promise aws | It holds for every kind\n  classic  a.c:shown  classic\n  nlb  -  Never\n"),
        "words that the page has not": parse("fact aws | It holds for none\n"),
    }
    missed = [f"not found: {what}" for what, rows in cases.items() if len(wrong_rows(rows, lambda c: page, lambda p: source)) != 1]
    if len(unlisted(table, "aws", page)) != 1:
        missed.append("not found: a sentence about all kinds that no row has")
    return missed


def main():
    tree = sys.argv[1]
    promises = parse(read(tree, "tests", "lint", "promises.txt"))
    report = tap.Report()

    def source(path):
        return read(tree, path) if os.path.exists(os.path.join(tree, path)) else None

    report.check("every promise has a test for each kind", wrong_rows(promises, lambda c: read(tree, "docs", "providers", f"{c}.md"), source))
    for cloud in KINDS:
        report.check(f"{cloud}: what the page says of all kinds is in the table",
                     unlisted(promises, cloud, read(tree, "docs", "providers", f"{cloud}.md")))
    report.check("offences are found", offences())
    sys.exit(report.end())


if __name__ == "__main__":
    main()
