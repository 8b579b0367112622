/* SPDX-License-Identifier: Apache-2.0 */
/* port_lists.c: lists of ports, each made once; see port_lists.h. */
#include "common/services/slices/port_lists.h"

#include "common/services/slices/pod.h"
#include "common/services/slices/slices_internal.h"

struct port_lists port_lists_open(struct arena *a, const struct ks_service *service)
{
    return (struct port_lists){
        .a = a, .service = service, .seen = map_new(NULL), .numbers = STR_BUF_INIT};
}

const struct port_list *port_lists_of(struct port_lists *l, const struct ks_pod *pod)
{
    str_buf_reset(&l->numbers);
    for (size_t i = 0; i < l->service->n_ports; i++) {
        int32_t number = 0;
        if (l->service->ports[i].target_name != NULL) {
            bool found = ks_pod_target(pod, &l->service->ports[i], &number);
            str_appendf(&l->numbers, "%d,", found ? number : -1);
        }
    }
    const char *numbers = str_buf_text(&l->numbers);
    struct port_list *list = map_get(l->seen, numbers);
    if (list == NULL) {
        list = ARENA_NEW(l->a, struct port_list);
        const struct ks_slice_port *ports = ks_pod_ports(l->a, l->service, pod, &list->n);
        list->ports = slice_ports_sorted(l->a, ports, list->n);
        list->key = slice_ports_key(l->a, ports, list->n);
        map_set(l->seen, numbers, list);
    }
    return list;
}

void port_lists_close(struct port_lists *l)
{
    map_free(l->seen);
    str_buf_done(&l->numbers);
}
