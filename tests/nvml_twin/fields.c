/* Field values: each carries its own return code, as the header says. */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include "twin.h"

#include <math.h>
#include <time.h>

static void watts(nvmlFieldValue_t *field, double value) {
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    field->value.uiVal = (unsigned)llround(value * 1000);
}

static void degrees(nvmlFieldValue_t *field, double value) {
    field->valueType = NVML_VALUE_TYPE_SIGNED_INT;
    field->value.siVal = (int)lround(value);
}

static void nanoseconds(nvmlFieldValue_t *field, double duration_s) {
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    field->value.ullVal = (unsigned long long)llround(duration_s * 1e9);
}

static unsigned hidden_by(unsigned field) {
    switch (field) {
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT: return TWIN_NO_FIELDS | TWIN_NO_READ;
    case NVML_FI_DEV_POWER_MIN_LIMIT:
    case NVML_FI_DEV_POWER_MAX_LIMIT:
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT: return TWIN_NO_FIELDS | TWIN_NO_LIMIT;
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP: return TWIN_NO_CAUSES;
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN:
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN:
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN: return TWIN_NO_FIELDS | TWIN_NO_CAUSES;
    case NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT:
    case NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT:
    case NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT: return TWIN_NO_FIELDS | TWIN_NO_MARGIN;
    case NVML_FI_DEV_POWER_INSTANT:
    case NVML_FI_DEV_POWER_AVERAGE: return TWIN_NO_FIELDS | TWIN_NO_POWER;
    case NVML_FI_DEV_ENERGY:
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION: return TWIN_NO_ENERGY;
    default: return ~0u;
    }
}

static void fill(const twin_board *board, nvmlFieldValue_t *field) {
    double rest_w = field->scopeId == NVML_POWER_SCOPE_MODULE ? board->module_other_w : 0;
    switch (field->fieldId) {
    case NVML_FI_DEV_POWER_CURRENT_LIMIT: watts(field, rest_w > 0 ? board->module_w : board->enforced_w); break;
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT: watts(field, rest_w > 0 ? board->module_w : board->requested_w); break;
    case NVML_FI_DEV_POWER_MIN_LIMIT: watts(field, board->lowest_w + rest_w); break;
    case NVML_FI_DEV_POWER_MAX_LIMIT: watts(field, board->highest_w + rest_w); break;
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT: watts(field, board->default_w + rest_w); break;
    case NVML_FI_DEV_POWER_INSTANT: watts(field, twin_power_w(board, NULL) + rest_w); break;
    case NVML_FI_DEV_POWER_AVERAGE: watts(field, board->average_w + rest_w); break;
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP: nanoseconds(field, board->power_cap_s); break;
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN: nanoseconds(field, board->sw_thermal_s); break;
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN: nanoseconds(field, board->hw_thermal_s); break;
    case NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN: nanoseconds(field, board->brake_s); break;
    case NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT: degrees(field, board->max_c - board->shutdown_c); break;
    case NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT: degrees(field, board->max_c - board->slowdown_c); break;
    case NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT: degrees(field, 0); break;
    default:
        field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        field->value.ullVal = (unsigned long long)llround(board->shown_j * 1000);
    }
    if (!(board->faults & TWIN_BLANK)) return;
    if (field->valueType == NVML_VALUE_TYPE_UNSIGNED_LONG_LONG) field->value.ullVal = ~0ull;
    else field->value.uiVal = ~0u;
}

void twin_fields(const twin_state *state, const twin_board *board, int count, nvmlFieldValue_t *fields) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < count; i++) {
        nvmlFieldValue_t *field = &fields[i];
        field->timestamp = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
        field->latencyUsec = (long long)(state->latency_s * 1e6);
        int no_scope = field->scopeId > NVML_POWER_SCOPE_MODULE ||
                       (field->scopeId == NVML_POWER_SCOPE_MODULE && !(board->module_w > 0));
        unsigned hidden = hidden_by(field->fieldId);
        field->nvmlReturn = no_scope || hidden == ~0u || board->faults & hidden ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
        /* What is not offered holds a number all the same: whoever does not look at the code takes it for data. */
        field->value.ullVal = 4242424242;
        if (field->nvmlReturn == NVML_SUCCESS) fill(board, field);
    }
}
