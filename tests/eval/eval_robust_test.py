#!/usr/bin/env python3
"""Feeds trimtab-eval with lines that no caller should send (TAP, one test per kind of badness).

    eval_robust_test.py TRIMTAB_EVAL SAMPLES.jsonl...

Every line must be answered by exactly one JSON object with an "error", or, where the input may be read in some way, by
any answer at all; the program ends with 0.  Under the address sanitizer the same run proves that nothing leaks.
The seed of the mutations is fixed, so a failure comes back.
"""
import collections
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

DEEP = 100000
MALFORMED = {
    "not JSON": ["", "x", "{", "}", "[1,2", '{"id":1', '{"id":1}}', "nul", '"', "{'id':1}", "\t"],
    "no object": ["null", "1", "[]", '"text"', "true"],
    "no function": ["{}", '{"id":1}', '{"id":1,"fn":null}', '{"id":1,"fn":7}', '{"id":1,"fn":{}}'],
    "nested deeply": ["[" * DEEP, "{\"a\":" * DEEP, '{"id":1,"fn":"gce.conf","in":' + "[" * DEEP + "]" * DEEP + "}"],
    "duplicate members": ['{"id":1,"id":2,"fn":"gce.conf","in":{"text":""}}'],
    "bytes that are no UTF-8": [b'{"id":1,"fn":"gce.conf","in":{"text":"\xff\xfe"}}', b"\x80", b"\x00\x01\x02"],
    "NUL in a string": ['{"id":1,"fn":"gce.conf","in":{"text":"a\\u0000b"}}'],
}
WRONG = [None, True, -1, 0, 1e308, 2**63 - 1, -2**63, 2**64, 10**40, "", "x" * 70000, "\u2028\ud83d\ude00", [], {}, [[]],
         [None], {"": None}, {"a": {"b": []}}]


def run(program, lines):
    data = b"".join((l if isinstance(l, bytes) else l.encode("utf-8", "surrogatepass")) + b"\n" for l in lines)
    done = subprocess.run([program], input=data, capture_output=True, check=False)
    return done.returncode, done.stdout.split(b"\n")[:-1], done.stderr.decode("utf-8", "replace")


def broken(value, rng):
    """The value with one member somewhere replaced, dropped or added."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        out = dict(value)
        if rng.random() < 0.2:
            del out[key]
        else:
            out[key] = broken(value[key], rng)
        return out
    if isinstance(value, list) and value and rng.random() < 0.8:
        out = list(value)
        i = rng.randrange(len(out))
        out[i] = broken(out[i], rng)
        return out
    return rng.choice(WRONG)


def mutations(samples, rng):
    by_fn = collections.defaultdict(list)
    for path in samples:
        with open(path, encoding="utf-8") as f:
            for line in f:
                case = json.loads(line)
                by_fn[case["fn"]].append(case["in"])
    for fn in sorted(by_fn):
        lines = [json.dumps({"id": i, "fn": fn, "in": wrong}) for i, wrong in enumerate(WRONG)]
        lines.append(json.dumps({"id": 1, "fn": fn}))
        for _ in range(200):
            lines.append(json.dumps({"id": len(lines), "fn": fn, "in": broken(rng.choice(by_fn[fn]), rng)}))
        yield fn, lines


def check(program, lines, must_fail):
    code, answers, stderr = run(program, lines)
    if code != 0 or len(answers) != len(lines):
        return "exit %d, %d answers for %d lines: %s" % (code, len(answers), len(lines), stderr[-600:])
    for line, text in zip(lines, answers):
        answer = json.loads(text)
        if len(answer.keys() & {"out", "error", "unsupported"}) != 1 or (must_fail and not answer.get("error")):
            return "%.200r is answered %.200r" % (line, text)
        if "error" in answer and not answer["error"]:
            return "%.200r is refused without a word" % line
    return None


def main(program, *samples):
    results = [(name, check(program, lines, True)) for name, lines in MALFORMED.items()]
    ids = ['"x"', "null", "9223372036854775807", "[1]", '{"a":1}', "-0.5", '"\\u20ac"']
    lines = ['{"id":%s,"fn":"gce.projects_base","in":{"base":""}}' % i for i in ids]
    _, answers, _ = run(program, lines)
    back = [json.loads(a).get("id") for a in answers]
    results.append(("any id comes back", None if back == [json.loads(i) for i in ids] else repr(back)))
    long_line = '{"id":1,"fn":"gce.conf","in":{"text":"%s"}}' % ("#" * (65 << 20))
    results.append(("a line that is too long", check(program, [long_line, lines[0]], False)))
    rng = random.Random(3)
    results += [("mutations of " + fn, check(program, lines, False)) for fn, lines in mutations(samples, rng)]
    report = tap.Report(len(results))
    for name, bad in results:
        report.check(name, bad)
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
