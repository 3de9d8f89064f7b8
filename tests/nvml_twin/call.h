/* What the functions of the library share: they find their board, and begin alike. */
#ifndef GRIDPACE_TWIN_CALL_H
#define GRIDPACE_TWIN_CALL_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "twin.h"

#define API TWIN_EXPORT nvmlReturn_t
#define BLANK_32 0xFFFFFFFFu
#define BLANK_64 0xFFFFFFFFFFFFFFFFull

extern twin_state *state;

/* Finds the board of a handle and, where there is one, the MIG instance. */
nvmlReturn_t find(nvmlDevice_t device, twin_board **board, twin_slice **slice);
unsigned milli(double value);
unsigned or_blank(const twin_board *board, unsigned value);
int may_set(void);

/* Begins a call on a board; what belongs to a whole board is not offered by a MIG instance. */
#define DEVICE(argument)                                                              \
    twin_board *board;                                                                \
    twin_slice *slice;                                                                \
    nvmlReturn_t found = find(device, &board, &slice);                                \
    if (found != NVML_SUCCESS) return found;                                          \
    if (!(argument)) return NVML_ERROR_INVALID_ARGUMENT;
#define BOARD(argument)                                                               \
    DEVICE(argument)                                                                  \
    if (slice) return NVML_ERROR_NOT_SUPPORTED;                                       \
    twin_lock(state);                                                                 \
    twin_advance(state, board);                                                       \
    twin_unlock(state);

#endif
