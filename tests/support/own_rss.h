/* SPDX-License-Identifier: Apache-2.0 */
/* own_rss.h: how much memory this test takes at the moment. */
#ifndef TRIMTAB_TESTS_SUPPORT_OWN_RSS_H
#define TRIMTAB_TESTS_SUPPORT_OWN_RSS_H

/* Resident, in KiB; 0: /proc cannot be read. */
long own_rss_kib(void);

#endif
