/* libnvidia-ml.so.1 of the twin: the functions that pynvml and its users call, against NVIDIA's own header.
 *
 * GRIDPACE_TWIN_STATE names the shared file. GRIDPACE_TWIN_ROOT=1 or 0 says whether this process may set limits; without
 * it the effective user does. As with a driver: a forked child has to call nvmlInit again, and after the driver was loaded
 * anew a process has to shut the library down and begin again. */
#define _GNU_SOURCE
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "twin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define API TWIN_EXPORT nvmlReturn_t
#define BLANK_32 0xFFFFFFFFu
#define BLANK_64 0xFFFFFFFFFFFFFFFFull

static twin_state *state;
static unsigned references, epoch;
static pid_t owner;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
/* A handle points into these, so that one made up is told from a true one. */
static char board_handles[TWIN_BOARDS], slice_handles[TWIN_BOARDS * TWIN_SLICES];

static unsigned milli(double value) { return (unsigned)llround(value * 1000); }

static int may_set(void) {
    const char *root = getenv("GRIDPACE_TWIN_ROOT");
    return root ? !strcmp(root, "1") : geteuid() == 0;
}

static nvmlReturn_t ready(void) {
    if (!references || owner != getpid()) return NVML_ERROR_UNINITIALIZED;
    if (state->latency_s > 0) usleep((useconds_t)(state->latency_s * 1e6));
    if (state->driver_absent) return NVML_ERROR_DRIVER_NOT_LOADED;
    return epoch == state->epoch ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

API nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    pthread_mutex_lock(&starting);
    nvmlReturn_t result = NVML_SUCCESS;
    if (owner != getpid()) {
        owner = getpid();
        references = 0;
    }
    if (!references) {
        const char *path = getenv("GRIDPACE_TWIN_STATE");
        if (state) munmap(state, sizeof *state);
        state = path ? twin_map(path, 0) : NULL;
        if (!state || state->driver_absent) result = NVML_ERROR_DRIVER_NOT_LOADED;
        else epoch = state->epoch;
    }
    if (result == NVML_SUCCESS) references++;
    pthread_mutex_unlock(&starting);
    return result;
}

API nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

API nvmlShutdown(void) {
    pthread_mutex_lock(&starting);
    nvmlReturn_t result = references && owner == getpid() ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    if (result == NVML_SUCCESS) references--;
    pthread_mutex_unlock(&starting);
    return result;
}

TWIN_EXPORT const char *nvmlErrorString(nvmlReturn_t result) {
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT: return "Timeout";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    default: return "Unknown Error";
    }
}

/* Finds the board of a handle and, where there is one, the MIG instance. */
static nvmlReturn_t find(nvmlDevice_t device, twin_board **board, twin_slice **slice) {
    nvmlReturn_t result = ready();
    if (result != NVML_SUCCESS) return result;
    char *handle = (char *)device;
    *slice = NULL;
    if (handle >= board_handles && handle < board_handles + state->boards) {
        *board = &state->board[handle - board_handles];
    } else if (handle >= slice_handles && handle < slice_handles + sizeof slice_handles) {
        size_t at = (size_t)(handle - slice_handles);
        *board = &state->board[at / TWIN_SLICES];
        *slice = &(*board)->slice[at % TWIN_SLICES];
    } else {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    __sync_fetch_and_add(&(*board)->reads, 1);
    if ((*board)->faults & TWIN_LOST) return NVML_ERROR_GPU_IS_LOST;
    return (*board)->faults & TWIN_TIMEOUT ? NVML_ERROR_TIMEOUT : NVML_SUCCESS;
}

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

static unsigned or_blank(const twin_board *board, unsigned value) {
    return board->faults & TWIN_BLANK ? BLANK_32 : value;
}

static nvmlReturn_t text(char *to, unsigned int length, const char *from) {
    if (length <= strlen(from)) return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(to, from);
    return NVML_SUCCESS;
}

/* ---- the system and its devices */

API nvmlSystemGetDriverVersion(char *version, unsigned int length) { return text(version, length, "580.65.06"); }

API nvmlSystemGetNVMLVersion(char *version, unsigned int length) { return text(version, length, "13.580.65.06"); }

API nvmlSystemGetCudaDriverVersion_v2(int *version) {
    *version = 13000;
    return NVML_SUCCESS;
}

API nvmlDeviceGetCount_v2(unsigned int *count) {
    nvmlReturn_t result = ready();
    if (result == NVML_SUCCESS) *count = state->boards;
    return result;
}

API nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    nvmlReturn_t result = ready();
    if (result != NVML_SUCCESS) return result;
    if (index >= state->boards) return NVML_ERROR_INVALID_ARGUMENT;
    if (state->board[index].faults & TWIN_LOST) return NVML_ERROR_GPU_IS_LOST;
    *device = (nvmlDevice_t)(board_handles + index);
    return NVML_SUCCESS;
}

API nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    nvmlReturn_t result = ready();
    if (result != NVML_SUCCESS) return result;
    for (unsigned i = 0; i < state->boards; i++) {
        twin_board *board = &state->board[i];
        char *handle = strcmp(board->uuid, uuid) ? NULL : board_handles + i;
        for (unsigned k = 0; k < board->slices; k++)
            if (board->mig_mode && !strcmp(board->slice[k].uuid, uuid)) handle = slice_handles + i * TWIN_SLICES + k;
        if (!handle) continue;
        if (board->faults & TWIN_LOST) return NVML_ERROR_GPU_IS_LOST;
        *device = (nvmlDevice_t)handle;
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

API nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device) {
    nvmlReturn_t result = ready();
    for (unsigned i = 0; result == NVML_SUCCESS && i < state->boards; i++)
        if (!strcasecmp(state->board[i].bus_id, bus_id)) return nvmlDeviceGetHandleByIndex_v2(i, device);
    return result == NVML_SUCCESS ? NVML_ERROR_NOT_FOUND : result;
}

API nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
    DEVICE(name)
    char full[2 * TWIN_TEXT + 8];
    snprintf(full, sizeof full, slice ? "%s MIG %s" : "%s", board->name, slice ? slice->profile : "");
    return text(name, length, full);
}

API nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
    DEVICE(uuid)
    return text(uuid, length, slice ? slice->uuid : board->uuid);
}

API nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index) {
    DEVICE(index)
    *index = slice ? (unsigned)(slice - board->slice) : (unsigned)(board - state->board);
    return NVML_SUCCESS;
}

API nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor) { return nvmlDeviceGetIndex(device, minor); }

API nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *architecture) {
    DEVICE(architecture)
    *architecture = board->architecture;
    return NVML_SUCCESS;
}

API nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *info) {
    DEVICE(info)
    memset(info, 0, sizeof *info);
    sscanf(board->bus_id, "%x:%x:%x", &info->domain, &info->bus, &info->device);
    snprintf(info->busId, sizeof info->busId, "%.31s", board->bus_id);
    snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "%.15s", board->bus_id + 4);
    return NVML_SUCCESS;
}

/* ---- MIG */

API nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
    BOARD(current && pending)
    if (board->architecture < NVML_DEVICE_ARCH_AMPERE) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = board->mig_mode;
    return NVML_SUCCESS;
}

API nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_instance) {
    DEVICE(is_instance)
    *is_instance = slice != NULL;
    return NVML_SUCCESS;
}

API nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
    BOARD(count)
    *count = board->mig_mode ? TWIN_SLICES : 0;
    return NVML_SUCCESS;
}

API nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *instance) {
    BOARD(instance)
    if (!board->mig_mode || index >= board->slices) return NVML_ERROR_NOT_FOUND;
    *instance = (nvmlDevice_t)(slice_handles + (board - state->board) * TWIN_SLICES + index);
    return NVML_SUCCESS;
}

API nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device, nvmlDevice_t *whole) {
    DEVICE(whole)
    if (!slice) return NVML_ERROR_INVALID_ARGUMENT;
    *whole = (nvmlDevice_t)(board_handles + (board - state->board));
    return NVML_SUCCESS;
}

API nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id) {
    DEVICE(id)
    if (!slice) return NVML_ERROR_NOT_SUPPORTED;
    *id = slice->gpu_instance;
    return NVML_SUCCESS;
}

API nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id) {
    DEVICE(id)
    if (!slice) return NVML_ERROR_NOT_SUPPORTED;
    *id = slice->compute_instance;
    return NVML_SUCCESS;
}

/* ---- limits */

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

/* ---- readings */

API nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power_mw) {
    BOARD(power_mw)
    if (board->faults & TWIN_NO_POWER) return NVML_ERROR_NOT_SUPPORTED;
    *power_mw = or_blank(board, milli(board->average_w));
    return NVML_SUCCESS;
}

API nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy_mj) {
    BOARD(energy_mj)
    if (board->faults & TWIN_NO_ENERGY) return NVML_ERROR_NOT_SUPPORTED;
    *energy_mj = board->faults & TWIN_BLANK ? BLANK_64 : (unsigned long long)llround(board->shown_j * 1000);
    return NVML_SUCCESS;
}

API nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *temperature_c) {
    BOARD(temperature_c)
    if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
    *temperature_c = or_blank(board, (unsigned)lround(board->temperature_c));
    return NVML_SUCCESS;
}

API nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature) {
    BOARD(temperature)
    if (temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    temperature->temperature = (int)lround(board->temperature_c);
    return NVML_SUCCESS;
}

API nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *margin) {
    BOARD(margin)
    if (margin->version != nvmlMarginTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (board->faults & TWIN_NO_MARGIN) return NVML_ERROR_NOT_SUPPORTED;
    margin->marginTemperature = board->faults & TWIN_BLANK ? (int)BLANK_32 : (int)lround(board->max_c - board->temperature_c);
    return NVML_SUCCESS;
}

API nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t kind, unsigned int *threshold_c) {
    BOARD(threshold_c)
    double value_c = kind == NVML_TEMPERATURE_THRESHOLD_SHUTDOWN   ? board->shutdown_c
                     : kind == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN ? board->slowdown_c
                     : kind == NVML_TEMPERATURE_THRESHOLD_GPU_MAX  ? board->max_c
                                                                   : 0;
    if (value_c == 0) return NVML_ERROR_NOT_SUPPORTED;
    *threshold_c = or_blank(board, (unsigned)lround(value_c));
    return NVML_SUCCESS;
}

API nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t kind, unsigned int *clock_mhz) {
    BOARD(clock_mhz)
    double graphics_mhz;
    twin_power_w(board, &graphics_mhz);
    *clock_mhz = kind == NVML_CLOCK_MEM ? 2619 : (unsigned)graphics_mhz;
    return NVML_SUCCESS;
}

API nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates) {
    BOARD(rates)
    rates->gpu = (unsigned)lround(board->load * 100);
    rates->memory = rates->gpu / 2;
    return NVML_SUCCESS;
}

API nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    DEVICE(memory)
    memory->total = 80ull << 30;
    memory->used = 1ull << 30;
    memory->free = memory->total - memory->used;
    return NVML_SUCCESS;
}

API nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode) {
    DEVICE(mode)
    *mode = NVML_COMPUTEMODE_DEFAULT;
    return NVML_SUCCESS;
}

static nvmlReturn_t no_processes(nvmlDevice_t device, unsigned int *count) {
    DEVICE(count)
    *count = 0;
    return NVML_SUCCESS;
}

API nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *processes) {
    (void)processes;
    return no_processes(device, count);
}

API nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *processes) {
    (void)processes;
    return no_processes(device, count);
}

API nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count, unsigned int *clocks_mhz) {
    BOARD(count)
    unsigned room = *count;
    *count = 1;
    if (!clocks_mhz || room < 1) return NVML_ERROR_INSUFFICIENT_SIZE;
    clocks_mhz[0] = 2619;
    return NVML_SUCCESS;
}

API nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory_mhz, unsigned int *count,
                                         unsigned int *clocks_mhz) {
    BOARD(count)
    (void)memory_mhz;
    unsigned room = *count, steps = (unsigned)(board->highest_mhz - 345) / 15 + 1;
    *count = steps;
    if (!clocks_mhz || room < steps) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < steps; i++) clocks_mhz[i] = (unsigned)board->highest_mhz - 15 * i;
    return NVML_SUCCESS;
}

void twin_fields(const twin_state *state, const twin_board *board, int count, nvmlFieldValue_t *fields);

API nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields) {
    BOARD(fields)
    twin_fields(state, board, count, fields);
    return NVML_SUCCESS;
}
