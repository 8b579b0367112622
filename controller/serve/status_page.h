/* SPDX-License-Identifier: Apache-2.0 */
/* status_page.h: /status: one page for people, and the same as JSON.
 *
 *     /status                      HTML; `Accept: application/json` or ?o=json: JSON
 *     ?service=demo/web            one Service, with its pending plan
 *     ?ns=demo  ?all               Services of a namespace; all of them instead of the first 200
 *               (JSON: always all)
 *
 * It shows the process's memory and sends no request. */
#ifndef TRIMTAB_SERVE_STATUS_PAGE_H
#define TRIMTAB_SERVE_STATUS_PAGE_H

#include "controller/serve/page.h"
#include "controller/status/status.h"

#define STATUS_PAGE_ROWS 200

struct status_page {
    /* Fills *ret from whatever runs at the moment; everything in `a`.  Called in
     * the server's thread. */
    void (*look)(void *arg, struct arena *a, struct status_view *ret);
    void *arg;
};
/* `page` is a struct status_page. */
void status_page_answer(void *page, const struct page_request *req, struct page_answer *ret);

#endif
