/* What tests see and turn, beside NVML: every quantity of a board by its name, faults, the clock and the driver. */
#include "twin.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
    const char *name;
    size_t offset;
} quantity;

#define QUANTITY(name) {#name, offsetof(twin_board, name)}

static const quantity DOUBLES[] = {
    QUANTITY(lowest_w),      QUANTITY(highest_w),  QUANTITY(default_w),          QUANTITY(requested_w),
    QUANTITY(enforced_w),    QUANTITY(outside_w),  QUANTITY(module_w),           QUANTITY(module_other_w),
    QUANTITY(settle_s),      QUANTITY(rival_w),    QUANTITY(rival_s),            QUANTITY(idle_w),
    QUANTITY(demand_w),      QUANTITY(load),       QUANTITY(highest_mhz),        QUANTITY(locked_mhz),
    QUANTITY(exponent),      QUANTITY(average_s),  QUANTITY(average_w),          QUANTITY(energy_j),
    QUANTITY(shown_j),       QUANTITY(period_s),   QUANTITY(temperature_c),      QUANTITY(coolant_c),
    QUANTITY(max_c),         QUANTITY(slowdown_c), QUANTITY(resistance_c_per_w), QUANTITY(time_constant_s),
    QUANTITY(shutdown_c),    QUANTITY(power_cap_s), QUANTITY(sw_thermal_s),      QUANTITY(hw_thermal_s),
    QUANTITY(brake_s),
};
static const quantity COUNTS[] = {QUANTITY(faults), QUANTITY(architecture), QUANTITY(mig_mode), QUANTITY(brake),
                                  QUANTITY(persistence)};
static const quantity TEXTS[] = {QUANTITY(uuid), QUANTITY(name), QUANTITY(bus_id)};

static void *find(twin_board *board, const quantity *table, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(table[i].name, name)) return (char *)board + table[i].offset;
    return NULL;
}
#define FIND(board, table, name) find(board, table, sizeof(table) / sizeof *(table), name)

TWIN_EXPORT void *twin_create(const char *path, uint32_t boards) {
    return boards > 0 && boards <= TWIN_BOARDS ? twin_map(path, boards) : NULL;
}

TWIN_EXPORT void *twin_open(const char *path) { return twin_map(path, 0); }

TWIN_EXPORT void twin_close(void *state) { munmap(state, sizeof(twin_state)); }

TWIN_EXPORT uint32_t twin_boards(const twin_state *state) { return state->boards; }

/* NAN where the board has no such quantity. */
TWIN_EXPORT double twin_get(twin_state *state, uint32_t index, const char *name) {
    twin_board *board = &state->board[index];
    double found = NAN;
    twin_lock(state);
    twin_advance(state, board);
    double *value = FIND(board, DOUBLES, name);
    uint32_t *count = FIND(board, COUNTS, name);
    if (value) found = *value;
    else if (count) found = *count;
    else if (!strcmp(name, "reads")) found = (double)board->reads;
    else if (!strcmp(name, "writes")) found = (double)board->writes;
    else if (!strcmp(name, "power_w")) found = twin_power_w(board, NULL);
    else if (!strcmp(name, "clock_mhz")) twin_power_w(board, &found);
    twin_unlock(state);
    return found;
}

/* Everything is written as it stands but `requested_w`, which is a request of someone else and settles like any. */
TWIN_EXPORT int twin_set(twin_state *state, uint32_t index, const char *name, double to) {
    twin_board *board = &state->board[index];
    twin_lock(state);
    twin_advance(state, board);
    double *value = FIND(board, DOUBLES, name);
    uint32_t *count = FIND(board, COUNTS, name);
    int found = value || count;
    if (!strcmp(name, "requested_w")) twin_request(state, board, to, 1);
    else if (value) *value = to;
    else if (count) *count = (uint32_t)to;
    if (!strcmp(name, "energy_j")) board->shown_j = to + board->module_j;
    if (!strcmp(name, "outside_w") || !strcmp(name, "module_w")) twin_request(state, board, board->requested_w, 1);
    twin_unlock(state);
    return found ? 0 : -1;
}

TWIN_EXPORT int twin_set_text(twin_state *state, uint32_t index, const char *name, const char *to) {
    char *text = FIND(&state->board[index], TEXTS, name);
    if (text) snprintf(text, TWIN_TEXT, "%s", to);
    return text ? 0 : -1;
}

TWIN_EXPORT const char *twin_text(twin_state *state, uint32_t index, const char *name) {
    return FIND(&state->board[index], TEXTS, name);
}

TWIN_EXPORT int twin_add_slice(twin_state *state, uint32_t index, const char *uuid, const char *profile, uint32_t gpu_instance,
                               uint32_t compute_instance) {
    twin_board *board = &state->board[index];
    if (board->slices == TWIN_SLICES) return -1;
    twin_slice *slice = &board->slice[board->slices++];
    snprintf(slice->uuid, sizeof slice->uuid, "%s", uuid);
    snprintf(slice->profile, sizeof slice->profile, "%s", profile);
    slice->gpu_instance = gpu_instance;
    slice->compute_instance = compute_instance;
    return 0;
}

/* From here on time stands still between calls of twin_pass. */
TWIN_EXPORT void twin_stop_clock(twin_state *state) {
    twin_lock(state);
    for (uint32_t i = 0; i < state->boards; i++) twin_advance(state, &state->board[i]);
    state->virtual_ns = twin_now_ns(state);
    state->is_virtual = 1;
    twin_unlock(state);
}

TWIN_EXPORT void twin_pass(twin_state *state, double duration_s) {
    twin_lock(state);
    for (uint32_t i = 0; i < state->boards; i++) twin_advance(state, &state->board[i]);
    state->virtual_ns += (int64_t)(duration_s * 1e9);
    for (uint32_t i = 0; i < state->boards; i++) twin_advance(state, &state->board[i]);
    twin_unlock(state);
}

TWIN_EXPORT double twin_now_s(const twin_state *state) { return (double)twin_now_ns(state) / 1e9; }

TWIN_EXPORT void twin_set_latency(twin_state *state, double latency_s) { state->latency_s = latency_s; }

/* One board comes back as from a reset: all at once, as a driver shows it. */
TWIN_EXPORT void twin_reset(twin_state *state, uint32_t index) {
    twin_lock(state);
    twin_reload(state, &state->board[index]);
    twin_unlock(state);
}

/* 0 unloads the driver, 1 loads it: what processes hold from before is void. */
TWIN_EXPORT void twin_set_driver(twin_state *state, int loaded) {
    twin_lock(state);
    for (uint32_t i = 0; i < state->boards; i++) twin_reload(state, &state->board[i]);
    state->epoch++;
    state->driver_absent = !loaded;
    twin_unlock(state);
}
