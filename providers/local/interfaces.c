/* SPDX-License-Identifier: Apache-2.0 */
/* interfaces.c: at the start, the pools against the interfaces and addresses that this machine has.
 *
 * Reads the kernel once and hands what it says to model/config_machine.h, which is pure.  An error
 * there ends the start, a warning goes to the log. */
#include "providers/local/provider.h"

#include "common/base/str.h"
#include "providers/local/model/config_machine.h"

static const char *name_of(const struct local_link *links, size_t n, int index)
{
    for (size_t i = 0; i < n; i++) {
        if (links[i].index == index) {
            return links[i].name;
        }
    }
    return "?"; /* it went between the two questions */
}

static int read_machine(struct local_provider *p, struct arena *a, struct local_machine *ret,
                        struct err *err)
{
    struct local_link *links = NULL;
    struct local_link_addr *addrs = NULL;
    size_t n_links = 0;
    size_t n_addrs = 0;
    int rc = p->kernel->ops->links(p->kernel, a, &links, &n_links, err);

    if (rc == ERR_OK) {
        rc = p->kernel->ops->addrs(p->kernel, a, &addrs, &n_addrs, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    const char **names = ARENA_ARRAY(a, const char *, n_links + 1);
    struct local_machine_addr *has = ARENA_ARRAY(a, struct local_machine_addr, n_addrs + 1);
    for (size_t i = 0; i < n_links; i++) {
        names[i] = links[i].name;
    }
    for (size_t i = 0; i < n_addrs; i++) {
        has[i] = (struct local_machine_addr){.interface = name_of(links, n_links, addrs[i].link),
                                             .net = addrs[i].net,
                                             .ours = addrs[i].ours};
    }
    *ret = (struct local_machine){.interfaces = names,
                                  .n_interfaces = n_links,
                                  .addrs = has,
                                  .n_addrs = n_addrs,
                                  .has_served = p->table.exists};
    return ERR_OK;
}

int local_check_machine(struct local_provider *p, const char *file, struct err *err)
{
    struct arena *a = arena_new();
    struct local_machine machine;
    int rc = read_machine(p, a, &machine, err);

    if (rc == ERR_OK) {
        struct local_config_findings found = local_config_on_machine(a, p->config, &machine);
        for (size_t i = 0; i < found.n; i++) {
            const struct local_config_finding *f = &found.items[i];
            const char *text = arena_printf(a, "%s:%zu: %s", file, f->line, f->text);
            if (f->is_error) {
                rc = err_set(err, ERR_INVALID, "%s", text);
                break;
            }
            p->host->log(p->host->ctx, TT_LOG_WARNING, 0, text, NULL, 0);
        }
        for (size_t i = 0; i < machine.n_addrs; i++) {
            if (local_config_keeps_out(p->config, &machine, &machine.addrs[i])) {
                local_ipam_reserve(p->ipam, &machine.addrs[i].net.addr, "this machine");
            }
        }
    }
    arena_free(a);
    return rc;
}
