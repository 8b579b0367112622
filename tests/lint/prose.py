"""Plain technical English, as far as a machine can hold it: widths, openings of comments, words without a referent.

UNREAD lists the files whose comments wait for a first reading.  The list may only shrink.
"""
import os
import re

WIDTH = 100  # columns of a comment
PAGE_WIDTH = 160  # columns of a page; tables, code and links that stand alone are free
PARAGRAPH = 5  # lines
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
OPENING = re.compile(r"/\*+\s*(?:[\w.]+\.[ch]: )?(What|Whatever|Who|Whose|Whoever)\b")
VAGUE = re.compile(r"\b(whoever|somebody|nobody|anybody|everybody|none of ours|so many)\b", re.I)
WHOLE = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)")  # code and links are not broken
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
GENERATED = re.compile(r"<!-- (\w+): (?:printed|begin).*?<!-- \1: end -->", re.S)
# Pages that quote others, decisions as they were taken, and data with its sources.
QUOTING = ("docs/spec/", "docs/adr/0", "tests/data/", "tests/golden/", "tests/fuzz/corpus/")

# Files whose comments are not read yet.
UNREAD = tuple("""
common/base/lock.c common/base/lock.h common/base/task.c common/base/task.h common/lb/abi_codes.c common/net/sigv4.c
common/net/sigv4.h controller/queue/queue_core.c controller/queue/queue_core.h controller/sync/sync.h
controller/sync/sync_after.c providers/aws/auth/aws_auth.c providers/aws/auth/aws_auth.h
providers/aws/auth/aws_endpoint.c providers/aws/auth/aws_endpoint.h providers/aws/aws_observe.c
providers/aws/aws_observe_groups.c providers/aws/aws_observe_targets.c providers/aws/aws_scope.c
providers/aws/aws_sync.h providers/aws/aws_write.c providers/aws/plan/aws_groups_plan.c
providers/aws/plan/aws_groups_plan.h providers/azure/azure_effects.c providers/azure/azure_effects.h
providers/azure/azure_emit.c providers/azure/azure_emit.h providers/azure/azure_flow.c
providers/azure/azure_lb_edits.c providers/azure/azure_members_emit.c providers/azure/azure_members_observe.c
providers/azure/azure_observe.c providers/azure/azure_observe.h providers/azure/azure_provider.c
providers/azure/azure_provider.h providers/azure/azure_stage_addresses.c providers/azure/azure_stage_links.c
providers/azure/azure_stage_security.c providers/azure/azure_sync.h providers/azure/azure_write.c
providers/azure/config/README.md providers/azure/lb/azure_lb_apply_rules.c providers/azure/lb/azure_lb_apply_rules.h
providers/azure/lb/azure_select_rules.c providers/azure/lb/azure_select_rules.h providers/azure/pip/azure_pip_tags.h
providers/azure/pip/azure_pip_tags_rules.c providers/gce/api/gce_api.c providers/gce/api/gce_api.h
providers/gce/backend/gce_bs_named.c providers/gce/cache/gce_pack.c providers/gce/cache/gce_slots.c
providers/gce/cache/gce_slots.h providers/gce/cache/gce_snapshot.c providers/gce/cache/gce_snapshot.h
providers/gce/cache/gce_store.c providers/gce/cache/gce_store.h providers/gce/config/gce_config_check.c
providers/gce/gce_bs_observe.c providers/gce/gce_descriptor.c providers/gce/gce_flow.h providers/gce/gce_give_way.c
providers/gce/gce_provider.c providers/gce/gce_provider.h providers/gce/groups/gce_groups.c
providers/gce/groups/gce_groups.h providers/gce/model/gce_l4_resources.c providers/gce/model/gce_l4_resources.h
providers/gce/model/gce_resources.c providers/gce/model/gce_resources.h providers/gce/model/gce_wire.h
providers/gce/ops/gce_slots_look.c providers/gce/target_pool/gce_target_pool_observe.c providers/local/directing.c
providers/local/director/announce.c providers/local/director/announce_rules.h providers/local/director/director.c
providers/local/director/director.h providers/local/director/director_internal.h providers/local/figures.c
providers/local/health.c providers/local/ipvs.c providers/local/kernel/kernel.h providers/local/kernel/nft.h
providers/local/kernel/open.c providers/local/leases/holder_rules.c providers/local/leases/holder_rules.h
providers/local/provider.h providers/local/served.c providers/local/standing.h tests/eval/eval_azure_pip.c
tests/fault/flows.h tests/fault/flows_azure_addresses.c tests/unit/aws/test_auth.c tests/unit/aws/test_auth_cache.c
tests/unit/aws/test_endpoint.c tests/unit/aws/test_write.c tests/unit/azure/test_select.c
tests/unit/azure/test_stages_exchange.c tests/unit/base/test_task.c tests/unit/controller/stand.c
tests/unit/controller/test_guard.c tests/unit/controller/test_host_faults.c tests/unit/controller/test_metrics_live.c
tests/unit/controller/test_queue.c tests/unit/gce/test_api.c tests/unit/gce/test_errors.c tests/unit/gce/test_slots.c
tests/unit/gce/test_snapshot.c tests/unit/local/director/test_announce.c tests/unit/local/flow/flow_kit.c
tests/unit/local/flow/flow_kit.h tests/unit/local/flow/flow_others.c tests/unit/local/flow/test_watch.c
tests/unit/local/ipvs/ipvs_kit.c tests/unit/local/ipvs/ipvs_kit.h tests/unit/local/ipvs/test_ipvs_between.c
tests/unit/net/test_http_tasks.c tests/unit/serve/test_tls.c tests/unit/services/test_slices_pass.c
tests/unit/services/test_topology_shares.c
""".split())


def spaces(match):
    """The match as blanks; newlines stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


def line_of(text, pos):
    return text.count("\n", 0, pos) + 1


def comments(text):
    """(place, comment) of each comment of a C file."""
    return [(m.start(), m.group(0)) for m in NOT_CODE.finditer(text) if m.group(0).startswith("/*")]


def rule_comments(tree):
    """Comments fit 100 columns and open with their subject: not with What, Who, Whose, Whoever."""
    bad = []
    for f in tree.code():
        if f.startswith(UNREAD):
            continue
        text = tree.text(f)
        for place, comment in comments(text):
            if OPENING.match(comment):
                bad.append("%s:%d: name the subject: %s" % (f, line_of(text, place), comment.split("\n")[0][:70]))
            start = text.rfind("\n", 0, place) + 1
            end = place + len(comment)
            for n, line in enumerate(text[start:end].split("\n")):
                if len(line) > WIDTH:
                    bad.append("%s:%d: a comment of %d columns" % (f, line_of(text, start) + n, len(line)))
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
