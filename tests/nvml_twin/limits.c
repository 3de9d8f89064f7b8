/* Limits and clocks, and who may set them. */
#include "call.h"

static nvmlReturn_t set_limit(twin_board *board, twin_slice *slice, unsigned scope, unsigned limit_mw) {
    if (slice || (board->faults & TWIN_NO_LIMIT && scope == NVML_POWER_SCOPE_GPU)) return NVML_ERROR_NOT_SUPPORTED;
    if (board->faults & TWIN_DENIED || !may_set()) return NVML_ERROR_NO_PERMISSION;
    double limit_w = limit_mw / 1000.0;
    int module = scope == NVML_POWER_SCOPE_MODULE;
    if (module ? limit_w < board->module_other_w : limit_w < board->lowest_w || limit_w > board->highest_w)
        return NVML_ERROR_INVALID_ARGUMENT;
    twin_lock(state);
    twin_advance(state, board);
    board->writes++;
    if (!(board->faults & TWIN_IGNORED)) {
        if (module) board->module_w = limit_w;
        twin_request(state, board, module ? board->requested_w : limit_w, module);
    }
    twin_unlock(state);
    return NVML_SUCCESS;
}

API nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int limit_mw) {
    DEVICE(1)
    return set_limit(board, slice, NVML_POWER_SCOPE_GPU, limit_mw);
}

API nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device, nvmlPowerValue_v2_t *value) {
    DEVICE(value)
    if (value->version != nvmlPowerValue_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (value->powerScope > NVML_POWER_SCOPE_MODULE) return NVML_ERROR_INVALID_ARGUMENT;
    if (value->powerScope == NVML_POWER_SCOPE_MODULE && !(board->module_w > 0)) return NVML_ERROR_NOT_SUPPORTED;
    return set_limit(board, slice, value->powerScope, value->powerValueMw);
}

/* A limit of the board as NVML gives it. */
#define LIMIT(function, value, hidden)                                                \
    API function(nvmlDevice_t device, unsigned int *limit_mw) {                       \
        BOARD(limit_mw)                                                               \
        if (board->faults & (hidden)) return NVML_ERROR_NOT_SUPPORTED;                \
        *limit_mw = or_blank(board, milli(value));                                    \
        return NVML_SUCCESS;                                                          \
    }
LIMIT(nvmlDeviceGetPowerManagementLimit, board->requested_w, TWIN_NO_LIMIT | TWIN_NO_READ)
LIMIT(nvmlDeviceGetEnforcedPowerLimit, board->enforced_w, TWIN_NO_READ)
LIMIT(nvmlDeviceGetPowerManagementDefaultLimit, board->default_w, TWIN_NO_LIMIT)

API nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int *lowest_mw, unsigned int *highest_mw) {
    BOARD(lowest_mw && highest_mw)
    if (board->faults & TWIN_NO_LIMIT) return NVML_ERROR_NOT_SUPPORTED;
    *lowest_mw = or_blank(board, milli(board->lowest_w));
    *highest_mw = or_blank(board, milli(board->highest_w));
    return NVML_SUCCESS;
}

API nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned int lowest_mhz, unsigned int highest_mhz) {
    BOARD(1)
    if (!may_set()) return NVML_ERROR_NO_PERMISSION;
    if (lowest_mhz > highest_mhz || highest_mhz > board->highest_mhz) return NVML_ERROR_INVALID_ARGUMENT;
    board->locked_mhz = highest_mhz;
    return NVML_SUCCESS;
}

API nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device) {
    BOARD(1)
    if (!may_set()) return NVML_ERROR_NO_PERMISSION;
    board->locked_mhz = 0;
    return NVML_SUCCESS;
}

API nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode) {
    BOARD(mode)
    *mode = board->persistence ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}

API nvmlDeviceSetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t mode) {
    BOARD(1)
    if (!may_set()) return NVML_ERROR_NO_PERMISSION;
    board->persistence = mode == NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}
