#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bill of materials, and whether what is made twice is equal: at another time, in another folder, as another person.

    reproducible_test.py TRIMTAB TREE BUILD     (TAP on stdout)
"""
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
import tree  # noqa: E402  pylint: disable=wrong-import-position

TRIMTAB, TREE, BUILD = (os.path.abspath(path) for path in sys.argv[1:4])
IMAGE = os.path.join(TREE, "deploy", "image")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PURL = re.compile(r"pkg:deb/[a-z]+/[a-z0-9.%-]+@[A-Za-z0-9.~%-]+\?arch=[a-z0-9]+&distro=[a-z]+-[0-9]+(&upstream=[A-Za-z0-9.~%-]+)?")
ELSEWHERE = {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "USER": "other", "HOSTNAME": "other"}
FILES = ("common/base/rng.c", "common/net/url.c", "controller/rules/quarantine_rules.c", "providers/gce/model/gce_links.c")


@functools.cache
def bill():
    tap.need(shutil.which("dpkg-query"), "this is no Debian")
    return tree.run(os.path.join(IMAGE, "sbom"), TRIMTAB).stdout


# --- the bill ------------------------------------------------------------------------------------------------------

def test_bill__names_the_program_every_library_and_its_package():
    made = json.loads(bill())
    assert (made["bomFormat"], made["specVersion"], made["version"]) == ("CycloneDX", "1.5", 1)
    top = made["metadata"]["component"]
    assert top["name"] == "trimtab" and top["version"] == tree.run(TRIMTAB, "version").stdout.split()[1], top
    files = [top | {"name": TRIMTAB}] + [file for part in made["components"] for file in part["components"]]
    listed = tree.run(os.path.join(IMAGE, "collect"), "--list", TRIMTAB).stdout.split()
    assert sorted(file["name"] for file in files) == sorted([TRIMTAB, CERTIFICATES, *listed])
    for file in files:
        with open(file["name"], "rb") as f:
            assert file["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(f.read()).hexdigest()}], file["name"]


def test_bill__packages_are_as_dpkg_says():
    parts = json.loads(bill())["components"]
    for part in parts:
        assert PURL.fullmatch(part["purl"]) and part["bom-ref"] == part["purl"], part["purl"]
    said = tree.run("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *(part["name"] for part in parts)).stdout
    assert {(part["name"], part["version"]) for part in parts} <= {tuple(line.split()) for line in said.splitlines()}
    assert {"libc6", "libssl3", "ca-certificates"} <= {part["name"] for part in parts}


def test_bill__references_are_unique_and_lead_somewhere():
    made = json.loads(bill())
    refs = [made["metadata"]["component"]["bom-ref"]]
    refs += [ref for part in made["components"] for ref in (part["bom-ref"], *(file["bom-ref"] for file in part["components"]))]
    assert len(refs) == len(set(refs))
    edges = {edge["ref"]: edge["dependsOn"] for edge in made["dependencies"]}
    assert set(edges) == {refs[0], *(part["bom-ref"] for part in made["components"])}
    assert all(set(on) <= set(refs) for on in edges.values())
    of = {ref.split("@")[0].split("/")[-1]: [on.split("@")[0].split("/")[-1] for on in there] for ref, there in edges.items()}
    assert "libssl3" in of["libcurl4"] and "libc6" in of["libssl3"], of


def test_bill__made_again_elsewhere_it_is_equal():
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(TRIMTAB, os.path.join(folder, "trimtab"))
        first = bill()
        again = tree.run(os.path.join(IMAGE, "sbom"), copy, cwd=folder, env={**os.environ, **ELSEWHERE}).stdout
    assert again == first
    assert TREE not in again and os.path.dirname(TRIMTAB) not in again


def test_bill__a_library_of_no_package_stops_it():
    tap.need(shutil.which("dpkg-query"), "this is no Debian")
    with tempfile.TemporaryDirectory() as folder:
        library = shutil.copy("/bin/true", os.path.join(folder, "libmine.so.1"))
        fake = os.path.join(folder, "ldd")
        with open(fake, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\necho '\tlibmine.so.1 => {library} (0x1)'\n")
        os.chmod(fake, 0o755)
        done = subprocess.run([os.path.join(IMAGE, "sbom"), TRIMTAB], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})
        assert done.returncode == 1 and done.stderr == f"error: {library} is of no Debian package\n", done


# --- the program ---------------------------------------------------------------------------------------------------

@functools.cache
def commands():
    """{source: words of the command that compiles it, without a cache and without debug information, which holds folders}"""
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    made = {}
    for entry in entries:
        source = os.path.relpath(os.path.join(BUILD, entry["file"]), TREE)
        words = shlex.split(entry["command"])
        at = words.index("-MD")
        made[source] = ([word for word in words[:at] if os.path.basename(word) != "ccache"], entry["file"])
    return made


def compile_in(build, name, **more):
    """The object file of one source, made in a build folder, as bytes."""
    words, source = commands()[name]
    out = os.path.join(build, "again.o")
    tree.run(*words, "-g0", "-o", out, "-c", source, cwd=build, env={**os.environ, **more})
    with open(out, "rb") as f:
        return f.read()


def test_build__no_source_reads_the_clock_of_the_compiler():
    names = [name for name in commands() if name.endswith(".c")]
    found = [name for name in names if re.search(r"__(DATE|TIME|TIMESTAMP)__", tree.read(TREE, name))]
    assert len(names) > 300 and not found, found


def test_build__compiled_again_elsewhere_it_is_equal():
    with tempfile.TemporaryDirectory() as folder:
        here, there = os.path.join(folder, "a", "build"), os.path.join(folder, "some", "other", "build")
        for build in (here, there):
            os.makedirs(build)
            for name in os.listdir(TREE):
                if os.path.join(TREE, name) != BUILD:
                    os.symlink(os.path.join(TREE, name), os.path.join(os.path.dirname(build), name))
        for name in FILES:
            assert compile_in(here, name) == compile_in(there, name, **ELSEWHERE), name


def test_build__linked_again_elsewhere_it_is_equal():
    ninja = tap.need(shutil.which("ninja"), "ninja is not installed")
    words = shlex.split(tree.run(ninja, "-C", BUILD, "-t", "commands", "-s", "trimtab").stdout.splitlines()[-1])
    at = words.index("-o")
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("one", {}), ("two", ELSEWHERE)):
            out = os.path.join(folder, name)
            tree.run(*words[:at], "-o", out, *words[at + 2:], cwd=BUILD, env={**os.environ, **more})
            with open(out, "rb") as f:
                made.append(hashlib.sha256(f.read()).hexdigest())
    assert made[0] == made[1]


if __name__ == "__main__":
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
