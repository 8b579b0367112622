/* SPDX-License-Identifier: Apache-2.0 */
/* doc_page.h: tables on a page of docs/ that are printed from the code, and what a page tells.
 *
 * A table stands between "<!-- NAME: printed …" and "<!-- NAME: end -->". */
#ifndef TRIMTAB_TESTS_DOC_PAGE_H
#define TRIMTAB_TESTS_DOC_PAGE_H

#include "common/base/arena.h"

/* The page's text, NUL-terminated, in the arena.  `page` is its path below docs/:
 * "providers/gce.md".  Fails the test (cmocka) when it cannot be read, or TRIMTAB_TEST_DATA does
 * not name tests/data. */
char *doc_page_read(struct arena *a, const char *page);

/* Fails the test unless the table `name` on the page is `table`, byte for byte.  With
 * TRIMTAB_UPDATE_GOLDEN in the environment the page's is replaced by it instead. */
void doc_page_check_table(struct arena *a, const char *page, const char *name, const char *table);

#endif
