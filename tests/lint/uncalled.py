"""External functions of the product that the product does not call.

A function that a header declares must be named somewhere in common/, controller/, providers/ or sim/ beside its
declaration and its definition; tests count for nothing.  UNCALLED names those that are left: some are questions that
trimtab-eval or a page of the documentation asks, the others go.  The list may only shrink.
"""
import collections
import re

UNCALLED = set("""
access_cache_size amz_ec2_add_gateway annotations_patch app_is_idle app_next_due_ms aws_client_now_s aws_memory_size
aws_rule_same aws_tags_cluster_id azure_config_decode azure_config_parse azure_frontend_check_ports
azure_frontend_owner clock_fake_advance clock_fake_free clock_fake_new clock_fake_next_ms clock_fake_set_wall_us
clock_fake_waiting gce_l4_subnet_neg_name http_ignore_sent http_req_path http_req_query intern_count
ks_endpoints_decode ks_legacy_endpoints ks_node_port_health ks_overloaded ks_pod_change_services ks_pod_changed
ks_progress_queued ks_progress_updated ks_proxy_answer_body ks_proxy_health keep_used kube_ignore_sent
local_bucket_owner local_director_is_asking local_holder_must_list local_ipam_waiting local_mirror_count
nodes_sufficiently_equal option_origin queue_wait_idle service_cache_count sim_calls_total sim_set_hook
svc_needs_update
""".split())
PRODUCT = ("common/", "controller/", "providers/", "sim/")
WORD = re.compile(r"\b[a-z_]\w*\b")
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
