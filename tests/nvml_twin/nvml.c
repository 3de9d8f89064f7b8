/* libnvidia-ml.so.1 of the twin: the functions that pynvml and its users call, against NVIDIA's own header.
 *
 * GRIDPACE_TWIN_STATE names the shared file. GRIDPACE_TWIN_ROOT=1 or 0 says whether this process may set limits; without
 * it the effective user does. As with a driver: a forked child has to call nvmlInit again, and after the driver was loaded
 * anew a process has to shut the library down and begin again. */
#define _GNU_SOURCE
#include "call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

twin_state *state;
static unsigned references, epoch;
static pid_t owner;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
/* A handle points into these, so that one made up is told from a true one. */
static char board_handles[TWIN_BOARDS], slice_handles[TWIN_BOARDS * TWIN_SLICES];

unsigned milli(double value) { return (unsigned)llround(value * 1000); }

int may_set(void) {
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

nvmlReturn_t find(nvmlDevice_t device, twin_board **board, twin_slice **slice) {
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
    if ((*board)->faults & TWIN_UNKNOWN) return NVML_ERROR_UNKNOWN;
    return (*board)->faults & TWIN_TIMEOUT ? NVML_ERROR_TIMEOUT : NVML_SUCCESS;
}

unsigned or_blank(const twin_board *board, unsigned value) {
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
