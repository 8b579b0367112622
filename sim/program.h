/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: what main.c, options.c and outputs.c share: the command line and the files that it
 * asks for.
 *
 * Private to the program trimtab-sim; the simulator itself is the library behind sim.h. */
#ifndef TRIMTAB_SIM_PROGRAM_H
#define TRIMTAB_SIM_PROGRAM_H

#include "sim/sim.h"

#include <stdio.h>

struct sim_options {
    struct sim_config cfg; /* texts are argv's or the arena's */
    const char *world;     /* file names, or NULL */
    const char *state;
    const char *faults;
    const char *write_kubeconfig;
    const char *write_cloud_config; /* a folder */
    bool help, version;
};

/* ERR_INVALID with one line about the flag that is wrong. */
int sim_options_parse(struct arena *a, int argc, char **argv, struct sim_options *ret,
                      struct err *err) _warn_unused_;
void sim_options_usage(FILE *to);

/* Writes what --write-kubeconfig and --write-cloud-config ask for; `world_config` is the cloud
 * configuration that a world brings along ("<endpoint>" is filled in), or NULL. */
int sim_outputs_write(struct sim *s, const struct sim_options *o, const char *world_config,
                      struct err *err) _warn_unused_;

#endif
