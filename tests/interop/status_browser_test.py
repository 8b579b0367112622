#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page /status in a real browser: headless Chromium reads it over HTTPS, on a phone's and on a desk's screen.

    status_browser_test.py TRIMTAB_SIM TRIMTAB STATUS_PAGES [TEST…]     (TAP on stdout)

Looked at are the text that the browser shows, whether anything is wider than the screen, where lines end (on made-up pages
of status_pages.c), and a picture: that it is not blank, and that light and dark alone tell text from ground.  Skipped where
there is no Chromium.
"""
import html.parser
import json
import os
import shutil
import ssl
import struct
import subprocess
import sys
import tempfile
import urllib.request
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402
from controller_world import World  # noqa: E402
from free_port import free_port  # noqa: E402

PROGRAMS = sys.argv[1:3]
STATUS_PAGES = sys.argv[3]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE, DESK = (390, 1600), (1280, 900)
WIDTHS = (360, 768, 1280, 1920)
MADE_UP = ("none", "long", "many", "one", "inside")  # what status_pages.c knows
# A script, which the page itself never has, to measure it.
MEASURE = """<script>addEventListener('load',()=>{const e=document.documentElement;
const wide=[...document.querySelectorAll('body *')].filter(x=>x.getBoundingClientRect().right>innerWidth+1);
const sizes=[...document.querySelectorAll('td,p,h1')].map(x=>parseFloat(getComputedStyle(x).fontSize));
e.dataset.measured=JSON.stringify({scroll:e.scrollWidth,inner:innerWidth,smallest:Math.min(...sizes),
wide:wide.map(x=>x.tagName+': '+x.textContent.slice(0,60))});});</script>"""
# Names and addresses, piece by piece between the places where a line may end: {text, number of lines that it is on}.  A piece
# without a hyphen that is wider than a phone must be broken there.
PIECES = """<script>addEventListener('load',()=>{const e=document.documentElement,pieces=[];
for(const cell of document.querySelectorAll('td.name a,.address,h2')){
const walk=document.createTreeWalker(cell,NodeFilter.SHOW_TEXT);
for(let node=walk.nextNode();node;node=walk.nextNode())for(const m of node.data.matchAll(/[^\\s,\\/:-]+/g)){
const range=document.createRange();range.setStart(node,m.index);range.setEnd(node,m.index+m[0].length);
const lines=new Set([...range.getClientRects()].map(r=>Math.round(r.top)));
if(!(innerWidth<500&&m[0].length>40))pieces.push({text:m[0],lines:lines.size});}}
e.dataset.measured=JSON.stringify({inner:innerWidth,scroll:e.scrollWidth,pieces:pieces.length,
broken:pieces.filter(p=>p.lines!=1).map(p=>p.text)});});</script>"""
BAD = {"annotations": {"cloud.google.com/network-tier": "Gold"}}


def browse(folder, url, size, *flags):
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
         "--ignore-certificate-errors", "--virtual-time-budget=10000", f"--user-data-dir={os.path.join(folder, 'profile')}",
         f"--window-size={size[0]},{size[1]}", *flags, url],
        capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def layouts(folder):
    """{(page, width): what PIECES measured} of all made-up pages, each in a frame of each width."""
    frames = []
    for page in MADE_UP:
        text = subprocess.run([STATUS_PAGES, page], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(folder, page + ".html"), "w", encoding="utf-8") as f:
            f.write(text.replace("</body>", PIECES + "</body>"))
        frames += [f'<iframe id="{page}-{width}" src="{page}.html" width="{width}" height="900" frameborder="0"></iframe>'
                   for width in WIDTHS]
    path = os.path.join(folder, "frames.html")
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(frames) + """<script>addEventListener('load',()=>{const all={};
for(const f of document.querySelectorAll('iframe'))all[f.id]=f.contentDocument.documentElement.dataset.measured;
document.body.dataset.found=JSON.stringify(all);});</script>""")
    text = browse(folder, "file://" + path, (WIDTHS[-1], 1000), "--dump-dom", "--allow-file-access-from-files")
    found = json.loads(attribute(text, "body", "data-found"))
    return {(page, width): json.loads(found[f"{page}-{width}"]) for page in MADE_UP for width in WIDTHS}


class Page:
    """A trimtab with a Service that is fine and one that is refused, and a browser."""

    def __init__(self, world):
        self.world, self.port = world, free_port()
        world.start(f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                    "--authorization-always-allow-paths=/healthz,/readyz,/livez,/status")
        self.url = f"https://127.0.0.1:{self.port}/status"
        world.create("web")
        world.until_address("web")
        world.create("a-game-server-with-quite-a-long-name-that-has-to-be-broken", BAD)
        world.until("both were synced", lambda: self.states() == ["Failed", "Ready"])

    def get(self, query=""):
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        with urllib.request.urlopen(self.url + query, context=context, timeout=180) as answer:
            return answer.read().decode(), answer.headers

    def states(self):
        return [s["state"] for s in json.loads(self.get("?o=json")[0])["services"]]

    def browse(self, url, size, *flags):
        return browse(self.world.folder, url, size, *flags)

    def measured(self, size):
        """The page with a measuring script in it, as the browser lays it out."""
        path = os.path.join(self.world.folder, "page.html")
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.get()[0].replace("</body>", MEASURE + "</body>"))
        # A window is never narrower than 500 pixels; a frame is.
        frame = os.path.join(self.world.folder, "frame.html")
        with open(frame, "w", encoding="utf-8") as f:
            f.write(f'<iframe id="f" src="page.html" width="{size[0]}" height="{size[1]}" frameborder="0"></iframe>'
                    "<script>addEventListener('load',()=>setTimeout(()=>{document.body.dataset.found="
                    "document.getElementById('f').contentDocument.documentElement.dataset.measured;},100));</script>")
        found = attribute(self.browse("file://" + frame, DESK, "--dump-dom", "--allow-file-access-from-files"),
                          "body", "data-found")
        return json.loads(found)

    def picture(self, size):
        path = os.path.join(self.world.folder, "page.png")
        self.browse(self.url, size, f"--screenshot={path}")
        with open(path, "rb") as f:
            return grey_rows(f.read())


class _Attribute(html.parser.HTMLParser):
    def __init__(self, tag, name):
        super().__init__()
        self.wanted, self.found = (tag, name), None

    def handle_starttag(self, tag, attrs):
        if tag == self.wanted[0] and self.found is None:
            self.found = dict(attrs).get(self.wanted[1])


def attribute(text, tag, name):
    parser = _Attribute(tag, name)
    parser.feed(text)
    assert parser.found, text[-500:]
    return parser.found


class _Words(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.words, self.skipping, self.goes_on = [], False, False

    def handle_starttag(self, tag, attrs):
        self.skipping = tag == "style"
        self.goes_on = tag == "wbr"  # a place where a line may end

    def handle_data(self, data):
        if self.goes_on:
            self.words[-1] += data.rstrip()
            self.goes_on = False
        elif not self.skipping and data.strip():
            self.words.append(" ".join(data.split()))


def words(text):
    parser = _Words()
    parser.feed(text)
    return parser.words


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def grey_rows(png):
    """Lightness (0 … 255) of each pixel, by rows."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", png[at + 8:at + 18])
        if kind == b"IDAT":
            data += png[at + 8:at + 8 + size]
        at += 12 + size
    assert depth == 8 and colour in (2, 6), (depth, colour)
    step = 3 if colour == 2 else 4
    raw, rows, before = zlib.decompress(data), [], bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        how, line = raw[start], bytearray(raw[start + 1:start + 1 + width * step])
        for i, value in enumerate(line):
            left = line[i - step] if i >= step else 0
            corner = before[i - step] if i >= step else 0
            line[i] = (value + (0, left, before[i], (left + before[i]) // 2, paeth(left, before[i], corner))[how]) & 255
        rows.append([(line[i] * 299 + line[i + 1] * 587 + line[i + 2] * 114) // 1000
                     for i in range(0, width * step, step)])
        before = line
    return rows


def contrast(light, dark):
    """Of two greys, as WCAG 2 counts it."""
    def luminance(v):
        v /= 255
        return v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
    return (luminance(light) + 0.05) / (luminance(dark) + 0.05)


def test_browser__shows_what_matters_first():
    with World(PROGRAMS, "--nodes=3") as w:
        page = Page(w)
        shown = words(page.browse(page.url, DESK, "--dump-dom"))
        assert "1 of 2 load balancers needs attention" in shown, shown
        names = [t for t in shown if t.startswith("default/") or t.startswith("demo/")]
        assert names[0].endswith("that-has-to-be-broken") and names[1].endswith("/web"), names
        assert any("Gold" in t and "Premium, Standard" in t for t in shown), shown
        assert "✗ Failed" in shown and "✓ Ready" in shown, shown
        one = words(page.browse(f"{page.url}?service={names[0]}", DESK, "--dump-dom"))
        assert f"Service {names[0]}" in one and "Pending plan" in one, one


def test_page__brings_no_script_and_nothing_from_elsewhere():
    with World(PROGRAMS, "--nodes=3") as w:
        text, headers = Page(w).get()
        for forbidden in ("<script", "src=", "http:", "https:", "@import", "url("):
            assert forbidden not in text, forbidden
        assert headers["Content-Type"] == "text/html; charset=utf-8", headers
        assert headers["X-Content-Type-Options"] == "nosniff", headers


def test_phone_and_desk__nothing_is_wider_than_the_screen():
    with World(PROGRAMS, "--nodes=3") as w:
        page = Page(w)
        for size in (PHONE, DESK):
            found = page.measured(size)
            assert found["inner"] == size[0], found
            assert found["scroll"] <= size[0] and not found["wide"], found
            assert found["smallest"] >= 14, found


def test_names_and_addresses__are_broken_between_their_parts_only():
    with tempfile.TemporaryDirectory() as folder:
        found = layouts(folder)
    wrong = [f"{page} at {width}: {f}" for (page, width), f in found.items()
             if f["inner"] != width or f["scroll"] > width or f["broken"]]
    assert not wrong, "\n".join(wrong)[:4000]
    assert found["many", 1280]["pieces"] > 400 and found["long", 360]["pieces"] > 40 and found["one", 360]["pieces"] >= 9, found


def test_picture__is_readable_without_colour():
    with World(PROGRAMS, "--nodes=3") as w:
        page = Page(w)
        rows = page.picture(DESK)
        assert len(rows[0]) == DESK[0], len(rows[0])
        pixels = [p for row in rows for p in row]
        ground = max(set(pixels), key=pixels.count)
        other = [p for p in pixels if abs(p - ground) > 100]
        assert 0.002 < len(other) / len(pixels) < 0.3, len(other) / len(pixels)
        text = min(pixels) if ground > 127 else max(pixels)
        assert contrast(max(ground, text), min(ground, text)) > 7, (ground, text)


if __name__ == "__main__":
    if BROWSER is None:
        sys.exit(tap.skip("no chromium here"))
    sys.exit(tap.run(tap.tests_of(globals(), sys.argv[4:])))
