/* SPDX-License-Identifier: Apache-2.0 */
/* reach_test.h: includes that every test of reachability needs, in the order that cmocka wants. */
#ifndef TRIMTAB_TESTS_UNIT_SIM_REACH_REACH_TEST_H
#define TRIMTAB_TESTS_UNIT_SIM_REACH_REACH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/reach/reach.h"
#include "tests/support/unit.h"

#endif
