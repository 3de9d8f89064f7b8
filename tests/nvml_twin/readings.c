/* Power, energy, heat and what else a board tells. */
#include "call.h"

#include <math.h>

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
    if (board->faults & TWIN_OLD_FIELDS) return NVML_ERROR_INVALID_ARGUMENT;
    twin_fields(state, board, count, fields);
    return NVML_SUCCESS;
}
