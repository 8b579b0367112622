/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_render.c: `trimtab render`: what kube-proxy on a node installs, and how what the node has
 * differs.
 *
 * Reads objects (cmd_inside.h) and prints the library's texts (common/services/render), as the
 * kernel's own tools save them.  Touches no rules. */
#include <stdio.h>
#include <string.h>

#include "common/services/compare/compare.h"
#include "common/services/render/rules.h"
#include "controller/cmd/cmd_input.h"
#include "controller/cmd/cmd_trace.h"
#include "controller/cmd/commands.h"

#define DIFF_MAX ((size_t)256 << 20)

static const char usage[] =
    "Prints the rules that kube-proxy installs on a node, or the node's differences from them.\n"
    "\n"
    "Usage:\n"
    "  trimtab render --node=NAME [--mode=MODE] [--family=IPv4|IPv6] [-f FILE…] [flags]\n"
    "  trimtab render --node=NAME --diff=FILE [-f FILE…] [flags]\n"
    "\n"
    "Examples:\n"
    "  trimtab render --node=node-1 --kubeconfig=kc\n"
    "  ssh node-1 sudo iptables-save | trimtab render --node=node-1 --kubeconfig=kc --diff=-\n"
    "  trimtab render --node=node-1 --kubeconfig=kc --form=load | \\\n"
    "    sudo ip netns exec lab iptables-restore\n"
    "  ssh node-1 sudo nft -j list table ip kube-proxy | trimtab render --node=node-1 --diff=-\n"
    "\n"
    "Exit status: 0 printed, or nothing differs, 2 something differs, 1 error.\n";

struct rendering {
    struct cmd_session *s;
    struct cmd_inside in;
    const struct ks_node *node;
    enum ks_mode mode;
    enum ks_family family;
    bool restore, jumps; /* as iptables-restore reads it; with the jumps from the kernel's chains */
};

static int parse_family(const char *word, enum ks_family *ret, struct err *err)
{
    if (word == NULL || str_eq_nocase(word, "IPv4")) {
        *ret = KS_IPV4;
        return ERR_OK;
    }
    *ret = KS_IPV6;
    return str_eq_nocase(word, "IPv6")
               ? ERR_OK
               : err_set(err, ERR_INVALID, "--family=%s: allowed: IPv4, IPv6", word);
}

static int check_args(struct rendering *r, struct err *err)
{
    const struct cmd_args *args = &r->s->args;
    if (args->words.n > 0) {
        return err_set(err, ERR_INVALID,
                       "unknown argument \"%s\": only flags are taken here; a node is named by "
                       "--node=NAME",
                       args->words.items[0]);
    }
    if (args->node == NULL) {
        return err_set(err, ERR_INVALID, "name the node: --node=NAME");
    }
    r->jumps = str_eq(args->form, "load");
    r->restore = r->jumps || str_eq(args->form, "restore");
    if (args->form != NULL && !r->restore && !str_eq(args->form, "saved")) {
        return err_set(err, ERR_INVALID, "--form=%s: allowed: saved, restore, load", args->form);
    }
    if (args->form != NULL && args->diff != NULL) {
        return err_set(err, ERR_INVALID,
                       "--form is how rules are printed, --diff prints none: give "
                       "one of the two");
    }
    return parse_family(args->family, &r->family, err);
}

static const struct ks_world *make_world(struct rendering *r)
{
    const struct ks_cluster *c = &r->in.cluster;
    struct arena *a = r->s->a;
    const struct ks_node_config config =
        ks_proxy_node(a, &r->in.proxy, c, r->node, r->mode, r->family);
    return ks_world_make(a, &config, c->services, c->n_services, c->slices, c->n_slices);
}

static void print_text(struct rendering *r, const struct ks_world *w)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct arena *a = r->s->a;
    if (r->mode == KS_IPVS) {
        struct ks_ipvs v = ks_render_ipvs(a, w);
        v.tables = ks_iptables_saved(a, &v.tables, r->family);
        ks_ipvs_text(&b, &v);
    } else if (r->mode == KS_NFTABLES) {
        const struct ks_lines lines = ks_render_nftables(a, w);
        for (size_t i = 0; i < lines.n; i++) {
            str_appendf(&b, "%s\n", lines.items[i]);
        }
    } else {
        const struct ks_tables t = ks_render_iptables(a, w);
        if (r->restore) {
            ks_iptables_text(&b, &t);
            if (r->jumps) {
                const struct ks_tables jumps = ks_iptables_jumps(a, w);
                ks_iptables_jumps_text(&b, &jumps);
            }
        } else {
            const struct ks_tables saved = ks_iptables_saved(a, &t, r->family);
            ks_iptables_saved_text(&b, &saved);
        }
    }
    fputs(str_buf_text(&b), stdout);
}

static int print_diff(struct rendering *r, const struct ks_world *w, int *ret_status,
                      struct err *err)
{
    struct arena *a = r->s->a;
    char *text;
    size_t n;
    struct ks_compared found;
    int code = cmd_input_read(a, r->s->args.diff, DIFF_MAX, &text, &n, err);
    if (code != ERR_OK) {
        (void)err_prefix(err, "--diff");
    }
    if (code == ERR_OK) {
        code = r->mode == KS_IPVS       ? ks_compare_ipvs(a, w, text, n, &found, err)
               : r->mode == KS_NFTABLES ? ks_compare_nftables(a, w, text, n, &found, err)
                                        : ks_compare_iptables(a, w, text, n, &found, err);
        if (code != ERR_OK) {
            (void)err_prefix(err, "--diff=%s", cmd_input_name(r->s->args.diff));
        }
    }
    if (code == ERR_OK) {
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        _cleanup_(str_buf_done) struct str_buf clean = STR_BUF_INIT;
        ks_compared_text(&b, r->node->meta.name, &found);
        str_append_clean(&clean, str_buf_text(&b), STR_BREAKS_KEPT);
        fputs(str_buf_text(&clean), stdout);
        *ret_status = found.n_differences > 0 ? 2 : 0;
    }
    return code;
}

static int render(struct rendering *r, int *ret_status, struct err *err)
{
    const char *source = "";
    int code = cmd_inside_load(&r->in, r->s, err);
    if (code == ERR_OK) {
        code = cmd_trace_mode(&r->in, &r->mode, &source, err);
    }
    if (code == ERR_OK && r->restore && r->mode != KS_IPTABLES) {
        code = err_set(err, ERR_INVALID, "--form=%s is of mode iptables, not of %s",
                       r->s->args.form, ks_mode_name(r->mode));
    }
    if (code == ERR_OK) {
        code = cmd_trace_node(&r->in, r->s->args.node, &r->node, err);
    }
    if (code != ERR_OK) {
        return code;
    }
    if (r->s->args.mode == NULL) {
        fprintf(stderr, "note: mode %s: %s\n", ks_mode_name(r->mode), source);
    }
    const struct ks_world *w = make_world(r);
    if (r->s->args.diff != NULL) {
        return print_diff(r, w, ret_status, err);
    }
    print_text(r, w);
    return ERR_OK;
}

int cmd_render(int argc, char **argv)
{
    struct cmd_session s;
    struct rendering r = {.s = &s};
    struct err err = ERR_INIT;
    bool done = false;
    int status = 0;
    int code = cmd_session_begin(&s, CMD_RENDER, usage, argc, argv, &done, &err);
    if (code == ERR_OK && !done) {
        code = check_args(&r, &err);
        s.misused = code != ERR_OK;
    }
    if (code == ERR_OK && !done) {
        code = render(&r, &status, &err);
    }
    status = code != ERR_OK ? cmd_session_fail(&s, &err) : done ? 0 : cmd_session_end(&s, status);
    cmd_inside_done(&r.in);
    cmd_session_done(&s);
    return status;
}
