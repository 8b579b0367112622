/* SPDX-License-Identifier: Apache-2.0 */
/* breaks.h: the ways in which a plugin can be wrong, as numbers for BREAK (see broken.c).
 *
 * The names are those of the modules that tests/abi/meson.build makes: WRONG_MAJOR is wrong-major.so. */
#ifndef TRIMTAB_TESTS_ABI_BREAKS_H
#define TRIMTAB_TESTS_ABI_BREAKS_H

/* nothing is wrong */
#define RIGHT      0
#define LATER      1 /* built with a later header */
#define OLDER      2 /* knows the mandatory members only */
#define OWN_AFFAIR 3 /* Services are its own affair: finalizers and events */
/* the descriptor: the controller does not start */
#define WRONG_MAJOR     10
#define TOO_SMALL       11
#define SIZE_ZERO       12
#define NAME_NULL       13
#define NAME_OTHER      14
#define NAME_BAD        15
#define VERSION_LONG    16
#define NO_OPEN         17
#define NO_CLOSE        18
#define NO_GET          19
#define NO_ENSURE       20
#define NO_UPDATE       21
#define NO_DELETE       22
#define HALF_BATCH      23
#define OPTIONS_NULL    24
#define OPTION_NAMELESS 25
#define OPTION_TYPE     26
#define OPTION_BINARY   27
#define OPTION_TAKEN    28
#define DESCRIPTOR_NULL 29
#define NO_SYMBOL       30
/* open(): the controller does not start */
#define OPEN_FAILS        40
#define OPEN_SILENT       41
#define OPEN_GARBAGE      42
#define OPEN_LONG_MESSAGE 43
/* results: the Service gets an event, the controller goes on */
#define CODE_GARBAGE    60
#define CODE_NEGATIVE   61
#define CODE_UNDECLARED 62
#define MESSAGE_LONG    63
#define MESSAGE_BINARY  64
#define FAIL_SILENT     65
#define INGRESS_NONE    66
#define INGRESS_EMPTY   67
#define INGRESS_LONG    68
#define INGRESS_MODE    69
#define INGRESS_MANY    70
#define RESULT_MISSING  71
#define EVENT_LONG      72 /* only the event is dropped: the Service gets its address */

#endif
